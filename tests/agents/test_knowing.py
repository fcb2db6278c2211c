"""What an answer may rest on: no made-up facts, nothing about what nothing speaks of."""

import asyncio
import math
import sqlite3
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pointwork import Agent, Team
from pointwork.agents.builtin import builtin_agents
from pointwork.agents.job import Attempt, Job, try_call
from pointwork.agents.knowing import believe, certainty, names_in
from pointwork.agents.loop import work
from pointwork.agents.readings.wanting import asks_fact
from pointwork.errors import AgentError, NothingFound
from pointwork.models import ChatRequest, Completion, ScriptedClient, Step
from pointwork.tools import Tool, ToolContext, ToolResult, passages, tool
from pointwork.tools.catalog import MAX_TEXTS

BOATS = "boat,owner,length_m\nHeron,Ida Voss,9.4\nMarten,Jon Pike,7.2\nTeal,Mara Lind,11.2\n"
NOTES = (
    "# The yard\nIda Voss keeps the keys of the boat shed.\n\nThe slipway was repaired in March 2023 by Olsen.\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "boats.csv").write_text(BOATS)
    (tmp_path / "notes.md").write_text(NOTES)
    return tmp_path


@pytest.mark.parametrize(
    "question",
    [
        "Who owns the Otter?",
        "When was the crane bought?",
        "How tall is the lighthouse?",
        "What is the capital of France?",
        "What did the auditor recommend?",
        "Tell me where the key is.",
        "Do you know who chairs the committee?",
        "Is the Otter insured?",
        "What is Lena's number?",
        "Hello, could you tell me who chairs the club?",
        "Good morning, what telephone number do I ring?",
        "Hello, I need the allowance due to Sunniva Hark. In EUR please.",
        "area of the brass plaque, in square metres?",
        "Give me the phone number of the plumber.",
        "I'd like to know the price of tea.",
        "Name the makers of the lens.",
        "In which year did Feodora Lask join?",
        "On what date does the ship with the coffee leave port?",
        "Find out on which date she arrived.",
        "Check who has the key.",
        "price of a postcard in the shop?",
    ],
)
def test_what_asks_for_a_fact(question: str) -> None:
    assert asks_fact(question)


@pytest.mark.parametrize(
    "question",
    [
        "Write a short greeting.",
        "What is photosynthesis?",
        "What are linked lists?",
        "How do I boil an egg?",
        "What should we cook?",
        "How are you?",
        "Why is the sky blue?",
        "Explain where rain comes from.",
        "What do you think of the plan?",
        "Translate this into German. Where is the station?",
        "Give me the story of Cinderella.",
        "Give me a recipe for pancakes.",
        "Pros and cons of tea?",
        "Good morning!",
        "Dear Anna, thanks for the flowers.",
        "area of a circle?",
        "In what way do whales sleep?",
        "Find the difference between a frog and a toad.",
    ],
)
def test_explanations_advice_and_talk_do_not(question: str) -> None:
    assert not asks_fact(question)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who owns the Otter?", ["Otter"]),
        ("Who repaired the Otter's mast?", ["Otter"]),
        ("Does Peter Quint own the Heron in May?", ["Peter Quint", "Heron"]),
        ("I am Peter Quint. How long is the Heron?", ["Heron"]),
        ("How long is the Heron? Answer for Peter.", ["Heron"]),
        ("Zelda is whose daughter?", []),  # it begins the sentence, so it may be any word
        ("How many rows has the CSV file?", []),
        ("What Is The Length Of The Longest Boat?", []),
        ("How warm is it on Monday in Celsius, said in French?", []),
        ("how long is the heron?", []),
        ("Is She the owner of The Yard?", ["Yard"]),
        ("", []),
    ],
)
def test_names_in_a_question(question: str, names: list[str]) -> None:
    assert names_in(question) == names


def test_certainty_is_the_mean_probability_of_the_first_tokens() -> None:
    def said(*logprobs: float) -> Completion:
        return Completion("x", 1, len(logprobs), "stop", "m", logprobs=logprobs or None)

    assert certainty(said(math.log(0.5), math.log(0.5))) == pytest.approx(0.5)
    assert certainty(said(math.log(0.9), math.log(0.1))) == pytest.approx(0.3)
    assert certainty(said(*[math.log(0.25)] * 24, *[0.0] * 500)) == pytest.approx(0.25)  # a loop is sure of itself
    assert certainty(said()) == 1.0


class _Small(ScriptedClient):
    """A small model whose tokens have one probability."""

    small = True
    sure = 0.3

    async def chat(self, request: ChatRequest) -> Completion:
        said = await super().chat(request)
        return replace(said, logprobs=(math.log(self.sure),) * 5) if request.logprobs else said


def believed(
    root: Path | None,
    question: str,
    attempt: Attempt,
    *,
    small: bool = True,
    read: bool = False,
    agent: Agent | None = None,
    facts: tuple[tuple[str, str], ...] = (),
) -> None:
    asked = agent or next(agent for agent in builtin_agents() if agent.name == "writer")

    async def nothing(*_: Any) -> Any:
        raise AssertionError

    context = ToolContext(root=root)
    job = Job(asked, "instant", question, "text", facts, context, nothing, nothing, str, 4, small)
    asyncio.run(believe(job, attempt, read=read))


def test_a_small_model_says_only_what_it_is_sure_of(root: Path) -> None:
    question = "When was the crane bought?"
    with pytest.raises(AgentError, match="not sure"):
        believed(root, question, Attempt("In 2023.", certainty=0.59))
    believed(root, question, Attempt("In 2023.", certainty=0.61))
    believed(root, question, Attempt("In 2023."), small=False)  # a larger one is asked to say that it does not know
    believed(root, "Write a poem about the crane.", Attempt("Crane, o crane!"))
    believed(
        root, question, Attempt("In 2021.", certainty=0.1), facts=(("memory:m1", "We bought the crane in 2021."),)
    )
    with pytest.raises(AgentError, match="not sure"):
        believed(
            root, question, Attempt("In 2023.", certainty=0.1), facts=(("reasoning", "It was bought in 2023."),)
        )
    with pytest.raises(AgentError, match="not sure"):  # nobody's number is common knowledge
        believed(root, "What is the phone number of the plumber?", Attempt("123-456", certainty=0.99))


def test_what_is_made_up_has_at_least_the_form_that_is_asked_for(root: Path) -> None:
    with pytest.raises(AgentError, match="another form"):
        believed(root, "On what date does the ship leave?", Attempt("It is on its way to Pisco.", certainty=0.99))
    believed(root, "On what date does the ship leave?", Attempt("On 3 May 2025.", certainty=0.99))


def test_what_is_of_a_country_is_known_by_it(root: Path) -> None:
    found = [("file:letter.md:1", "The ship from Peru, where the coffee comes from, sails on 22 May 2025.")]
    believed(root, "When does the ship with the Peruvian coffee sail?", Attempt("22 May 2025", found))
    with pytest.raises(AgentError, match="Kenyan"):
        believed(root, "When does the ship with the Kenyan coffee sail?", Attempt("22 May 2025", found))


def test_what_an_agent_was_told_it_may_say(root: Path) -> None:
    writer = next(agent for agent in builtin_agents() if agent.name == "writer")
    told = replace(writer, instructions="You answer for a shop. It opens at nine in the morning.")
    question = "When does the shop open?"
    believed(root, question, Attempt("At nine in the morning."), agent=told)
    with pytest.raises(AgentError):
        believed(root, question, Attempt("At ten in the evening."), agent=told)
    with pytest.raises(AgentError):  # today stands in the writer's instructions, and is no fact about the shop
        believed(root, question, Attempt(f"It opened on {date.today():%d %B %Y}.", certainty=0.99))
    believed(root, "What day is it today?", Attempt(f"{date.today():%A}"))


def test_what_was_found_must_speak_of_whom_the_question_names(root: Path) -> None:
    found = [("file:notes.md:4", "The slipway was repaired in March 2023 by Olsen.")]
    for small, read in ((True, False), (True, True), (False, True)):
        with pytest.raises(AgentError, match="speaks of Otter"):
            believed(root, "Who repaired the Otter's mast?", Attempt("Olsen", found), small=small, read=read)
    counted = [("table:boats.csv", 'SELECT count(*) FROM "boats" count: 3')]
    with pytest.raises(NothingFound, match="speaks of Zelda"):
        believed(root, "How many boats does Zelda own?", Attempt("3", counted, computed=True), read=True)
    believed(root, "Who repaired the Otter's mast?", Attempt("Olsen", found), small=False)
    # elsewhere in what can be read is enough: a heading, another file, a row of a table
    believed(root, "Who repaired the slipway of the Teal?", Attempt("Olsen", found))
    (root / "otter.md").write_text("She has two masts.\n")
    believed(root, "Who repaired the Otter's mast?", Attempt("Olsen", [*found, ("file:otter.md:1", "two masts")]))


def test_what_was_found_must_speak_of_the_thing_that_is_asked_about(root: Path) -> None:
    (root / "loans.csv").write_text("item,member\nladder,Ida Voss\ndrill,Jon Pike\ntent,Mara Lind\n")
    found = [("file:notes.md:9", "The ladder cost 85 euros.")]
    with pytest.raises(AgentError, match="does not speak of drill"):
        believed(root, "What did the drill cost?", Attempt("85 euros", found))
    believed(root, "What did the ladder cost?", Attempt("85 euros", found))
    believed(root, "What did the drill cost?", Attempt("85 euros", found), small=False)
    believed(root, "What did the drill cost?", Attempt("85", found, computed=True))  # a tool was asked about it
    believed(root, "What did the drill cost?", Attempt("85 euros", [("file:drill.md:1", "It cost 85 euros.")]))
    # of people a text goes on with "she"; a part of a word is no word
    believed(root, "What did Ida Voss pay?", Attempt("85 euros", [("file:notes.md:9", "She paid 85 euros.")]))
    believed(root, "What did the tents cost?", Attempt("85 euros", found))


def test_a_name_in_a_database_is_known_and_a_text_too_large_to_search_may_hold_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [("file:notes.md:4", "The slipway was repaired in March 2023 by Olsen.")]
    attempt = Attempt("Olsen", found)
    question = "Did Olsen repair the slipway for Zelda?"
    with pytest.raises(AgentError):
        believed(root, question, attempt)
    with sqlite3.connect(root / "people.db") as database:
        database.execute("create table people (name text)")
        database.execute("insert into people values ('Zelda')")
    believed(root, question, attempt)
    (root / "people.db").unlink()
    with pytest.raises(AgentError):
        believed(root, question, attempt)
    monkeypatch.setattr(passages, "MAX_SEARCHED", 20)
    believed(root, question, attempt)


def test_a_column_of_which_not_all_values_were_read_may_hold_a_name(root: Path) -> None:
    question = "Did Olsen repair the slipway for Zelda?"
    attempt = Attempt("Olsen", [("file:notes.md:4", "The slipway was repaired in March 2023 by Olsen.")])
    with sqlite3.connect(root / "people.db") as database:
        database.execute("create table people (name text)")
        database.executemany("insert into people values (?)", ((f"Guest {n}",) for n in range(MAX_TEXTS - 1)))
    with pytest.raises(AgentError):
        believed(root, question, attempt)
    with sqlite3.connect(root / "people.db") as database:
        database.executemany("insert into people values (?)", ((f"Visitor {n}",) for n in range(9)))
    believed(root, question, attempt)


def test_a_tool_that_finds_nothing_gives_no_evidence(root: Path) -> None:
    writer = next(agent for agent in builtin_agents() if agent.name == "writer")

    @tool
    def listed(name: str) -> list[str]:
        """Boats of an owner."""
        return ["Heron"] if name == "Ida" else []

    async def call(called: Tool, arguments: dict[str, Any]) -> ToolResult:
        return await called.call(arguments, ToolContext(root=root))

    async def chat(_: ChatRequest) -> Completion:
        raise AssertionError

    context, attempt = ToolContext(root=root), Attempt()
    job = Job(writer, "agentic", "Boats?", "text", (), context, chat, call, str, 4, True)
    asyncio.run(try_call(job, listed, {"name": "Zelda"}, attempt))
    assert attempt.calls == [("listed", {"name": "Zelda"}, None)]
    assert attempt.evidence == []
    asyncio.run(try_call(job, listed, {"name": "Ida"}, attempt))
    assert [source for source, _ in attempt.evidence] == ["tool:listed"]


def test_a_small_model_is_not_asked_about_what_does_not_fit(root: Path) -> None:
    files = next(agent for agent in builtin_agents() if agent.name == "files")

    def answer(question: str, *facts: tuple[str, str], small: bool = True) -> str:
        async def call(called: Tool, arguments: dict[str, Any]) -> ToolResult:
            assert (called.name, arguments["path"]) == ("read_file", "notes.md")  # what is shown is opened
            return ToolResult("", "")

        with _Small([Step('{"answer": "March 2023"}', times=None)]) as client:
            context = ToolContext(root=root)
            job = Job(files, "instant", question, "text", facts, context, client.chat, call, str, 4, small)
            return asyncio.run(work(job)).text

    with pytest.raises(AgentError, match="fits the question"):
        answer("When was the crane bought?")
    assert answer("When was the slipway repaired?") == "March 2023"
    known = ("memory:m1", "We bought the crane in March 2023.")
    assert answer("When was the crane bought?", known) == "March 2023"
    assert answer("When was the crane bought?", small=False) == "March 2023"  # it may say that it is not said
    (root / "notes.md").unlink()
    with pytest.raises(AgentError, match="fits the question"):
        answer("When was the slipway repaired?")


@pytest.mark.parametrize("mode", ["instant", "reasoning", "agentic"])
def test_what_the_words_say_outright_is_taken_in_any_mode(root: Path, mode: Any) -> None:
    files = next(agent for agent in builtin_agents() if agent.name == "files")

    async def call(called: Tool, arguments: dict[str, Any]) -> ToolResult:
        assert (called.name, arguments["path"]) == ("read_file", "notes.md")
        return ToolResult("", "")

    with _Small([]) as client:  # no model is asked
        context = ToolContext(root=root)
        job = Job(files, mode, "Who repaired the slipway?", "text", (), context, client.chat, call, str, 4, True)
        assert asyncio.run(work(replace(job, sure=0.0))).text == "Olsen"


def test_what_is_remembered_must_fit_too(root: Path) -> None:
    from pointwork.agents.preparing import prepare_recall
    from pointwork.memory import Memory

    memory = Memory()
    memory.add("Who repaired the mast?\nOlsen", source="run:1")
    context = ToolContext(root=root, memory=memory)

    def fit(question: str) -> float:
        return asyncio.run(prepare_recall(question, context)).fit

    assert fit("Who repaired the mast?") == 1.0
    assert fit("When was the wheel repaired?") < 0.75
    assert fit("What did I say about the mast before?") == 1.0  # it asks for what was said, whatever its words


def test_a_greeting_before_a_question_is_no_task_for_the_writer(root: Path) -> None:
    from pointwork.agents.preparing import fits_writer

    def fits(text: str) -> float:
        return asyncio.run(fits_writer(text, ToolContext(root=root)))

    assert fits("Hello there!") == fits("Write a poem.") > 0.5
    assert fits("Hi! How are you?") > 0.5
    assert fits("Translate this into German. Where is the station?") > 0.5
    assert fits("Thank you so far. When was the slipway repaired?") < 0.5
    assert fits("Hi! How long is the Heron?") < 0.5


def test_a_name_that_is_remembered_is_known(root: Path) -> None:
    question = "How many boats does Zelda own?"
    with (
        _Small([Step("3", times=None)]) as client,
        Team(models={"worker-small": client}, root=root) as team,
    ):
        team.memory.add("Zelda is the sister of Jon Pike.", source="note:1")
        assert not any("speaks of" in line for line in team.run(question).missing)


def test_a_team_on_a_small_model_finds_nothing_rather_than_making_it_up(root: Path) -> None:
    with (
        _Small([Step("Ida Voss", times=None)]) as client,
        Team(models={"worker-small": client}, root=root) as team,
    ):
        otter = team.run("Who owns the Otter?")
        zelda = team.run("How many boats does Zelda own?")
        marten = team.run("Who owns the Marten?")
        again = team.run("Who owns the Otter?")
    assert (otter.status, otter.text) == ("failed", "")
    assert "nothing that can be read speaks of Otter" in otter.missing[0]
    assert (zelda.status, zelda.text) == ("failed", "")
    assert (marten.status, marten.text) == ("ok", "Jon Pike")
    assert again.status == "failed"  # and a refused answer is not remembered as one
    assert len(otter.decisions) == 1  # no other agent need try


def test_a_fact_is_not_thought_about_first(root: Path) -> None:
    writer = next(agent for agent in builtin_agents() if agent.name == "writer")
    with _Small(["Paris."]) as client:  # one call, not two
        client.sure = 0.8

        async def call(*_: Any) -> Any:
            raise AssertionError

        question = "What is the capital of France?"
        job = Job(
            writer, "reasoning", question, "text", (), ToolContext(root=root), client.chat, call, str, 4, True
        )
        assert asyncio.run(work(job)).text == "Paris."
