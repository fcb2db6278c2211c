"""The last step from what was found to the form that was asked for: another unit, or the weekday of a date."""

from pointwork.agents.readings import Reading, moments
from pointwork.agents.readings.question import Question
from pointwork.errors import ToolError
from pointwork.tools import dates


def finishing(question: str, answer: str) -> Reading | None:
    """The call that brings an answer into the form that the question asks for; None if it is in it."""
    if len(answer) > 120:
        return None
    if moments.WEEKDAY.search(question) and (day := _date_in(answer)):
        return Reading("date_math", {"operation": "weekday", "date": day, "other": ""}, 1.0)
    asked = moments.asked_unit(question)
    if asked is None:
        return None
    found = [quantity for quantity in moments.quantities(answer) if moments.compatible(quantity[3], asked[1])]
    if len(found) != 1 or found[0][3] == asked[1]:
        return None
    return Reading("calculate", {"expression": f"{found[0][2]} to {asked[0]}"}, 1.0)


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
