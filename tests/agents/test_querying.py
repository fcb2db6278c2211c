"""Queries that a trained model writes: what it is shown, when its query counts, and what comes of it."""

import asyncio
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pointwork.agents.builtin import builtin_agents
from pointwork.agents.job import Attempt, Job
from pointwork.agents.preparing import prepare_tables, tabled
from pointwork.agents.prompts import QUERIER, querier_prompt
from pointwork.agents.querier import DENIED, FIRM, LEAST, READ, SURER, queried
from pointwork.agents.querying import tables_text, values_named
from pointwork.agents.spec import Prepared
from pointwork.models import ChatRequest, Completion
from pointwork.tools import Tool, ToolContext, ToolResult
from pointwork.tools.catalog import catalog

BOATS = """name,kind,owner_id,length_m,built,sold
Otter,cutter,P2,11.25,1998-04-01,no
Heron,cutter,P1,9.5,2001-05-01,yes
Old Marten,sloop,P2,,1990-01-01,no
Swift,sloop,P1,7,1991-01-01,no
"""
PEOPLE = "id,name,phone\nP1,Ann Reed,12\nP2,Bo Lind,13\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "boats.csv").write_text(BOATS)
    (tmp_path / "people.csv").write_text(PEOPLE)
    return tmp_path.resolve()


def test_what_is_shown_of_tables(root: Path) -> None:
    boats, people = catalog(root)
    assert tables_text(root, [people, boats]).splitlines() == [
        "people(id, name, phone)",
        "P1 | Ann Reed | 12",
        "P2 | Bo Lind | 13",
        # kinds are few, keys say nothing, and what stands in another table is not shown twice
        "boats(name, kind [cutter, sloop], owner_id, length_m, built, sold)",
        "Otter | cutter | P2 | 11.25 | 1998-04-01 | false",
        "Heron | cutter | P1 | 9.5 | 2001-05-01 | true",
    ]


def test_tables_that_would_make_it_too_long_are_left_out(root: Path) -> None:
    wide = ",".join(f"a_column_with_a_long_name_{n}" for n in range(12))
    for name in ("w1", "w2", "w3", "w4"):
        (root / f"{name}.csv").write_text(f"{wide}\n{','.join(['a longer cell than most'] * 12)}\n" * 2)
    text = tables_text(root, catalog(root))
    assert len(text) < 3_100
    assert text.startswith("boats(")
    assert "w1(" in text
    assert "w4(" not in text


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("how long is the otter", ["boats.name = 'Otter'"]),
        ("Which sloops does Ann own?", ["boats.kind = 'sloop'", "people.name = 'Ann Reed'"]),
        ("Was the Old Marten sold?", ["boats.name = 'Old Marten'"]),
        ("Which boats are old?", ["boats.name = 'Old Marten'"]),  # one of two words may be meant
        ("How many boats are there?", []),
    ],
)
def test_cells_that_a_question_names(question: str, named: list[str], root: Path) -> None:
    assert values_named(root, catalog(root), question) == named


def test_what_is_asked_is_what_was_taught() -> None:
    system, user = querier_prompt("How long is it?", "boats(name)", ["boats.name = 'Otter'"])
    assert system["content"] == QUERIER
    assert user["content"] == "boats(name)\n\nQuestion: How long is it?\nboats.name = 'Otter'"
    assert querier_prompt("How long?", "boats(name)")[1]["content"] == "boats(name)\n\nQuestion: How long?"


def test_whether_something_is_so_is_not_asked_of_the_querier(root: Path, tmp_path_factory: Any) -> None:
    assert asyncio.run(tabled("Is the Otter sold?", ToolContext(root=root))) is None
    assert asyncio.run(tabled("Who owns the Otter?", ToolContext(root=tmp_path_factory.mktemp("empty")))) is None
    assert asyncio.run(tabled("Who owns the Otter?", ToolContext())) is None


def _queried(
    root: Path, question: str, said: str, sure: float, *, read: float = 0.0, finish: Any = "stop"
) -> tuple[Prepared, Attempt]:
    """What an agent has at hand after a model wrote that with that probability, beside such a reading."""
    tables = next(agent for agent in builtin_agents() if agent.name == "tables")
    context = ToolContext(root=root)

    async def chat(request: ChatRequest) -> Completion:
        assert request.logprobs
        return Completion(said, 1, 2, finish, "m", token_ids=(1, 2), logprobs=(math.log(sure) / 2,) * 2)

    async def call(tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        return await tool.call(arguments, context)

    job = Job(
        agent=tables,
        mode="instant",
        text=question,
        answer_type="text",
        facts=(),
        context=context,
        chat=chat,
        call_tool=call,
        remaining=lambda: "",
        max_turns=1,
        small=True,
        query=chat,
    )
    attempt = Attempt()
    prepared = replace(
        asyncio.run(prepare_tables(question, context)),
        call=("query_table", {"table": "boats"}) if read else None,
        sure=read,
    )
    shown = asyncio.run(tabled(question, context))
    assert shown is not None
    return asyncio.run(queried(job, prepared, shown, attempt)), attempt


LONGEST = "SELECT phone FROM people WHERE id = (SELECT owner_id FROM boats ORDER BY length_m DESC LIMIT 1)"


def test_the_answer_of_a_query_is_what_it_found(root: Path) -> None:
    found, attempt = _queried(root, "Whom do I ring about the longest one?", LONGEST, LEAST + 0.01)
    assert found.answer == "13"
    assert attempt.calls == [("sql", {"query": LONGEST}, None)]
    assert LONGEST in found.context[0][1]  # the evidence says how it was found


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("SELECT length_m FROM boats WHERE name = 'Otter'", "11.25 m"),  # the unit that its column says
        ("SELECT sum(length_m) FROM boats", "27.75 m"),
        ("SELECT count(*) FROM boats", "4"),
        ("SELECT name FROM boats WHERE kind = 'sloop'", "Old Marten, Swift"),
        ("SELECT length_m FROM boats WHERE name = 'Old Marten'", ""),  # an empty cell is no answer
        ("SELECT name FROM boats WHERE kind = 'yawl'", ""),
        ("SELECT nam FROM boats", ""),
        ("DELETE FROM boats", ""),
    ],
)
def test_answers_of_queries(query: str, answer: str, root: Path) -> None:
    found, _ = _queried(root, "How long?", query, 0.9, read=READ - 0.1)
    assert found.answer == answer
    assert (found.call is None) == bool(answer)  # else the reading of the words stands


@pytest.mark.parametrize(
    ("sure", "read", "taken"),
    [
        (LEAST + 0.01, 0.0, True),
        (LEAST - 0.01, 0.0, False),
        (LEAST + 0.01, READ - 0.01, True),
        (LEAST + 0.01, READ + 0.01, False),
        (SURER + 0.01, READ + 0.01, True),
        (0.999, FIRM + 0.01, False),
    ],
)
def test_a_query_has_to_be_the_surer_the_more_the_words_say(
    sure: float, read: float, taken: bool, root: Path
) -> None:
    found, _ = _queried(root, "Which is the longest?", LONGEST, sure, read=read)
    assert bool(found.answer) == taken


def test_that_the_tables_do_not_say_it_takes_a_weak_reading_away(root: Path) -> None:
    assert _queried(root, "Who painted it?", "none", DENIED + 0.01, read=0.6)[0].call is None
    assert _queried(root, "Who painted it?", "none", DENIED - 0.01, read=0.6)[0].call is not None
    assert _queried(root, "Who painted it?", "none", DENIED + 0.01, read=FIRM + 0.01)[0].call is not None


def test_a_query_that_was_cut_off_is_none(root: Path) -> None:
    assert not _queried(root, "Which?", "SELECT name FROM boats", 0.9, finish="length")[0].answer
