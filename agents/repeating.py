"""Calls with side effects that another try of the same run has already made: none takes effect twice.

A subtask that failed its checks is tried on another arm, and a plan that failed is made anew. The new try knows
nothing of what the one before it did, and asks for the same mail to be sent. So a call with the same tool and the
same arguments as one of an overtaken try is that one: it has the same result, or is as uncertain. Each is taken up
once, so two subtasks of a new plan that both pay the same sum are still two payments.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import select

from pointwork.store import Store
from pointwork.store.tables import tool_calls

# Of an attempt: round, subtask, try.
_NAME = re.compile(r"p(?P<round>\d+)\.(?P<subtask>.+)#(?P<attempt>\d+)")
# In the result of a call that was none: which one it stands for.
SAME_AS = "same_as"


def earlier(store: Store, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The call of an overtaken try that this one repeats, oldest first; None: it is a new one.

    Args:
        store: with the run's calls.
        row: of ``tool_calls``, as it would be stored.
    """
    mine = _NAME.fullmatch(str(row["subtask"]))
    if mine is None:
        return None
    same = (
        tool_calls.c.run_id == row["run_id"],
        tool_calls.c.tool == row["tool"],
        tool_calls.c.arguments_hash == row["arguments_hash"],
        tool_calls.c.status.in_(("intent", "done")),
    )
    made: list[dict[str, Any]] = []
    taken: set[str] = set()
    for call in store.rows(select(tool_calls).where(*same).order_by(tool_calls.c.started)):
        theirs = _NAME.fullmatch(str(call["subtask"]))
        if theirs is None:
            continue
        over, stands_for = _overtaken(theirs, mine), _stands_for(call)
        if over and not stands_for:
            made.append(call)
        elif not over and stands_for:
            taken.add(stands_for)
    return next((call for call in made if call["id"] not in taken), None)


def _overtaken(theirs: re.Match[str], mine: re.Match[str]) -> bool:
    """Whether a try is over and this one stands in its place: of an earlier plan, or of the same subtask."""
    if theirs["round"] != mine["round"]:
        return int(theirs["round"]) < int(mine["round"])
    return theirs["subtask"] == mine["subtask"] and int(theirs["attempt"]) < int(mine["attempt"])


def _stands_for(call: Mapping[str, Any]) -> str:
    result: object = call["result"]
    return str(cast(dict[str, Any], result).get(SAME_AS, "")) if isinstance(result, dict) else ""
