"""Publish, prove, switch; and whatever goes wrong, the role is served as before."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from stands import FakeVllm, copied, tiny_probes

from pointwork.errors import PublicationError, UsageError
from pointwork.models.adapters import adapter_for, live
from pointwork.store import Store
from pointwork.training.publication.gguf_lora import WEIGHTS
from pointwork.training.publication.publisher import Publisher
from pointwork.training.publication.scoring import TorchScorer
from pointwork.training.publication.target import Probe, Target
from pointwork.training.publication.vllm import VllmTarget

Adapters = Callable[..., Path]
FIRST, SECOND, THIRD = (0.04, 1), (0.02, 2), (0.02, 3)


@pytest.fixture
def publisher(store: Store, target: Target, scorer: TorchScorer, probes: list[Probe], tmp_path: Path) -> Publisher:
    return Publisher(store, target, scorer, probes, folder=tmp_path / "versions")


@pytest.fixture
def to_fake(store: Store, server: FakeVllm, scorer: TorchScorer, probes: list[Probe], tmp_path: Path) -> Publisher:
    return Publisher(store, VllmTarget([server.url]), scorer, probes, folder=tmp_path / "versions")


def states(publisher: Publisher, role: str = "planner") -> list[str]:
    """Oldest first."""
    return [row["state"] for row in reversed(publisher.versions.all(role))]


def test_publish_switch_roll_back(publisher: Publisher, store: Store, target: Target, adapters: Adapters) -> None:
    one = publisher.publish(adapters(FIRST), "planner", metrics={"reward": 0.5})
    assert one.worst.delivered
    assert one.parent is None
    two = publisher.publish(adapters(FIRST, SECOND), "planner")
    assert two.parent == one.version
    assert two.worst.coefficient == pytest.approx(1, abs=0.1)
    assert states(publisher) == ["retired", "live"]
    found = live(store, "planner")
    assert found is not None
    assert found.version == two.version
    assert found.fits(f"local:{target.base}" if target.kind == "llama.cpp" else f"{target.base}#tiny")
    rows = publisher.versions.all("planner")
    assert rows[1]["metrics"]["reward"] == 0.5
    assert rows[0]["parent_id"] == rows[1]["id"]
    assert publisher.check("planner").version == two.version
    assert publisher.rollback("planner") == one.version
    assert states(publisher) == ["live", "rolled-back"]
    assert publisher.rollback("planner") is None
    assert live(store, "planner") is None
    with pytest.raises(UsageError, match="base model"):
        publisher.rollback("planner")


def test_a_role_that_was_given_another_model_starts_anew(
    publisher: Publisher, store: Store, target: Target, adapters: Adapters, tmp_path: Path
) -> None:
    """The live version of its model before was the parent: proved against, and returned to, over the wrong base."""
    row = publisher.versions.add(
        "planner", "planner-1-old", base="old", folder=tmp_path / "gone", sha256="", parent=None, metrics={}
    )
    publisher.versions.switch("planner", row["id"], expected=None, metrics={})
    for refused in (publisher.check, publisher.rollback):
        with pytest.raises(UsageError, match=r"planner-1-old is live.*made for old"):
            refused("planner")
    one = publisher.publish(adapters(FIRST), "planner")
    assert one.parent is None
    assert states(publisher) == ["retired", "live"]
    two = publisher.publish(adapters(FIRST, SECOND), "planner")
    assert two.parent == one.version
    assert publisher.rollback("planner") == one.version
    assert publisher.rollback("planner") is None


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("ignored", "base model"),
        ("stale", "previous version"),
        ("doubled", "wrong scale"),
        ("partial", "part of it"),
        ("other", "another adapter"),
        ("refused", "No adapter found"),
    ],
)
def test_each_fault_is_found_and_named(
    to_fake: Publisher, server: FakeVllm, adapters: Adapters, fault: str, said: str
) -> None:
    one = to_fake.publish(adapters(FIRST), "planner")
    server.fault = fault
    with pytest.raises(PublicationError, match=said):
        to_fake.publish(adapters(FIRST, (0.03, 2)), "planner")
    server.fault = None
    assert states(to_fake) == ["live", "candidate"]
    assert to_fake.versions.all("planner")[0]["metrics"]["refused"]
    assert server.listed()[1:] == [{"id": one.version, "parent": "tiny"}]  # what was not proved is unloaded
    assert to_fake.check("planner").version == one.version


def test_a_scale_is_named_where_its_effect_is_not_linear(
    to_fake: Publisher, server: FakeVllm, adapters: Adapters
) -> None:
    to_fake.publish(adapters(FIRST), "planner")
    server.fault = "doubled"
    with pytest.raises(PublicationError, match=r"wrong scale \(× 2\)"):
        to_fake.publish(adapters((0.3, 1)), "planner")  # four nats per token


def test_an_older_version_is_named(to_fake: Publisher, server: FakeVllm, adapters: Adapters) -> None:
    old = to_fake.publish(adapters(FIRST), "planner")
    to_fake.publish(adapters(FIRST, (0.04, 2)), "planner")
    load = server._load  # pyright: ignore[reportPrivateUsage]
    server._load = lambda name, folder: load(name, folder.with_name(old.version))  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(PublicationError, match=f"looks like: version {old.version}"):
        to_fake.publish(adapters(FIRST, (0.04, 2), (0.04, 3)), "planner")


def test_a_step_below_the_noise_is_not_published(to_fake: Publisher, adapters: Adapters) -> None:
    to_fake.publish(adapters(FIRST), "planner")
    with pytest.raises(PublicationError, match="Publish less often"):
        to_fake.publish(adapters(FIRST, (1e-4, 2)), "planner")
    with pytest.raises(PublicationError, match="changed nothing"):
        to_fake.publish(adapters(FIRST), "planner")
    assert states(to_fake) == ["live", "candidate", "candidate"]


def test_a_cut_file_never_reaches_the_server(
    to_fake: Publisher, server: FakeVllm, adapters: Adapters, tmp_path: Path
) -> None:
    folder = copied(adapters(FIRST), tmp_path / "cut")
    file = folder / WEIGHTS
    file.write_bytes(file.read_bytes()[: len(file.read_bytes()) // 2])
    with pytest.raises(PublicationError, match="not a whole safetensors file"):
        to_fake.publish(folder, "planner")
    (folder / WEIGHTS).unlink()
    with pytest.raises(PublicationError, match="can not be read"):
        to_fake.publish(folder, "planner")
    assert server.loads == 0
    assert states(to_fake) == []


def test_a_server_that_restarted_has_forgotten(to_fake: Publisher, server: FakeVllm, adapters: Adapters) -> None:
    one = to_fake.publish(adapters(FIRST), "planner")
    server.restart()
    with pytest.raises(PublicationError, match="restarted and has forgotten"):
        to_fake.check("planner")
    assert to_fake.check("planner", repair=True).version == one.version
    assert to_fake.check("planner").worst.delivered
    # a rollback after a restart loads what it returns to
    to_fake.publish(adapters(FIRST, SECOND), "planner")
    server.restart()
    assert to_fake.rollback("planner") == one.version
    assert to_fake.check("planner").worst.delivered


def test_all_replicas_must_serve_it(
    store: Store, scorer: TorchScorer, probes: list[Probe], adapters: Adapters, tmp_path: Path
) -> None:
    good, bad = FakeVllm(), FakeVllm()
    try:
        publisher = Publisher(store, VllmTarget([good.url, bad.url]), scorer, probes, folder=tmp_path)
        bad.fault = "ignored"
        with pytest.raises(PublicationError, match="base model"):
            publisher.publish(adapters(FIRST), "planner")
        assert len(good.listed()) == len(bad.listed()) == 1
        bad.fault = "refused"
        with pytest.raises(PublicationError, match="No adapter"):
            publisher.publish(adapters(FIRST), "planner")
        assert len(good.listed()) == len(bad.listed()) == 1
        bad.fault = None
        assert len(publisher.publish(adapters(FIRST), "planner").verdicts) == 2
    finally:
        good.close()
        bad.close()


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("where", ["load", "score", "switch"])
def test_killed_in_between_nothing_is_switched(
    to_fake: Publisher,
    store: Store,
    server: FakeVllm,
    scorer: TorchScorer,
    probes: list[Probe],
    adapters: Adapters,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    one = to_fake.publish(adapters(FIRST), "planner")

    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    victim = Publisher(store, VllmTarget([server.url]), scorer, probes, folder=tmp_path / "versions")
    # no clean-up either: a killed process does none
    monkeypatch.setattr(victim, "_withdraw", killed)
    if where == "switch":
        monkeypatch.setattr(victim.versions, "switch", killed)
    else:
        monkeypatch.setattr(victim.target, where, killed)
    with pytest.raises(Killed):
        victim.publish(adapters(FIRST, SECOND), "planner")
    found = live(store, "planner")
    assert found is not None
    assert found.version == one.version
    assert states(to_fake) == ["live", "candidate"]
    # and the next process goes on
    again = to_fake.publish(adapters(FIRST, SECOND), "planner")
    assert again.parent == one.version
    assert states(to_fake) == ["retired", "candidate", "live"]


def test_who_was_overtaken_switches_nothing(
    to_fake: Publisher,
    store: Store,
    server: FakeVllm,
    scorer: TorchScorer,
    probes: list[Probe],
    adapters: Adapters,
    tmp_path: Path,
) -> None:
    to_fake.publish(adapters(FIRST), "planner")
    other = Publisher(store, VllmTarget([server.url]), scorer, probes, folder=tmp_path / "versions")

    class Slow(VllmTarget):
        def load(self, version: Any) -> None:
            super().load(version)
            other.publish(adapters(FIRST, THIRD), "planner")

    slow = Publisher(store, Slow([server.url]), scorer, probes, folder=tmp_path / "versions")
    with pytest.raises(PublicationError, match="went live while"):
        slow.publish(adapters(FIRST, SECOND), "planner")
    assert states(to_fake) == ["retired", "candidate", "live"]


def test_a_version_that_was_changed_on_disk_is_not_rolled_back_to(to_fake: Publisher, adapters: Adapters) -> None:
    to_fake.publish(adapters(FIRST), "planner")
    to_fake.publish(adapters(FIRST, SECOND), "planner")
    kept = Path(to_fake.versions.all("planner")[1]["path"])
    (kept / WEIGHTS).write_bytes((adapters(THIRD) / WEIGHTS).read_bytes())
    with pytest.raises(PublicationError, match="was changed since"):
        to_fake.rollback("planner")
    assert states(to_fake) == ["retired", "live"]


def test_training_may_go_on_in_the_folder(to_fake: Publisher, adapters: Adapters, tmp_path: Path) -> None:
    folder = copied(adapters(FIRST), tmp_path / "training")
    to_fake.publish(folder, "planner")
    (folder / WEIGHTS).write_bytes((adapters(THIRD) / WEIGHTS).read_bytes())
    assert to_fake.check("planner").worst.delivered


def test_old_versions_are_unloaded_in_the_end(to_fake: Publisher, server: FakeVllm, adapters: Adapters) -> None:
    steps: list[tuple[float, int]] = [FIRST]
    for seed in range(10, 15):
        to_fake.publish(adapters(*steps), "planner")
        steps.append((0.02, seed))
    assert len(server.listed()) == 1 + 3


def test_roles_are_apart(to_fake: Publisher, store: Store, adapters: Adapters) -> None:
    planner = to_fake.publish(adapters(FIRST), "planner")
    worker = to_fake.publish(adapters(THIRD, SECOND), "worker-small")
    assert worker.parent is None
    found = [live(store, role) for role in ("planner", "worker-small")]
    assert [one and one.version for one in found] == [planner.version, worker.version]
    to_fake.rollback("planner")
    assert states(to_fake, "worker-small") == ["live"]


def test_an_adapter_counts_for_its_own_model_only(
    to_fake: Publisher, store: Store, server: FakeVllm, adapters: Adapters
) -> None:
    to_fake.publish(adapters(FIRST), "planner")
    assert adapter_for(store, "planner", f"{server.url}#tiny") is not None
    for spec in ("local:", "anthropic/claude-haiku-4-5", "http://127.0.0.1:1/v1"):
        assert adapter_for(store, "planner", spec) is None


@pytest.mark.parametrize("role", ["", "a/b", "../x", "a b"])
def test_a_role_can_not_lead_out_of_the_folder(to_fake: Publisher, adapters: Adapters, role: str) -> None:
    with pytest.raises(UsageError, match="role"):
        to_fake.publish(adapters(FIRST), role)


@pytest.mark.slow
def test_every_fault_among_many_and_no_false_alarm(
    store: Store, server: FakeVllm, scorer: TorchScorer, adapters: Adapters, tmp_path: Path
) -> None:
    """A chain of good steps just above the noise, and each fault in between."""
    publisher = Publisher(store, VllmTarget([server.url]), scorer, tiny_probes(16), folder=tmp_path)
    steps: list[tuple[float, int]] = [FIRST]
    good, found = 0, 0
    faults: Sequence[str] = ("ignored", "stale", "doubled", "partial", "other")
    for number in range(50):
        publisher.publish(adapters(*steps), "planner")
        good += 1
        steps.append((0.015, 100 + number))
        if number % 5 == 4:
            server.fault = faults[number // 5 % 5]
            with pytest.raises(PublicationError):
                publisher.publish(adapters(*steps), "planner")
            found += 1
            server.fault = None
    assert (good, found) == (50, 10)
