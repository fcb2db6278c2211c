"""Going on with an attempt that a process began and did not end.

A node of the graph that was interrupted or killed is run again from its start. The decision it drew and the
answers that models gave are in the store, so it takes those, in their order, and goes on asking where they end: the
same arm, the same tool calls with the same keys, nothing paid twice.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from pointwork.models import ChatRequest, Completion
from pointwork.store import Store
from pointwork.store.tables import decisions, steps

# the role that is asked beside the agent's work, and may be asked other things the next time
ASIDE = "memory"


class Replay:
    """The model calls that an earlier process made for this attempt.

    Args:
        store: where they are.
        run_id, name: of the attempt, ``p0.s1#1``; of a plan, ``p0``.
    """

    def __init__(self, store: Store, run_id: str, name: str) -> None:
        query = (
            select(steps)
            .where(
                steps.c.run_id == run_id, steps.c.subtask == name, steps.c.kind == "model", steps.c.error.is_(None)
            )
            .order_by(steps.c.id)
        )
        rows = store.rows(query)
        self._rows = [row for row in rows if row["role"] != ASIDE]
        self._aside = [row for row in rows if row["role"] == ASIDE]

    def asked_before(self, request: ChatRequest) -> Completion | None:
        """What memory's model said to this very request, whatever was asked before it: it may have failed since."""
        for row in self._aside:
            given = row["input"]
            if given["messages"] == list(request.messages) and given["schema"] == request.schema:
                return _completion(row)
        return None

    def take(self, role: str, request: ChatRequest) -> Completion | None:
        """The next answer, if it answered a request of this form; from the first that did not, none."""
        if not self._rows:
            return None
        row = self._rows.pop(0)
        if row["role"] != role or row["input"]["schema"] != request.schema:
            self._rows.clear()
            return None
        return _completion(row)


def _completion(row: Mapping[str, Any]) -> Completion:
    return Completion(
        text=row["output"]["text"],
        prompt_tokens=row["prompt_tokens"],
        completion_tokens=row["completion_tokens"],
        finish=row["output"]["finish"],
        model=row["model"],
        version=row["model_version"] or "",
    )


def earlier_decision(store: Store, run_id: str, key: str, attempt: int) -> dict[str, Any] | None:
    """The routing decision that an earlier process drew for this attempt."""
    rows = store.rows(
        select(decisions)
        .where(decisions.c.run_id == run_id, decisions.c.subtask == key)
        .order_by(decisions.c.created, decisions.c.id)
        .offset(attempt - 1)
        .limit(1)
    )
    return rows[0] if rows else None
