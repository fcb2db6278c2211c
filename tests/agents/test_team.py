"""Whole runs on a scripted model: plan, routing, re-routing, re-planning, budget, events, the record."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, cast

import pytest
from sqlalchemy import select

from pointwork import Agent, Budget, Team, tool
from pointwork.agents import Result
from pointwork.agents.runs import credited_decisions, list_runs
from pointwork.errors import ProviderError, UsageError
from pointwork.models import ChatRequest, Price, ScriptedClient, Step
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.store.tables import decisions, ledger, outcomes, runs, steps


@tool
def measure(thing: str) -> str:
    """Measure a thing in metres."""
    if thing == "nothing":
        raise ValueError("there is nothing to measure")
    return {"gate": "3", "barn": "14"}.get(thing, "7")


@tool
def multiply(a: float, b: float) -> float:
    """Multiply two numbers."""
    return a * b


TASK = "Measure the width of the gate, and then double the width."
PLAN = {
    "subtasks": [
        {"task": "Measure the width of the gate.", "capability": "measuring", "answer": "number"},
        {"task": "Double {s1}, the width.", "capability": "sums", "answer": "number"},
    ]
}


def says(value: Any, match: str | None = None, times: int | None = 1) -> Step:
    """A reply to a prompt whose last message has ``match`` in it."""
    test: Callable[[ChatRequest], bool] | None = None
    if match is not None:
        test = lambda request: match in request.messages[-1]["content"]  # noqa: E731
    return Step(value if isinstance(value, str | Exception) else json.dumps(value), match=test, times=times)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "arguments": arguments}


def agents(modes: tuple[Any, ...] = ("instant",)) -> list[Agent]:
    return [
        Agent(
            "measurer", "You measure.", {"measuring": "width, length, height of things"}, (measure,), modes=modes
        ),
        Agent(
            "adder",
            "You multiply, double, add.",
            {"sums": "multiply, double, add numbers"},
            (multiply,),
            modes=modes,
        ),
    ]


def team(client: ScriptedClient, store: Store, members: list[Agent] | None = None, **settings: Any) -> Team:
    return Team(
        members or agents(), Settings.model_validate(settings), store=store, models={"worker-small": client}
    )


def run(client: ScriptedClient, store: Store, task: str = TASK, **options: Any) -> Result:
    with client, team(client, store) as made:
        return made.run(task, **options)


HAPPY = [
    says(PLAN, "Task: Measure"),
    says(call("measure", thing="gate"), "Measure the width of the gate."),
    says(call("multiply", a=3, b=2), "Double 3"),
]


def test_a_run_plans_routes_acts_and_answers(store: Store) -> None:
    client = ScriptedClient(HAPPY, price=Price(1.0, 2.0))
    result = run(client, store)
    assert (result.text, result.status, result.plan.author) == ("6.0", "ok", "model")
    assert [d.arm for d in result.decisions] == ["measurer/scripted/instant", "adder/scripted/instant"]
    assert [e.source for e in result.evidence] == ["tool:measure", "tool:multiply"]
    assert result.cost.calls == 3
    assert result.cost.tool_calls == 2
    spent = [r for r in store.rows(select(ledger).where(ledger.c.kind == "settle"))]
    assert result.cost.tokens == sum(row["tokens"] for row in spent)
    assert result.cost.usd == pytest.approx(sum(row["usd_nano"] for row in spent) / 1e9)
    assert result.cost.usd > 0
    assert {row["by"] for row in spent} >= {"planner", "agent:measurer", "tool:measure"}
    assert len(store.rows(select(steps).where(steps.c.kind == "model"))) == 3


def test_the_record_is_the_result(store: Store) -> None:
    result = run(ScriptedClient(HAPPY), store)
    [row] = store.rows(select(runs))
    assert Result.from_json(row["result"]) == result
    assert json.loads(json.dumps(result.as_json())) == row["result"]
    [listed] = list_runs(store)
    assert (listed["run_id"], listed["status"], listed["task"]) == (result.run_id, "ok", TASK)


def test_events_tell_the_story_in_order(store: Store) -> None:
    client = ScriptedClient(HAPPY)
    with client, team(client, store) as made:
        events = list(made.stream(TASK))
    assert [event["event"] for event in events] == [
        "run",
        "plan",
        "subtask_started",
        "subtask_finished",
        "subtask_started",
        "subtask_finished",
        "answer",
    ]
    finished = [event for event in events if event["event"] == "subtask_finished"]
    assert finished[0]["text"] == "3"
    assert finished[0]["tiers"]["filter"] == "mid"
    json.dumps(events)


def test_independent_subtasks_run_at_the_same_time(store: Store) -> None:
    both = {
        "subtasks": [
            {"task": "Measure the gate.", "capability": "measuring", "answer": "number"},
            {"task": "Measure the barn.", "capability": "measuring", "answer": "number"},
        ]
    }
    gate, barn = says(call("measure", thing="gate"), "the gate."), says(call("measure", thing="barn"), "the barn.")
    client = ScriptedClient(
        [
            says(both, "Task: Measure the gate and"),
            Step(gate.reply, gate.match, 0.3),
            Step(barn.reply, barn.match, 0.3),
        ]
    )
    result = run(client, store, "Measure the gate and measure the barn.")
    assert result.text == "3; 14"
    rows = store.rows(select(steps).order_by(steps.c.started))
    first, second = [row for row in rows if row["kind"] == "model"][1:]
    assert second["started"] < first["started"] + first["seconds"]  # it did not wait for the other's end


def test_a_failed_answer_goes_to_another_arm(store: Store) -> None:
    """The first arm that is drawn makes a number up; the check refuses it; the other arm is then taken."""
    made_up, right = call("multiply", a=41, b=2), call("multiply", a=9, b=2)
    client = ScriptedClient([says({"call": made_up}), says(right)], ordered=True)
    doubled = Agent("adder", "You double numbers.", {"sums": "double numbers"}, (multiply,), modes=("instant",))
    other = Agent("adder2", "You double numbers.", {"sums": "double numbers"}, (multiply,), modes=("instant",))
    client = ScriptedClient([says(made_up), says(right)], ordered=True)
    with client, team(client, store, [doubled, other]) as made:
        result = made.run("Double 9")
    assert (result.text, result.status) == ("18.0", "ok")
    first, second = result.decisions
    assert (first.status, second.status) == ("failed", "ok")
    assert first.arm != second.arm
    quality = {row["decision_id"]: row["quality"] for row in store.rows(select(outcomes))}
    assert (quality[first.id], quality[second.id]) == (0.0, 1.0)


def test_a_tool_call_that_fails_is_corrected_once(store: Store) -> None:
    client = ScriptedClient(
        [
            says(call("measure", thing="nothing"), "Task: Measure"),
            says(call("measure", thing="gate"), "nothing to measure"),
        ]
    )
    result = run(client, store, "Measure the gate")
    assert (result.text, result.status) == ("3", "ok")
    assert len(result.decisions) == 1


def test_after_two_arms_a_new_plan_starts_from_what_is_known(store: Store) -> None:
    again = {"subtasks": [{"task": "Double 3, the width of the gate.", "capability": "sums", "answer": "number"}]}
    client = ScriptedClient(
        [
            says(PLAN, "Task: Measure the width of the gate, and then"),
            says(call("measure", thing="gate"), "Task: Measure the width of the gate."),
            says(call("multiply", a=99, b=2), "Double 3, the width."),
            says(again, "An earlier plan failed. Known: Measure the width of the gate. 3"),
            says(call("multiply", a=3, b=2), "Double 3, the width of the gate."),
        ]
    )
    result = run(client, store)
    assert (result.text, result.status, result.plan.author) == ("6.0", "ok", "model")
    assert [d.subtask for d in result.decisions] == ["p0.s1", "p0.s2", "p1.s1"]


def test_when_nothing_helps_the_run_says_what_is_missing(store: Store) -> None:
    client = ScriptedClient([says(ProviderError("the server burnt down"), times=None)])
    result = run(client, store, "Double 9")
    assert (result.status, result.text) == ("failed", "")
    assert "burnt down" in result.missing[0]
    [row] = store.rows(select(runs))
    assert row["status"] == "failed"


def test_a_bad_plan_never_stops_a_run(store: Store) -> None:
    client = ScriptedClient(
        [
            says("no plan at all", "Task: Measure"),
            says("still none", "That plan does not fit"),
            says(call("measure", thing="gate"), "Measure the width"),
            says(call("multiply", a=3, b=2), "double 3"),
        ]
    )
    result = run(client, store, "Measure the width of the gate, and then double it.")
    assert (result.text, result.status, result.plan.author) == ("6.0", "ok", "splitter")
    assert len(result.plan.problems) == 2


def test_a_budget_that_ends_gives_the_partial_answer_and_what_is_missing(store: Store) -> None:
    client = ScriptedClient(HAPPY[:2], price=Price(1.0, 2.0))
    result = run(client, store, budget=Budget(tool_calls=1, turns=2))
    assert result.status == "budget_exhausted"
    assert result.text == "3"
    assert result.missing[0].startswith("s2 (Double {s1}, the width.)")
    assert "turns" in result.missing[0]
    assert result.cost.calls == 2


def test_a_budget_of_nothing_calls_nobody(store: Store) -> None:
    result = run(ScriptedClient([]), store, budget=Budget(turns=0))
    assert (result.status, result.text, result.cost.calls) == ("budget_exhausted", "", 0)
    result = run(ScriptedClient([]), store, "Double 9", budget=Budget(seconds=0))
    assert result.status == "budget_exhausted"


def test_the_agent_sees_what_is_left(store: Store) -> None:
    client = ScriptedClient([says(call("multiply", a=9, b=2), "Remaining budget: ")])
    assert run(client, store, "Double 9", budget=Budget(tokens=5000)).status == "ok"


def test_an_agentic_arm_loops_until_it_answers(store: Store) -> None:
    client = ScriptedClient(
        [
            says({"call": call("measure", thing="gate")}, "Task: Measure"),
            says({"call": call("measure", thing="barn")}, "Result: 3"),
            says({"call": call("answer", text="3 and 14")}, "Result: 14"),
        ]
    )
    with client, team(client, store, agents(("agentic",))) as made:
        result = made.run("Measure the gate and the barn")
    assert (result.text, result.status) == ("3 and 14", "ok")


def test_an_agentic_arm_that_goes_in_circles_is_asked_to_answer(store: Store) -> None:
    client = ScriptedClient([says({"call": call("measure", thing="gate")}, times=2)])
    with client, team(client, store, agents(("agentic",))) as made:
        assert made.run("Measure the gate").text == "3"


def test_feedback_reaches_the_decisions_of_the_run(store: Store) -> None:
    client = ScriptedClient(HAPPY)
    with client, team(client, store) as made:
        result = made.run(TASK)
        assert made.feedback(result.run_id, 0.25) == 2
        made.feedback(result.run_id[:14], 0.25)
        made.feedback(result.run_id, 0.5)
        for wrong in (1.5, -0.1, float("nan"), True):
            with pytest.raises(UsageError, match="reward"):
                made.feedback(result.run_id, wrong)
        with pytest.raises(UsageError, match="no run"):
            made.feedback("none", 1.0)
    assert set(credited_decisions(store, result.run_id)) == {d.id for d in result.decisions}
    for decision in result.decisions:
        rows = store.rows(select(outcomes).where(outcomes.c.decision_id == decision.id).order_by(outcomes.c.id))
        assert [row["quality"] for row in rows if row["source"] == "feedback"][-1] == 0.5


@pytest.mark.parametrize("how", ["with a loop", "without one"])
def test_the_graph_is_a_node_in_another_graph(store: Store, how: str) -> None:
    from typing import TypedDict

    from langgraph.graph import END, START, StateGraph

    class Outer(TypedDict, total=False):
        task: str
        text: str
        shouted: str

    def shout(state: Outer) -> Outer:
        return {"shouted": state.get("text", "").upper() + "!"}

    client = ScriptedClient([says(call("multiply", a=9, b=2))])
    with client, team(client, store) as made:
        graph: Any = StateGraph(Outer)
        graph.add_node("team", made.graph)
        graph.add_node("shout", shout)
        graph.add_edge(START, "team")
        graph.add_edge("team", "shout")
        graph.add_edge("shout", END)
        outer = graph.compile()
        asked = {"task": "Double 9"}
        state = asyncio.run(outer.ainvoke(asked)) if how == "with a loop" else outer.invoke(asked)
    assert state["shouted"] == "18.0!"
    assert [row["status"] for row in store.rows(select(runs))] == ["ok"]


def test_the_graph_asks_for_a_task(store: Store) -> None:
    with team(ScriptedClient([]), store) as made:
        for empty in ({"task": " "}, {}):
            with pytest.raises(UsageError, match="task is empty"):
                made.graph.invoke(empty)
    assert not store.rows(select(runs))


def test_arun_works_beside_other_tasks(store: Store) -> None:
    client = ScriptedClient(
        [says(call("multiply", a=9, b=2), "Double 9"), says(call("multiply", a=8, b=2), "Double 8")]
    )

    async def both(made: Team) -> list[Result]:
        return list(await asyncio.gather(made.arun("Double 9"), made.arun("Double 8")))

    with client, team(client, store) as made:
        first, second = asyncio.run(both(made))
    assert (first.text, second.text) == ("18.0", "16.0")


def test_a_cancelled_run_is_interrupted_and_resumes(store: Store) -> None:
    slow = says(call("multiply", a=3, b=2), "Double 3")
    client = ScriptedClient([*HAPPY[:2], Step(slow.reply, slow.match, delay=30)])

    async def stopped(made: Team) -> None:
        job = asyncio.create_task(made.arun(TASK))
        while "p0.s2" not in {row["subtask"] for row in store.rows(select(decisions))}:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.05)
        job.cancel()
        await asyncio.gather(job, return_exceptions=True)
        await asyncio.sleep(0.2)

    with team(client, store) as made:
        asyncio.run(stopped(made))
    [row] = store.rows(select(runs))
    assert row["status"] == "interrupted"

    client = ScriptedClient([HAPPY[2]])
    with client, team(client, store) as made:
        result = made.resume(row["id"])
        assert (result.text, result.status) == ("6.0", "ok")
        assert made.resume(row["id"]) == result


def test_later_runs_of_a_thread_remember_earlier_ones(store: Store) -> None:
    first = says(call("measure", thing="gate"), "Task: Measure the width of the gate")
    second = says({"tool": "measure", "arguments": {"thing": "gate"}}, "Measure the width of the gate\n3")
    with team(ScriptedClient([first]), store) as made:
        made.run("Measure the width of the gate", thread="farm")
        assert made.memory.recall("width of the gate").items[0].source.startswith("run:")
    client = ScriptedClient([second])
    with team(client, store) as made:
        made.run("What width of the gate did we measure?", thread="farm")
    shown = client.requests[0].messages[-1]["content"]
    assert "memory:" in shown


@pytest.mark.parametrize(
    ("task", "why"),
    [("", "empty"), ("  \n ", "empty"), ("x" * 30_000, "30,000"), (b"bytes", "text"), ("half \ud800", "surrogate")],
)
def test_tasks_that_can_not_be_run_store_nothing(store: Store, task: Any, why: str) -> None:
    with team(ScriptedClient([]), store) as made, pytest.raises(UsageError, match=why):
        made.run(task)
    assert store.rows(select(runs)) == []


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"thread": "a\0b"}, "thread="),
        ({"thread": "\ud800"}, "thread="),
        ({"thread": "t" * 257}, "thread has 257"),
        ({"thread": 5}, "thread=5"),
        ({"budget": {"tokens": 5}}, "no Budget"),
        ({"budget": 0.05}, "no Budget"),
    ],
)
def test_options_that_make_no_sense_store_and_cost_nothing(store: Store, options: Any, why: str) -> None:
    with team(ScriptedClient([]), store) as made, pytest.raises(UsageError, match=why):
        made.run(TASK, **options)
    assert store.rows(select(runs)) == []


@pytest.mark.parametrize("reward", ["1", None, [1], float("nan"), 1.01, True])
def test_what_is_no_reward(store: Store, reward: Any) -> None:
    client = ScriptedClient([says(call("multiply", a=9, b=2), "Double 9")])
    with client, team(client, store) as made:
        run_id = made.run("Double 9").run_id
        with pytest.raises(UsageError, match="from 0 to 1"):
            made.feedback(run_id, reward)
        for wrong in (None, 5):
            with pytest.raises(UsageError, match="id of a run"):
                made.feedback(cast(Any, wrong), 1.0)


def test_a_closed_team_takes_no_feedback(store: Store) -> None:
    with team(ScriptedClient([says(call("multiply", a=9, b=2), "Double 9")]), store) as made:
        run_id = made.run("Double 9").run_id
    with pytest.raises(UsageError, match="closed"):
        made.feedback(run_id, 1.0)


def test_a_callers_own_role_is_one_that_an_agent_plays(store: Store) -> None:
    poet = Agent("poet", "Write verse.", ("verse",), roles=("muse",))
    with Team([poet], Settings(), store=store, models={"muse": ScriptedClient([])}) as made:
        assert [arm.name.split("/")[0] for arm in made.router.arms][:1] == ["poet"]


def test_roots_that_are_not_there(store: Store, tmp_path: Any) -> None:
    (tmp_path / "file.txt").write_text("x")
    with team(ScriptedClient([]), store) as made:
        with pytest.raises(UsageError, match="does not exist"):
            made.run("Double 9", root=tmp_path / "absent")
        with pytest.raises(UsageError, match="is a file"):
            made.run("Double 9", root=tmp_path / "file.txt")
    with pytest.raises(UsageError, match="closed"):
        made.run("Double 9")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Agent("a b", "x", ("c",)), "name"),
        (lambda: Agent("a", "x", ()), "capabilities"),
        (lambda: Agent("a", "x", cast(Any, "c")), "capabilities"),
        (lambda: Agent("a", "x", ("c",), (measure, measure)), "two tools"),
        (lambda: Agent("a", "x", ("c",), modes=cast(Any, ("fast",))), "unknown mode"),
        (lambda: Agent(cast(Any, None), "x", ("c",)), "name"),
        (lambda: Agent("a", cast(Any, None), ("c",)), "instructions"),
        (lambda: Agent("a", "x", ("",)), "capability"),
        (lambda: Agent("a", "x", cast(Any, {"c": None})), "capability"),
        (lambda: Agent("a", "x", ("c",), cast(Any, (measure.fn,))), "put @tool before"),
        (lambda: Agent("a", "x", ("c",), cast(Any, 3)), "tools must be a tuple"),
        (lambda: Agent("a", "x", ("c",), roles=cast(Any, "judge")), r"roles=\('judge',\)"),
        (lambda: Agent("a", "x", ("c",), modes=cast(Any, "instant")), r"modes=\('instant',\)"),
        (lambda: Agent("a", "x", ("c",), roles=cast(Any, (None,))), "roles"),
        (lambda: Team([], store="sqlite://"), "at least one agent"),
        (lambda: Team(cast(Any, Agent("a", "x", ("c",))), store="sqlite://"), "list of agents"),
        (lambda: Team(cast(Any, ["a"]), store="sqlite://"), "no Agent"),
        (lambda: Team.default(cast(Any, Agent("a", "x", ("c",))), store="sqlite://"), "list of agents"),
        (lambda: Team(store="sqlite://", root=cast(Any, 3)), "root"),
        (lambda: Team(store="sqlite://", config=cast(Any, {"budget": {}})), "configuration"),
        (lambda: Team(store="sqlite://", models=cast(Any, [ScriptedClient([])])), "maps roles"),
        (lambda: Team(store="sqlite://", models=cast(Any, {"judge": "gpt-5"})), "no ModelClient: it lacks name"),
        (
            lambda: Team(store="sqlite://", models={"judge": ScriptedClient([], price=cast(Any, (1, 2)))}),
            "price must be",
        ),
        (lambda: Team([Agent("a", "x", ("c",))] * 2, store="sqlite://"), "same name"),
        (lambda: Agent("a", "x", cast(Any, 5)), "capabilities"),
        (lambda: Agent("a", "x", ("c",), roles=cast(Any, 5)), "roles"),
        (lambda: Team([Agent("a", "x", ("c",), roles=("worker-smal",))], store="sqlite://"), "worker-smal"),
        (lambda: Team(store="sqlite://", models={"plannr": ScriptedClient([])}), "plannr"),
    ],
)
def test_agents_and_teams_that_make_no_sense(make: Callable[[], Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        make()


def test_teams_in_memory_know_nothing_of_each_other() -> None:
    with ScriptedClient([]) as client:
        first = Team(store="sqlite://", models={"worker-small": client})
        first.run("What is 17% of 2340?")
        with Team(store="sqlite://", models={"worker-small": client}) as second:
            assert second.store is not first.store
            assert not second.store.rows(select(runs))
        first.close()
