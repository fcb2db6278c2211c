import json
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from pointwork.errors import TrainingError, UsageError  # noqa: E402
from pointwork.training.bases import EMBEDDED, directory_of  # noqa: E402
from pointwork.training.model import LocalModel, Lora  # noqa: E402

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
