"""Steps of tasks over files as calculations over the amounts of task and lines (``agents/parsing/calculating``)."""

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from pointwork.agents.facts.figures import in_one_form
from pointwork.agents.parsing.amounts import DATE, NUMBER, TIME, TRUTH, Amount, minutes_of
from pointwork.agents.parsing.calculating import STEPS
from pointwork.agents.parsing.layout import Pieces
from pointwork.agents.parsing.operations import CONSTANTS, COPY, OPERATIONS, applied, kind_of
from pointwork.agents.parsing.showing import Shown, show
from pointwork.text import tokenize

Tree = tuple[Any, ...]
"""``("value", value, kind, what it is called)``, ``("unseen",)``, or an operation with what it joins."""

Step = tuple[int, int, int]
"""Two of the amounts that are seen, the constants or earlier steps, by their places; the operation."""

TURNED = {"-": "r-", "/": "r/", "pless": "rpless", "pmore": "rpmore", "share": "rshare", ">": "<", ">=": "<="}
TURNED |= {other: one for one, other in TURNED.items()}
"""Operations that are not the same the other way round, and what they are then."""

_UNITS = {"minute": "minutes", "minutes": "minutes", "min": "minutes", "mins": "minutes", "h": "hours"}
_UNITS |= {unit: f"{one}s" for one in ("hour", "day", "week", "month", "year") for unit in (one, f"{one}s")}
_COMPARED = {
    "less than": "<", "fewer than": "<", "earlier than": "<", "before": "<",
    "more than": ">", "later than": ">", "after": ">",
    "at most": "<=", "on or before": "<=", "not after": "<=",
    "at least": ">=", "on or after": ">=", "not before": ">=",
}  # fmt: skip
_IS = re.compile(rf"is (.+?) ({'|'.join(sorted(_COMPARED, key=len, reverse=True))}) (.+)")
_BETWEEN = re.compile(
    r"(?:full |whole )?(days|weeks|months|years|hours|minutes) (?:from|between) (.+) (?:to|and) (.+)"
)
_SHIFT = re.compile(rf"(.+) ([+-]) (.+?) ?({'|'.join(sorted(_UNITS, key=len, reverse=True))})")
_UNIT = re.compile(r"(\{s\d+\}) (?:\S+ )?in \S+")
_FOUND = re.compile(r"(.*\S) = (\S.*)")
_MOMENT = re.compile(r"(?:19|20)\d\d-\d\d-\d\d|\d{1,2}:\d\d")
_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_FACTORS = (1000.0, 60.0, 100.0, 24.0, 7.0, 10.0)  # between units
_HUNDRED = ("value", 100.0, NUMBER, "")
_ONE = ("value", 1.0, NUMBER, "")
_NEAR, _BEFORE, _AFTER = 0.7, 30, 20  # characters around an amount that tell what it is, and what their words count


class Other(Exception):
    """Steps of a form that is not learnt."""


class Unseen(Exception):
    """Steps that need what no line says, or come to a name."""


@dataclass
class Calculated:
    """A task as numbers: the network's input, and the steps; none: the lines do not say it."""

    shown: Shown
    steps: list[Step]

    @property
    def pieces(self) -> tuple[int, ...]:
        """By their number tasks are put together."""
        return self.shown.pieces


def value_of(text: str) -> tuple[float, int] | None:
    """An answer as a value and its kind; None: it is a name."""
    text = re.sub(r"^[£€$]|\s*%$", "", text.strip())
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return float(date.fromisoformat(text).toordinal()), DATE
    if re.fullmatch(r"\d{1,2}:\d\d", text):
        return minutes_of(text), TIME
    if re.fullmatch(r"-?[\d,]+(\.\d+)?", text):
        return float(text.replace(",", "")), NUMBER
    return (float(text.lower() == "yes"), TRUTH) if text.lower() in ("yes", "no") else None


def calculated(row: Mapping[str, Any], pieces: Pieces) -> Calculated:
    """A task with ``around`` and ``steps``; ``answer``, where it is given, is a check.

    Raises:
        Other: its steps can not be said in ``OPERATIONS``.
    """
    task, lines = in_one_form(str(row["task"])), str(row["around"]).splitlines()
    shown = show(task, lines, pieces)
    wanted = value_of(str(row["answer"])) if "answer" in row else None
    try:
        tree = simple(_tree([str(step) for step in row["steps"]]))
        steps = _Writer(shown.amounts, [task, *lines], wanted).written(tree)
    except Unseen:
        steps = []
    return Calculated(shown, steps)


def problem(text: str, tree: Any, answer: float, pieces: Pieces) -> Calculated:
    """A word problem with its solution, nested (operation, left, right) over numbers.

    Raises:
        Other: it can not be said in ``OPERATIONS``, or comes to something else.
    """
    text = in_one_form(text)
    shown = show(text, [], pieces)
    writer = _Writer(shown.amounts, [text], None)
    try:
        steps = writer.written(simple(_nested(tree)))
    except Unseen as error:
        raise Other("a number that it does not have") from error
    if abs(writer.values[-1] - answer) > max(1.0, 0.01 * abs(answer)):
        raise Other("another value")
    return Calculated(shown, steps)


def problems(rows: Iterable[tuple[str, Any, float]], pieces: Pieces) -> list[Calculated]:
    """Those word problems that can be said so."""
    found: list[Calculated] = []
    for text, tree, answer in rows:
        try:
            one = problem(text, tree, answer, pieces)
        except (Other, RecursionError, TypeError):
            continue
        if one.steps:
            found.append(one)
    return found


def _nested(tree: Any) -> Tree:
    if isinstance(tree, int | float):
        return "value", float(tree), NUMBER, ""
    if tree is None:
        raise Other("nothing")
    return tree[0], _nested(tree[1]), _nested(tree[2])


def _tree(steps: Sequence[str]) -> Tree:
    """What the last of some steps comes to, those before it in their places."""
    made: dict[str, Tree] = {}
    tree: Tree = ("unseen",)
    for number, step in enumerate(steps, 1):
        found = None if step.startswith("is ") else _FOUND.fullmatch(step)
        if found:
            value = value_of(found[2])
            tree = ("unseen",) if value is None else ("value", *value, found[1])
        elif re.search(r"\{s\d+\}|\d [-+*/] \d| [+-] ", step) or _IS.fullmatch(step) or _BETWEEN.fullmatch(step):
            try:
                tree = _step(step, made)
            except Other:
                if not re.search(r"[A-Za-z]{3}", re.sub(r"\{s\d\}", "", step)):
                    raise
                tree = ("unseen",)  # another thing that has to be looked up
        else:
            tree = ("unseen",)
        made[str(number)] = tree
    if _holds_unseen(tree):
        raise Unseen
    return tree


def _holds_unseen(tree: Any) -> bool:
    if not isinstance(tree, tuple) or tree[0] == "value":
        return False
    return tree[0] == "unseen" or any(map(_holds_unseen, tree[1:]))


def _step(step: str, made: Mapping[str, Tree]) -> Tree:
    step = step.strip().rstrip("?.")
    if match := _IS.fullmatch(step):
        return _COMPARED[match[2]], _sum(match[1], made), _sum(match[3], made)
    if match := _BETWEEN.fullmatch(step):
        return match[1], _sum(match[2], made), _sum(match[3], made)
    if match := _SHIFT.fullmatch(step):
        return f"{match[2]}{_UNITS[match[4]]}", _sum(match[1], made), _sum(match[3], made)
    if match := _UNIT.fullmatch(step):
        return "unit", _sum(match[1], made)
    return _sum(step, made)


def _sum(text: str, made: Mapping[str, Tree]) -> Tree:
    moments: list[str] = []

    def moment(match: re.Match[str]) -> str:
        moments.append(match[0])
        return f"m{len(moments) - 1}"

    text = re.sub(r"^abs\((.*)\)$", r"\1", text.strip()).replace("£", "").replace(" per cent", "").replace("%", "")
    text = _MOMENT.sub(moment, re.sub(r"\{s(\d+)\}", r"_\1", text))
    try:
        parsed = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise Other(text) from error

    def walked(node: ast.expr) -> Tree:
        match node:
            case ast.BinOp(left, op, right) if type(op) in _SIGNS:
                return _SIGNS[type(op)], walked(left), walked(right)
            case ast.Name(name) if name[1:] in made and name[0] == "_":
                return made[name[1:]]
            case ast.Name(name) if name[0] == "m" and name[1:].isdigit():
                value = value_of(moments[int(name[1:])])
                assert value is not None
                return "value", *value, ""
            case ast.Constant(int() | float() as value):
                return "value", float(value), NUMBER, ""
            case _:
                raise Other(text)

    return walked(parsed)


def simple(tree: Tree) -> Tree:
    """The same with per cent as one operation."""
    if tree[0] == "value" or len(tree) < 3:
        return tree if tree[0] == "value" else (tree[0], *map(simple, tree[1:]))
    sign, a, b = tree[0], simple(tree[1]), simple(tree[2])
    found: Tree | None = None
    if sign == "*":
        found = _share_of(a, b) or _share_of(b, a)
    elif sign == "/" and a[0] == "*":
        found = _hundredth(a, b)
    elif sign in ("+", "-") and b[0] == "pct" and a in b[1:]:
        found = ("pless" if sign == "-" else "pmore", a, b[2] if b[1] == a else b[1])
    return found or (sign, a, b)


def _share_of(share: Tree, whole: Tree) -> Tree | None:
    """``a / 100 * b``, ``(100 ± a) / 100 * b``, ``(1 ± a / 100) * b``, ``a / b * 100``."""
    match share:
        case ("/", ("-" | "+" as sign, hundred, part), by) if hundred == by == _HUNDRED:
            return "pless" if sign == "-" else "pmore", whole, part
        case ("/", part, by) if by == _HUNDRED:
            return "pct", part, whole
        case ("/", part, by) if whole == _HUNDRED:
            return "share", part, by
        case ("-" | "+" as sign, one, ("/", part, by)) if one == _ONE and by == _HUNDRED:
            return "pless" if sign == "-" else "pmore", whole, part
        case _:
            return None


def _hundredth(product: Tree, by: Tree) -> Tree | None:
    """``a * b / 100``, ``a * (100 ± b) / 100``, ``a * 100 / b``."""
    _, a, b = product
    if by != _HUNDRED:
        return ("share", b if a == _HUNDRED else a, by) if _HUNDRED in (a, b) else None
    for share, whole in ((a, b), (b, a)):
        if share[0] in ("-", "+") and share[1] == _HUNDRED:
            return "pless" if share[0] == "-" else "pmore", whole, share[2]
    return "pct", a, b


class _Writer:
    def __init__(self, amounts: Sequence[Amount], texts: Sequence[str], wanted: tuple[float, int] | None) -> None:
        self.amounts, self.texts, self.wanted = amounts, texts, wanted
        self.values = [*(one.value for one in amounts), *CONSTANTS]
        self.kinds = [*(one.kind for one in amounts), *(NUMBER for _ in CONSTANTS)]
        self.fixed = range(len(amounts), len(self.values))
        self.steps: list[Step] = []
        self.known: dict[Tree, int] = {}
        self.taken: set[int] = set()

    def written(self, tree: Tree) -> list[Step]:
        last = self._of(tree)
        if not self.steps:
            if last in self.fixed:
                raise Other("a constant")
            self._added(last, last, COPY, self.kinds[last], self.values[last])
        elif last != len(self.values) - 1:
            raise Other("an earlier step")
        if self.wanted and not self._right(self.values[-1], self.kinds[-1]):
            raise Other(f"{self.values[-1]:g}, not {self.wanted[0]:g}")
        if len(self.steps) > STEPS:
            raise Other("too many steps")
        return self.steps

    def _right(self, value: float, kind: int) -> bool:
        assert self.wanted is not None
        return kind == self.wanted[1] and abs(value - self.wanted[0]) <= max(0.011, 0.006 * abs(self.wanted[0]))

    def _of(self, tree: Tree) -> int:
        if tree[0] == "value":
            if not tree[3]:  # "4 by 4 metres": two numbers
                return self._place(*tree[1:])
            if tree not in self.known:
                self.known[tree] = self._place(*tree[1:])
            return self.known[tree]
        if tree[0] == "unit":
            return self._converted(self._of(tree[1]))
        sign, i, j = tree[0], self._of(tree[1]), self._of(tree[2])
        kinds = self.kinds[i], self.kinds[j]
        if len(sign) > 1 and sign[0] in "+-" and kinds == (NUMBER, NUMBER):
            sign = sign[0]  # so many minutes and so many more
        elif sign in "+-" and kinds == (DATE, NUMBER):
            sign += "days"
        elif sign == "-" and kinds[0] == kinds[1] != NUMBER:
            sign = "days" if kinds[0] == DATE else "minutes"
        return self._joined(sign, i, j)

    def _place(self, value: float, kind: int, called: str) -> int:
        """Of the amounts that are this value, the one whose line and words are the nearest to what it is called."""
        same = [
            place
            for place, one in enumerate(self.amounts)
            if one.kind == kind and abs(one.value - value) < 1e-9 * max(1.0, abs(value))
        ]
        if called:
            there = [place for place in same if self.amounts[place].line] or same
            if not there:
                raise Unseen
            words = set(tokenize(called))
            return max(there, key=lambda place: self._near(words, self.amounts[place]))
        asked = [place for place in same if not self.amounts[place].line]
        if asked:  # a number that is there twice is meant twice
            place = next((place for place in asked if place not in self.taken), asked[0])
            self.taken.add(place)
            return place
        if kind == NUMBER and value in CONSTANTS:
            return self.fixed.start + CONSTANTS.index(value)
        if not same:
            raise Other(f"{value:g} stands nowhere")
        return same[0]

    def _near(self, words: set[str], amount: Amount) -> tuple[float, int]:
        text = self.texts[amount.line]
        around = text[max(0, amount.start - _BEFORE) : amount.end + _AFTER]
        shared = len(words & set(tokenize(text))) + _NEAR * len(words & set(tokenize(around)))
        return shared, -amount.line

    def _converted(self, place: int) -> int:
        if self.wanted is None:
            raise Other("a unit that nothing checks")
        for factor in _FACTORS:
            for sign in ("/", "*"):
                if self._right(applied(sign, self.values[place], factor), NUMBER):
                    return self._joined(sign, place, self.fixed.start + CONSTANTS.index(factor))
        if self._right(self.values[place], self.kinds[place]):
            return place
        raise Other("another unit")

    def _joined(self, sign: str, i: int, j: int) -> int:
        if i == j or (i in self.fixed and j in self.fixed):
            raise Other("nothing to join")
        if i > j:
            i, j, sign = j, i, TURNED.get(sign, sign)
        kind = kind_of(sign, self.kinds[i], self.kinds[j]) if sign in OPERATIONS else None
        if kind is None:
            raise Other(sign)
        step = i, j, OPERATIONS.index(sign)
        if step in self.steps:
            return self.fixed.stop + self.steps.index(step)
        return self._added(i, j, sign, kind, applied(sign, self.values[i], self.values[j], self.kinds[i]))

    def _added(self, i: int, j: int, sign: str, kind: int, value: float) -> int:
        self.steps.append((i, j, OPERATIONS.index(sign)))
        self.values.append(value)
        self.kinds.append(kind)
        return len(self.values) - 1
