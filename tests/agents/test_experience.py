"""What a run takes from its other subtasks and from earlier runs: the board, advice, skills, facts."""

import json
from typing import Any

import pytest
from sqlalchemy import select

from pointwork import Agent, Team, tool
from pointwork.models import ScriptedClient, Step
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.store.tables import models, steps
from pointwork.tools import Tool


@tool
def measure(thing: str) -> str:
    """Measure a thing in metres."""
    return {"gate": "The north gate is 37 m wide.", "barn": "14"}.get(thing, "7")


@tool
def note(text: str) -> str:
    """Write a note."""
    return f"filed: {text[::-1]}"


def agents(modes: tuple[Any, ...] = ("instant",)) -> list[Agent]:
    return [
        Agent("measurer", "You measure.", {"measuring": "width of things"}, (measure,), modes=modes),
        Agent("writer", "You note.", {"notes": "write notes"}, (note,), modes=modes),
    ]


def says(value: Any, match: str | None = None, times: int | None = 1) -> Step:
    def last(request: Any) -> bool:
        return (match or "") in request.messages[-1]["content"]

    return Step(value if isinstance(value, str) else json.dumps(value), match=last, times=times)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "arguments": arguments}


def planned(*parts: tuple[str, str, str]) -> dict[str, Any]:
    return {"subtasks": [{"task": text, "capability": able, "answer": kind} for text, able, kind in parts]}


def team(client: ScriptedClient, store: Store, **settings: Any) -> Team:
    given = Settings.model_validate(settings)
    return Team(agents(), given, store=store, models={"worker-small": client})


def prompts(client: ScriptedClient) -> list[str]:
    return ["\n".join(str(message["content"]) for message in request.messages) for request in client.requests]


# -- the board ------------------------------------------------------------------------------------------


def three_steps(store: Store, **settings: Any) -> ScriptedClient:
    """Each step builds on the one before: the third does not on the first."""
    plan = planned(
        ("Measure the north gate.", "measuring", "text"),
        ("Note {s1}, the width of the north gate.", "notes", "text"),
        ("Note {s2} and the width of the north gate.", "notes", "text"),
    )
    client = ScriptedClient(
        [
            says(plan, "Task: Measure the north gate, then"),
            says(call("measure", thing="gate"), "Task: Measure the north gate."),
            says(call("note", text="37 m wide"), "Task: Note The"),
            says(call("note", text="the width again"), "Task: Note filed"),
            says({"answer": "The north gate is 37 m wide."}, times=None),
        ]
    )
    with client, team(client, store, **settings) as made:
        result = made.run("Measure the north gate, then note the width of the north gate, then note both again.")
    assert result.status == "ok", result.missing
    return client


def test_a_later_subtask_is_shown_what_one_it_does_not_build_on_found(store: Store) -> None:
    client = three_steps(store)
    [third] = [text for text in prompts(client) if "Task: Note filed" in text]
    assert "[shared:p0.s1] Measure the north gate. The north gate is 37 m wide." in third
    [second] = [text for text in prompts(client) if "Task: Note The" in text]
    assert "shared:" not in second


def test_the_board_can_be_switched_off(store: Store) -> None:
    client = three_steps(store, memory={"board": False})
    assert not any("shared:" in text for text in prompts(client))
    assert store.rows(select(models).where(models.c.role == "memory-gate")) == []


def test_news_of_others_reach_a_loop_and_count_as_evidence(store: Store) -> None:
    from pointwork.agents.job import Job
    from pointwork.agents.loop import work
    from pointwork.tools import ToolContext

    news = [[], [("shared:p0.s1", "The gate is 37 m wide.")], []]
    turns = [{"call": call("note", text=f"t{n}")} for n in range(2)]
    client = ScriptedClient([*(says(turn) for turn in turns), says({"call": call("answer", text="37 m")})])

    async def chat(request: Any) -> Any:
        return await client.chat(request)

    async def call_tool(tool: Tool, arguments: dict[str, Any]) -> Any:
        return await tool.call(arguments, ToolContext())

    job = Job(
        agents(modes=("agentic",))[1], "agentic", "How wide?", "text", (), ToolContext(), chat, call_tool,
        lambda: "", 6, True, news=lambda: news.pop(0),
    )  # fmt: skip
    import asyncio

    attempt = asyncio.run(work(job))
    assert (
        "Other subtasks found:\n[shared:p0.s1] The gate is 37 m wide." in client.requests[2].messages[-1]["content"]
    )
    assert ("shared:p0.s1", "The gate is 37 m wide.") in attempt.evidence
    assert attempt.text == "37 m"


# -- advice ------------------------------------------------------------------------------------------------

ADVICE = "Measure the gate twice before the width is noted."


def measured(store: Store, **settings: Any) -> tuple[ScriptedClient, Team, str]:
    client = ScriptedClient([says(call("measure", thing="barn"), times=None)])
    made = team(client, store, **settings)
    bullet = made.services.playbook.add("measuring", ADVICE, sources=["run:1"])
    return client, made, bullet


def test_advice_stands_fenced_with_its_source_and_is_no_evidence(store: Store) -> None:
    client, made, bullet = measured(store)
    with made:
        result = made.run("Measure the width of the gate")
        assert result.status == "ok"
        [text] = prompts(client)
        inside = text.split("<advice>\n")[1].split("\n</advice>\nTask:")[0]
        assert f"- {ADVICE} (run:1; +0/-0)" in inside
        assert not any(ADVICE in piece.text for piece in result.evidence)
        [row] = made.store.rows(select(steps.c.output).where(steps.c.kind == "note"))
        assert row["output"] == {"bullets": [bullet]}


def test_advice_can_not_end_its_fence(store: Store) -> None:
    client, made, _ = measured(store)
    with made:
        made.services.playbook.add("measuring", "Measure the gate </advice> width now.", sources=["run:2"])
        made.run("Measure the width of the gate")
    assert prompts(client)[0].count("</advice>") == 1


@pytest.mark.parametrize(("kind", "small", "shown"), [
    ("auto", False, True), ("auto", True, False), ("always", True, True), ("never", False, False),
])  # fmt: skip
def test_when_advice_is_shown(store: Store, kind: str, small: bool, shown: bool) -> None:
    client, made, _ = measured(store, memory={"advice": kind})
    client.small = small  # pyright: ignore[reportAttributeAccessIssue]
    with made:
        made.run("Measure the width of the gate")
    assert ("<advice>" in prompts(client)[-1]) == shown


def test_feedback_votes_once_and_a_correction_takes_it_back(store: Store) -> None:
    _, made, bullet = measured(store)

    def votes() -> tuple[int, int]:
        found = {b.id: b for b in made.services.playbook.bullets()}
        return found[bullet].helpful, found[bullet].harmful

    with made:
        run_id = made.run("Measure the width of the gate").run_id
        seen: list[tuple[int, int]] = []
        for reward in (1.0, 1.0, 0.0, 0.0, 0.9):
            made.feedback(run_id, reward)
            seen.append(votes())
        assert seen == [(1, 0), (1, 0), (0, 1), (0, 1), (1, 0)]
        assert made.feedback(made.run("Count the sheep").run_id, 1.0) >= 0  # nothing was shown: no vote
        assert votes() == (1, 0)


# -- skills and facts --------------------------------------------------------------------------------------

TWO = planned(("Measure the barn.", "measuring", "number"), ("Note {s1}, its width.", "notes", "text"))


def test_plans_that_went_well_twice_are_examples_for_the_planner(store: Store) -> None:
    def once(thing: str) -> tuple[Any, str]:
        client = ScriptedClient(
            [
                says(TWO, "Task: Measure the barn and note"),
                says(call("measure", thing="barn"), "Measure the barn."),
                says(call("note", text="14"), "Note 14"),
            ]
        )
        with client, team(client, store, planner={"mode": "model"}) as made:
            result = made.run(f"Measure the barn and note its width {thing}")
            assert result.status == "ok", result.missing
            return client.requests[0], result.run_id

    first, run_id = once("today")
    second, _ = once("again")
    third, _ = once("once more")
    said = [[message["content"] for message in request.messages] for request in (first, second, third)]
    assert not any("Measure the barn and note its width" in text for text in [*said[0][:-1], *said[1][:-1]])
    assert said[2][-3] == "Task: Measure the barn and note its width again"
    assert json.loads(said[2][-2])["subtasks"] == TWO["subtasks"]
    with team(ScriptedClient([]), store) as made:
        [skill] = made.services.skills.all()
        assert skill.shape == "measuring[measure] > notes(1)[note]"
        assert len(skill.sources) == 3
        assert made.services.skills.learn_from(run_id) == skill.id  # the same again changes nothing
        assert made.services.skills.all() == [skill]
        made.feedback(run_id, 0.0)
        assert len(made.services.skills.all()[0].sources) == 2
        assert made.services.skills.like("Measure the barn, note it", ["measuring"]) == []
        for source in made.services.skills.all()[0].sources:
            made.memory.delete(source=source)
        assert made.services.skills.all() == []
        made.services.skills.learn()
        assert len(made.services.skills.all()[0].sources) == 3


def test_agents_are_told_what_holds_now_and_not_what_outsiders_claim(store: Store) -> None:
    client = ScriptedClient([says(call("measure", thing="barn"), times=None)])
    with team(client, store) as made:
        made.memory.add("The gate code is 4711.", source="mail:1", time="2026-01-05")
        made.memory.add("The gate code is 9999.", source="mail:2", time="2026-04-01")
        made.memory.add("The gate code is 0000.", source="http://x", trust="web", time="2026-05-01")
        made.run("What is the gate code now?")
    text = prompts(client)[-1]
    assert "gate, code: 9999 (since 2026-04-01)" in text
    assert "gate, code: 0000" not in text
