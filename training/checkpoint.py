"""Checkpoints: all that a training run needs to go on as if it had never stopped.

A checkpoint is a directory ``step-000012``: ``weights/`` (adapter or model), ``state.pt`` (optimiser, torch's
random states) and ``meta.json`` (step, data cursor, versions, watch, the other random states, settings; the
learning rate is a function of the step). It is written under another name, flushed to the disk and renamed: a
directory with this name is complete, whenever the process was killed.
"""

import json
import os
import pickle
import random
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pointwork.errors import TrainingError
from pointwork.training import tensors
from pointwork.training.model import LocalModel

_NAME = re.compile(r"step-(\d{6,})")
_META = ("step", "described", "versions", "watch", "metrics", "source", "random")


@dataclass(frozen=True)
class Saved:
    """What was read back: ``meta`` as it was given to ``save``, and the optimiser's state."""

    meta: dict[str, Any]
    optimiser: dict[str, Any]


def save(
    folder: Path, step: int, model: LocalModel, optimiser: Any, meta: dict[str, Any], *, keep: int = 2
) -> Path:
    """Write a checkpoint and remove all but the last ``keep``.

    Args:
        folder: of the checkpoints.
        step: optimiser steps done.
        model: whose trained weights are written.
        optimiser: a torch optimiser.
        meta: JSON types.
        keep: from 1.

    Raises:
        TrainingError: the disk refused; earlier checkpoints are as they were.
    """
    target = folder / f"step-{step:06d}"
    temp = folder / f".writing-{step:06d}-{os.getpid()}"
    try:
        with writing(f"the checkpoint of step {step}", folder):
            folder.mkdir(parents=True, exist_ok=True)
            for left in folder.glob(".writing-*"):
                shutil.rmtree(left, ignore_errors=True)
            model.save(temp / "weights")
            torch.save({"optimiser": optimiser.state_dict(), "random": _torch_random()}, temp / "state.pt")
            text = json.dumps({**meta, "step": step, "random": _plain_random()})
            (temp / "meta.json").write_text(text, encoding="utf-8")
            for path in [*temp.rglob("*"), temp]:
                _flush(path)
            if target.exists():
                shutil.rmtree(target)
            os.rename(temp, target)
            _flush(folder)
    except TrainingError:
        shutil.rmtree(temp, ignore_errors=True)
        raise
    for old in checkpoints(folder)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    return target


@contextmanager
def writing(what: str, folder: Path) -> Generator[None, None, None]:
    """Turns what the disk refuses inside into a ``TrainingError``.

    Of a full disk torch tells by a ``RuntimeError``, and safetensors by an exception of its own.
    """
    try:
        yield
    except (OSError, RuntimeError, tensors.broken_file()) as error:
        raise TrainingError(
            f"{what} could not be written to {folder}: {error}; make room there (training goes on from its last "
            "checkpoint), or give another folder"
        ) from error


def checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints of a folder, oldest first."""
    if not folder.is_dir():
        return []
    found = [path for path in folder.iterdir() if _NAME.fullmatch(path.name) and (path / "meta.json").is_file()]
    return sorted(found, key=lambda path: int(path.name.removeprefix("step-")))


def described(path: Path) -> dict[str, Any]:
    """``meta`` of a checkpoint, nothing being restored.

    Raises:
        TrainingError: it can not be read.
    """
    with _reading(path):
        meta: dict[str, Any] = json.loads((path / "meta.json").read_text(encoding="utf-8"))
        missing = [name for name in _META if name not in meta]
        if missing:
            raise ValueError(f"meta.json has no {', '.join(missing)}: another program or version wrote it")
    return meta


def load(path: Path, model: LocalModel) -> Saved:
    """Put weights and random states back as they were.

    Raises:
        TrainingError: the checkpoint can not be read or is of another model.
    """
    meta = described(path)
    with _reading(path):
        state: dict[str, Any] = torch.load(path / "state.pt", map_location="cpu", weights_only=True)
        saved = Saved(meta, state["optimiser"])
        model.restore(path / "weights")
        torch.set_rng_state(state["random"]["cpu"])
        if torch.cuda.is_available() and state["random"]["cuda"]:
            torch.cuda.set_rng_state_all(state["random"]["cuda"])
        version, internal, gauss = meta["random"]["python"]
        random.setstate((version, tuple(internal), gauss))
        name, keys, position, has_gauss, cached = meta["random"]["numpy"]
        np.random.set_state((name, np.array(keys, dtype=np.uint32), position, has_gauss, cached))
    return saved


@contextmanager
def _reading(path: Path) -> Generator[None, None, None]:
    """Whatever is wrong with the files of a checkpoint, as a ``TrainingError``."""
    try:
        yield
    except (OSError, EOFError, ValueError, RuntimeError, LookupError, TypeError, pickle.UnpicklingError) as error:
        raise TrainingError(
            f"the checkpoint {path} can not be read: {error}; remove it to go on from an earlier one"
        ) from error


def _torch_random() -> dict[str, Any]:
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {"cpu": torch.get_rng_state(), "cuda": cuda}


def _plain_random() -> dict[str, Any]:
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    return {"python": random.getstate(), "numpy": [name, np.asarray(keys).tolist(), position, has_gauss, cached]}


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
