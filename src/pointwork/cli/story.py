"""A run put together from the store's rows: its plans, their parts, each try at them, and when it happened."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]


@dataclass
class Event:
    """A call of a model or of a tool.

    Attributes:
        kind: ``model`` or ``tool``.
        name: of the tool, or of who asked the model.
        status: ``done`` or ``failed``; of a tool also ``intent`` and ``denied``.
        arguments: of a tool.
        said: its result, or what it failed with; ``answer`` is a tool's short one, where it gives one.
        tokens, usd: of a model's call.
        start: seconds since the epoch; ``seconds`` after it is its end.
    """

    kind: str
    name: str
    status: str
    said: str
    start: float
    seconds: float
    arguments: Row = field(default_factory=dict[str, Any])
    tokens: int = 0
    usd: float = 0.0
    answer: str = ""

    @property
    def end(self) -> float:
        """Seconds since the epoch."""
        return self.start + self.seconds


@dataclass
class Attempt:
    """One try at a part, on one arm.

    Attributes:
        name: ``p0.s1#1``: first plan, part s1, first try.
        agent, model, mode: of the arm.
        propensity, policy: of the decision; ``candidates`` has (arm, propensity, score, mean, bonus, cost) of all.
        tiers: of memory.
        status, why, text: what came of it; ``stopped`` if nothing did.
    """

    name: str
    agent: str
    model: str
    mode: str
    propensity: float
    policy: str
    candidates: list[Row]
    start: float
    end: float
    tiers: dict[str, str] = field(default_factory=dict[str, str])
    status: str = "stopped"
    why: str = ""
    text: str = ""
    events: list[Event] = field(default_factory=list[Event])

    @property
    def tokens(self) -> int:
        """Of its model calls."""
        return sum(event.tokens for event in self.events)

    @property
    def usd(self) -> float:
        """Of its model calls."""
        return sum(event.usd for event in self.events)

    @property
    def asked(self) -> int:
        """How often a model was called."""
        return sum(event.kind == "model" for event in self.events)


@dataclass
class Part:
    """A subtask of a plan with its tries."""

    id: str
    text: str
    capability: str = ""
    needs: tuple[str, ...] = ()
    tries: list[Attempt] = field(default_factory=list[Attempt])


@dataclass
class Round:
    """A plan and what was done for it. ``events`` are the planner's model calls."""

    number: int
    author: str
    problems: tuple[str, ...]
    parts: list[Part]
    asked: str
    start: float
    end: float
    events: list[Event]


@dataclass
class Story:
    """A whole run; ``others`` are model calls that belong to no try and no plan (a judge's)."""

    run: Row
    rounds: list[Round]
    others: list[Event]
    start: float
    end: float


def story_of(found: Row) -> Story:
    """Put a run together from what ``show_run`` found; also one that is not done, or of an older version."""
    run: Row = found["run"]
    events = _events(found)
    tries = _tries(found, events)
    rounds = _rounds(found, tries, events)
    placed = {attempt.name for attempt in tries} | {f"p{round_.number}" for round_ in rounds}
    others = [event for name, listed in events.items() if name not in placed for event in listed]
    ends = [
        run["created"],
        *(event.end for listed in events.values() for event in listed),
        *(attempt.end for attempt in tries),
        *(round_.end for round_ in rounds),
    ]
    return Story(run, rounds, others, run["created"], run["finished"] or max(ends))


def _events(found: Row) -> dict[str, list[Event]]:
    """Calls by the name of what made them, in their order."""
    listed: list[tuple[str, Event]] = []
    for step in found["steps"]:
        if step["kind"] != "model":
            continue
        tokens = (step["prompt_tokens"] or 0) + (step["completion_tokens"] or 0)
        status = "failed" if step["error"] else "done"
        said = _said(step["error"], step["output"])
        event = Event("model", step["agent"] or "", status, said, step["started"], step["seconds"] or 0.0)
        event.tokens, event.usd = tokens, (step["usd_nano"] or 0) / 1e9
        listed.append((step["subtask"] or "", event))
    for call in found["tool_calls"]:
        said = _said(call["error"], call["result"])
        seconds = 0.0 if call["finished"] is None else call["finished"] - call["started"]
        event = Event("tool", call["tool"], call["status"], said, call["started"], seconds, call["arguments"])
        event.answer = "" if call["error"] else _said(None, call["result"], "answer")
        listed.append((call["subtask"] or "", event))
    found_by: dict[str, list[Event]] = {}
    for name, event in sorted(listed, key=lambda pair: pair[1].start):
        found_by.setdefault(name, []).append(event)
    return found_by


def _said(error: str | None, result: Row | None, key: str = "text") -> str:
    return error or str((result or {}).get(key) or "")


def _tries(found: Row, events: dict[str, list[Event]]) -> list[Attempt]:
    checks: dict[str, Row] = {
        step["subtask"]: step["output"] for step in found["steps"] if step["kind"] == "verify"
    }
    result: Row = found["run"]["result"] or {}
    decided: dict[str, Row] = {row["id"]: row for row in result.get("decisions", ())}
    took = {row["decision_id"]: row["seconds"] for row in found.get("outcomes", ()) if row["seconds"] is not None}
    counts: dict[str, int] = {}
    tries: list[Attempt] = []
    for row in found["decisions"]:
        if not row["subtask"]:
            continue
        counts[row["subtask"]] = counts.get(row["subtask"], 0) + 1
        name = f"{row['subtask']}#{counts[row['subtask']]}"
        agent, _, rest = row["arm"].partition("/")
        model, _, mode = rest.rpartition("/")
        made = events.get(name, [])
        end = max([row["created"] + took.get(row["id"], 0.0), *(event.end for event in made)])
        attempt = Attempt(
            name, agent, model, mode, row["propensity"], row["policy"], _candidates(row), row["created"], end
        )
        attempt.events = made
        check: Row = checks.get(name) or decided.get(row["id"]) or {}
        attempt.status, attempt.why = check.get("status", "stopped"), check.get("why", "")
        attempt.text, attempt.tiers = check.get("text", ""), check.get("tiers", {})
        tries.append(attempt)
    return tries


def _candidates(row: Row) -> list[Row]:
    """The arms that could have been drawn, the likeliest first."""
    scores: dict[str, Row] = row["scores"] or {}
    listed = [
        {"arm": arm, "propensity": row["propensities"].get(arm, 0.0), **(scores.get(arm) or {})}
        for arm in row["candidates"]
    ]
    return sorted(listed, key=lambda candidate: -candidate["propensity"])


def _rounds(found: Row, tries: Sequence[Attempt], events: dict[str, list[Event]]) -> list[Round]:
    plans: dict[str, Row] = {step["subtask"]: step for step in found["steps"] if step["kind"] == "plan"}
    result: Row = found["run"]["result"] or {}
    numbers = {int(attempt.name[1 : attempt.name.index(".")]) for attempt in tries} | {int(n[1:]) for n in plans}
    rounds: list[Round] = []
    for number in sorted(numbers):
        step = plans.get(f"p{number}")
        plan: Row
        if step is not None:
            plan = step["output"]
        elif number == max(numbers) and result:
            plan = result["plan"]
        else:  # written by a version that kept only the last plan
            plan = {"author": "", "problems": [], "subtasks": []}
        parts = [Part(r["id"], _with_found(r), r["capability"], tuple(r["needs"])) for r in plan["subtasks"]]
        by_id = {part.id: part for part in parts}
        for attempt in tries:
            key, _, _ = attempt.name.partition("#")
            plan_name, _, part_id = key.partition(".")
            if plan_name == f"p{number}":
                part = by_id.get(part_id)
                if part is None:
                    part = by_id[part_id] = Part(part_id, _asked_of(found, key))
                    parts.append(part)
                part.tries.append(attempt)
        made = events.get(f"p{number}", [])
        start = step["started"] if step else min((event.start for event in made), default=found["run"]["created"])
        end = start + (step["seconds"] or 0.0) if step else max((event.end for event in made), default=start)
        given: Row = step["input"] or {} if step else {}
        rounds.append(
            Round(number, plan["author"], tuple(plan["problems"]), parts, given.get("task", ""), start, end, made)
        )
    return rounds


def _with_found(subtask: Row) -> str:
    """What to do, and the answer if planning brought it."""
    found: Row | None = subtask.get("found")
    return subtask["text"] if found is None else f"{subtask['text']} = {found['answer']} ({found['source']})"


def _asked_of(found: Row, key: str) -> str:
    return next((row["text"] or "" for row in found["decisions"] if row["subtask"] == key), "")
