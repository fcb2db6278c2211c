import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from pointwork.errors import TrainingError, UsageError  # noqa: E402
from pointwork.extras import available  # noqa: E402
from pointwork.training.checkpoint import checkpoints  # noqa: E402
from pointwork.training.loop import BUDGET, LONG, Settings, Trainer  # noqa: E402
from pointwork.training.lora import Lora  # noqa: E402
from pointwork.training.memory import tokens_at_once  # noqa: E402
from pointwork.training.model import LocalModel  # noqa: E402
from pointwork.training.objective import Objective  # noqa: E402
from pointwork.training.packing import Sample  # noqa: E402
from pointwork.training.samples import Example, Group, Rollout, Turn  # noqa: E402
from pointwork.training.sources import Shuffled  # noqa: E402
from pointwork.training.trainer import GRPOTrainer, SFTTrainer  # noqa: E402

SCRIPT = Path(__file__).with_name("resuming.py")
TRAJECTORY = ("step", "loss", "reward", "grad_norm", "entropy", "kl", "tis_mean", "held_out")


def resuming() -> Any:
    spec = importlib.util.spec_from_file_location("resuming", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lines(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def trajectory(folder: Path) -> list[dict[str, float]]:
    return [{name: line[name] for name in TRAJECTORY if name in line} for line in lines(folder)]


def turns(*answers: tuple[tuple[int, ...], float]) -> Group:
    return Group(
        "t", tuple(Rollout("t", (Turn("worker", (1, 2), ids),), reward, reward > 0) for ids, reward in answers)
    )


MIXED = turns(((3, 4), 1.0), ((5, 4), 0.0), ((6, 4), 0.0))
CONSTANT = turns(((3, 4), 1.0), ((5, 4), 1.0))


def constantly(*groups: Group) -> Callable[[int], list[Group]]:
    return lambda step: list(groups)


def probability(model: LocalModel, ids: tuple[int, ...]) -> float:
    return sum(model.logprobs([((1, 2), ids)])[0])


def test_killed_and_resumed_has_the_same_trajectory(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    resuming().trainer(whole).fit()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [sys.executable, str(SCRIPT), str(killed), "7"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    assert [path.name for path in checkpoints(killed / "checkpoints")] == ["step-000004"]
    run = resuming().trainer(killed)
    run.fit()
    assert trajectory(killed) == trajectory(whole)
    assert len(trajectory(whole)) == 13
    assert run.versions == [f"v{step}" for step in range(1, 13)]
    for name in ("final", "best"):
        one = (whole / name / "adapter_model.safetensors").read_bytes()
        assert one == (killed / name / "adapter_model.safetensors").read_bytes()


def test_training_learns_on_policy(tmp_path: Path) -> None:
    report = resuming().trainer(tmp_path, steps=30).fit()
    rewards = [line["reward"] for line in lines(tmp_path)[1:]]
    assert report.stopped == "finished"
    assert report.best == 1.0 > lines(tmp_path)[0]["held_out"]
    assert [step for step, _ in report.curves()["held_out"]] == list(range(0, 31, 3))
    if available("matplotlib"):
        assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert sum(rewards[-8:]) / 8 > sum(rewards[:8]) / 8 + 0.1


def test_ctrl_c_saves_and_goes_on(tmp_path: Path) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    resuming().trainer(whole).fit()
    run = resuming().trainer(stopped)

    def interrupt(trainer: Trainer[Group], metrics: dict[str, float]) -> None:
        if trainer.step == 6:
            os.kill(os.getpid(), signal.SIGINT)

    run._callbacks.append(interrupt)
    before = signal.getsignal(signal.SIGINT)
    report = run.fit()
    assert (report.stopped, report.steps) == ("interrupted", 6)
    assert signal.getsignal(signal.SIGINT) is before
    assert not (stopped / "final").exists()
    assert resuming().trainer(stopped).fit().stopped == "finished"
    assert trajectory(stopped) == trajectory(whole)


def test_a_half_written_checkpoint_is_not_one(tmp_path: Path) -> None:
    resuming().trainer(tmp_path, steps=4).fit()
    (tmp_path / "checkpoints" / ".writing-000008-1").mkdir()
    (tmp_path / "checkpoints" / "step-000008").mkdir()  # no meta.json: not ours
    assert [path.name for path in checkpoints(tmp_path / "checkpoints")] == ["step-000004"]
    assert resuming().trainer(tmp_path, steps=6).fit().steps == 6
    assert not list((tmp_path / "checkpoints").glob(".writing-*"))


def _no_room(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device")


def _cut_short(*_: Any, **__: Any) -> None:
    raise RuntimeError("unexpected pos 33536 vs 33428")  # as torch says it


@pytest.mark.parametrize(
    ("where", "how", "what"),
    [
        ("pointwork.training.checkpoint.torch.save", _cut_short, "the checkpoint of step 2"),
        ("pointwork.training.model.LocalModel.save", _no_room, "the checkpoint of step 2"),
        ("pointwork.training.loop.curves.draw", _no_room, "weights and curves"),
    ],
)
def test_a_full_disk_is_said(
    tmp_path: Path,
    tiny: Callable[..., LocalModel],
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    how: Any,
    what: str,
) -> None:
    pytest.importorskip("matplotlib")
    run = GRPOTrainer(tiny(8, lora=Lora(4)), constantly(MIXED), Settings(2), tmp_path, show=False)
    monkeypatch.setattr(where, how)
    with pytest.raises(TrainingError, match=f"{what} could not be written to"):
        run.fit()
    assert not list((tmp_path / "checkpoints").glob(".writing-*"))


def test_a_folder_that_can_not_be_one_is_said(tmp_path: Path, tiny: Callable[..., LocalModel]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TrainingError, match="could not be written to"):
        GRPOTrainer(tiny(8), constantly(MIXED), Settings(1), tmp_path / "file", show=False).fit()


def test_another_runs_checkpoint_is_refused(tmp_path: Path, tiny: Callable[..., LocalModel]) -> None:
    def run(**options: Any) -> GRPOTrainer:
        model = tiny(8, lora=Lora(4))
        return GRPOTrainer(model, constantly(MIXED), Settings(2, **options), tmp_path, show=False)

    run().fit()
    with pytest.raises(TrainingError, match=r"lr was 0\.0001"):
        run(lr=1.0).fit()
    run(save_every=1).fit()  # how often it is saved is no other run
    (tmp_path / "checkpoints" / "step-000002" / "state.pt").write_bytes(b"cut")
    with pytest.raises(TrainingError, match="can not be read"):
        run().fit()


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _without(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        meta = json.loads((folder / "meta.json").read_text())
        (folder / "meta.json").write_text(json.dumps({key: meta[key] for key in meta if key != name}))

    return change


BREAKAGES: list[tuple[Callable[[Path], Any], str]] = [
    (lambda at: _cut(at / "weights" / "adapter_model.safetensors"), "adapter_model.safetensors"),
    (lambda at: (at / "state.pt").write_bytes(b"hello" * 100), "can not be read"),
    (lambda at: torch.save({"x": 1}, at / "state.pt"), "'optimiser'"),
    (lambda at: (at / "meta.json").write_text("[]"), "another program or version"),
    (_without("described"), "no described"),
    (_without("random"), "no random"),
]


@pytest.mark.parametrize(("break_it", "what"), BREAKAGES)
def test_a_broken_or_foreign_checkpoint_is_said(
    tmp_path: Path, tiny: Callable[..., LocalModel], break_it: Callable[[Path], Any], what: str
) -> None:
    def run(steps: int) -> Any:
        model = tiny(8, lora=Lora(4))
        return GRPOTrainer(model, constantly(MIXED), Settings(steps), tmp_path, show=False).fit()

    run(1)
    break_it(tmp_path / "checkpoints" / "step-000001")
    with pytest.raises(TrainingError, match=what):
        run(2)


def test_a_setting_that_an_older_checkpoint_does_not_know_is_named(
    tmp_path: Path, tiny: Callable[..., LocalModel]
) -> None:
    def run() -> Any:
        return GRPOTrainer(tiny(8), constantly(MIXED), Settings(1), tmp_path, show=False).fit()

    run()
    meta = tmp_path / "checkpoints" / "step-000001" / "meta.json"
    said = json.loads(meta.read_text())
    del said["described"]["updates"]
    meta.write_text(json.dumps(said))
    with pytest.raises(TrainingError, match="updates was None"):
        run()


def test_good_answers_become_likelier(tmp_path: Path, tiny: Callable[..., LocalModel]) -> None:
    model = tiny(8)
    before = [probability(model, ids) for ids in ((3, 4), (5, 4))]
    GRPOTrainer(model, constantly(MIXED), Settings(5, lr=1e-3), tmp_path, show=False).fit()
    after = [probability(model, ids) for ids in ((3, 4), (5, 4))]
    assert after[0] > before[0]
    assert after[1] < before[1]


def test_groups_that_teach_nothing_change_nothing(tmp_path: Path, tiny: Callable[..., LocalModel]) -> None:
    model = tiny(8)
    before = {name: value.clone() for name, value in model.trained().items()}
    settings = Settings(2, lr=0.1, weight_decay=0.1)
    report = GRPOTrainer(model, constantly(CONSTANT), settings, tmp_path, show=False).fit()
    assert report.metrics["skipped_groups"] == report.metrics["groups"] == 1
    assert all(torch.equal(before[name], value) for name, value in model.trained().items())


def test_only_the_wanted_roles_are_trained(tmp_path: Path, tiny: Callable[..., LocalModel]) -> None:
    def rollout(ids: tuple[int, ...], reward: float) -> Rollout:
        return Rollout("t", (Turn("planner", (1,), ids), Turn("worker", (2,), ids)), reward, reward > 0)

    group = Group("t", (rollout((3,), 1.0), rollout((4,), 0.0)))
    run = GRPOTrainer(tiny(8), constantly(group), Settings(1), tmp_path, roles=["planner"], show=False)
    samples, _ = run.samples_of([group])
    assert {sample.prompt_ids for sample in samples} == {(1,)}


def test_micro_batches_make_the_same_step(tmp_path: Path, tiny: Callable[..., LocalModel]) -> None:
    def losses(name: str, **options: Any) -> list[float]:
        several = turns(*(((n % 8, 3, n // 8), float(n % 3)) for n in range(20)))
        model = tiny(8, lora=Lora(4))
        objective = Objective(ratio="sequence", aggregation="sequence")
        settings = Settings(3, lr=1e-2, **options)
        GRPOTrainer(
            model, constantly(several), settings, tmp_path / name, objective=objective, updates=2, show=False
        ).fit()
        return [line["loss"] for line in lines(tmp_path / name)]

    assert losses("whole") == pytest.approx(losses("parts", width=8, budget=8), abs=1e-5)


def test_the_reference_holds_the_policy_back(tmp_path: Path, tiny: Callable[..., LocalModel]) -> None:
    def moved(kl: float) -> float:
        model = tiny(8)
        before = probability(model, (3, 4))
        objective = Objective(kl=kl)
        run = GRPOTrainer(
            model, constantly(MIXED), Settings(20, lr=3e-3), tmp_path / f"{kl}", objective=objective, show=False
        )
        run.fit()
        return probability(model, (3, 4)) - before

    assert moved(5.0) < 0.8 * moved(0.0)


def test_a_loss_that_is_no_number_stops_the_run(tmp_path: Path, tiny: Callable[..., LocalModel]) -> None:
    model = tiny(8)
    with torch.no_grad():
        next(iter(model.trained().values())).fill_(float("nan"))
    with pytest.raises(TrainingError, match="learning rate"):
        GRPOTrainer(model, constantly(MIXED), Settings(1), tmp_path, show=False).fit()


def test_supervised_training_takes_chats_and_tokens(tmp_path: Path, tiny_folder: Path) -> None:
    model = LocalModel.load(tiny_folder, device="cpu")
    chats = [
        Example(({"role": "user", "content": word}, {"role": "assistant", "content": word[::-1]}))
        for word in ("abc", "xyz", "hello", "12 34")
    ]
    items: list[Example | Sample] = [*chats, Sample((1, 5, 0), (6, 0))]
    run = SFTTrainer(
        model, Shuffled(items, 3), Settings(60, lr=1e-2, schedule="cosine", warmup=3), tmp_path, show=False
    )
    run.fit()
    found = lines(tmp_path)
    assert found[-1]["loss"] < 0.2 * found[0]["loss"]
    assert found[0]["lr"] == pytest.approx(1e-2 / 3)
    assert found[-1]["lr"] < 1e-3


def test_the_supervised_loss_is_the_mean_over_tokens(tmp_path: Path, tiny: Callable[..., LocalModel]) -> None:
    model = tiny(8)
    several = [Sample((1, 2), (3, 4)), Sample((1, 2), (5,)), Sample((1,), (2, 3, 4))]
    wanted = -sum(sum(model.logprobs([(s.prompt_ids, s.completion_ids)])[0]) for s in several) / 6
    found = SFTTrainer(model, Shuffled(several, 3), Settings(1), tmp_path, show=False).update(several)
    assert found["loss"] == pytest.approx(wanted, abs=1e-5)


def test_calls_that_are_too_long_are_counted(tmp_path: Path, tiny: Callable[..., LocalModel]) -> None:
    several = [Sample((1,) * 9, (2,)), Sample((1,), (2,)), Sample((1,), ())]
    run = SFTTrainer(tiny(8), Shuffled(several, 3), Settings(1, longest=8), tmp_path, show=False)
    assert run.update(several)["left_out"] == 2


def test_early_stop_keeps_the_best(tmp_path: Path, tiny: Callable[..., LocalModel]) -> None:
    model = tiny(8, lora=Lora(4))
    values = iter([0.1, 0.5, 0.4, 0.3, 0.2, 0.1])
    settings = Settings(20, lr=1e-2, evaluate_every=2, patience=2)
    run = GRPOTrainer(model, constantly(MIXED), settings, tmp_path, evaluate=lambda m: next(values), show=False)
    report = run.fit()
    assert (report.stopped, report.steps, report.best, report.best_step) == ("early", 6, 0.5, 2)
    final = probability(model, (3, 4))
    model.restore(tmp_path / "best")
    assert probability(model, (3, 4)) != final
    again = GRPOTrainer(
        tiny(8, lora=Lora(4)), constantly(MIXED), settings, tmp_path, evaluate=lambda m: next(values), show=False
    )
    report = again.fit()  # has stopped: not a step more
    assert (report.stopped, report.steps, report.best_step) == ("early", 6, 2)
    assert probability(again.model, (3, 4)) == final


@pytest.mark.parametrize("lr", [0.0, float("nan"), float("inf")])
def test_a_learning_rate_that_is_none_is_refused(lr: float) -> None:
    with pytest.raises(UsageError, match="learning rate"):
        Settings(1, lr=lr)


def test_batches_are_a_function_of_seed_and_step() -> None:
    items = list(range(10))
    one, other = Shuffled(items, 4, seed=1), Shuffled(items, 4, seed=1)
    assert [one(step) for step in range(6)] == [other(step) for step in reversed(range(6))][::-1]
    first, second = one(0) + one(1), one(2) + one(3)
    assert len(set(first)) == 8
    assert first != second
    with pytest.raises(UsageError, match="nothing"):
        Shuffled([], 4)


@pytest.mark.parametrize(("budget", "most"), [(None, BUDGET), (600, 600)])
def test_micro_batches_fit_the_device(
    tmp_path: Path, tiny: Callable[..., LocalModel], budget: int | None, most: int
) -> None:
    trainer = SFTTrainer(tiny(), lambda step: [], Settings(1, budget=budget), tmp_path)
    samples = [Sample((number % 30 + 1,) * 300, (number % 30, 2)) for number in range(20)]
    sizes = [batch.ids.numel() for batch in trainer.packed(samples)]
    assert max(sizes) <= most
    assert max(sizes) > most / 2


@pytest.mark.parametrize(
    ("layers", "hidden", "gigabytes", "tokens"),
    [(30, 576, 141, 31744), (30, 576, 80, 17408), (30, 576, 24, 5120), (32, 4096, 80, 2048), (80, 8192, 24, 1024)],
)
def test_what_is_computed_at_once_follows_model_and_gpu(
    layers: int, hidden: int, gigabytes: int, tokens: int
) -> None:
    config = SimpleNamespace(num_hidden_layers=layers, hidden_size=hidden)
    assert tokens_at_once(config, gigabytes * 10**9) == tokens
    assert tokens_at_once(SimpleNamespace(num_hidden_layers=1, hidden_size=8), 10**11) == 65536


def test_on_a_gpu_its_memory_says_how_much(
    tiny: Callable[..., LocalModel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny(32)
    trainer = GRPOTrainer(model, constantly(MIXED), Settings(1), tmp_path)
    config = model.causal.config
    total = 64 * config.num_hidden_layers * config.hidden_size * 4096 * 4

    def told(_: object) -> Any:
        return SimpleNamespace(total_memory=total)

    monkeypatch.setattr(torch.cuda, "get_device_properties", told)
    samples = [Sample((number % 30 + 1,) * 300, (number % 30, 2)) for number in range(20)]
    model.device = torch.device("cuda")
    sizes = [batch.ids.numel() for batch in trainer.packed(samples)]
    model.device = torch.device("cpu")
    assert BUDGET < max(sizes) <= 4096


# Machine code for each graph takes minutes: the fast tests compute the same graphs one operation after the other.
@pytest.mark.parametrize("backend", ["eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_a_compiled_model_learns_the_same(tmp_path: Path, backend: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(Path(__file__).with_name("compiling.py")), str(tmp_path), backend]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    assert found["compiled"] == pytest.approx(found["plain"], abs=1e-4)
    assert found["graphs"] >= 2
    assert found["graphs after"] == found["graphs"]
    assert found["drawn"] == found["drawn plainly"]
    assert found["steps"] == 5


def test_models_are_compiled_on_a_gpu_where_steps_are_many(tiny: Callable[..., LocalModel], tmp_path: Path) -> None:
    model = tiny(32)

    def asks(steps: int, device: str) -> bool:
        trainer = GRPOTrainer(model, constantly(MIXED), Settings(steps), tmp_path / f"{steps}")
        model.device = torch.device(device)
        found = trainer._compiles()  # pyright: ignore[reportPrivateUsage]
        model.device = torch.device("cpu")
        return found

    assert asks(LONG, "cuda")
    assert not asks(LONG - 1, "cuda")
    assert not asks(LONG, "cpu")
