"""Why an arm was, or would be, chosen: one row per arm, best first."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pointwork.router.core import Ask, Core, Judged
from pointwork.router.decisions import COLUMNS, ArmScore
from pointwork.router.features import Array

Row = dict[str, Any]


def rows_now(core: Core, inner: Array, ask: Ask, now: float) -> list[Row]:
    """What is thought of each arm in use for this context now; those screened out have propensity 0.

    Args:
        core: the router's state, which stays as it is.
        inner: the contexts' shared block, from a text.
        ask: what the request asks for.
        now: seconds since the epoch.
    """
    judged = core.judge(None, inner, True, ask, now, look_only=True)
    rows = {row["arm"]: row for row in _rows(core, judged)}
    for name in core.all_names:
        if name not in rows:  # screened out, or its breaker is open
            slot = np.array([core.slots[name]])
            alone = core.judge(slot, inner, False, ask, now, look_only=True)
            rows[name] = {**_rows(core, alone)[0], "propensity": 0.0}
    return _sorted(list(rows.values()))


def rows_then(arm: str, propensities: Mapping[str, float], scores: Mapping[str, ArmScore]) -> list[Row]:
    """What was known of each candidate when a decision was made."""
    return _sorted(
        [
            {"arm": name, "propensity": propensities[name], "chosen": name == arm, **score}
            for name, score in scores.items()
        ]
    )


def rows_of_arms(core: Core) -> list[Row]:
    """How each arm has been doing: one row per arm, in the order they were added."""
    health, rows = core.health, list[Row]()
    for slot, arm in enumerate(core.arms):
        rows.append(
            {
                "arm": arm.name,
                "in_use": core.active[slot],
                "health": health.names(np.array([slot]))[0],
                "success": float(health.success[slot]),
                "graded": int(health.grades[slot]),
                "seconds": float(health.seconds[slot]),
                "load": int(health.load[slot]),
                "usd_per_mtok": arm.usd_per_mtok,
            }
        )
    return rows


def _rows(core: Core, judged: Judged) -> list[Row]:
    health, held = core.health.names(judged.slots), {"price_weight": core.pacer.weight, **judged.ask.said}
    rows = zip(judged.names, judged.probabilities.tolist(), judged.table.tolist(), health, strict=True)
    return [
        {"arm": name, "propensity": p, **dict(zip(COLUMNS, row, strict=True)), "health": h, **held}
        for name, p, row, h in rows
    ]


def _sorted(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (-row["propensity"], -row["score"]))
