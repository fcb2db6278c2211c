"""What the words of a question to tables say, beside what the parser takes it to mean."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pointwork.agents.parsing.parser import Parsed
from pointwork.agents.tabling import read_tables, unit_of
from pointwork.errors import ToolError
from pointwork.tools import ToolContext

WHOLE = "How many boats were built in 2020?"
COUNT = 'SELECT count(*) FROM "boats" WHERE ("built" >= DATE \'2020-01-01\' AND "built" < DATE \'2021-01-01\')'

Read = Callable[[str, Parsed | None], list[tuple[str, Any, float]]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "boats.csv").write_text(
        "name,built,length_m\nOtter,2020-03-01,9\nHeron,2021-05-02,11\nTeal,2020-07-09,7\n"
    )
    (tmp_path / "crews.csv").write_text("boat,sailor\nOtter,Ann\nHeron,Bo\n")
    return tmp_path


@pytest.fixture
def read(root: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    def reading(question: str, meant: Parsed | None) -> list[tuple[str, Any, float]]:
        def given(*_: object) -> Parsed | None:
            return meant

        monkeypatch.setattr("pointwork.agents.tabling.parsed", given)
        found = asyncio.run(read_tables(question, ToolContext(root=root)))
        return [
            (one.tool, one.arguments.get("query", one.arguments.get("table")), round(one.score, 3)) for one in found
        ]

    return reading


def score(read: Read) -> float:
    """Of the words alone, where the parser neither says so nor doubts it."""
    ((tool, table, found), *_) = read(WHOLE, Parsed("SELECT 1", "", "", 0.15))
    assert (tool, table) == ("query_table", "boats")
    return found


def test_a_likely_query_comes_before_the_words(read: Read) -> None:
    other = Parsed('SELECT "name" FROM "boats" WHERE "built" >= DATE \'2020-01-01\'', "name", "", 0.6)

    assert read(WHOLE, other)[0] == ("sql", other.sql, 0.6)
    # what accounts for all words comes before one that is not likely
    assert read(WHOLE, Parsed(other.sql, "name", "", 0.25))[0] == ("query_table", "boats", score(read))


def test_what_the_parser_does_not_know_at_all_is_doubted(read: Read) -> None:
    alone = score(read)

    assert read(WHOLE, None)[0][2] == pytest.approx(alone / 2, abs=1e-3)
    assert read(WHOLE, Parsed("SELECT 1", "", "", 0.05))[0][2] == pytest.approx(alone / 2, abs=1e-3)


def test_a_query_that_leaves_a_year_or_the_table_out_comes_after_the_words(read: Read) -> None:
    for sql in ('SELECT count(*) FROM "boats"', 'SELECT count(*) FROM "crews" WHERE 2020 = 2020'):
        assert read(WHOLE, Parsed(sql, "", "", 0.9))[0] == ("query_table", "boats", score(read))


def test_where_both_say_the_same_the_words_are_as_sure_as_the_parser(read: Read) -> None:
    assert read(WHOLE, Parsed(COUNT, "", "", 0.97))[0] == ("query_table", "boats", max(0.97, score(read)))


def test_yes_or_no_is_left_to_the_words_and_a_file_that_is_gone_doubts_nothing(
    root: Path, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def gone(*given: object) -> Parsed | None:
        asked.append(given)
        raise ToolError("gone")

    alone = score(read)
    monkeypatch.setattr("pointwork.agents.tabling.parsed", gone)
    context = ToolContext(root=root)
    assert round(asyncio.run(read_tables(WHOLE, context))[0].score, 3) == alone
    assert len(asked) == 1
    asyncio.run(read_tables("Was the Otter built in 2020?", context))
    assert len(asked) == 1


def test_the_unit_of_a_query_is_that_of_its_column(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def meant(*_: object) -> Parsed:
        return Parsed('SELECT "length_m" FROM "boats"', "length_m", "", 0.9)

    monkeypatch.setattr("pointwork.agents.tabling.parsed", meant)
    assert unit_of(asyncio.run(read_tables("what do they measure", ToolContext(root=root)))[0]) == "m"
