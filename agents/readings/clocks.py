"""Times of day as they are said: ``ten in the morning``, ``3 pm``, ``noon``."""

import re

from pointwork.text import NUMBER_WORDS

HOURS = {word: number for word, number in NUMBER_WORDS.items() if 1 <= number <= 12}
NAMED = {"noon": 12, "midday": 12, "midnight": 0}
HALF = r"[ap]\.?m\b|o['’]clock|in\s+the\s+(?:morning|afternoon|evening)|at\s+night"
"""What says which half of the day is meant, or that it is a time at all."""

IN_FIGURES = re.compile(
    r"\b\d{1,2}[:.]\d{2}\b(?:\s*[ap]\.?m\.?)?|\b\d{1,2}\s*[ap]\.?m\b\.?|\b(?:noon|midnight)\b", re.I
)
"""A time of day as one writes it down: ``18:30``, ``7 pm``."""

_MIDNIGHT = re.compile(r"a|at\s+night", re.I)  # of twelve
_LATE = re.compile(r"p|in\s+the\s+(?:afternoon|evening)|at\s+night", re.I)


def time_of_day(hour: str, minute: str | None, half: str | None) -> str:
    """``14:30``, from an hour in digits or words; empty if no day has so many."""
    said = hour.lower()
    number = int(said) if said.isdigit() else {**HOURS, **NAMED}[said]
    if half and number == 12 and _MIDNIGHT.match(half):
        number = 0
    elif half and _LATE.match(half) and number < 12:
        number += 12
    return f"{number:02}:{minute or '00'}" if number < 24 else ""
