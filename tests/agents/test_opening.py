"""What a run was shown of files without a tool counts as read."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from pointwork import Budget, Team
from pointwork.agents.builtin import builtin_agents
from pointwork.agents.opening import open_files
from pointwork.agents.tainting import taint_of
from pointwork.errors import BudgetExceeded, ToolDenied, ToolError
from pointwork.models import weights
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.store.tables import tool_calls
from pointwork.tools import Tool, ToolResult

NOTES = "# Harbour\n\nOlsen repaired the slipway in 1998. Mabel Orme painted the north gate.\n"


def test_what_is_cited_of_a_file_is_opened_once() -> None:
    opened: list[tuple[str, dict[str, Any]]] = []

    async def call(called: Tool, arguments: dict[str, Any]) -> ToolResult:
        opened.append((called.name, arguments))
        if arguments["path"] == "shop.db":
            raise ToolError("binary")
        return ToolResult("", "")

    lines = [f"file:notes/a.md:{cited}" for cited in ("3-5", "4", "900", "3-5")]
    asyncio.run(open_files([*lines, "table:shop.db#orders", "file:sums.py", "memory:m1", "table:staff.csv"], call))
    assert opened == [
        ("read_file", {"path": "notes/a.md", "start_line": 3, "end_line": 5}),
        ("read_file", {"path": "notes/a.md", "start_line": 900, "end_line": 900}),
        ("read_file", {"path": "shop.db"}),
        ("read_file", {"path": "sums.py"}),
        ("read_file", {"path": "staff.csv"}),
    ]


@pytest.mark.parametrize("error", [ToolDenied("no"), BudgetExceeded("none left")])
def test_what_may_not_be_opened_is_not_shown(error: Exception) -> None:
    async def call(*_: Any) -> ToolResult:
        raise error

    with pytest.raises(type(error)):
        asyncio.run(open_files(["file:notes.md:1"], call))


def test_a_run_that_quotes_a_file_is_known_to_have_read_it(tmp_path: Path, store: Store) -> None:
    weights.ensure()
    (tmp_path / "notes.md").write_text(NOTES)
    with Team(builtin_agents(), Settings(adapters=False), store=store, root=tmp_path) as team:
        result = team.run("Who painted the north gate?")
    assert result.text == "Mabel Orme"
    assert [row["tool"] for row in store.rows(select(tool_calls))] == ["read_file"]
    assert taint_of(store, result.run_id).private == ["read_file"]


def test_what_stands_far_down_in_a_file_is_known_to_have_been_read(tmp_path: Path, store: Store) -> None:
    weights.ensure()
    filling = "Nothing happened at the harbour on this day, and nobody wrote down more than that.\n\n" * 300
    (tmp_path / "notes.md").write_text(f"# Harbour\n\n{filling}{NOTES}")
    with Team(builtin_agents(), Settings(adapters=False), store=store, root=tmp_path) as team:
        result = team.run("Who painted the north gate?")
    assert result.text == "Mabel Orme"
    assert "Mabel Orme" in taint_of(store, result.run_id).private_text


def test_a_run_that_may_call_no_tool_is_shown_no_file(tmp_path: Path, store: Store) -> None:
    weights.ensure()
    (tmp_path / "notes.md").write_text(NOTES)
    with Team(builtin_agents(), Settings(adapters=False), store=store, root=tmp_path) as team:
        result = team.run("Who painted the north gate?", budget=Budget(tool_calls=0))
    assert "Mabel" not in result.text
    assert result.status != "ok"
