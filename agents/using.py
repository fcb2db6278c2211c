"""Past usage for the index of tools: which tools served which requests.

Only what nobody else can have arranged counts: the call worked and its answer passed the checks, it was made before
the run had read any untrusted text, and the request is kept in the user's own words.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from sqlalchemy import select

from pointwork.agents.making import MAKE
from pointwork.store import Store
from pointwork.store.tables import tool_calls
from pointwork.text import tokenize
from pointwork.tools import builtin_tools
from pointwork.tools.usage import remember


def learn_usage(store: Store, run_id: str, attempt: str, request: str, task: str, called: Sequence[str]) -> None:
    """Keep which tools served a subtask.

    Args:
        store: where calls and usage are.
        run_id, attempt: of the subtask's attempt that passed its checks (``p0.s1#1``).
        request: the subtask's text; where it has words that the task has not, the task stands for it.
        task: as the user put it.
        called: tools that worked.
    """
    if not set(called) - _shown_anyway():
        return
    calls = select(tool_calls.c.tool, tool_calls.c.taint).where(
        tool_calls.c.run_id == run_id, tool_calls.c.subtask == attempt, tool_calls.c.status == "done"
    )
    used = [
        str(row["tool"])
        for row in store.rows(calls)
        if row["tool"] not in _shown_anyway() and cast(dict[str, Any], row["taint"] or {}).get("clean")
    ]
    if used:
        own = set(tokenize(request)) <= set(tokenize(task))
        remember(store, request if own else task, used, run_id)


@cache
def _shown_anyway() -> frozenset[str]:
    """Tools that no index is asked for."""
    return frozenset({*builtin_tools(), MAKE})
