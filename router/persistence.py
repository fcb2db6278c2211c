"""A router's state as bytes: arrays in npz, the rest as JSON in one of them. No pickle.

The zip's checksums find damage; a file that can not be read is never half loaded.
"""

import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pointwork.embedding import Embedder
from pointwork.errors import PointworkError, StoreError, UsageError
from pointwork.router.arms import Arm
from pointwork.router.core import Core
from pointwork.router.pending import Ledger
from pointwork.router.policies import Policy, make
from pointwork.router.settings import Settings

FORMAT = 2


class OtherFormatError(StoreError):
    """The state was written by another version of pointwork; what it was learned from is still in the log."""


Arrays = dict[str, npt.NDArray[np.generic]]

# What a state has, whatever was learnt: values; arrays, and which of their axes are the arms.
_VALUES = ("policy", "policy_options", "settings", "budget", "pacer", "clock", "rng", "extra")
_ARRAYS = {"health/load": 0, "drift/sums": 0, "pacer/values": 1}
_UNFIT = (KeyError, TypeError, ValueError, IndexError, AttributeError)
# RuntimeError: zipfile on damage that looks like a password, or like a compression that it does not know
_BROKEN = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


def asked_of(core: Core) -> dict[str, Any]:
    """What was asked for rather than learnt, as ``dump`` writes it."""
    return {
        "policy": core.policy.name,
        "policy_version": core.policy.version,
        "policy_options": {
            k: v
            for k, v in vars(core.policy).items()
            if not k.startswith("_") and isinstance(v, int | float | str | None)
        },
        "budget": core.pacer.budget,
        "settings": asdict(core.settings),
    }


def dump(core: Core, extra: Mapping[str, Any], *, flying_only: bool = False) -> bytes:
    """Everything a router knows.

    Args:
        core: its state.
        extra: further JSON values to keep.
        flying_only: leave out the decisions that are not in flight, as a store has them.
    """
    ledger = core.ledger
    if flying_only:
        ledger = Ledger(core.ledger.most)
        for decision_id, pending in core.ledger.by_id.items():
            if pending.flying:
                ledger.put(decision_id, pending)
    arrays: Arrays = {}
    parts: dict[str, Arrays] = {
        "ledger": ledger.state(),
        "health": core.health.state(),
        "screen": {"seen": core.screen.seen},
        "drift": {"sums": core.drift.sums},
        "pacer": {"values": core.pacer.values, "costs": core.pacer.costs},
    }
    if core.features is not None:
        parts["estimates"] = core.estimates.state()
    for part, state in parts.items():
        arrays.update({f"{part}/{name}": array for name, array in state.items()})
    meta = {
        "format": FORMAT,
        "arms": [asdict(arm) for arm in core.arms],
        "active": core.active,
        **asked_of(core),
        "embedder": core.embedder.version,
        "given": None if core.features is None or core.features.embedder is not None else core.features.given,
        "prepared": core.features is not None,
        "pacer": core.pacer.state(),
        "clock": core.clock,
        "rng": core.bits.state,
        "extra": dict(extra),
    }
    text = json.dumps(meta, allow_nan=False).encode()
    arrays["meta"] = np.frombuffer(text, np.uint8)
    return _packed(arrays)


def _packed(arrays: Arrays) -> bytes:
    """Arrays as an npz, as ``np.savez_compressed`` writes it, but with the quickest compression.

    Most of an arm that was rarely chosen is its prior: 14 MB of a new team's router become 1.6, and at numpy's own
    level 1.5, in twice the time to write and to read. Each command that runs something waits for both.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for name, array in arrays.items():
            with packed.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    return file.getvalue()


def read(data: bytes, where: str) -> tuple[dict[str, Any], Arrays]:
    """The JSON part and the arrays of what ``dump`` wrote.

    Raises:
        StoreError: it is damaged, no such file, or of another format.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays: Arrays = {name: file[name] for name in file.files}
        meta = json.loads(arrays.pop("meta").tobytes())
    except _BROKEN as error:
        # numpy takes what it does not know for a pickle, and advises to load it as one
        why = "it is of no form that is known" if "pickle" in str(error) else error
        raise StoreError(f"{where} is damaged or not a saved router: {why}") from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:  # pyright: ignore[reportUnknownMemberType]
        raise OtherFormatError(f"{where} is of another format than this version of pointwork reads ({FORMAT})")
    try:
        _fit(meta, arrays)  # pyright: ignore[reportUnknownArgumentType]
    except _UNFIT as error:
        raise StoreError(f"{where} does not fit together: {error!r}") from error
    return meta, arrays  # pyright: ignore[reportUnknownVariableType]


def _fit(meta: Mapping[str, Any], arrays: Arrays) -> None:
    """Raise one of ``_UNFIT`` where, without building a router, a part is seen to lack or to be of other arms."""
    missing = [name for name in _VALUES if name not in meta]
    missing += [name for name in ("ledger/ids", "screen/seen") if name not in arrays]
    if missing:
        raise KeyError(*missing)
    parts = _ARRAYS | ({"estimates/prior": 0} if meta["prepared"] else {})
    counts = {name: arrays[name].shape[axis] for name, axis in parts.items()}
    counts |= {name: len(meta[name]) for name in ("arms", "active")}
    if len(set(counts.values())) > 1:
        raise ValueError(f"numbers of arms differ: {counts}")


def build(
    meta: Mapping[str, Any], arrays: Arrays, where: str, embedder: Embedder, policy: str | Policy | None
) -> Core:
    """A core as it was dumped.

    Args:
        meta, arrays: from ``read``.
        where: what to call the source in messages.
        embedder: the one it was made with.
        policy: another one than it was dumped with, or None.

    Raises:
        StoreError: a part is missing or does not fit.
        UsageError: it needs another embedder, or a policy that only the caller has.
    """
    if meta.get("embedder") != embedder.version:
        raise UsageError(
            f"{where} was learnt with text features {meta.get('embedder')!r}, not {embedder.version!r}: "
            "pass that embedder"
        )
    if policy is None:
        policy = make(str(meta["policy"]), dict(meta["policy_options"]))
    try:
        arms = [Arm(**arm) for arm in meta["arms"]]
        settings = Settings(**meta["settings"])
        core = Core(arms, make(policy), meta["budget"], 0, settings, embedder)
        core.active = [bool(active) for active in meta["active"]]
        core.arms_changed()
        _restore(core, meta, arrays)
    except PointworkError as error:
        raise StoreError(f"{where} does not hold a router that can be used: {error}") from error
    except _UNFIT as error:
        raise StoreError(f"{where} does not fit together: {error!r}") from error
    return core


def _restore(core: Core, meta: Mapping[str, Any], arrays: Arrays) -> None:
    if meta["prepared"]:
        core.prepare(meta["given"])
        core.estimates.restore(_part(arrays, "estimates"))
    core.health.restore(_part(arrays, "health"))
    window = _part(arrays, "pacer")
    core.pacer.restore(
        dict(meta["pacer"]), (window["values"].astype(np.float64), window["costs"].astype(np.float64))
    )
    core.screen.seen = _part(arrays, "screen")["seen"].astype(np.float64)
    core.drift.sums = _part(arrays, "drift")["sums"].astype(np.float64)
    core.clock = int(meta["clock"])
    core.bits.state = meta["rng"]
    core.ledger.restore(_part(arrays, "ledger"))


def _part(arrays: Arrays, part: str) -> Arrays:
    prefix = f"{part}/"
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file whole or not at all.

    Raises:
        UsageError: it can not be written.
    """
    target = Path(path)
    scratch = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        scratch.write_bytes(data)
        scratch.replace(target)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        raise UsageError(f"the router can not be written to {target}: {error}") from error


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Content of a file.

    Raises:
        UsageError: it is not there or can not be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"no saved router can be read from {path}: {error}") from error
