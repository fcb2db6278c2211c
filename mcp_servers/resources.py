"""Runs and their trajectories as MCP resources: ``run://ID`` and ``trajectory://ID``."""

import json
import re
from typing import Any

import mcp_types as types
from sqlalchemy import select

from pointwork.agents.runs import show_run
from pointwork.errors import UsageError
from pointwork.mcp_servers.principals import Accounts, Caller
from pointwork.mcp_servers.results import structured_row
from pointwork.store import Store
from pointwork.store.tables import mcp_runs, runs

PAGE = 50
_URI = re.compile(r"(run|trajectory)://([0-9A-Za-z_-]{1,64})")
_JSON = "application/json"
_ABOUT = {
    "run": "A run: task, status, answer, cost, evidence.",
    "trajectory": "All steps of a run: messages, decisions, tool calls.",
}


def templates() -> list[types.ResourceTemplate]:
    """The two templates."""
    return [
        types.ResourceTemplate(
            name=kind, title=kind.title(), uri_template=f"{kind}://{{run_id}}", description=about, mime_type=_JSON
        )
        for kind, about in _ABOUT.items()
    ]


class Runs:
    """What a caller may see of the runs in the store."""

    def __init__(self, store: Store, books: Accounts) -> None:
        self._store, self._books = store, books

    def page(self, caller: Caller, cursor: str | None) -> tuple[list[types.Resource], str | None]:
        """Runs, newest first, and where the next page begins.

        Raises:
            UsageError: the cursor is none of ours.
        """
        if cursor is not None and not re.fullmatch(r"[0-9A-Za-z_-]{1,64}", cursor):
            raise UsageError("this cursor was not given by this server")
        query = select(runs.c.id, runs.c.task, runs.c.status).order_by(runs.c.id.desc()).limit(PAGE + 1)
        if not caller.sees_all:
            query = query.join(mcp_runs, mcp_runs.c.run_id == runs.c.id).where(mcp_runs.c.caller == caller.name)
        if cursor is not None:
            query = query.where(runs.c.id < cursor)
        rows = self._store.rows(query)
        found = [
            types.Resource(
                name=f"run {row['id']}",
                title=f"{row['status']}: {' '.join(row['task'].split())[:80]}",
                uri=f"run://{row['id']}",
                mime_type=_JSON,
            )
            for row in rows[:PAGE]
        ]
        return found, rows[PAGE - 1]["id"] if len(rows) > PAGE else None

    def read(self, caller: Caller, uri: str) -> types.TextResourceContents:
        """A run or its trajectory as JSON.

        Raises:
            UsageError: there is none, or it is not the caller's to see.
        """
        match = _URI.fullmatch(uri)
        if match is None:
            raise UsageError(f"no resource {uri!r}; there are run://RUN_ID and trajectory://RUN_ID")
        kind, run_id = match.groups()
        row = self.row(caller, run_id)
        if kind == "run":
            value: Any = {"task": row["task"], "created": row["created"], **structured_row(row)}
        else:
            value = show_run(self._store, run_id)
            value["run"].pop("owner", None)
            value["run"].pop("root", None)
        text = json.dumps(value, ensure_ascii=False, default=str)
        return types.TextResourceContents(uri=uri, mime_type=_JSON, text=text)

    def row(self, caller: Caller, run_id: str) -> dict[str, Any]:
        """The row of a run that the caller may see.

        Raises:
            UsageError: there is none, or it is another's: the two can not be told apart from outside.
        """
        row = self._store.row(select(runs).where(runs.c.id == run_id))
        if row is None or not self._books.owns(caller, [run_id]):
            raise UsageError(f"no run {run_id!r}")
        return row

    def ids(self, caller: Caller, begin: str) -> list[str]:
        """Ids that begin so, for completion."""
        query = select(runs.c.id).where(runs.c.id.startswith(begin, autoescape=True)).order_by(runs.c.id.desc())
        return sorted(
            self._books.owns(caller, [row["id"] for row in self._store.rows(query.limit(100))]), reverse=True
        )
