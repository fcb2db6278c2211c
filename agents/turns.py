"""How many turns an agent gets: what it took in the past says how many are of use.

After the turn control of "More with Less": the limit is the 75th percentile of the turns that this agent's earlier
attempts took. Three of four would have ended within it; who is getting on at its end is given half as many again,
once. What never ends by itself is stopped early instead of at the fixed limit.
"""

import math
from collections import deque

from sqlalchemy import func, select

from pointwork.store import Store
from pointwork.store.tables import decisions, steps

# Attempts that are looked at, the latest; with fewer than the second there is nothing to learn from.
WINDOW, LEAST = 100, 8

PERCENTILE = 0.75


class TurnLimits:
    """The turns that agents took in their loops, read from the store once and kept up from then on."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._past: dict[str, deque[int]] = {}

    def limit(self, agent: str, most: int) -> tuple[int, int]:
        """Turns for the next attempt of an agent, and how many it may be given once on top.

        Together never more than ``most``; with too little past, ``most`` and none.
        """
        past = self._of(agent)
        if len(past) < LEAST:
            return most, 0
        limit = max(1, min(most, percentile(past, PERCENTILE)))
        return limit, min(most - limit, math.ceil(limit / 2))

    def took(self, agent: str, turns: int) -> None:
        """An attempt has ended."""
        if turns:
            self._of(agent).append(turns)

    def _of(self, agent: str) -> deque[int]:
        if agent not in self._past:
            self._past[agent] = deque(past_turns(self._store, agent), maxlen=WINDOW)
        return self._past[agent]


def percentile(values: "deque[int] | list[int]", share: float) -> int:
    """The smallest of some values that at least a share of them do not exceed (nearest rank)."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def past_turns(store: Store, agent: str, window: int = WINDOW, router: str = "team") -> list[int]:
    """Model calls of an agent's latest attempts in the agentic mode, oldest first."""
    own = decisions.c.arm.startswith(f"{agent}/", autoescape=True) & decisions.c.arm.endswith("/agentic")
    latest = store.rows(
        select(decisions.c.run_id)
        .where(decisions.c.router == router, decisions.c.run_id.is_not(None), own)
        .order_by(decisions.c.created.desc(), decisions.c.id.desc())
        .limit(window)
    )
    if not latest:
        return []
    of_runs = list({row["run_id"] for row in latest})
    counts = store.rows(
        select(steps.c.run_id, steps.c.subtask, func.count().label("turns"))
        .where(
            steps.c.run_id.in_(of_runs), steps.c.agent == agent, steps.c.kind == "model", steps.c.error.is_(None)
        )
        .group_by(steps.c.run_id, steps.c.subtask)
    )
    turns = {(row["run_id"], row["subtask"]): int(row["turns"]) for row in counts}
    drawn = store.rows(
        select(decisions.c.run_id, decisions.c.subtask, decisions.c.arm)
        .where(decisions.c.run_id.in_(of_runs))
        .order_by(decisions.c.created, decisions.c.id)
    )
    found: list[int] = []
    attempts: dict[tuple[str, str], int] = {}
    for row in drawn:
        key = (row["run_id"], row["subtask"])
        attempts[key] = attempts.get(key, 0) + 1
        if row["arm"].startswith(f"{agent}/") and row["arm"].endswith("/agentic"):
            count = turns.get((row["run_id"], f"{row['subtask']}#{attempts[key]}"), 0)
            found += [count] if count else []  # what was computed outright took no turn and says nothing
    return found[-window:]
