"""Pages read by a model: what it may say, and when it is asked on."""

import asyncio
import math
from pathlib import Path

import pytest
from sqlalchemy import select

from pointwork import Team
from pointwork.agents.builtin import builtin_agents
from pointwork.agents.prompts import READER, reader_prompt
from pointwork.agents.quoting import pages_of, prepare_files, sentences_about
from pointwork.agents.reader import AGREED, DENIED, DOUBTED, DRAWN, LEAST, in_page, read
from pointwork.agents.reader import READER as READS
from pointwork.models import ChatRequest, Completion, weights
from pointwork.models.adapters import packaged
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.store.tables import steps
from pointwork.tools import ToolContext

PAGE = "# The mill\nThe *old* mill belongs to Mrs. Ada Moor.\nIt grinds 40 sacks, i.e. two carts, a day."


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Mrs. Ada Moor", "Mrs. Ada Moor"),
        ("mrs. ada moor.", "Mrs. Ada Moor"),  # as it stands there
        ("The old mill", "The old mill"),  # without marks
        ("Moor. It grinds 40 sacks", "Moor. It grinds 40 sacks"),  # over the end of a line
        ("not said", ""),
        ("Not said.", ""),
        ("Mr Ben Carver", ""),  # nothing of the page
        ("", ""),
        ("art", ""),  # a piece of a word
        ("40 sacks, i.e. two carts", "40 sacks, i.e. two carts"),
    ],
)
def test_an_answer_is_words_of_the_page(said: str, found: str) -> None:
    assert in_page(said, PAGE) == found


def _read(*answers: tuple[str, float], expected: str = "", question: str = "Who?") -> tuple[str, int]:
    """What comes of pages that are answered so, each with its probability; and how many were read."""
    asked: list[ChatRequest] = []

    async def chat(request: ChatRequest) -> Completion:
        asked.append(request)
        text, probability = answers[len(asked) - 1]
        logprobs = (math.log(probability) / 2,) * 2
        return Completion(text, 1, 2, "stop", "m", token_ids=(1, 2), logprobs=logprobs)

    pages = [(f"file:{n}.md:1", f"page {n}: {text}") for n, (text, _) in enumerate(answers)]
    found = asyncio.run(read(question, pages, chat, expected))
    assert all(request.logprobs for request in asked)
    assert asked[0].messages[0]["content"] == READER
    return ("" if found is None else f"{found.source} {found.text}"), len(asked)


def test_pages_are_read_until_one_says_it() -> None:
    assert _read(("Ada", 0.9), ("Ben", 0.9)) == ("file:0.md:1 Ada", 1)
    assert _read(("not said", 0.9), ("Ben", 0.9)) == ("file:1.md:1 Ben", 2)
    assert _read(("not said", 0.9), ("not said", 0.9)) == ("", 2)


def test_what_is_not_sure_is_not_said() -> None:
    assert _read(("Ada", LEAST - 0.01), ("Ben", 0.9)) == ("", 1)
    assert _read(("Ada", LEAST + 0.01), ("Ben", 0.9)) == ("file:0.md:1 Ada", 1)


def test_two_that_agree_need_be_less_sure() -> None:
    assert _read(("Ada Moor", AGREED + 0.01), expected="Mrs. Ada Moor") == ("file:0.md:1 Ada Moor", 1)
    assert _read(("Ada Moor", AGREED + 0.01), expected="Ada Lind") == ("", 1)
    assert _read(("Ada Moor", AGREED - 0.01), expected="Ada Moor") == ("", 1)


def test_what_has_not_the_form_that_is_asked_for_is_no_answer() -> None:
    year = "In which year was it built?"
    assert _read(("24 August", 0.9), ("1993", 0.9), question=year) == ("file:1.md:1 1993", 2)
    assert _read(("24 August", 0.9), ("not said", 0.9), expected="1990", question=year) == ("", 2)
    assert _read(("the smith", 0.9), question="Who built it?") == ("file:0.md:1 the smith", 1)  # a role is one


def test_what_was_expected_stands_where_the_reader_hardly_denies_it() -> None:
    assert _read(("not said", 0.9), ("not said", DENIED - 0.01), expected="Ada") == (" Ada", 2)
    assert _read(("not said", 0.9), ("not said", DOUBTED + 0.01), expected="Ada") == ("", 2)


def _doubted(drawn: list[str], *, sure: float = DOUBTED - 0.01, expected: str = "Mrs. Ada Moor") -> str:
    """What comes of two pages of which the second is not so surely silent, and of what is then drawn for it."""

    async def chat(request: ChatRequest) -> Completion:
        second = request.messages[-1]["content"].startswith("page 1")
        if request.temperature:
            assert second
            assert request.seed is not None
            return Completion(drawn[request.seed - 1], 1, 1, "stop", "m")
        likely = sure if second else 0.99
        return Completion("not said", 1, 1, "stop", "m", token_ids=(1,), logprobs=(math.log(likely),))

    pages = [("a", "page 0: Ada, Ben"), ("b", "page 1: Ada, Ben, Mrs. Ada Moor, 12 May")]
    found = asyncio.run(read("Who?", pages, chat, expected))
    return "" if found is None else found.text


def test_where_the_reader_doubts_that_a_page_is_silent_the_learned_choice_may_be_confirmed() -> None:
    silent = ["not said"] * DRAWN
    assert _doubted(["Ben", "Ada"]) == "Mrs. Ada Moor"  # and nothing more is drawn
    assert _doubted(["Ben", "Ada"], sure=DOUBTED + 0.01) == ""
    assert _doubted(["Ben", *silent]) == ""
    assert _doubted(["Cid Moor", *silent], expected="Cid Moor") == ""  # which the page does not have
    assert _doubted(["Ben"] * DRAWN, expected="") == ""  # without a choice nothing is drawn


def test_what_is_asked_is_what_was_taught() -> None:
    system, user = reader_prompt("Who owns it?", PAGE)
    assert system["content"] == READER
    assert user["content"] == f"{PAGE}\n\nQuestion: Who owns it?"


def test_pages_stand_below_their_heading(tmp_path: Path) -> None:
    (tmp_path / "mill.md").write_text(f"# The mill\n{'It stands by the river Ems. ' * 30}\n\nAda Moor owns it.\n")
    found = asyncio.run(sentences_about("Who owns the mill?", ToolContext(root=tmp_path)))
    pages = dict(pages_of(found))
    assert all(text.startswith(("# The mill", "The mill\n")) for text in pages.values())
    assert any("Ada Moor owns it." in text for text in pages.values())
    assert len(pages_of(found, 1)) == 1


MILL = (
    "Ada Moor bought the mill in 1931. The mill is open on Monday. One wheel turns.\n"
    "The stones came from Brittany by ship and weigh four tonnes together.\n"
)


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("Which mill is driven by water these days?", True),
        ("What is the limit of sacks?", False),  # code is read by rule
        ("Is the mill open on Monday?", False),
        ("When did Ada Moor buy the mill?", False),  # the learned choice is sure of it
        ("How did the stones get here?", False),  # those who point at its words are sure of them
    ],
)
def test_what_is_read_whole(question: str, read: bool, tmp_path: Path) -> None:
    (tmp_path / "mill.md").write_text(MILL)
    (tmp_path / "limits.py").write_text("LIMIT_OF_SACKS = 40\n")
    assert bool(asyncio.run(prepare_files(question, ToolContext(root=tmp_path))).pages) is read


def test_what_has_an_answer_that_nobody_is_sure_of_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsure(*_: object) -> tuple[None, float]:
        return None, 0.5

    monkeypatch.setattr("pointwork.agents.pointed.read", unsure)
    (tmp_path / "mill.md").write_text(MILL)
    prepared = asyncio.run(prepare_files("How did the stones get here?", ToolContext(root=tmp_path)))
    assert prepared.answer
    assert prepared.pages


DESK = """# The reading room

Coats go to the hooks by the door. The lamp on the third table was given by the widow of the harbour master.
Whoever finds an umbrella brings it to Pilar, who keeps such things in the green trunk until Easter.
"""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("room")
    (folder / "desk.md").write_text(DESK)
    return folder


def test_the_reader_of_the_package_reads_for_a_team(room: Path, store: Store) -> None:
    weights.ensure()
    with Team(builtin_agents(), Settings(), store=store, root=room) as team:
        result = team.run("Who donated the lamp on the third table?")
        assert "harbour master" in result.text
        told = [row for row in store.rows(select(steps)) if row["role"] == READS]
    shipped = packaged(READS)
    assert shipped is not None
    assert {row["model_version"] for row in told} == {shipped.version}


def test_no_page_is_read_twice_for_the_same_question(
    room: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several arms try in vain."""
    monkeypatch.setattr("pointwork.agents.quoting.READS", 0.2)  # the page hardly speaks of it
    weights.ensure()
    with Team(builtin_agents(), Settings(), store=store, root=room) as team:
        team.run("Who painted the gate of the reading room?")
        told = list(store.rows(select(steps)))
    asked = [row["input"]["messages"][-1]["content"] for row in told if row["role"] == READS]
    tried = [row for row in told if "agent 'files'" in str(row["output"])]
    assert len(tried) > len(asked) == len(set(asked)) == 1


def test_without_adapters_nobody_reads(room: Path, store: Store) -> None:
    weights.ensure()
    with Team(builtin_agents(), Settings(adapters=False), store=store, root=room) as team:
        team.run("Who donated the lamp on the third table?")
        assert not [row for row in store.rows(select(steps)) if row["role"] == READS]
