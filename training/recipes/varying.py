"""Tasks with answered steps, told anew: other names and figures in the same places, to be read and not known.

A small model remembers what "Coast" costs rather than where it stands. In each telling names of people, places and
things are exchanged for those of other tasks, figures that steps take from the files for others of the same form
and rank, dates move by whole weeks, and neighbouring lines change places. (Tobin et al., "Domain Randomization for
Transferring Deep Neural Networks from Simulation to the Real World", 2017.)
"""

import calendar
import random
import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any

CHANCE = 0.7  # that names are exchanged, figures, dates: each by itself
SWAPPED = 0.2  # of neighbouring lines
KEPT = 12  # figures up to this are counts of hours, months, people: what is said about them would not fit others
SPREAD = 0.3  # how far a figure moves at most, as a share

MONTHS, DAYS = set(calendar.month_name[1:]), set(calendar.day_name)
_NAME = re.compile(r"\b[A-Z][a-zà-ÿ]{2,}\b")
# A word in one of these places is written large for its place; columns begin an item.
_BEGINS = re.compile(r"(?:^|[.:;!?]\s|[\"“(]|= ?)\s*$")
_COLUMNS = re.compile(r"[\w-]+: (?!.*;)(?!.*[.!?…]$).*, .*, ")  # a table by its columns
_DATE = re.compile(r"\b(?:19|20)\d\d-\d\d-\d\d\b")
# Figures that are not parts of dates, times, numbers of telephones, codes or references.
_FIGURE = re.compile(r"(?<![\w.:/{-])\d+(?:\.\d+)?(?![\w:/}-]|\.\d)")
_FOUND = re.compile(r" = (\S.*)$")


def varied(row: dict[str, Any], names: Sequence[str], seed: int) -> dict[str, Any]:
    """A task told anew.

    Args:
        row: ``task``, ``steps`` and ``around``.
        names: to choose from (``names_of``).
        seed: another telling.

    Returns:
        The same keys but ``answer``: it is what the steps come to.
    """
    draw = random.Random(f"{seed} {row['task']}")
    texts = [str(row["task"]), *map(str, row["steps"])]
    lines = str(row.get("around", "")).splitlines()
    for place in range(len(lines) - 1):
        if draw.random() < SWAPPED:
            lines[place : place + 2] = lines[place : place + 2][::-1]
    for change in (_renamed, _refigured, _moved):
        if draw.random() < CHANCE:
            told = change(texts, lines, names, draw)
            texts, lines = [told(text) for text in texts], [told(line) for line in lines]
    rest = {key: value for key, value in row.items() if key not in ("task", "steps", "around", "answer")}
    return {"task": texts[0], "steps": texts[1:], "around": "\n".join(lines), **rest}


def names_of(rows: Sequence[dict[str, Any]]) -> list[str]:
    """All names in what is shown of the files, sorted."""
    found: set[str] = set()
    for row in rows:
        found |= _names(str(row.get("around", "")).splitlines())
    return sorted(found)


def _names(lines: Sequence[str]) -> set[str]:
    """Words that are written large although nothing begins with them, and small nowhere; no columns."""
    small = {word for line in lines for word in re.findall(r"\b[a-zà-ÿ]+\b", line)}
    columns = {match[0] for line in lines if _COLUMNS.match(line) for match in _NAME.finditer(line)}
    found = {
        match[0] for line in lines for match in _NAME.finditer(line) if not _BEGINS.search(line[: match.start()])
    }
    return {name for name in found - columns if name.lower() not in small} - MONTHS - DAYS


Told = Callable[[str], str]


def _renamed(texts: Sequence[str], lines: Sequence[str], names: Sequence[str], draw: random.Random) -> Told:
    own = sorted(_names(lines))
    free = [name for name in draw.sample(names, min(len(names), 3 * len(own))) if name not in own]
    others = dict(zip(own, free, strict=False))
    return lambda text: _NAME.sub(lambda match: others.get(match[0], match[0]), text)


def _moved(texts: Sequence[str], lines: Sequence[str], names: Sequence[str], draw: random.Random) -> Told:
    """By whole weeks, if no date is written with the name of its month."""
    words = {match[0] for text in [*texts, *lines] for match in _NAME.finditer(text)}
    if words & MONTHS:
        return lambda text: text
    weeks = timedelta(weeks=draw.choice([-1, 1]) * draw.randint(1, 60))

    def later(match: re.Match[str]) -> str:
        try:
            return (date.fromisoformat(match[0]) + weeks).isoformat()
        except (ValueError, OverflowError):
            return match[0]

    return lambda text: _DATE.sub(later, text)


def _refigured(texts: Sequence[str], lines: Sequence[str], names: Sequence[str], draw: random.Random) -> Told:
    """Only what a step takes from the files and nothing else names; more stays more, so comparisons hold."""
    task, steps = texts[0], texts[1:]
    taken = {found[1].strip() for step in steps if (found := _FOUND.search(step))}
    kept = [task, *(_FOUND.sub("", step) for step in steps)]
    said = {match[0] for text in kept for match in _FIGURE.finditer(text)}
    shown = {match[0] for line in lines for match in _FIGURE.finditer(line)}
    ranks = sorted({float(figure) for figure in shown | said})
    others: dict[str, str] = {}
    for figure in sorted(taken & shown):
        value = float(figure)
        if value <= KEPT or any(float(other) == value for other in said):
            continue
        place = ranks.index(value)
        low = max(value * (1 - SPREAD), ranks[place - 1] if place else KEPT, float(KEPT))
        high = min(value * (1 + SPREAD), ranks[place + 1] if place + 1 < len(ranks) else float("inf"))
        digits = _digits(figure)
        chosen = f"{draw.uniform(low, high):.{digits}f}"
        if low < float(chosen) < high:
            for other in (other for other in shown if float(other) == value):
                # one that is written in two ways (5.4, 5.40) stays so
                others[other] = f"{float(chosen):.{max(digits, _digits(other))}f}"
            ranks[place] = float(chosen)
    return lambda text: _FIGURE.sub(lambda match: others.get(match[0], match[0]), text)


def _digits(figure: str) -> int:
    return len(figure.partition(".")[2])
