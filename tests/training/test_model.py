import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from pointwork.errors import TrainingError, UsageError  # noqa: E402
from pointwork.training.bases import EMBEDDED, directory_of, quiet  # noqa: E402
from pointwork.training.lora import Lora  # noqa: E402
from pointwork.training.model import LocalModel  # noqa: E402
from pointwork.training.publishing import ModelTokenizer  # noqa: E402

CHAT = [
    {"role": "system", "content": "be short"},
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "hello"},
]


def nudged(model: LocalModel, by: float = 0.05) -> LocalModel:
    with torch.no_grad():
        for value in model.trained().values():
            value.add_(by * torch.randn_like(value))
    return model


def scores(model: LocalModel) -> list[float]:
    return model.logprobs([((1, 2, 3), (4, 5, 6))])[0]


def test_a_chat_becomes_prompt_and_completion(tiny_folder: Path) -> None:
    model = LocalModel.load(tiny_folder, device="cpu")
    sample = model.sample_of(CHAT)
    assert model.decode(sample.prompt_ids) == "be shorthi"
    assert sample.prompt_ids[-1] == 2  # <assistant>
    assert model.decode(sample.completion_ids) == "hello"
    assert sample.completion_ids[-1] in model.stop_ids
    with pytest.raises(UsageError, match="assistant"):
        model.sample_of(CHAT[:2])


def broken(tiny_folder: Path, folder: Path, file: str, text: str | None) -> Path:
    shutil.copytree(tiny_folder, folder)
    if text is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("tokenizer.json", "{}"),
        ("tokenizer.json", '{"a"'),
        ("tokenizer.json", None),
        ("config.json", '{"a"'),
        ("model.safetensors", "cut"),
    ],
)
def test_a_broken_model_is_said_to_be_one(tiny_folder: Path, tmp_path: Path, file: str, text: str | None) -> None:
    folder = broken(tiny_folder, tmp_path / "broken", file, text)
    with pytest.raises(TrainingError, match=r"the model in .*broken can not be read"):
        LocalModel.load(folder, device="cpu")
    if file == "tokenizer.json":
        with pytest.raises(TrainingError, match=r"the tokenizer in .*broken can not be read"):
            ModelTokenizer(str(folder)).completion("a")


@pytest.mark.parametrize(
    ("text", "why"),
    [(None, "chat_template is not set"), ("{{ raise_exception('no system here') }}", "no system here")],
)
def test_a_template_that_takes_no_conversation(
    tiny_folder: Path, tmp_path: Path, text: str | None, why: str
) -> None:
    """A base model has none, and some refuse a system message: a traceback, while turns were read."""
    folder = broken(tiny_folder, tmp_path / "broken", "chat_template.jinja", text)
    with pytest.raises(TrainingError, match=f"can not write a logged conversation: .*{why}"):
        ModelTokenizer(str(folder)).prompt(CHAT)


def test_modules_that_the_model_has_not_can_not_be_adapted(tiny_folder: Path) -> None:
    with pytest.raises(TrainingError, match=r"tiny-chat can not be given .*c_attn"):
        LocalModel.load(tiny_folder, lora=Lora(4, targets=("c_attn",)), device="cpu")


def test_a_file_that_is_no_gguf(tmp_path: Path) -> None:
    (tmp_path / "mine.gguf").write_text("not weights")
    with pytest.raises(TrainingError, match=r"mine.gguf can not be converted"):
        directory_of(tmp_path / "mine.gguf")


def test_only_the_adapter_is_trained_and_it_starts_at_nothing(tiny_folder: Path) -> None:
    base, adapted = (
        LocalModel.load(tiny_folder, device="cpu"),
        LocalModel.load(tiny_folder, lora=Lora(4), device="cpu"),
    )
    assert all(".lora_" in name for name in adapted.trained())
    assert scores(adapted) == pytest.approx(scores(base), abs=1e-6)
    assert base.fingerprint == adapted.fingerprint


@pytest.mark.parametrize("lora", [None, Lora(4, 8, ("q_proj", "v_proj"))])
def test_saved_and_loaded_is_the_same(tiny_folder: Path, tmp_path: Path, lora: Lora | None) -> None:
    model = nudged(LocalModel.load(tiny_folder, lora=lora, device="cpu"))
    model.save(tmp_path / "kept")
    again = LocalModel.load(tiny_folder, lora=lora, device="cpu", seed=9)
    assert scores(again) != scores(model)
    again.restore(tmp_path / "kept")
    assert scores(again) == scores(model)


def test_an_adapter_is_in_pefts_format_and_names_no_path(tiny_folder: Path, tmp_path: Path) -> None:
    nudged(LocalModel.load(tiny_folder, lora=Lora(4), device="cpu")).save(tmp_path / "a")
    config = json.loads((tmp_path / "a" / "adapter_config.json").read_text())
    assert config["peft_type"] == "LORA"
    assert config["base_model_name_or_path"] == "tiny-chat"
    assert {path.name for path in (tmp_path / "a").iterdir()} == {
        "adapter_config.json",
        "adapter_model.safetensors",
    }
    taken_up = LocalModel.load(tiny_folder, adapter=tmp_path / "a", device="cpu")
    assert taken_up.lora is not None
    assert taken_up.lora.rank == 4
    assert set(taken_up.lora.targets) == set(Lora().targets)


@pytest.mark.parametrize(("change", "times"), [({"use_rslora": True}, 2), ({"lora_alpha": 12.5}, 12.5 / 8)])
def test_the_scale_of_an_adapter_is_the_one_that_peft_gives_it(
    tiny_folder: Path, tmp_path: Path, change: dict[str, Any], times: float
) -> None:
    peft: Any = pytest.importorskip("peft")
    transformers: Any = pytest.importorskip("transformers")
    model = LocalModel.load(tiny_folder, lora=Lora(rank=4, alpha=8), device="cpu")
    nudged(model, 0.3)
    model.save(tmp_path)
    config = tmp_path / "adapter_config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), **change}))
    base = transformers.AutoModelForCausalLM.from_pretrained(tiny_folder, dtype=torch.float32)
    with quiet():
        theirs = peft.PeftModel.from_pretrained(base, tmp_path).eval()
    ids = torch.tensor([[3, 7, 9, 11]])
    wanted = theirs(ids).logits.log_softmax(-1)[0, 2, 11].item()
    found = LocalModel.load(tiny_folder, adapter=tmp_path, device="cpu")
    assert found.logprobs([((3, 7, 9), (11,))])[0][0] == pytest.approx(wanted, abs=1e-5)
    assert found.lora is not None
    assert found.lora.alpha == pytest.approx(8 * times)
    found.save(tmp_path / "again")  # as plain LoRA of the same effect
    again = LocalModel.load(tiny_folder, adapter=tmp_path / "again", device="cpu")
    assert again.logprobs([((3, 7, 9), (11,))])[0][0] == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"alpha_pattern": {"down_proj": 24}}, "not alpha_pattern"),
        ({"rank_pattern": {"down_proj": 2}}, "not rank_pattern"),
        ({"target_modules": ".*_proj"}, "not target_modules"),
        ({"r": None}, "is no adapter"),
    ],
)
def test_adapters_of_a_form_that_is_not_understood_are_refused(
    tiny_folder: Path, tmp_path: Path, change: dict[str, Any], what: str
) -> None:
    LocalModel.load(tiny_folder, lora=Lora(rank=4, alpha=8), device="cpu").save(tmp_path)
    config = tmp_path / "adapter_config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), **change}))
    with pytest.raises(UsageError, match=what):
        LocalModel.load(tiny_folder, adapter=tmp_path, device="cpu")


def test_weights_of_another_form_are_refused(tiny_folder: Path, tmp_path: Path) -> None:
    LocalModel.load(tiny_folder, lora=Lora(4), device="cpu").save(tmp_path / "four")
    with pytest.raises(TrainingError, match="another"):
        LocalModel.load(tiny_folder, lora=Lora(8), device="cpu").restore(tmp_path / "four")
    with pytest.raises(TrainingError, match="missing"):
        LocalModel.load(tiny_folder, lora=Lora(8), device="cpu").restore(tmp_path)
    with pytest.raises(UsageError, match="no adapter"):
        LocalModel.load(tiny_folder, adapter=tmp_path, device="cpu")
    with pytest.raises(UsageError, match="no model at"):
        LocalModel.load(tmp_path / "nothing")


def test_the_reference_comes_and_goes(tiny: Callable[..., LocalModel]) -> None:
    model = tiny(lora=Lora(4))
    with pytest.raises(UsageError, match="keep_reference"), model.as_reference():
        pass
    first = scores(nudged(model))
    model.keep_reference()
    second = scores(nudged(model))
    with model.as_reference():
        assert scores(model) == first
    assert scores(model) == second != first


def test_temperature_divides_the_logits(tiny: Callable[..., LocalModel]) -> None:
    model = nudged(tiny(8))
    logits = model.module(input_ids=torch.tensor([[1, 2]])).logits[0, -1].float()
    wanted = torch.log_softmax(logits / 0.5, -1)[3].item()
    assert model.logprobs([((1, 2), (3,))], temperature=0.5)[0] == pytest.approx([wanted], abs=1e-6)


@pytest.mark.model
@pytest.mark.slow
def test_the_embedded_model_speaks(tmp_path: Path) -> None:
    from pointwork.training.sampling import sample

    assert (directory_of(EMBEDDED) / "model.safetensors").is_file()
    model = LocalModel.load(EMBEDDED, lora=Lora(), device="cpu")
    prompt = model.chat_ids([{"role": "user", "content": "What is the capital of France?"}])
    ((answer,),) = sample(model, [prompt], max_tokens=12, temperature=0)
    assert "Paris" in model.decode(answer.ids)


@pytest.mark.parametrize("targets", [("q_proj", "down_proj"), ("v_proj", "lm_head"), ("embed_tokens", "q_proj")])
def test_an_adapter_is_saved_as_peft_saves_it(
    tiny: Callable[..., LocalModel], tmp_path: Path, targets: tuple[str, ...]
) -> None:
    model = tiny(32, lora=Lora(4, 8, targets))
    model.save(tmp_path / "ours")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft's, of tied embeddings
        model.module.save_pretrained(tmp_path / "peft", save_embedding_layers=False)
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "peft" / name).read_bytes()
    model.restore(tmp_path / "ours")
