"""Rows of the store as a router knows them: outcomes, and what must be kept of a logged decision."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pointwork.router.core import Core
from pointwork.router.decisions import MOST, Outcome
from pointwork.router.pending import Pending, prices_of

# Load, latency, success and remaining budget where a log does not say.
UNKNOWN_STATE = (0.0, 0.33, 0.5, 1.0)
# What is kept in the chosen arm's scores of its prices of then.
PRICES = ("prompt_usd_per_mtok", "completion_usd_per_mtok")
# And whether its predicted cost and latency were but what was expected of it: 1, or not there.
GUESSED = ("guessed_cost", "guessed_latency")


def outcome_of(row: Mapping[str, Any]) -> Outcome:
    """An outcome from its row; what is beyond all sense, of an older package or another program, is cut off."""
    usd, seconds = (None if row[name] is None else min(row[name], MOST) for name in ("usd", "seconds"))
    return Outcome(row["quality"], usd, seconds, row["error"])


def pending_of(row: Mapping[str, Any], core: Core) -> Pending | None:
    """What must be kept of a logged decision.

    The context is put together from the log; where the log has features of another version, from the text.
    None: the arm is not known here, or the context can not be put together.
    """
    slot = core.slots.get(row["arm"])
    if slot is None:
        return None
    context: Mapping[str, Any] = row["context"]
    scores: Mapping[str, Mapping[str, Any]] = row["scores"] or {}
    inner: list[float] = context.get("text") or []
    given = len(inner) if str(row["features_version"]).startswith("given") else None
    if given == 0 or (given is None and not row["text"] and row["features_version"] == "none"):
        return None
    if core.features is None:
        core.prepare(given)
    features = core.features
    assert features is not None
    if row["features_version"] == features.version and len(inner) == features.inner:
        vector = np.array(inner, np.float64)
    elif row["text"] and features.embedder is not None:
        vector = features.of_text(row["text"])
    else:
        return None
    # logs of other routers come without the arms' state and without scores
    state = np.array([context.get("arms", {}).get(row["arm"], UNKNOWN_STATE)], np.float64)
    prior = core.estimates.prior[slot].tolist()
    expected = core.arms[slot].expected_usd
    mine: dict[str, Any] = {"mean": prior[0], "log_cost": prior[1], "log_seconds": prior[2], "cost": expected}
    if row["arm"] not in scores:
        mine |= dict.fromkeys(GUESSED, 1.0)
    mine |= scores.get(row["arm"], {})
    return Pending(
        slot=slot,
        clock=int(row["clock"]),
        created=float(row["created"]),
        context=features.contexts(vector, state)[0],
        mean=float(mine["mean"]),
        log_cost=float(mine["log_cost"]),
        log_seconds=float(mine["log_seconds"]),
        width=float(mine.get("width", 0.0)),
        ignorance=float(mine.get("ignorance", 1.0)),
        unsure=float(mine.get("unsure", 1.0)),
        charged=float(mine["cost"]),
        prices=prices_of(*(float(mine.get(name, "nan")) for name in PRICES)),
        guessed=(bool(mine.get(GUESSED[0])), bool(mine.get(GUESSED[1]))),
    )


def look_back(row: Mapping[str, Any], core: Core) -> None:
    """Let the pacer see a logged decision as it was seen when it was made."""
    scores: Mapping[str, Mapping[str, Any]] = row["scores"] or {}
    known = [name for name in scores if name in core.slots and "score" in scores[name]]
    if not known:
        return
    value = np.array([float(scores[name]["score"]) + float(scores[name]["price"]) for name in known])
    cost = np.array([float(scores[name]["cost"]) for name in known])
    core.pacer.look(value, cost, np.array([core.slots[name] for name in known], np.intp))
    if core.pacer.budget is not None:
        rate = float(scores[known[0]].get("price_weight", 0.0)) / core.pacer.budget
        if abs(rate - core.pacer.rate) > 1e-9 * max(rate, core.pacer.rate):
            core.pacer.rate, core.pacer.solved = rate, core.pacer.seen
