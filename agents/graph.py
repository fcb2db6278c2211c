"""The LangGraph graph: plan → work (one Send per ready subtask) → verify → (work again | plan again | answer)."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send

from pointwork.agents.nodes import Nodes
from pointwork.agents.plan import Plan, Subtask
from pointwork.agents.services import Services
from pointwork.agents.state import State, TaskInput, TaskOutput, results_of_round

# Tries of one subtask: on a second arm where the first failed; then the plan itself is doubted.
MAX_TRIES = 2

# Runs a coroutine to its end, for a caller without an event loop.
Waiting = Callable[[Coroutine[Any, Any, Any]], Any]


def build_graph(services: Services, checkpointer: Any = None, waiting: Waiting | None = None) -> Any:
    """Compile the graph.

    Without a checkpointer it takes that of the graph it is a node of. With ``waiting`` it can be invoked without an
    event loop too.
    """
    nodes = Nodes(services)
    steps = {"plan": nodes.plan, "work": nodes.work, "verify": nodes.verify, "answer": nodes.answer}
    # langgraph's generics can not follow bound methods: this module is the typed edge to it
    graph: Any = StateGraph(State, input_schema=TaskInput, output_schema=TaskOutput)
    for name, step in steps.items():
        graph.add_node(name, step if waiting is None else _either(step, waiting))
    graph.add_edge(START, "plan")
    graph.add_edge("work", "verify")
    graph.add_edge("answer", END)

    async def next_of(state: State) -> Any:  # a plain function would be run in a thread of its own
        return next_step(services, state)

    dispatch = next_of if waiting is None else RunnableLambda(partial(next_step, services), next_of, name="next")
    graph.add_conditional_edges("plan", dispatch, ["work", "answer"])
    graph.add_conditional_edges("verify", dispatch, ["work", "plan", "answer"])
    return graph.compile(checkpointer=checkpointer, name="pointwork")


def _either(step: Callable[[Any], Coroutine[Any, Any, Any]], waiting: Waiting) -> Any:
    """A node with and without an event loop."""

    def waited(state: Any) -> Any:
        return waiting(step(state))

    return RunnableLambda(waited, step)


def resuming(answers: Any) -> Any:
    """The input of a graph that waits, with the answers it waits for."""
    return Command(resume=answers)


def next_step(services: Services, state: State) -> list[Send] | str:
    """What to do now: subtasks that are ready or may be tried on another arm, a new plan, or the answer."""
    plan = Plan.from_json(state["plan"])
    if state.get("spent_all") or not plan.subtasks:
        return "answer"
    results = results_of_round(state)
    answers = {name: tried["text"] for name, tried in results.items() if tried["status"] == "ok"}
    sends: list[Send] = []
    lost = False
    for subtask in plan.subtasks:
        tried = results.get(subtask.id)
        if subtask.id in answers:
            continue
        if tried is None:
            if all(need in answers for need in subtask.needs):
                sends.append(_send(state, subtask, answers, 1, []))
            continue
        if tried["status"] in ("denied", "unknown"):
            continue
        excluded = [*tried["excluded"], tried["arm"]]
        capability = tried.get("capability", subtask.capability)
        others = set(services.candidates(capability, again=True)) - set(excluded)
        if tried["attempt"] < MAX_TRIES and others:
            sends.append(_send(state, subtask, answers, tried["attempt"] + 1, excluded))
        else:
            lost = True
    if sends:
        return sends
    if lost and state["round"] < services.settings.run.max_replans:
        return "plan"
    return "answer"


def _send(state: State, subtask: Subtask, answers: dict[str, str], attempt: int, excluded: list[str]) -> Send:
    key = f"p{state['round']}.{subtask.id}"
    facts = [[f"answer:{need}", answers[need]] for need in subtask.needs]
    return Send(
        "work",
        {
            "run_id": state.get("run_id"),
            "key": key,
            "attempt": attempt,
            "subtask": subtask.as_json(),
            "answers": {need: answers[need] for need in subtask.needs},
            "facts": [*state.get("known", []), *facts],
            "excluded": excluded,
            # agents were chosen before the answers were known
            "late": Plan.from_json(state["plan"]).author in ("splitter", "decomposer", "calculation"),
            "root": state.get("root"),
            "thread": state.get("thread"),
        },
    )
