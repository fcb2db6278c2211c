"""The graph's state: plain JSON types only, so that any checkpointer can keep it."""

from typing import Annotated, Any, NotRequired, Required, TypedDict, cast


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Reducer: parallel subtasks each write their own key."""
    return {**old, **new}


class TaskInput(TypedDict, total=False):
    """What the graph takes: ``task`` is enough."""

    task: Required[str]
    thread: str | None
    root: str | None
    budget: dict[str, float | int | None]
    run_id: str


class TaskOutput(TypedDict, total=False):
    """What it gives."""

    text: str
    status: str
    run_id: str
    evidence: list[dict[str, str]]
    missing: list[str]


# What a node returns: the keys that it changes.
Update = dict[str, Any]


class State(TaskInput, TaskOutput, total=False):
    """What lies between; ``plan`` and ``round`` are there from the first node on.

    Attributes:
        plan: ``Plan.as_json``.
        round: how many plans there were before this one; keys of ``results`` begin with it.
        results: ``p<round>.<subtask>`` → its latest ``Try``.
        tries: ``p<round>.<subtask>#<attempt>`` → every ``Try``.
        asked: the task as it was understood: of a follow-up in a thread, the question made to stand alone.
        known: (source, text) facts from earlier plans, and for a follow-up from the thread's last turns.
        spent_all: the limit that ended the run, in words; empty while there is budget.
    """

    plan: Required[dict[str, Any]]
    round: Required[int]
    results: Annotated[dict[str, Any], merged]
    tries: Annotated[dict[str, Any], merged]
    asked: str
    known: list[list[str]]
    spent_all: str


class Try(TypedDict):
    """One attempt at a subtask.

    Attributes:
        status: ``done`` (there is an answer), ``ok`` (it passed its checks), ``failed``, ``error``, ``budget``,
            and, both final, ``denied`` (a person refused a tool call) and ``unknown`` (nothing speaks of what is
            asked).
        checked: the verify node has seen it.
        why: why it is not ok.
        capability: what it was tried as, where that was chosen after the answers it builds on.
    """

    key: str
    subtask: str
    attempt: int
    arm: str
    decision: str
    propensity: float
    tiers: dict[str, str]
    text: str
    evidence: list[list[str]]
    calls: list[list[Any]]
    computed: bool
    facts: list[list[str]]
    question: str
    status: str
    checked: bool
    why: str
    usd: float
    seconds: float
    excluded: list[str]
    capability: NotRequired[str]


def updated(tried: Try, **values: Any) -> Try:
    """A copy with some values changed."""
    return cast(Try, {**tried, **values})


def results_of_round(state: State) -> dict[str, Try]:
    """The latest try of each subtask of the current plan, by subtask."""
    prefix = f"p{state['round']}."
    return {
        key.removeprefix(prefix): cast(Try, value)
        for key, value in state.get("results", {}).items()
        if key.startswith(prefix)
    }
