"""``pointwork runs show``: what it draws of a run, within the width, also of runs that are not done or are old."""

import json
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from rich.cells import cell_len
from sqlalchemy import delete

from pointwork import Agent, Budget, Team, tool
from pointwork.agents.plan import Author
from pointwork.agents.runs import show_run
from pointwork.cli import output
from pointwork.cli.app import run_app
from pointwork.cli.running import AUTHORS
from pointwork.cli.showing import lines_of
from pointwork.cli.story import Story, story_of
from pointwork.models import ChatRequest, Price, ScriptedClient, Step
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.store.tables import decisions, steps

PLAN = {
    "subtasks": [
        {"task": "Measure the gate.", "capability": "measuring", "answer": "number"},
        {"task": "Measure the barn [with brackets].", "capability": "measuring", "answer": "number"},
        {"task": "Multiply {s1} by {s2}.", "capability": "sums", "answer": "number"},
    ]
}
TASK = "Measure the gate, measure the barn [with brackets], and then multiply them."


@tool
def measure(thing: str) -> str:
    """Measure a thing."""
    if thing == "ghost":
        raise ValueError(
            "there is no ghost to measure, however long one looks for it in the barn and in the fields"
        )
    return {"gate": "3", "barn": "14"}.get(thing, "7")


@tool
def multiply(a: float, b: float) -> float:
    """Multiply two numbers."""
    return a * b


def said(request: ChatRequest) -> str:
    """The planner plans; the barn is taken for a ghost."""
    asked = next(m["content"] for m in reversed(request.messages) if "Task:" in m["content"]).split("Task:")[-1]
    if "subtasks" in (request.schema or {})["properties"]:
        return json.dumps(PLAN)
    if "Multiply" in asked:
        return json.dumps({"tool": "multiply", "arguments": {"a": 3, "b": 14}})
    thing = "gate" if "gate" in asked else "ghost"
    return json.dumps({"tool": "measure", "arguments": {"thing": thing}})


def agents(*names: str) -> list[Agent]:
    """Measurers of several names, so that one may take over from another, and one who adds."""
    made = [
        Agent(n, "You measure.", {"measuring": "length of things"}, (measure,), modes=("instant",)) for n in names
    ]
    return [*made, Agent("adder", "You multiply.", {"sums": "multiply numbers"}, (multiply,), modes=("instant",))]


def run(store: Store, *, reply: Any = said, members: list[Agent] | None = None, **options: Any) -> Story:
    client = ScriptedClient([Step(reply, times=None)], price=Price(1.0, 2.0))
    settings = Settings.model_validate({"planner": {"mode": "model"}})
    with Team(members or agents("measurer"), settings, store=store, models={"worker-small": client}) as team:
        result = team.run(TASK, **options)
    return story_of(show_run(store, result.run_id))


def shown(story: Story, width: int = 80, *, verbose: bool = False) -> str:
    lines = [line.plain for line in lines_of(story, width, verbose=verbose)]
    if not verbose:
        assert max(map(cell_len, lines)) <= width
    return "\n".join(lines)


def barn(request: ChatRequest) -> str:
    return said(request).replace("ghost", "barn")


def test_a_run_is_drawn_with_parts_tries_calls_and_money(store: Store) -> None:
    story = run(store, reply=barn)
    text = shown(story)
    assert "answer: 42" in text
    assert "Plan (by the planner's model)" in text
    assert "├─ s1 measuring Measure the gate." in text
    assert "with brackets]." in text
    assert "sums Multiply {s1} by {s2}.  after s1, s2" in text
    assert "✓ adder · scripted · instant" in text
    assert 'multiply {"a": 3, "b": 14} → 42' in text
    assert "p 1.00 of 1" in text
    tries = [attempt for part in story.rounds[0].parts for attempt in part.tries]
    assert [attempt.status for attempt in tries] == ["ok"] * 3
    total = story.run["result"]["cost"]
    planning = sum(event.tokens for event in story.rounds[0].events)
    assert planning + sum(attempt.tokens for attempt in tries) == total["tokens"]
    assert f"{total['tokens']} tok" in text.splitlines()[-1]
    assert sum(attempt.usd for attempt in tries) <= total["usd"]


def test_a_part_stands_below_what_it_builds_on(store: Store) -> None:
    lines = shown(run(store, reply=barn)).splitlines()
    indent = {
        name: line.index(f"─ {name} ") for name in ("s1", "s2", "s3") for line in lines if f"─ {name} " in line
    }
    assert indent["s1"] == indent["s2"] < indent["s3"]


def test_failures_second_tries_and_new_plans(store: Store) -> None:
    story = run(store, members=agents("one", "two"))
    text = shown(story)
    assert [round_.number for round_ in story.rounds] == [0, 1]
    assert "New plan 2" in text
    first = next(part for part in story.rounds[0].parts if part.id == "s2")
    assert [attempt.status for attempt in first.tries] == ["error", "error"]
    assert {attempt.agent for attempt in first.tries} == {"one", "two"}
    assert text.count('measure {"thing": "ghost"}') >= 2
    assert "there is no ghost" in text
    assert "missing: s2" in text
    assert "not begun" in text
    assert "p 0.50 of 2" in text


def test_verbose_has_the_candidates_and_whole_results(store: Store) -> None:
    text = shown(run(store, members=agents("one", "two")), verbose=True)
    assert "drawn by linucb from:" in text
    assert "one/scripted/instant" in text
    assert "two/scripted/instant" in text
    assert "in the barn and in the fields" in text.replace("\n", " ")
    assert "model " in text


@pytest.mark.parametrize("width", [60, 72, 80, 132])
def test_no_line_is_wider_than_the_terminal(store: Store, width: int) -> None:
    shown(run(store, members=agents("one", "two")), width)


def test_a_budget_that_ended_it(store: Store) -> None:
    text = shown(run(store, reply=barn, budget=Budget(tool_calls=1)))
    assert "budget_exhausted" in text
    assert "! measurer · scripted · instant" in text


def test_a_run_without_plan_steps_is_drawn_from_its_result(store: Store) -> None:
    before = run(store, reply=barn)
    with store.write() as connection:
        connection.execute(delete(steps).where(steps.c.kind != "model"))
    after = story_of(show_run(store, before.run["id"]))
    assert [part.id for part in after.rounds[0].parts] == ["s1", "s2", "s3"]
    assert [attempt.status for part in after.rounds[0].parts for attempt in part.tries] == ["ok"] * 3


def test_a_run_of_which_nothing_is_there_yet(store: Store) -> None:
    story = run(store, reply=barn)
    found = show_run(store, story.run["id"])
    found["run"] |= {"result": None, "status": "running", "finished": None}
    empty: dict[str, Any] = {name: [] for name in ("steps", "tool_calls", "decisions", "outcomes")}
    assert "nothing was planned yet" in shown(story_of(found | empty))
    # killed while a try was at work: no check, no result
    kept = [step for step in found["steps"] if step["kind"] == "plan"]
    cut = story_of(found | {"steps": kept, "tool_calls": [], "outcomes": []})
    assert "it was stopped before it was checked" in shown(cut)


def test_wide_and_strange_characters(store: Store) -> None:
    story = run(store, reply=barn)
    story.run["task"] = "羊" * 100 + "\x1b[31m [bold]\n$x$"
    story.run["result"]["text"] = "🐑" * 90
    shown(story)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs ``pointwork runs …``: exit code, stdout, stderr."""
    monkeypatch.setattr(output.out, "_file", None)
    monkeypatch.setattr(output.err, "_file", None)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run_app(["runs", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_the_command_draws_json_is_whole_and_a_picture(
    cli: Any, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = run(store, members=agents("one", "two"))
    monkeypatch.setenv("POINTWORK_STORE", f"sqlite:///{store.sqlite_path}")
    picture = tmp_path / "run.png"
    code, out, _ = cli("show", story.run["id"][:20], "--plot", str(picture))
    assert code == 0
    assert "New plan 2" in out
    assert str(picture) in out.replace("\n", "")
    assert picture.read_bytes().startswith(b"\x89PNG")
    code, out, _ = cli("show", story.run["id"], "--json")
    whole = json.loads(out)
    assert {"run", "steps", "tool_calls", "decisions", "outcomes", "memory_usage"} <= whole.keys()
    assert {step["kind"] for step in whole["steps"]} == {"plan", "model", "verify"}
    assert len(whole["outcomes"]) == len(whole["decisions"]) == len(store.rows(decisions.select()))


def test_wrong_usage_of_show(cli: Any, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = run(store, reply=barn)
    monkeypatch.setenv("POINTWORK_STORE", f"sqlite:///{store.sqlite_path}")
    code, _, err = cli("show", story.run["id"], "--plot", str(tmp_path / "absent" / "run.png"))
    assert code == 2
    assert "can not write" in err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = cli("show", story.run["id"], "--plot", str(tmp_path / "run.png"))
    assert code == 1
    assert "pip install 'pointwork[plot]'" in err


@pytest.mark.parametrize(
    ("usd", "short"),
    [
        (0, "$0"),
        (2.5, "$2.50"),
        (0.0123, "$0.012"),
        (0.00123, "$0.0012"),
        (1.84e-05, "$0.000018"),
        (2e-9, "$0.000000002"),
    ],
)
def test_money_is_short_and_has_no_exponent(usd: float, short: str) -> None:
    assert output.money(usd) == short


def test_every_author_of_a_plan_has_words() -> None:
    assert set(AUTHORS) == set(get_args(Author))
