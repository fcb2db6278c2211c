"""Taking in rows of the store, in the order they were made."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pointwork.router.core import Core
from pointwork.router.decisions import Outcome
from pointwork.router.pending import Pending
from pointwork.router.rows import look_back, outcome_of, pending_of

Row = Mapping[str, Any]


def take_in(
    core: Core,
    decisions: Sequence[Row],
    outcomes: Sequence[Row],
    fetch: Callable[[str], Pending | None],
) -> int:
    """Bring a core to where the one stands that logged these rows.

    Args:
        core: its state.
        decisions: rows it has not seen, oldest first.
        outcomes: rows after its cursor, in order; some may have been learnt here already.
        fetch: reads an older decision from the store into the core's ledger, and learns its outcomes.

    Returns:
        How many rows were new.
    """
    known = {row["decision_id"] for row in outcomes if core.ledger.get(row["decision_id"]) is not None}
    # of decisions that were pending here, only what all rows say together: our own rows are among them
    final: dict[str, Outcome] = {}
    for row in outcomes:
        if row["decision_id"] in known:
            said = outcome_of(row)
            before = final.get(row["decision_id"])
            final[row["decision_id"]] = said if before is None else before.merged(said)
    events = [(float(row["created"]), 0, row) for row in decisions]
    events += [(float(row["created"]), 1, row) for row in outcomes]
    events.sort(key=lambda event: event[:2])
    fetched: set[str] = set()
    new = draws = 0
    for created, kind, row in events:
        if kind == 0:
            draws += 1
            new += _decided(core, row)
            continue
        decision_id = row["decision_id"]
        pending = core.ledger.get(decision_id)
        if pending is None:
            fetched.add(decision_id)
            new += fetch(decision_id) is not None
        elif decision_id not in fetched:  # else all its rows were learnt with it
            new += core.learn(pending, final.get(decision_id) or outcome_of(row), created)
    # go on in the stream of draws where the logging router stands
    core.bits.advance(draws)
    return new


def _decided(core: Core, row: Row) -> bool:
    if core.ledger.get(row["id"]) is not None:
        return False
    found = pending_of(row, core)
    if found is None:
        return False
    look_back(row, core)
    # the clock counts the decisions of all processes: each of them numbered its own without those of the others
    found.clock = max(found.clock, core.clock)
    core.note(row["id"], found, found.created)
    return True
