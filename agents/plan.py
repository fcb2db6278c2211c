"""Plans: a small DAG of subtasks, its JSON schema, and the rules it must obey."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast

from pointwork.errors import PlanError
from pointwork.text import tokenize

Author = Literal["model", "repaired", "splitter", "instant", "program", "decomposer", "calculation"]

ANSWER_TYPES = ("text", "number", "date", "list", "yes-no")

MAX_SUBTASKS = 8

# Share of a plan's words that need not be the task's.
NOVEL = 0.6

# Share of the task's words that the subtasks must speak of.
COVERED = 0.45

_NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")

# {s1} in a subtask's text stands for the answer of subtask s1.
REFERENCE = re.compile(r"\{(s\d+)\}")


@dataclass(frozen=True)
class Found:
    """An answer that stood in what the planner was shown.

    Attributes:
        answer: as it stands there.
        source: as evidence names it.
        text: the line that it stands in.
    """

    answer: str
    source: str
    text: str


@dataclass(frozen=True)
class Subtask:
    """A node of the plan.

    Attributes:
        id: ``s1``, ``s2`` …
        text: what to do; ``{s1}`` stands for the answer of s1.
        capability: what it needs; the router picks the arm.
        needs: ids of subtasks whose answers it builds on.
        answer_type: one of ANSWER_TYPES.
        found: its answer, if planning it brought that: then no agent is asked.
    """

    id: str
    text: str
    capability: str
    needs: tuple[str, ...] = ()
    answer_type: str = "text"
    found: Found | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Subtask":
        """From its plain JSON form."""
        found = value.get("found")
        needs, kind = tuple(value["needs"]), value["answer_type"]
        return cls(value["id"], value["text"], value["capability"], needs, kind, found and Found(**found))

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {**asdict(self), "needs": list(self.needs)}


@dataclass(frozen=True)
class Plan:
    """What a run will do.

    Attributes:
        subtasks: in an order that respects their dependencies.
        author: ``model``; ``repaired`` (the model's second try); ``splitter`` (rules, after the model failed twice
            or without a model); ``instant`` (one agent answers outright, nobody planned);
            ``decomposer`` (the model in that role);
            ``calculation`` (what is calculated with what the files say was read without a model);
            ``program`` (the steps are those of a program that the model writes).
        problems: what was wrong with the plans that were refused.
    """

    subtasks: tuple[Subtask, ...]
    author: Author
    problems: tuple[str, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types, for the store and the graph's state."""
        return {
            "subtasks": [subtask.as_json() for subtask in self.subtasks],
            "author": self.author,
            "problems": list(self.problems),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Plan":
        """The inverse of ``as_json``."""
        subtasks = tuple(Subtask.from_json(row) for row in value["subtasks"])
        return cls(subtasks, value["author"], tuple(value["problems"]))

    def sinks(self) -> list[Subtask]:
        """Subtasks that no other builds on: their answers are the run's."""
        used = {need for subtask in self.subtasks for need in subtask.needs}
        return [subtask for subtask in self.subtasks if subtask.id not in used]


def plan_schema(capabilities: Sequence[str], max_subtasks: int = MAX_SUBTASKS) -> dict[str, Any]:
    """JSON schema of a plan as a model writes it; ``{s1}`` in a task makes it depend on the first subtask."""
    subtask = {
        "type": "object",
        "properties": {
            "task": {"type": "string", "minLength": 3, "maxLength": 200},
            "capability": {"enum": list(capabilities)},
            "answer": {"enum": list(ANSWER_TYPES)},
        },
        "required": ["task", "capability", "answer"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"subtasks": {"type": "array", "items": subtask, "minItems": 1, "maxItems": max_subtasks}},
        "required": ["subtasks"],
        "additionalProperties": False,
    }


def read_plan(
    value: Any,
    task: str,
    capabilities: Sequence[str],
    max_subtasks: int = MAX_SUBTASKS,
    known: str = "",
    *,
    literal: bool = True,
    one: bool = False,
) -> list[Subtask]:
    """Subtasks from a model's JSON, checked.

    A plan fits if it has 1 to ``max_subtasks`` subtasks, its dependencies point backwards, its capabilities exist,
    no subtask says the same as another, and every subtask is about the task. Of a model that makes things up
    (``literal``) it must also stay with the words: bring in no number and few words that are neither the task's nor
    known from an earlier plan, and lose no number and no quoted or capitalised name of the task. A good plan need
    not: ``({s1} - {s2}) / {s2} * 100`` speaks of 100 where the task says percent. Where the task asks for ``one``
    thing, every subtask but the last must be built on.

    Raises:
        PlanError: it does not fit; the message lists every reason.
    """
    rows = _rows(value)
    problems: list[str] = []
    if not 1 <= len(rows) <= max_subtasks:
        problems.append(f"{len(rows)} subtasks; allowed are 1 to {max_subtasks}")
    subtasks: list[Subtask] = []
    seen: set[str] = set()
    for number, row in enumerate(rows, 1):
        text = str(row.get("task", "")).strip()
        needs = [int(reference[1:]) for reference in REFERENCE.findall(text)]
        problems += _problems(number, text, needs, row.get("capability"), task, capabilities)
        key = " ".join(sorted(tokenize(text))) if literal else text
        if key in seen:
            problems.append(f"subtask {number} repeats another")
        seen.add(key)
        subtasks.append(
            Subtask(
                id=f"s{number}",
                text=text,
                capability=str(row.get("capability")),
                needs=tuple(f"s{need}" for need in sorted(set(needs))),
                answer_type=str(row.get("answer", "text")),
            )
        )
    if literal:
        problems += _departures(subtasks, task, known)
    if one and len(loose := Plan(tuple(subtasks), "model").sinks()) > 1:
        names = " and ".join(subtask.id for subtask in loose)
        problems.append(
            f"{names} are not used by a later subtask: put {{{loose[0].id}}} into the text that needs that answer, "
            "and leave out what the task does not ask"
        )
    if problems:
        raise PlanError("; ".join(dict.fromkeys(problems)))
    return subtasks


def _departures(subtasks: Sequence[Subtask], task: str, known: str) -> list[str]:
    """Where a plan departs from the words of the task."""
    problems: list[str] = []
    said = " ".join(REFERENCE.sub(" ", subtask.text) for subtask in subtasks)
    strange = sorted(set(_NUMBERS.findall(said)) - set(_NUMBERS.findall(f"{task} {known}")))
    if strange:
        problems.append(f"the task does not speak of {', '.join(strange)}")
    about = [word for word in tokenize(said) if not word.isdigit()]
    new = [word for word in about if word not in set(tokenize(f"{task} {known}"))]
    if len(new) > NOVEL * len(about):
        problems.append("most words of the subtasks are not the task's")
    asked = {word for word in tokenize(task) if not word.isdigit()}
    if not known and len(asked & set(about)) < COVERED * len(asked):
        problems.append("the subtasks leave out most of the task")
    lost = sorted(_marks(task) - _marks(" ".join(subtask.text for subtask in subtasks)))
    if lost:
        problems.append(f"the subtasks leave out {', '.join(lost)}")
    return problems


def _rows(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, Mapping):
        raise PlanError("the plan is not a JSON object with a list of subtasks")
    rows = cast(Mapping[str, Any], value).get("subtasks")
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in cast(list[Any], rows)):
        raise PlanError("the plan is not a JSON object with a list of subtasks")
    return cast(list[dict[str, Any]], rows)


def _problems(
    number: int, text: str, needs: Sequence[int], capability: object, task: str, capabilities: Sequence[str]
) -> list[str]:
    problems: list[str] = []
    if len(text) < 3:
        problems.append(f"subtask {number} is empty")
    elif not needs and not {*tokenize(text), *_digits(text)} & {*tokenize(task), *_digits(task)}:
        problems.append(f"subtask {number} is not about the task")
    if any(not 1 <= need < number for need in needs):
        problems.append(f"subtask {number} needs a subtask that does not come before it")
    if capability not in capabilities:
        problems.append(f"subtask {number} has the unknown capability {capability!r}")
    return problems


def _digits(text: str) -> set[str]:
    return {number.replace(",", "") for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}


def _marks(text: str) -> set[str]:
    """What a plan must not lose: numbers, quoted words, file names, capitalised names inside a sentence."""
    text = REFERENCE.sub(" ", text)
    marks = {number.replace(",", "").rstrip(".") for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}
    marks |= {name.lower() for name in re.findall(r"\b[\w-]+\.[A-Za-z]{1,5}\b", text) if not name[0].isdigit()}
    marks |= {quoted.lower() for quoted in re.findall(r"[\"“]([^\"”]{2,60})[\"”]", text)}
    marks |= {name.lower() for name in re.findall(r"(?<=[a-z,] )[A-Z][A-Za-z]+", text)}
    return marks


def fill_references(text: str, answers: Mapping[str, str]) -> str:
    """A subtask's text with ``{s1}`` replaced by the answer of s1."""
    return REFERENCE.sub(lambda match: answers.get(match[1], match[0]), text)
