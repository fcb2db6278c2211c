"""The plan of what a task calculates with amounts that the files say (``parsing.calculating``), without a model."""

import asyncio
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pointwork.agents.comparing import as_asked
from pointwork.agents.decomposer import Decomposed
from pointwork.agents.facts.figures import in_one_form
from pointwork.agents.facts.gathered import Fact
from pointwork.agents.facts.standing import of_others
from pointwork.agents.facts.summed import called
from pointwork.agents.measuring import measures_fit
from pointwork.agents.parsing.amounts import DATE, NUMBER, Amount
from pointwork.agents.parsing.calculating import Calculation, calculations
from pointwork.agents.parsing.operations import APART, CLOCK, COPY, LASTS, SHIFTS, SUMS, WRITTEN, applied, kind_of
from pointwork.agents.plan import REFERENCE, Found, Subtask
from pointwork.agents.readings.wanting import asking
from pointwork.agents.splitter import answer_type_of, without_shape

MOST = 3
"""Calculations that are made plans of at most, the likeliest."""

_SIGNS = {
    **WRITTEN,
    ">": "is {0} more than {1}",
    "<": "is {0} less than {1}",
    ">=": "is {0} at least {1}",
    "<=": "is {0} at most {1}",
}
_MOMENTS = {
    ">": "is {0} after {1}",
    "<": "is {0} before {1}",
    ">=": "is {0} on or after {1}",
    "<=": "is {0} on or before {1}",
}
# Who asks so wants a name, a place or a reason: 24.75 is none. What a task tells itself may still be summed up
# ("Where does she stand?").
_NO_AMOUNT = re.compile(
    r"^(?:(?:please|so|and|but|now)\b[\s,]*)*(?:(?:can|could|would)\s+you\s+)?(?:tell\s+me\s+|do\s+you\s+know\s+)?"
    r"(?:who(?:m|se|['’]s)?|where(?:['’]s)?|why)\b(?!.*\b(?:how|what|when|which)\b)",
    re.IGNORECASE | re.DOTALL,
)
_BEFORE, _AFTER = 60, 24  # characters of a sentence that tell which amount of it is meant


async def calculated(task: str, facts: Sequence[Fact]) -> list[Decomposed]:
    """What a task may calculate with what the files say, the likeliest first; each as surely as it is that.

    The likelier it is that one of the values is itself the answer, the less surely anything is calculated at all.
    What can not be by the units of its amounts (``measuring``), or is said of others (``of_others``), is left out.

    Args:
        task: the user's words.
        facts: what they say around it; none: the task itself has to say all.
    """
    yes_no = answer_type_of(task) == "yes-no"
    lines = [fact.text for fact in facts]
    said = in_one_form(task)
    read = await asyncio.to_thread(calculations, said, lines, yes_no=yes_no)
    strange, named = of_others(task, lines), bool(facts) and _NO_AMOUNT.search(asking(task).strip()) is not None
    fits = (
        one
        for one in as_asked(said, read.calculations)
        if not (named and not _copies(one)) and strange.isdisjoint(_lines(one)) and measures_fit(said, lines, one)
    )
    fitting = itertools.islice(fits, MOST)
    plans = ((one, _Writer(task, facts).plan(one)) for one in fitting)
    copied = sum(one.chance for one in read.calculations if _copies(one))
    return [
        Decomposed(
            steps,
            read.answered * one.chance * (1 if _copies(one) else 1 - copied),
            author="calculation",
            alone=not facts,
        )
        for one, steps in plans
        if steps
    ]


def _copies(found: Calculation) -> bool:
    return found.steps[-1].operation == COPY


def _lines(found: Calculation) -> set[int]:
    """The places of the lines whose amounts are joined, from 0."""
    sides = (side for step in found.steps for side in (step.first, step.second))
    return {side.line - 1 for side in sides if isinstance(side, Amount) and side.line}


def beside(asked: Sequence[Fact], facts: Sequence[Fact]) -> list[Fact]:
    """What queries say, then what the files say around a task; what both have is there once."""
    rows = [fact.row for fact in asked if fact.row is not None]
    texts = {fact.text for fact in asked}
    return [*asked, *(fact for fact in facts if fact.text not in texts and fact.row not in rows)]


@dataclass(frozen=True)
class _Side:
    """One of two values that are joined, as it is written; ``whole``: nothing is computed within it."""

    text: str
    value: float
    kind: int
    whole: bool = True


@dataclass
class _Writer:
    task: str
    facts: Sequence[Fact]
    steps: list[Subtask] = field(default_factory=list[Subtask])
    known: dict[Amount, str] = field(default_factory=dict[Amount, str])

    def plan(self, found: Calculation) -> tuple[Subtask, ...]:
        """Its steps: the amounts that stand in the files, then what is made of them."""
        made: list[_Side] = []
        for number, step in enumerate(found.steps):
            if step.operation == COPY:
                self._side(step.first, made, last=True)
                break
            first, second = (self._side(one, made) for one in (step.first, step.second))
            kind = kind_of(step.operation, first.kind, second.kind)
            value = applied(step.operation, first.value, second.value, first.kind)
            if step.operation not in SUMS:
                first, second = self._apart(first), self._apart(second)
            text = _written(step.operation, first, second)
            if number < len(found.steps) - 1:
                made.append(_Side(text, value, NUMBER if kind is None else kind, whole=False))
            else:
                self._add(text, answer_type_of(self.task))
        return tuple(self.steps)

    def _side(self, one: "Amount | float | int", made: Sequence[_Side], last: bool = False) -> _Side:
        if isinstance(one, Amount):
            return _Side(self._amount(one, last), one.value, one.kind)
        if isinstance(one, float):
            return _Side(f"{one:g}", one, NUMBER)
        side = made[one]
        return (
            replace(side, text=f"({side.text})")
            if re.fullmatch(r"[\d\s.+*/(){}s-]+", side.text)
            else self._apart(side)
        )

    def _apart(self, side: _Side) -> _Side:
        """What is computed within it, as a step of its own."""
        if side.whole:
            return side
        text = side.text[1:-1] if side.text.startswith("(") and side.text.endswith(")") else side.text
        same = next((f"{{{step.id}}}" for step in self.steps if step.text == text), "")
        return replace(side, text=same or self._add(text, "text"), whole=True)

    def _amount(self, amount: Amount, last: bool) -> str:
        written = amount.written.replace(",", "")
        if not amount.line:
            return written
        if amount not in self.known:
            fact = self.facts[amount.line - 1]
            text = without_shape(self.task) if last else _called(fact, amount)
            kind = answer_type_of(self.task) if last else {NUMBER: "number", DATE: "date"}.get(amount.kind, "text")
            self.known[amount] = self._add(text, kind, Found(written, fact.source, fact.text))
        return self.known[amount]

    def _add(self, text: str, kind: str, found: Found | None = None) -> str:
        name = f"s{len(self.steps) + 1}"
        self.steps.append(Subtask(name, text, "", tuple(dict.fromkeys(REFERENCE.findall(text))), kind, found))
        return f"{{{name}}}"


def _written(operation: str, first: _Side, second: _Side) -> str:
    """A step in the words that are computed without a model."""
    if operation in SHIFTS or operation in CLOCK:
        moment, by = (second, first) if first.kind == NUMBER else (first, second)
        return f"{moment.text} {operation[0]} {by.text} {operation[1:]}"
    if operation in APART or operation in LASTS:
        first, second = (first, second) if first.value <= second.value else (second, first)
        return (
            f"{'full ' if operation in ('months', 'years') else ''}{operation} from {first.text} to {second.text}"
        )
    if operation[0] == "r":
        first, second, operation = second, first, operation[1:]
    form = _MOMENTS.get(operation) if first.kind != NUMBER else None
    return (form or _SIGNS.get(operation, f"{{0}} {operation} {{1}}")).format(first.text, second.text)


def _called(fact: Fact, amount: Amount) -> str:
    """What an amount of a line is called: by column and first cell of a row or section, or by what is around it."""
    line, (head, _, rest) = fact.text, fact.text.partition(": ")
    at = amount.start - (len(line) - len(rest))
    if name := called(line, amount.start):
        return name
    if ";" in rest and at >= 0:
        cells = rest.split("; ")
        column = cells[rest.count("; ", 0, at)].replace(amount.written, "").strip() or head
        return f"{column} of {_named(fact, head)}"
    told = line[: amount.start].removesuffix(": ")
    if amount.end == len(line) and ": " in told and fact.source.startswith("table:"):
        return told.partition(": ")[2]  # what a query asks
    before, after = line[max(0, amount.start - _BEFORE) : amount.start], line[amount.end : amount.end + _AFTER]
    before = re.sub(r"^\S*\s", "", before) if amount.start > _BEFORE else before
    after = re.sub(r"\s\S*$", "", after) if len(line) > amount.end + _AFTER else after
    return f"the amount in “{before}…{after}”".replace("{", "").replace("}", "")


def _named(fact: Fact, head: str) -> str:
    """What a row is called: by its first cell; one that a query found as the query says, a section by its name."""
    if fact.row is None or head != fact.row.table.name:
        return head
    pairs = zip(fact.row.table.own, fact.row.cells, strict=True)
    column, cell = next(((column.name, cell) for column, cell in pairs if cell), ("", head))
    return f"{column} {cell}" if cell.isdigit() else cell
