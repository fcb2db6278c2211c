"""The most, the oldest, the last: the row, value or group that a superlative picks."""

import re

from pointwork.agents.readings import lexicon
from pointwork.agents.readings.asking import asked_column, asks_who, numbers_rows, row_name
from pointwork.agents.readings.linking import name_stems, table_links
from pointwork.agents.readings.products import worth_of
from pointwork.agents.readings.view import Shape, View
from pointwork.tools.catalog import Column
from pointwork.tools.table_info import holds_times

# "Which piece of it has the highest price?" asks for the piece and not for the price.
_HAS = re.compile(
    r"\b(?:which|what)\s+(?!(?:is|are|was|were|do|does|did|has|have|had)\b)[a-z]\w+\b[^,;?]*\b(?:has|have|had)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
# "How many hours did the first session last?"
_LASTING = re.compile(
    r"\bhow\s+(?:long|many)\b[^,;?]*\b(?:did|does|do|will|would)\b[^,;?]*(?<!\bthe)\s+last(?=\s*(?:$|[.,;?]|(?:in|for|on|at)\b))",
    re.IGNORECASE,
)


def superlative(view: View) -> Shape | None:
    words = view.question.words
    places = [
        i
        for i, word in enumerate(words)
        if word.stem in lexicon.UP | lexicon.DOWN | lexicon.LAST | lexicon.FIRST
        and not _is_measured_name(view, i)
        and not re.match(r"-\w", view.question.text[word.end :])  # first-aiders
        and not any(word.start < lasting.end() <= word.end for lasting in _LASTING.finditer(view.question.text))
        and view.explained.get(i, 0.0) < 1.0  # "the first seven days of March" is a condition
        and not (i and words[i - 1].text.lower() == "at" and word.text.lower() in ("least", "most"))
    ]
    if not places:
        return None
    at = places[0]
    word = words[at]
    nexts = words[at + 1] if at + 1 < len(words) else None
    down = word.stem in lexicon.DOWN
    plain = word.text.lower() in ("most", "least", "fewest", "often", "top")
    if plain and nexts is not None and nexts.stem in lexicon.EXPENSIVE:
        view.explain([at, at + 1])
    if plain and nexts is not None and nexts.stem in lexicon.LAST:  # "most recently" is the latest
        view.explain([at])
        at, word, plain, down = at + 1, nexts, False, False
        nexts = words[at + 1] if at + 1 < len(words) else None
    view.explain([at])
    nth = _nth(view, at)
    asked = asked_column(view, at)
    if asked is not None and asked.kind == "number" and _HAS.search(view.question.text[: word.start]):
        asked = row_name(view) or asked
    often = nexts is not None and nexts.text.lower() in ("often", "frequently", "times", "frequent")
    if often:
        view.explain([at + 1])
    if plain and asked is not None and at + 1 in _rows_named(view) and at + 2 not in _numbers_named(view):
        view.explain([at + 1])  # "Which house holds the most batches?"
        return _most_rows(view, at, asked, plain)
    measure, direct = (None, True) if plain and often else _ranked_by(view, at, asked, plain)
    worth = worth_of(view) if measure is None and plain and view.at(lexicon.WORTH) else None
    if worth is not None and asked is not None and asked.kind == "text":
        said = [match.span() for match in lexicon.WORTH.finditer(view.question.text)]
        view.explain([i for i, w in enumerate(words) if any(a <= w.start < b for a, b in said)])
        view.explain(view.links[asked.name])
        arguments: dict[str, object] = {"aggregate": "sum", "column": worth, "group_by": asked.name}
        return arguments | {"order": "asc" if down else "desc", "limit": 1}, 0, False
    if measure is None:
        return _most_rows(view, at, asked, plain)
    if not direct:
        view.guessed += 1
    view.explain({i: max(weight, 0.7) for i, weight in view.links[measure.name].items()})
    if not plain and nexts is not None and not any(at + 1 in links for links in view.links.values()):
        view.explain([at + 1], 0.6)  # "the longest playing time": it only says which dimension
    found = _extreme(view, asked, measure, _direction(word.stem, measure, down), plain)
    return found if nth == 1 or found is None else _at_place(found, nth)


def _nth(view: View, at: int) -> int:
    """Which of the best: ``the second dearest`` is the second."""
    before = view.question.words[at - 1].text.lower() if at else ""
    if before in lexicon.PLACES:
        view.explain([at - 1])
    return lexicon.PLACES.get(before, 1)


def _at_place(shape: Shape, nth: int) -> Shape:
    """So many of the best, the last of which is meant."""
    arguments, cell, yes_no = shape
    if "limit" not in arguments:  # a maximum
        column = arguments["column"]
        order = "desc" if arguments["aggregate"] == "max" else "asc"
        arguments = {"column": column, "order_by": column, "order": order}
    return {**arguments, "limit": nth}, cell or 0, yes_no


def _rows_named(view: View) -> set[int]:
    """Words that name the rows of the table and none of its numbers."""
    return set(table_links(view.info, view.question.words)) - _numbers_named(view)


def _numbers_named(view: View) -> set[int]:
    return {i for c in view.kinds("number") if not numbers_rows(view, c) for i in view.links[c.name]}


def _most_rows(view: View, at: int, asked: Column | None, plain: bool) -> Shape | None:
    """``who … most often``: the value with the most rows, where nothing else can be compared."""
    word = view.question.words[at]
    if plain and at + 1 < len(view.question.words) and view.question.words[at + 1].stem in lexicon.DEAR:
        asked = None  # the most expensive is not what stands there most often
    if asked is None or not (plain or word.text.lower() in ("biggest", "largest", "smallest", "top", "best")):
        view.explained.pop(at, None)  # nothing here can be the coldest
        view.guessed += 1
        return None
    view.explain(view.links[asked.name])
    view.guessed += not plain  # the biggest has a size of its own, more likely
    order = "asc" if word.stem in lexicon.DOWN else "desc"
    cell = 1 if view.at(lexicon.COUNT) else 0
    return {"aggregate": "count", "group_by": asked.name, "order": order, "limit": 1}, cell, False


def _extreme(view: View, asked: Column | None, measure: Column, order: str, plain: bool) -> Shape | None:
    """The row, value or group with the most or least of a measure; None: no column says who that is."""
    if asked is None and asks_who(view):
        return None
    if asked is None or asked.name == measure.name:
        if measure.kind == "number":
            return {"aggregate": "max" if order == "desc" else "min", "column": measure.name}, None, False
        return {"column": measure.name, "order_by": measure.name, "order": order, "limit": 1}, 0, False
    view.explain(view.links[asked.name])
    if _sums_up(view, asked, measure, plain):
        aggregate = "avg" if view.at(lexicon.AVERAGE) else "sum"
        arguments: dict[str, object] = {"aggregate": aggregate, "column": measure.name, "group_by": asked.name}
        return arguments | {"order": order, "limit": 1}, 0, False
    return {"column": asked.name, "order_by": measure.name, "order": order, "limit": 1}, 0, False


def _is_measured_name(view: View, i: int) -> bool:
    """``max`` in ``max_c`` names a column: then it is no superlative by itself."""
    word = view.question.words[i]
    return word.stem in ("max", "min", "maximum", "minimum") and any(
        view.links[c.name].get(i, 0.0) >= 0.8 and {"max", "min"} & set(name_stems(c.name))
        for c in view.info.columns
    )


def _sums_up(view: View, asked: Column, measure: Column, plain: bool) -> bool:
    """Whether rows of one asked value belong together: ``which customer bought most``, not ``the longest trip``."""
    if measure.kind != "number" or asked.kind not in ("text",) or asked.distinct >= view.info.rows:
        return False
    if view.at(lexicon.TOTAL) or view.at(lexicon.AVERAGE):
        return True
    singular = set(name_stems(view.info.name)) | {
        s for c in view.info.columns if c != measure and c.distinct == view.info.rows for s in name_stems(c.name)
    }
    match = re.search(r"\b(?:single|one|a|an|the|which|what)\s+(\w+)", view.question.text, re.I)
    kind_of = {i - 1 for i, weight in view.links[asked.name].items() if weight == 1.0}  # a *freight* customer
    rows_named = any(word.stem in singular for i, word in enumerate(view.question.words) if i not in kind_of)
    return plain and not (rows_named and match)


def _direction(stem: str, measure: Column, down: bool) -> str:
    """Of dates and years the oldest, first and longest are the least."""
    is_time = measure.kind == "date" or holds_times(measure) or bool(set(name_stems(measure.name)) & lexicon.YEARS)
    if is_time:
        late = stem in lexicon.LAST or stem in lexicon.stems("shortest highest")
        return "desc" if late else "asc"
    if stem in lexicon.stems("oldest"):
        return "desc"
    if stem in lexicon.stems("youngest newest"):
        return "asc"
    return "asc" if down else "desc"


def _ranked_by(view: View, at: int, asked: Column | None, plain: bool) -> tuple[Column | None, bool]:
    """The column that the superlative compares, and whether the question names it."""
    words = view.question.words
    ranked = [c for c in view.kinds("number", "date") if not numbers_rows(view, c)]
    ranked += [
        c for c in view.info.columns if holds_times(c) and max(view.links[c.name].values(), default=0.0) >= 0.8
    ]
    rows = table_links(view.info, words)  # of "the dearest loan" the loan is the row, and not when it was lent

    def said(column: Column) -> float:
        apart = {at, *rows} if column.kind == "date" else {at}
        links = ((i, w) for i, w in view.links[column.name].items() if i not in apart and w >= 0.8)
        return max((w / (1 + 0.05 * abs(i - at)) for i, w in links), default=0.0)

    named = {c.name: said(c) for c in ranked}
    best = max(ranked, key=lambda c: named[c.name], default=None)
    if asked in ranked and any(0 < i - at <= 3 and w >= 0.8 for i, w in view.links[asked.name].items()):
        return asked, True  # "the lowest unit price"
    if best is not None and named[best.name] > 0 and best != asked:
        return best, True
    own = [c for c in ranked if view.links[c.name].get(at, 0.0) > 0 and c != asked]
    near = {
        c.name: max(
            (w / (1 + 0.05 * abs(i - at)) for i, w in view.links[c.name].items() if words[i].stem != "who"),
            default=0.0,
        )
        for c in ranked
    }
    if words[at].stem in lexicon.stems("longest shortest"):  # people serve long, things last long
        person = any(word.text.lower() in ("who", "whose", "whom") for word in words)
        own = [c for c in own if (c.kind == "date") == person] or own
    bound = "min" if words[at].stem in lexicon.DOWN else "max"
    own = [c for c in own if bound in name_stems(c.name)] or own
    if own and not plain:
        return max(own, key=lambda c: near[c.name]), len(own) == 1
    soft = [c for c in ranked if near[c.name] > 0 and c != asked]
    soft = [c for c in soft if bound in name_stems(c.name)] or soft  # of min_c and max_c the one that is meant
    if soft and (not plain or (at + 1 < len(words) and words[at + 1].stem in lexicon.EXPENSIVE)):
        best = max(soft, key=lambda c: near[c.name])
        return best, any(0 < i - at <= 2 for i in view.links[best.name])
    if soft and plain:
        best = max(soft, key=lambda c: near[c.name])
        adjacent = any(abs(i - at) <= 2 for i in view.links[best.name])
        return (best, False) if adjacent else (None, False)
    if asked in ranked and view.links[asked.name]:  # "How heavy is the lightest?"
        return asked, True
    days = [c for c in ranked if c.kind == "date" and view.own(c)]
    if words[at].stem in lexicon.LAST | lexicon.FIRST and len(days) == 1 and rows:
        return days[0], False  # "the newest instructor": by the only date that there is
    return None, False
