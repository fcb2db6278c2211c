"""How long something took: the days from one date column of a row to another, or the minutes between two times."""

import re

from pointwork.agents.readings import lexicon
from pointwork.agents.readings.linking import name_stems
from pointwork.agents.readings.view import View
from pointwork.tools.catalog import Column
from pointwork.tools.table_info import holds_times

_HOW_LONG = re.compile(
    r"\bhow\s+(?:many\s+(?:days|hours|minutes)|long)\b|\b(?:days?|time|duration)\s+(?:taken|between|from|it\s+took)\b|\bnumber\s+of\s+days\b",
    re.IGNORECASE,
)
_TAKES = re.compile(
    r"\b(?:takes?|took|taken|lasts?|lasted|pass|passed|passes|elapsed?|lie|lay|stay|stays|stayed|stop|stops|stopped|stand|stands|stood|go\s+by|went\s+by|between|until|till|open|out|away)\b",
    re.IGNORECASE,
)
_DAYS = lexicon.stems("days nights")
_DURATIONS = _DAYS | lexicon.stems("hours minutes duration length weeks months years")


def period(view: View) -> str | None:
    """``how many days from the report to the end``: the later column less the earlier one, in their order."""
    asked = _HOW_LONG.search(view.question.text)
    if asked is None or not (view.conditions or view.at(lexicon.AVERAGE)):
        return None
    compared = {column for column, _, _ in view.conditions}
    daily = not re.search(r"\b(?:hours|minutes)\b", asked[0], re.IGNORECASE)
    dates = [c for c in view.info.columns if c.kind == "date"] if daily else []
    if len(dates) < 2 and not re.search(r"\bdays\b", asked[0], re.IGNORECASE):
        dates = [c for c in view.info.columns if holds_times(c)]
    measured = _DAYS if re.search(r"\bdays\b", asked[0], re.IGNORECASE) else _DURATIONS
    if any(measured & set(name_stems(column.name)) for column in view.kinds("number")):  # there it stands
        return None
    named = [c for c in dates if _named(view, c)]
    if len(named) > 2:  # which rows are meant is said by a third: "of those that were booked in May"
        named = [c for c in named if c.name not in compared]
    if len(named) != 2:
        named = dates if len(dates) == 2 and (named or _TAKES.search(view.question.text)) else []
    if not named:
        return None
    words = view.question.words
    view.explain([i for i, word in enumerate(words) if asked.start() <= word.start < asked.end()])
    view.explain([i for i, word in enumerate(words) if _TAKES.fullmatch(word.text)])
    for column in named:
        view.explain(view.links[column.name])
    if not all(_named(view, column) for column in named):
        # one word for each date that is not named by its own: "from the report to the completion"
        left = [
            i
            for i, word in enumerate(words)
            if word.content and view.explained.get(i, 0.0) <= 0 and _is_end(view, i)
        ]
        view.explain(left[:1], 0.7)
    return f"{named[1].name} - {named[0].name}"


def _named(view: View, column: Column) -> bool:
    return max(view.links[column.name].values(), default=0.0) >= 0.5


def _is_end(view: View, i: int) -> bool:
    """Whether a word stands behind ``from``, ``to``, ``and``, ``until``, an article between them."""
    before = view.question.text[: view.question.words[i].start]
    return bool(
        re.search(
            r"\b(?:from|to|and|until|till|between|after|before)\s+(?:(?:the|its|his|her|their)\s+)?$", before, re.I
        )
    )
