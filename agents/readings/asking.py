"""The column that holds what a question asks for."""

import re

from pointwork.agents.readings import lexicon
from pointwork.agents.readings.linking import DOER, called, is_key, name_stems
from pointwork.agents.readings.measured import unit_named
from pointwork.agents.readings.names import is_person
from pointwork.agents.readings.view import View
from pointwork.tools.catalog import Column
from pointwork.tools.table_info import holds_times

_THINGS = frozenset(["thing", "things", "one", "ones", "item", "items", "product", "products", "article"])
_OF_A_THING = re.compile(
    r"\W*(?P<of>which|what)\s+(?P<thing>(?!is\b|was\b|are\b|were\b|do|did\b|has\b|have\b|had\b|will\b)[a-z]\w+)\s+\w",
    re.I,
)
WH = re.compile(r"\b(whoever|who|whom|whose|which|what|where|when|how)\b", re.I)


_PRICE_ASKED = re.compile(r"\bhow\s+much\s+(?:is|are|was|were)\b|\b(?:charged?|charges|pays?|paid)\s+for\b", re.I)
_WHO = ("who", "whom", "whose", "whoever")
KEY_ASKED = re.compile(r"\b(?:ids?|nr|numbers?(?!\s+of\b)|codes?|keys?)\b|\bno(?=\s*[.?]|\s+of\b)", re.I)
"""The number of a row is asked for, not its name (and not how many there are)."""


def asked_column(view: View, at: int | None = None) -> Column | None:
    """The column that holds what is asked for; of rows that have names it is these, unless their keys are meant."""
    named = called(view.info)
    if named is not None and named.name in [column for column, op, _ in view.conditions if op == "="]:
        named = None
    if named is not None and at is None and _only_keys(view):  # "Who is P11?"
        return named
    found = _asked_column(view, at)
    if found is None or named is None or not numbers_rows(view, found) or view.at(KEY_ASKED):
        return found
    return named


def _only_keys(view: View) -> bool:
    """Whether the key of a row is all that a question says."""
    keys = [
        column for column, op, _ in view.conditions if op == "=" and numbers_rows(view, view.info.column(column))
    ]
    left = [i for i, word in enumerate(view.question.words) if word.content and view.explained.get(i, 0.0) < 1.0]
    return bool(keys) and not left


def _asked_column(view: View, at: int | None) -> Column | None:
    words = view.question.words
    # a date that is bound to a month or a year is still open
    bound = {n for n, op, value in view.conditions if op == "=" and not re.fullmatch(r"\d{4}(?:-\d{2})?", value)}
    open_columns = [c for c in view.info.columns if c.name not in bound]
    places = [i for i, word in enumerate(words) if WH.fullmatch(word.text)]
    if asks_who(view):
        open_columns = [c for c in open_columns if c.kind == "text" and (not c.coded or view.at(KEY_ASKED))]
    if (of := _OF_A_THING.match(view.question.text)) and not lexicon.stems(of["thing"]) & lexicon.DATED:
        # no date is a plant, and "which hop" is no kg
        which = of["of"].lower() == "which"
        open_columns = [c for c in open_columns if c.kind != "date" and not (which and unit_named(c.name))]
    if not open_columns:
        return None
    rows = set(name_stems(view.info.name))
    thing = [
        i + 1
        for i in places
        if i + 1 < len(words)
        and words[i].text.lower() in ("which", "what")
        and (words[i + 1].text.lower() in _THINGS or words[i + 1].stem in rows)
        # "which name", and "which freight customer" of a table freight, ask for that column
        and not any(
            c.kind == "text" and 1.0 in (view.links[c.name].get(i + n) for n in (1, 2)) for c in open_columns
        )
    ]
    if thing and (named := row_name(view)) is not None and named in open_columns:
        return named
    dates = [c for c in open_columns if c.kind == "date"]
    if dates and view.at(lexicon.WEEKDAY):
        return dates[0]
    # "who keeps the highest light": a light is not who
    apart = {at, at + 1} if at is not None and asks_who(view) else {at}
    scores: dict[str, float] = {}
    for column in open_columns:
        mentioned = [w for i, w in view.links[column.name].items() if w >= 0.8 and i not in apart]
        asked_for = sum(_asks_for(view, column, wh, at) for wh in places)
        key = 0.2 if (numbers_rows(view, column) and not view.at(KEY_ASKED)) or _refers(view, column) else 0.0
        more = 0.05 * min(len(mentioned), 3)  # "hourly pay": two words of hourly_pay_eur, one of weekly_hours
        scores[column.name] = asked_for + 0.6 * max(mentioned, default=0.0) + more - key
    best = max(open_columns, key=lambda c: scores[c.name])
    if scores[best.name] >= 0.45:
        return best
    priced = [c for c in open_columns if c.kind == "number" and "price" in name_stems(c.name)]
    if len(priced) == 1 and view.at(_PRICE_ASKED):  # what is charged is no category, and not what it cost
        return priced[0]
    if at is not None or places:
        named = row_name(view)
        if named is not None and named in open_columns and may_be(view, named):
            view.guessed += 0 if any(words[i].stem in name_stems(view.info.name) for i in range(len(words))) else 1
            return named
    return None


def _asks_for(view: View, column: Column, wh: int, at: int | None) -> float:
    """How much one question word asks for a column: by the noun behind it and by its kind."""
    words, links = view.question.words, view.links[column.name]
    kind = words[wh].text.lower()
    head = range(wh + 1, min(len(words), wh + (4 if kind in ("which", "what") else 1)))
    behind = [
        links.get(i, 0.0) * (1.0 if i == wh + 1 else 0.7)
        for i in head
        # of "what date …" every column of dates is one
        if i != at and (links.get(i, 0.0) >= 0.8 or words[i].stem not in lexicon.DATED)
    ]
    if kind == "what" and wh + 1 < len(words) and words[wh + 1].text.lower() in ("do", "does", "did", "will"):
        behind.append(links.get(len(words) - 1, 0.0))  # what does it *cost*
    score = 1.5 * max(behind, default=0.0)
    text = column.kind == "text"
    if kind in _WHO:
        people, called_so = _holds_people(column), links.get(wh, 0.0) > 0
        # a grower, not a plant with a person's name; but of people themselves no mentor
        doer = 0.15 if column == called(view.info) else 0.1 * bool(DOER.search(column.name.removesuffix("_name")))
        # what is called a name comes after what holds names of people: "inv_name" are names of things
        score += (0.8 + doer if people or not column.values else 0.7 + doer) * (text and (people or called_so))
        score += 0.2 * (text and column == _first_text(view))
    elif kind == "where":
        score += 0.8 * (text and links.get(wh, 0.0) > 0)
    elif kind == "when" or (kind in ("which", "what") and _says_date(view, wh)):
        score += 0.8 * (column.kind == "date" or _is_moment(view, column))
    elif kind == "how" and wh + 1 < len(words):
        score += links.get(wh + 1, 0.0) * (column.kind == "number")
    return score


def _is_moment(view: View, column: Column) -> bool:
    """Whether a year or a time of day is named by more than the question word: ``bought_year``, ``left_at``."""
    named = max(
        (w for i, w in view.links[column.name].items() if not WH.fullmatch(view.question.words[i].text)),
        default=0.0,
    )
    year = column.kind == "number" and "year" in name_stems(column.name)
    return named >= 0.8 and (year or holds_times(column))


def _holds_people(column: Column) -> bool:
    """Whether the values of a column look like names of people."""
    alike = sum(is_person(value) for value in column.values)
    return alike > 0.8 * len(column.values) > 0


def _refers(view: View, column: Column) -> bool:
    """Whether a column only has keys, whose names stand in a column beside it, and no key is asked for."""
    return not view.at(KEY_ASKED) and column.name in [reference.column for reference in view.info.source.references]


def asks_who(view: View) -> bool:
    return any(word.text.lower() in _WHO for word in view.question.words)


def may_be(view: View, column: Column) -> bool:
    """Whether a column that nothing names may hold what is asked for: no number of a boat is who built it."""
    return not asks_who(view) or not column.values or _holds_people(column)


def _says_date(view: View, wh: int) -> bool:
    return any(
        word.text.lower() in ("date", "day", "evening", "morning") for word in view.question.words[wh + 1 : wh + 2]
    )


def _first_text(view: View) -> Column | None:
    return next((c for c in view.info.columns if c.kind == "text"), None)


def row_name(view: View) -> Column | None:
    """The column that names a row: the first text column in which no value stands twice, keys last."""
    texts = sorted((c for c in view.info.columns if c.kind == "text"), key=lambda c: c.coded)
    named = called(view.info)
    if named is not None and named.distinct == view.info.rows:
        return named
    unique = next((c for c in texts if c.distinct == view.info.rows), None)
    return unique or next((c for c in texts[:1] if c.distinct >= 0.5 * view.info.rows), None)


def numbers_rows(view: View, column: Column) -> bool:
    return is_key(view.info, column)
