"""Steps of a task by a model that was trained to write them, in the role ``decomposer``.

``training/recipes/decomposing.py`` says from what. One step a line, in the task's own words; ``{s1}`` stands for
the answer of the first. In the role ``reckoner`` a model is shown what the files say, and writes the answers that
it sees there behind the steps: "last service of the boiler = 2025-11-10".
"""

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pointwork.agents.facts.gathered import Fact, shown
from pointwork.agents.facts.standing import where
from pointwork.agents.job import Chat
from pointwork.agents.parsing.amounts import TIMES, in_hours
from pointwork.agents.plan import REFERENCE, Author, Found, Subtask, fill_references
from pointwork.agents.prompts import decomposer_prompt
from pointwork.agents.readings import moments
from pointwork.agents.splitter import answer_type_of, without_shape
from pointwork.errors import ProviderError, ToolError
from pointwork.models import ChatRequest
from pointwork.numerals import in_figures
from pointwork.text import NUMBER_WORDS, tokenize
from pointwork.tools.dates import Period, parse_period

DECOMPOSER, RECKONER = "decomposer", "reckoner"
"""The model roles: whose steps are asked of agents, and whose are answered by what it was shown."""

STEPS_TOKENS = 160

DRAWN_AT = 0.7
"""Temperature at which further texts are drawn (Wang et al., 2023, section 3.1)."""

_NAME = re.compile(r"(?<!^)\b[A-Z][\w’'-]+", re.MULTILINE)
_DAY = re.compile(r"\b\d{4}-\d{2}-(?P<day>\d{2})\b")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")


@dataclass(frozen=True)
class Decomposed:
    """What a task was split into.

    Attributes:
        steps: without capabilities.
        sure: probability of the whole text.
        agreed: two readings of the task, with and without what the files hold, came to steps of this shape.
        author: of a plan of these steps.
        alone: the task itself says all that they calculate with.
    """

    steps: tuple[Subtask, ...]
    sure: float
    agreed: bool = False
    author: Author = "decomposer"
    alone: bool = False

    @property
    def lines(self) -> list[str]:
        """What the steps say."""
        return [step.text for step in self.steps]

    @property
    def read(self) -> bool:
        """Whether all that has to be looked up was read in the files: what is left is calculation."""
        some = self.alone or any(step.found for step in self.steps)
        return some and all(step.found or calculates(step.text, alone=self.alone) for step in self.steps)


_RECKONED = re.compile(
    r"\b(?:is|at|most|least|less|more|fewer|than|after|before|later|earlier|on|or|by|the|same|as|equal|not|from|to|in|"
    r"until|and|times|per|cent|abs|round|rounded|up|down|whole|full|floor|ceil|weekday|of|working|"
    r"seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b"
)
_UNITS = re.compile(rf"{REFERENCE.pattern} (?:[a-z]\S* )?in [a-z]\S*(?: [a-z]\S*)?")


def calculates(step: str, *, alone: bool = False) -> bool:
    """Whether a step does nothing but calculate with the answers before it: sums, dates, comparisons, units.

    Args:
        step: as it is written.
        alone: it may have nothing but figures of its own.
    """
    if not (alone or REFERENCE.search(step)):
        return False
    rest = _RECKONED.sub("", REFERENCE.sub("", step))
    return _UNITS.fullmatch(step) is not None or not re.search(r"[A-Za-z]{2}", rest)


def in_other_units(lines: Sequence[str]) -> bool:
    """Whether steps only look something up and say in what units it is wanted: who finds it can do that too."""
    return len(lines) == 2 and re.fullmatch(r"\{s1\}(?: in [a-z]\S*(?: [a-z]\S*)?)?", lines[1]) is not None


def shape(steps: Sequence[str]) -> list[tuple[tuple[str, ...], bool]]:
    """Of each step the answers that it takes, and whether it is a calculation: what wording does not move."""
    return [(tuple(REFERENCE.findall(step)), not re.search(r"[a-z]{3}", REFERENCE.sub("", step))) for step in steps]


def readings(plain: Decomposed | None, informed: Decomposed | None) -> list[Decomposed]:
    """What may be meant, of what was written without and with what the files hold: the planner takes what fits.

    Several steps come before one: a sum that the task does not speak of is seen only in the files.
    """
    found = [one for one in (plain, informed) if one is not None]
    several = [one for one in found if len(one.steps) > 1]
    if len(several) == 2 and shape(several[0].lines) == shape(several[1].lines):
        return [replace(one, agreed=True) for one in several]
    return several or found[:1]


def covered(found: Decomposed, task: str) -> float:
    """The share of a task's words that its steps speak of."""
    words = set(tokenize(task))
    return len(words & set(tokenize(REFERENCE.sub("", " ".join(found.lines))))) / max(1, len(words))


async def decompose(
    task: str, chat: Chat, most: int, around: str = "", facts: Sequence[Fact] = (), drawing: int = 0
) -> Decomposed | None:
    """The steps of a task; None: what was written is no plan of it.

    Args:
        task: the user's words.
        chat: to the model in the role ``decomposer``, or with facts ``reckoner``.
        most: steps that a plan may have.
        around: what the files hold that may be needed (``surroundings``).
        facts: or else what they say, in which the answers of steps may stand.
        drawing: 0 is the likeliest text; from 1 on it is drawn, and the number is the seed.

    Raises:
        BudgetExceeded: it can not be paid.
    """
    around = around or shown(facts)
    request = ChatRequest(decomposer_prompt(task, around), max_tokens=STEPS_TOKENS, logprobs=True)
    if drawing:
        request = replace(request, temperature=DRAWN_AT, seed=drawing)
    try:
        said = await chat(request)
    except ProviderError:
        return None
    sure = math.exp(sum(said.logprobs)) if said.logprobs else 0.0
    return understood(said.text, task, most, around, facts, sure) if said.finish == "stop" else None


def understood(
    said: str, task: str, most: int, around: str = "", facts: Sequence[Fact] = (), sure: float = 0.0
) -> Decomposed | None:
    """What was written as steps, at most so many; None: it is no plan. Arguments: see ``decompose``."""
    written = [line.strip() for line in said.strip().splitlines() if line.strip()]
    lines, answers = parted(written) if facts else (written, {})
    if not 1 <= len(lines) <= most or not _sound(lines, task, around or shown(facts)):
        return None
    found = _found(lines, answers, facts)
    lines = [without_shape(task)] if len(lines) == 1 else [*map(without_shape, lines)]
    lines[-1] = _unsigned(lines[-1], task)
    steps: list[Subtask] = []
    for number, line in enumerate(lines, 1):
        needs = tuple(dict.fromkeys(REFERENCE.findall(line)))
        kind = answer_type_of(line if number < len(lines) else task)  # of the last one the task asks
        steps.append(Subtask(f"s{number}", line, "", needs, kind, found.get(number)))
    return Decomposed(tuple(steps), sure)


def _found(lines: Sequence[str], answers: Mapping[int, str], facts: Sequence[Fact]) -> dict[int, Found]:
    """Of the answers that were written behind steps, those that stand in the facts."""
    found: dict[int, Found] = {}
    for number, answer in answers.items():
        known = {f"s{earlier}": one.answer for earlier, one in found.items()}
        if (one := where(answer, fill_references(lines[number - 1], known), facts)) is not None:
            found[number] = one
    return found


_ANSWER = re.compile(r"(?P<step>.*\S) = (?P<answer>\S.*)")


def parted(written: Sequence[str]) -> tuple[list[str], dict[int, str]]:
    """Steps, and the answers that stand behind some of them, by the steps' numbers from 1 on."""
    found = {number: match for number, line in enumerate(written, 1) if (match := _ANSWER.fullmatch(line))}
    lines = [found[number]["step"] if number in found else line for number, line in enumerate(written, 1)]
    return lines, {number: match["answer"] for number, match in found.items()}


_GAP = re.compile(r"\{s\d+\} - \{s\d+\}")
_MORE_BY = re.compile(
    r"\b(?:difference|apart|(?:how|by)\s+(?:much|many)\b.{0,60}?\b(?:more|less|fewer|(?!other|under|after|over)\w+er)\b)",
    re.I,
)


def _unsigned(line: str, task: str) -> str:
    """Of how much dearer one is than another, the amount: the model does not always say the larger one first."""
    return f"abs({line})" if _GAP.fullmatch(line) and _MORE_BY.search(task) else line


def _sound(lines: Sequence[str], task: str, around: str = "") -> bool:
    """Whether steps build on earlier ones only, each but the last on which another builds, and name nothing new.

    Names may be those of the files; numbers only those of the task, as what stands in the files is to be looked up.
    """
    used: set[str] = set()
    for number, line in enumerate(lines, 1):
        needs = REFERENCE.findall(line)
        if any(int(need[1:]) >= number for need in needs):
            return False
        used |= set(needs)
    if used != {f"s{number}" for number in range(1, len(lines))} or len(set(lines)) < len(lines):
        return False
    text = "\n".join(REFERENCE.sub("", line) for line in lines)
    known = set(tokenize(f"{task} {around} Celsius Fahrenheit", stop=False))
    if any(not set(tokenize(name, stop=False)) <= known for name in _NAME.findall(text)):
        return False
    said, parts = _said(task), _parts(task)
    given = said | parts | {part - 1 for part in parts}  # a quarter less is three quarters
    text = _DAY.sub(lambda day: day["day"], TIMES.sub("", text))  # of a task's "3 May" year and month are made
    if not all(_follows(float(number.replace(",", "")), given, len(used)) for number in _NUMBER.findall(text)):
        return False
    if (shift := _SHIFT.search("\n".join(lines))) and _other_way(shift["sign"], task):
        return False
    # a quarter of something is not four times it
    multiplied = {float(number) for number in re.findall(r"(?<!/ \d )\* (\d+)(?![\d.]| /)", text)}
    return not multiplied & (parts - said)


_SHIFT = re.compile(r"\{s\d+\} (?P<sign>[-+]) (?:\d+|\{s\d+\}) (?:day|week|month|year|hour|minute)")
_BACK = re.compile(r"\b(?:before\w*|earl\w+|ago|prior|ahead|advance|minus|less|notice|forward|must|drive)\b", re.I)
_FORTH = re.compile(r"\b(?:after\w*|later|plus|add\w*|longer)\b", re.I)
_ON = re.compile(rf"{_FORTH.pattern}|\b(?:from|more|on|since|for|takes?|lasts?)\b", re.I)


def _other_way(sign: str, task: str) -> bool:
    """Whether a task speaks only of what is before where a step adds time, or only of after where it takes away."""
    same, other = (_ON, _BACK) if sign == "+" else (_BACK, _FORTH)
    return bool(other.search(task)) and not same.search(task)


# What a calculation may bring in by itself: parts of a day, week, year; hundreds.
_CONSTANTS = frozenset([1.0, 7.0, 12.0, 24.0, 30.0, 31.0, 52.0, 60.0, 100.0, 365.0, 1000.0])
_ORDINALS = ("third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_PARTS = {"half": 2.0, "halve": 2.0, "halves": 2.0, "quarter": 4.0, "quarters": 4.0} | {
    f"{word}{end}": float(n) for n, word in enumerate(_ORDINALS, 3) for end in ("", "s")
}
_PART = re.compile(rf"\b({'|'.join(_PARTS)})\b")
_TIMES = re.compile(
    r"\b(?:(?P<two>twice|doubl\w+|both|pair|couple|return|round|back|middle|fortnight\w*|biannual\w*|halfway|halving|between)|"
    r"(?P<three>tripl\w+|trebl\w+)|(?P<four>quarterly|quadrupl\w+)|(?P<ten>tenfold|decade\w*)|(?P<twelve>dozen\w*))\b"
)
_TIMES_SAID = {"two": 2.0, "three": 3.0, "four": 4.0, "ten": 10.0, "twelve": 12.0}


def _said(task: str) -> set[float]:
    """The numbers of a task, in digits or words; those that "twice" and "a dozen" stand for among them."""
    words = [word.removesuffix("fold") for word in re.findall(r"[a-z]+", task.lower())]
    task = in_hours(task)
    figures = f"{task} {in_figures(task)}"  # twenty-two is 22
    found = {float(number.replace(",", "")) for number in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", figures)}
    for period in moments.periods(task):  # "an hour and a half" is 90 in minutes
        with suppress(ToolError):
            length = parse_period(period)
            found |= {length.seconds / 60} if length == Period(seconds=length.seconds) else set()
    found |= {float(NUMBER_WORDS[word]) for word in words if word in NUMBER_WORDS}
    return found | {_TIMES_SAID[str(match.lastgroup)] for match in _TIMES.finditer(task.lower())}


def _parts(task: str) -> set[float]:
    """What "a third" and "two fifths" divide by."""
    return {_PARTS[word] for word in _PART.findall(task.lower())}


def _follows(number: float, given: set[float], answers: int) -> bool:
    """Whether a number stands in a task, in this unit or a decimal one, or as so many per cent more or less.

    Of as many answers as it says an average can be meant.
    """
    if number in _CONSTANTS or number == answers or number in given:
        return True
    given = given - {0.0}  # of which anything would be a share
    forms = {round(value * 10.0**power, 9) for value in given for power in (-3, -2, 0, 2, 3)}
    forms |= {round(1 + sign * value / 100, 9) for value in given for sign in (-1, 1)}
    # a share of what is given: two fifths, a fifth, a fifth less, a fifth more
    shares = {round(number * value, 6) for value in given}
    known = {round(value, 6) for value in given} | {1.0}
    less_more = {round(abs(number - 1) * value, 6) for value in given}
    return round(number, 9) in forms or bool(shares & known) or 1.0 in less_more
