"""Checks of an answer that need no model: type, tool success, and whether it rests on what was found."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pointwork.agents.job import Attempt
from pointwork.agents.parsing.amounts import in_hours
from pointwork.agents.readings import spans
from pointwork.agents.readings.wanting import wanted
from pointwork.numerals import in_figures
from pointwork.text import NUMBER_WORDS, tokenize
from pointwork.tools.units import is_factor

# Numbers that people use without saying them: days, hours, minutes, months, percent, powers of ten.
_COMMON = {str(number) for number in (*range(11), 12, 24, 30, 31, 52, 60, 100, 360, 365, 366, 1000, 1024, 3600)}
_COMMON.update({"10000", "1000000", "0.5", "0.25", "0.1", "0.01", "0.001"})

# Share of an answer's content words that must stand in its evidence.
GROUNDED = 0.6

_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?")

# A number of a program: not a part of a name.
_LITERAL = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")

_HOW_MANY = re.compile(r"\bhow\s+(?:many|much)\b", re.IGNORECASE)

# Tools that compute with what they are given: an earlier answer that a step speaks of has to go into them.
_COMPUTES = frozenset({"calculate", "convert", "date_math"})

# How far something is from itself, or how many times it is itself.
_NOTHING = re.compile(r"\s*[01](?:\.0*)?(?:\s|$)")

# Arguments that are a program, or what it is tested with.
_PROGRAM = frozenset({"code", "cases"})


@dataclass(frozen=True)
class Check:
    """One check: its name, whether it passed, and if not, why."""

    name: str
    passed: bool
    why: str = ""


def check_answer(
    attempt: Attempt,
    *,
    question: str,
    answer_type: str,
    facts: Sequence[tuple[str, str]],
    needs_evidence: bool,
    small: bool = False,
) -> list[Check]:
    """Check an attempt.

    Args:
        attempt: what the agent did and said.
        question: the subtask.
        answer_type: as planned.
        facts: answers of earlier subtasks and recalled memory that the agent was given.
        needs_evidence: a specialist could have looked it up, so an answer out of nothing does not count.
        small: a small model answered: how many or how much of something, it does not know by itself.
    """
    checks = [Check("type", *_typed(attempt.text, answer_type, question))]
    if attempt.calls:
        worked = any(error is None for _, _, error in attempt.calls)
        checks.append(Check("tool", worked, "" if worked else f"every call failed: {attempt.calls[-1][2]}"))
        checks.append(_arguments_grounded(attempt, question, facts))
    if not _reckoned(attempt):  # of two dates, the later one is an answer
        checks.append(_says_something(attempt.text, question))
    known = [*facts, *attempt.evidence]
    if small and not known and _HOW_MANY.search(question) and _numbers(attempt.text) - _numbers(question):
        checks.append(Check("evidence", False, "a number that nothing was found to say"))
    elif needs_evidence:
        checks.append(Check("evidence", bool(known), "" if known else "it rests on nothing that was found"))
        if known and not attempt.computed:
            checks.append(_answer_grounded(attempt.text, question, [text for _, text in known]))
    return checks


def _reckoned(attempt: Attempt) -> bool:
    """Whether the answer is what a tool that computes has made of what it was given."""
    return attempt.computed and any(tool in _COMPUTES for tool, _, error in attempt.calls if error is None)


def _says_something(text: str, question: str) -> Check:
    """The question's own words, and no other, are not its answer."""
    words = tokenize(text)
    echoed = len(words) > 2 and set(words) - {"answer"} <= set(tokenize(question))
    return Check("echo", not echoed, "it only repeats the question" if echoed else "")


_MOMENT = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d(?::\d\d)?")


def _typed(text: str, answer_type: str, question: str) -> tuple[bool, str]:
    if not text.strip():
        return False, "the answer is empty"
    want = wanted(question)
    if want.kind == "time" and not (_may_be_hours(text) or spans.pieces_of(want, text)):
        return False, f"a time of day was asked for, not {text[:40]!r}"
    if answer_type == "number" and (not _NUMBER.search(in_figures(text)) or _MOMENT.fullmatch(text.strip())):
        return False, f"a number was asked for, not {text[:40]!r}"
    if answer_type == "yes-no" and not re.match(r"(yes|no|true|false)\b", text.strip(), re.IGNORECASE):
        return False, f"yes or no was asked for, not {text[:40]!r}"
    if answer_type == "date" and not re.search(r"\d", text):
        return False, f"a date was asked for, not {text[:40]!r}"
    return True, ""


def _may_be_hours(text: str) -> bool:
    """Whether a text may tell hours of a day: "from 9 to 5", "at dusk"; no date, no number of a booking."""
    hours = [int(figure) for figure in re.findall(r"\d+", text)]
    return len(hours) <= 2 and all(hour <= 24 for hour in hours) and not re.search(r"[^\W\d]\d", text)  # B03


def _arguments_grounded(attempt: Attempt, question: str, facts: Sequence[tuple[str, str]]) -> Check:
    """Numbers that went into the successful calls come from the question or from what was known, and not from one
    number of the question alone where it has several, nor without one of an earlier answer that it holds.
    """
    # what a tool computed holds the call's own numbers, so it vouches for none
    seen = [text for source, text in attempt.evidence if not source.startswith("tool:")]
    sums = {tool for tool, _, error in attempt.calls if error is None} == {"calculate"}

    def numbers(text: str) -> set[str]:
        return _numbers(in_hours(text) if sums else text)

    asked = numbers(question) | _spelled(question)
    known = numbers(" ".join([*(text for _, text in facts), *seen])) | asked | _COMMON
    known |= _shares(known)
    worked = [arguments for _, arguments, error in attempt.calls if error is None]
    used = numbers(" ".join(str(value) for arguments in worked for value in arguments.values()))
    given = {_plain(value) for arguments in worked for value in arguments.values()}
    if attempt.computed and _plain(attempt.text) in given:
        return Check("arguments", False, f"the call gave back what it was given, {attempt.text.strip()[:40]!r}")
    # a program has numbers of its own; its other arguments must be grounded like those of any call
    plain = [{k: v for k, v in arguments.items() if k not in _PROGRAM} for arguments in worked]
    strange = numbers(" ".join(str(value) for arguments in plain for value in arguments.values())) - known
    if strange:
        return Check("arguments", False, f"{', '.join(sorted(strange))} is in the call, not in the question")
    handed = [text for source, text in facts if source.startswith("answer:") and text.strip() in question]
    if attempt.computed and _NOTHING.match(attempt.text) and (same := _twice(handed, question)):
        return Check("arguments", False, f"two earlier steps say {same[:40]!r}, and that is compared with itself")
    left = [text for text in handed if (its := numbers(text)) and not (_shares(its) | its) & used]
    if left and _reckoned(attempt):
        return Check("arguments", False, f"the call leaves out {left[0].strip()[:40]!r}, an earlier step's answer")
    taken = {number for number in asked if (_shares({number}) | {number}) & used}
    if attempt.computed and not seen and len(asked) > 1 and len(taken) < 2:
        return Check("arguments", False, f"of the question's numbers the call uses {', '.join(taken) or 'none'}")
    return Check("arguments", True)


def _twice(handed: Sequence[str], question: str) -> str:
    """What two earlier steps answered alike, if the question holds both."""
    texts = [text.strip() for text in handed]
    return next((text for text in texts if texts.count(text) > 1 and question.count(text) > 1), "")


def _plain(value: object) -> str:
    """A value as text; a number however it is written: 1 and 1.000."""
    text = str(value).strip()
    try:
        return repr(float(text))
    except ValueError:
        return text


def _answer_grounded(text: str, question: str, evidence: Sequence[str]) -> Check:
    found = set(tokenize(" ".join(evidence))) | set(tokenize(question))
    words = [word for word in tokenize(text) if not word.isdigit()]
    told = " ".join([question, *evidence])
    strange = _numbers(text) - _numbers(told) - _numbers(in_figures(told))
    if strange:
        return Check("grounded", False, f"{', '.join(sorted(strange))} is in the answer, not in the evidence")
    share = sum(word in found for word in words) / len(words) if words else 1.0
    if share < GROUNDED:
        return Check("grounded", False, f"only {share:.0%} of the answer's words are in the evidence")
    return Check("grounded", True)


def strange_numbers(code: str, given: str) -> list[str]:
    """Numbers of a program that neither stand in what was given nor are of common use, in its order.

    The month of a date is no such number where a text says its name, and neither is the factor between two units.
    """
    known = _numbers(given) | _spelled(given) | _COMMON
    known |= _shares(known)
    written = re.sub(r"\bdate\(\s*(\d+),\s*\d+", r"date(\1", re.sub(r"#.*", "", code))
    found = [re.sub(r"(\.\d*?)0+$", r"\1", number).rstrip(".") for number in _LITERAL.findall(written)]
    return [number for number in dict.fromkeys(found) if number not in known and not is_factor(number)]


def _shares(numbers: set[str]) -> set[str]:
    """Numbers as shares of a hundred, what is left of them, and what comes on top: 0.15, 0.85 and 1.15 of 15."""
    percents = [float(number) / 100 for number in numbers if float(number) <= 1000]
    return {f"{value:.6f}".rstrip("0").rstrip(".") for p in percents for value in (p, abs(1 - p), 1 + p)}


def _numbers(text: str) -> set[str]:
    found: set[str] = set()
    for number in _NUMBER.findall(text):
        plain = number.replace(",", "").lstrip("-")
        found.add(plain.rstrip("0").rstrip(".") if "." in plain else plain)
    return found


_SPELLED = {word: str(number) for word, number in NUMBER_WORDS.items()} | {
    "hundred": "100",
    "thousand": "1000",
    "dozen": "12",
    "half": "0.5",
    "quarter": "0.25",
}


def _spelled(text: str) -> set[str]:
    return {_SPELLED[word] for word in re.findall(r"[a-z]+", text.lower()) if word in _SPELLED}
