"""What both targets must do: load, score, unload, say what is there, refuse what is broken."""

from collections.abc import Callable
from pathlib import Path

import pytest
from stands import copied

from pointwork.errors import PublicationError
from pointwork.training.publication.gguf_lora import WEIGHTS
from pointwork.training.publication.probe import judge
from pointwork.training.publication.scoring import TorchScorer
from pointwork.training.publication.target import Probe, Target, Version

Adapters = Callable[..., Path]


def test_what_it_serves_is_what_torch_computes(
    target: Target, adapters: Adapters, scorer: TorchScorer, probes: list[Probe], tmp_path: Path
) -> None:
    version = Version("planner-1-aa", copied(adapters((0.05, 1)), tmp_path / "v"))
    target.prepare(version)
    target.load(version)
    base, new = scorer(None, probes), scorer(version.folder, probes)
    (served,), (served_base,) = target.score(version.name, probes), target.score(None, probes)
    verdict = judge(served, served_base, new, base, base)
    assert verdict.delivered
    assert verdict.coefficient == pytest.approx(1, abs=0.03)
    # and the other way: the base under the adapter's name is not taken for it
    assert judge(served_base, served_base, new, base, base).named == "base model"


def test_two_versions_side_by_side_and_one_goes(
    target: Target, adapters: Adapters, probes: list[Probe], tmp_path: Path
) -> None:
    versions = [
        Version(f"planner-{seed}-aa", copied(adapters((0.05, seed)), tmp_path / str(seed))) for seed in (1, 2)
    ]
    for version in versions:
        target.prepare(version)
        target.load(version)
    assert target.loaded() == [{version.name for version in versions}]
    first, second = (target.score(version.name, probes[:2]) for version in versions)
    assert first != second
    target.load(versions[0])  # it is there: nothing happens
    target.unload(versions[0].name)
    target.unload(versions[0].name)  # it is gone: nothing happens
    assert target.loaded() == [{versions[1].name}]
    assert target.score(versions[1].name, probes[:2]) == second
    with pytest.raises(PublicationError, match="planner-1-aa"):
        target.score(versions[0].name, probes[:2])


def test_a_cut_file_is_refused(target: Target, adapters: Adapters, tmp_path: Path) -> None:
    version = Version("planner-1-aa", copied(adapters((0.05, 1)), tmp_path / "v"))
    file = version.folder / WEIGHTS
    file.write_bytes(file.read_bytes()[:-500])
    with pytest.raises(PublicationError, match="not a whole safetensors file"):
        target.prepare(version)


def test_what_is_not_there_can_not_be_loaded(target: Target, tmp_path: Path) -> None:
    with pytest.raises(PublicationError):
        target.load(Version("planner-1-aa", tmp_path))
    assert target.loaded() == [set()]


def test_its_place_is_plain_json(target: Target, tmp_path: Path) -> None:
    place = target.place(Version("planner-1-aa", tmp_path))
    assert place["kind"] == target.kind
    assert place["base"] == target.base
