"""What a run has come to: its result and its progress, read off the graph's state."""

import time
from collections.abc import Sequence

from pointwork.agents.plan import Plan
from pointwork.agents.readings.finishing import as_asked
from pointwork.agents.result import Cost, Decided, Question, Result, Status
from pointwork.agents.services import Services
from pointwork.agents.state import State, Try, results_of_round
from pointwork.tools import Evidence


def progress(state: State) -> tuple[list[tuple[str, str]], list[str]]:
    """Answered subtasks as (question, answer), and what is still open."""
    solved: list[tuple[str, str]] = []
    still_open: list[str] = []
    results = results_of_round(state)
    for subtask in Plan.from_json(state["plan"]).subtasks:
        tried = results.get(subtask.id)
        if tried is not None and tried["status"] == "ok":
            solved.append((tried["question"], tried["text"]))
        else:
            still_open.append(subtask.text)
    return solved, still_open


def failed_steps(state: State) -> frozenset[tuple[str, str]]:
    """(text, capability) of a rules' plan's subtasks that were tried without success: rules repeat themselves."""
    results, plan = results_of_round(state), Plan.from_json(state["plan"])
    return frozenset(
        (subtask.text, subtask.capability)
        for subtask in (plan.subtasks if plan.author in ("splitter", "instant") else ())
        if subtask.id in results and results[subtask.id]["status"] in ("failed", "error")
    )


def workspace(state: State, kind: str) -> tuple[str, list[list[str]]]:
    """What the next plan starts from: a report for the planner, and facts for its subtasks.

    ``markovian``: answers that passed their checks and what is still open, as in IterResearch: a prompt does not
    grow with what went wrong. ``transcript``: also every try, its calls and what was found.
    """
    solved, still_open = progress(state)
    facts = [[f"answer:{question}", text] for question, text in solved]
    report = "Known: " + ("; ".join(f"{q} {t}" for q, t in solved) or "nothing")
    report += ". Open: " + "; ".join(still_open)
    if kind == "transcript":
        prefix = f"p{state['round']}."
        tries: list[Try] = [t for name, t in state.get("tries", {}).items() if name.startswith(prefix)]
        report += "\n" + "\n".join(_told(tried) for tried in tries)
        facts += [[f"tried:{tried['key']}", _told(tried)] for tried in tries if tried["status"] != "ok"]
        facts += [list(piece) for tried in tries for piece in tried["evidence"]]
    return report, facts


def _told(tried: Try) -> str:
    """A try in a line, as a transcript has it."""
    calls = "; ".join(f"{tool} {arguments}: {error or 'ok'}" for tool, arguments, error in tried["calls"])
    said = f"answer {tried['text']!r}" if tried["text"] else "no answer"
    why = f" ({tried['why']})" if tried["why"] else ""
    return f"{tried['question']} [{tried['arm']}] {calls + '; ' if calls else ''}{said}: {tried['status']}{why}"


def build_result(services: Services, state: State, questions: tuple[Question, ...] = ()) -> Result:
    """The result of a run from its final state, or from one in which it waits for answers."""
    run_id = state.get("run_id", "")
    plan = Plan.from_json(state["plan"])
    results = results_of_round(state)
    missing = [
        f"{subtask.id} ({subtask.text}): {results[subtask.id]['why'] if subtask.id in results else 'not begun'}"
        for subtask in plan.subtasks
        if subtask.id not in results or results[subtask.id]["status"] != "ok"
    ]
    spent_all = state.get("spent_all", "")
    status: Status = "budget_exhausted" if spent_all else ("failed" if missing or not plan.subtasks else "ok")
    if questions:
        status = "waiting"
    if spent_all and not plan.subtasks:
        missing = [f"the plan: {spent_all}"]
    sinks = [_best(state, results[subtask.id]) for subtask in plan.sinks() if subtask.id in results]
    if not any(tried["text"] for tried in sinks):  # partial: what the last answered subtask knew
        sinks = [tried for tried in results.values() if tried["status"] == "ok"]
    hand = services.in_hand(run_id)
    return Result(
        text=_text(state, sinks),
        status=status,
        run_id=run_id,
        cost=Cost.of(hand.account.spent(), time.time() - hand.created),
        plan=plan,
        decisions=tuple(_decided(tried) for tried in state.get("tries", {}).values()),
        evidence=_evidence(list(results.values())),
        missing=tuple(missing),
        questions=questions,
    )


def _text(state: State, sinks: Sequence[Try]) -> str:
    """The answers to all parts; a single one in the form that the task asks for."""
    # how far apart two temperatures are no further step converts any more
    texts = [tried["text"].replace("delta_deg", "deg") for tried in sinks if tried["text"]]
    return as_asked(state["task"], texts[0]) if len(texts) == 1 else "; ".join(texts)


def _best(state: State, tried: Try) -> Try:
    """Of the tries of a subtask the one that is ok; else, one that found something before one out of the blue."""
    tries: list[Try] = [t for t in state.get("tries", {}).values() if t["key"] == tried["key"] and t["text"]]
    return max(tries, key=lambda t: (t["status"] == "ok", bool(t["evidence"]), -t["attempt"]), default=tried)


def _decided(tried: Try) -> Decided:
    return Decided(
        id=tried["decision"],
        subtask=tried["key"],
        arm=tried["arm"],
        propensity=tried["propensity"],
        tiers=tried["tiers"],
        status=tried["status"],
        usd=tried["usd"],
        seconds=round(tried["seconds"], 3),
    )


def _evidence(tries: Sequence[Try]) -> tuple[Evidence, ...]:
    pieces: dict[tuple[str, str], None] = {}
    for tried in tries:
        if tried["status"] == "ok":
            pieces |= dict.fromkeys((source, text) for source, text in tried["evidence"])
            pieces |= dict.fromkeys(
                (source, text) for source, text in tried["facts"] if source.startswith("memory:")
            )
    return tuple(Evidence(f"e{number}", source, text) for number, (source, text) in enumerate(pieces, 1))
