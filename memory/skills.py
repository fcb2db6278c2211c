"""Skills: ways of doing a task that worked more than once, as examples for the planner.

A skill is the shape of a plan, its capabilities, what each step builds on and the tools that each called, with the
runs that went well so and a few of their tasks. Only the user's words and what was planned from them are kept; a
plan that was made again after a failure had read what was found, and is not.
"""

import json
import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import delete, insert, select, update

from pointwork.embedding import Embedder, default_embedder
from pointwork.errors import UsageError
from pointwork.store import Store, new_id
from pointwork.store.tables import runs, skills, steps, tool_calls

LEAST = 2  # runs that went well; one alone may be luck
LIKE = 0.35  # cosine of two tasks from which one's plan may serve the other
_EXAMPLES = 5  # tasks of a skill that are kept, the latest
_WINDOW = 2000  # runs that are looked through, the latest

Step = dict[str, object]


@dataclass(frozen=True, slots=True)
class Skill:
    """A shape of a plan that worked.

    Attributes:
        id: for ``remove``.
        shape: in words: ``table[query_table] > math(1)[calculate]``: the second step builds on the first.
        examples: (task, steps of its plan as a planner writes them), the latest last.
        sources: ``run:ID`` of all that went well so.
    """

    id: str
    shape: str
    examples: tuple[tuple[str, tuple[Step, ...]], ...]
    sources: tuple[str, ...]


class Skills:
    """The skills of one store."""

    def __init__(self, store: Store, embedder: Embedder | None = None) -> None:
        self._store = store
        self._embedder = embedder

    def learn_from(self, run_id: str) -> str | None:
        """Take in a run that went well; the same again changes nothing.

        Returns:
            The skill's id; None: the run did not go well, had one step only, or was planned more than once.

        Raises:
            UsageError: there is no such run.
        """
        row = self._store.row(select(runs).where(runs.c.id == run_id))
        if row is None:
            raise UsageError(f"no run {run_id!r} in the store; 'pointwork runs list' shows what is there")
        result = cast(dict[str, Any], row["result"] or {})
        planned = [dict(step) for step in result.get("plan", {}).get("subtasks", ())]
        if row["status"] != "ok" or len(planned) < 2 or self._plans(run_id) > 1:
            return None
        shape, source = _shape(planned, self._tools(run_id)), f"run:{run_id}"
        example = {
            "task": row["task"],
            "plan": [
                {"task": s["text"], "capability": s["capability"], "answer": s["answer_type"]} for s in planned
            ],
            "source": source,
        }
        with self._store.write() as connection:
            known = connection.execute(select(skills).where(skills.c.shape == shape)).mappings().first()
            now = clock.time()
            if known is None:
                number = new_id()
                values = {"id": number, "shape": shape, "examples": [example], "sources": [source]}
                connection.execute(insert(skills).values(**values, created=now, updated=now))
                return number
            if source not in known["sources"]:
                examples = [*(e for e in known["examples"] if e["task"] != row["task"]), example][-_EXAMPLES:]
                values = {"examples": examples, "sources": [*known["sources"], source], "updated": now}
                connection.execute(update(skills).where(skills.c.id == known["id"]).values(**values))
            return str(known["id"])

    def learn(self) -> int:
        """Take in all runs of the store that went well; returns of how many something was learned."""
        query = select(runs.c.id).where(runs.c.status == "ok").order_by(runs.c.created.desc()).limit(_WINDOW)
        return sum(self.learn_from(row["id"]) is not None for row in reversed(self._store.rows(query)))

    def all(self) -> list[Skill]:
        """All shapes that worked, also those that did so once only, the most used first."""
        found = [_skill(row) for row in self._store.rows(select(skills).order_by(skills.c.created, skills.c.id))]
        return sorted(found, key=lambda skill: -len(skill.sources))

    def like(
        self, task: str, capabilities: Sequence[str], *, k: int = 2, least: int = LEAST
    ) -> list[tuple[str, list[Step]]]:
        """Tasks like this one with the plans that worked, the likest last; of each skill at most one.

        Args:
            task: the user's words.
            capabilities: of the team; plans that need others are left out.
            k: how many at most.
            least: runs that a skill must have gone well in.
        """
        fitting = [
            (task_, steps_)
            for skill in self.all()
            if len(skill.sources) >= least
            for task_, steps_ in skill.examples
            if all(step["capability"] in capabilities for step in steps_)
        ]
        if not fitting:
            return []
        vectors = (self._embedder or default_embedder()).embed([task, *(asked for asked, _ in fitting)])
        scored = sorted(zip((vectors[1:] @ vectors[0]).tolist(), range(len(fitting)), strict=True), reverse=True)
        found: dict[str, tuple[str, list[Step]]] = {}
        for score, number in scored:
            asked, plan = fitting[number]
            if score >= LIKE and len(found) < k:
                found.setdefault(_shape_of_steps(plan), (asked, [dict(step) for step in plan]))
        return list(found.values())[::-1]

    def forget(self, source: str) -> int:
        """Delete what rests on a run (``run:ID``) alone, and it from the others; returns how many skills went."""
        gone = 0
        with self._store.write() as connection:
            for row in connection.execute(select(skills).with_for_update()).mappings().all():
                if source not in row["sources"]:
                    continue
                left = [other for other in row["sources"] if other != source]
                if left:
                    examples = [example for example in row["examples"] if example["source"] != source]
                    change = update(skills).where(skills.c.id == row["id"]).values(sources=left, examples=examples)
                else:
                    change = delete(skills).where(skills.c.id == row["id"])
                    gone += 1
                connection.execute(change)
        return gone

    def _plans(self, run_id: str) -> int:
        query = select(steps.c.id).where(steps.c.run_id == run_id, steps.c.kind == "plan")
        return len(self._store.rows(query))

    def _tools(self, run_id: str) -> dict[str, list[str]]:
        """Subtask -> the tools that worked for it, in order, each once."""
        query = select(tool_calls.c.subtask, tool_calls.c.tool).where(
            tool_calls.c.run_id == run_id, tool_calls.c.status == "done"
        )
        found: dict[str, list[str]] = {}
        for row in self._store.rows(query.order_by(tool_calls.c.started)):
            tools = found.setdefault(str(row["subtask"]).partition(".")[2].partition("#")[0], [])
            tools += [row["tool"]] if row["tool"] not in tools else []
        return found


def _shape(planned: Sequence[Mapping[str, Any]], tools: Mapping[str, Sequence[str]]) -> str:
    places = {step["id"]: str(number) for number, step in enumerate(planned, 1)}
    parts: list[str] = []
    for step in planned:
        needs = ",".join(places[need] for need in step["needs"] if need in places)
        used = ",".join(tools.get(step["id"], ()))
        parts.append(step["capability"] + (f"({needs})" if needs else "") + (f"[{used}]" if used else ""))
    return " > ".join(parts)


def _shape_of_steps(plan: Sequence[Step]) -> str:
    return json.dumps([[step["capability"], "{s" in str(step["task"])] for step in plan])


def _skill(row: Mapping[str, Any]) -> Skill:
    examples = tuple(
        (example["task"], tuple(dict(step) for step in example["plan"])) for example in row["examples"]
    )
    return Skill(row["id"], row["shape"], examples, tuple(row["sources"]))
