"""The last step from what was found to the form that was asked for: another unit, or the weekday of a date."""

import re
from collections.abc import Sequence

from pointwork.agents.readings import Reading, moments
from pointwork.agents.readings.question import Question
from pointwork.errors import ToolError
from pointwork.tools import dates


def finishing(question: str, answer: str, seen: Sequence[str] = ()) -> Reading | None:
    """The call that brings an answer into the form that the question asks for; None if it is in it.

    Args:
        question: what was asked.
        answer: what was found.
        seen: texts that it was found in.
    """
    if len(answer) > 120:
        return None
    rated = next((call for text in seen if (call := _rated(question, answer, text)) is not None), None)
    if rated is not None:
        return rated
    if moments.WEEKDAY.search(question) and (day := _date_in(answer)):
        return Reading("date_math", {"operation": "weekday", "date": day, "other": ""}, 1.0)
    asked = moments.asked_unit(question)
    if asked is None:
        return None
    found = [quantity for quantity in moments.quantities(answer) if moments.compatible(quantity[3], asked[1])]
    if len(found) != 1 or found[0][3] == asked[1]:
        return None
    return Reading("calculate", {"expression": f"{found[0][2]} to {asked[0]}"}, 1.0)


_RATE = r"\s+(?:for\s+)?(?:each|every|per|an?)\s+(?P<n>\d[\d,.]*\s+)?(?P<unit>[^\W\d_]+)"


def _rated(question: str, answer: str, text: str) -> Reading | None:
    """``one hour for each 25 millimetres``, asked of 60 mm: the rule applied to the question's own quantity."""
    place = re.search(re.escape(answer) + _RATE, text, re.IGNORECASE)
    amount = re.match(r"(?P<n>\d[\d,]*(?:\.\d+)?|one|an?|half\s+an?)\s*(?P<rest>.*)", answer, re.IGNORECASE)
    if place is None or amount is None:
        return None
    unit = moments.unit_of(place["unit"])
    asked = [q for q in moments.quantities(question) if unit is not None and moments.compatible(q[3], unit)]
    if len(asked) != 1 or (not place["n"] and asked[0][3] == unit and asked[0][2].split()[0] == "1"):
        return None
    words = {"one": "1", "a": "1", "an": "1"}
    number = words.get(
        amount["n"].lower(), "0.5" if amount["n"].lower().startswith("half") else amount["n"].replace(",", "")
    )
    per = (place["n"] or "1").strip().replace(",", "")
    named = amount["rest"].split()
    suffix = f" {named[0]}" if named and moments.unit_of(named[0]) is not None else ""
    return Reading(
        "calculate", {"expression": f"{number}{suffix} * (({asked[0][2]}) / ({per} {place['unit']}))"}, 1.0
    )


def _date_in(answer: str) -> str:
    """The one full date of an answer, as it is written there."""
    full = [date for date in Question(answer).dates if date.year and date.month and date.day]
    if len(full) != 1:
        return ""
    written = answer[full[0].start : full[0].end]
    try:
        dates.parse_moment(written)
    except ToolError:
        return ""
    return written
