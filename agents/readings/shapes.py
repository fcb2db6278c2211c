"""What a question computes or shows, once its conditions are known."""

import re

from pointwork.agents.readings import conversions, lexicon, measured
from pointwork.agents.readings.asking import WH, asked_column, may_be, numbers_rows, row_name
from pointwork.agents.readings.linking import name_stems, table_links
from pointwork.agents.readings.periods import period
from pointwork.agents.readings.products import named_product, product_of
from pointwork.agents.readings.superlatives import superlative
from pointwork.agents.readings.view import Shape, View
from pointwork.text import STOP_WORDS
from pointwork.tools.catalog import Column

# "What make is the van?" and "Who was the builder of it?" ask for what they name; of "Which film did she borrow?"
# any text may be the film.
_OF_A_KIND = re.compile(
    r"\W*(?:(?:what|which)\s+(?P<kind>[a-z]\w+)\s+(?:is|was|are|were|has|have|had)\s+"
    r"(?:(?:the|our|my|his|her|its|their)\b|(?-i:[A-Z]))|"
    r"(?:what|who)\s+(?:is|was|are|were)\s+(?:the|our|my|his|her|their)\s+(?P<of>[a-z]\w+)\s+(?:of|at|for)\b)",
    re.IGNORECASE,
)
# Units that rows may stand for.
_COUNTED = lexicon.stems("day date night week month year hour")
_ASKS_VALUE = re.compile(r"\W*(?:how|what\s+(?:is|was|are|were))\b", re.IGNORECASE)
_PART = 0.6, 0.8  # what words count that are part of a value
_LISTS = re.compile(
    r"\W*(?:please\s+)?(?:(?:name|list|show|give)\b(?:\s+me)?|(?:the\s+)?names?\s+of|all\b|every\w*\b|things?\b|anything\b)",
    re.IGNORECASE,
)
_HOW_SIZED = re.compile(rf"\bhow\s+(?:{lexicon.SIZES}|old|long)\b", re.IGNORECASE)


def shape_of(view: View) -> Shape | None:
    """What is computed or shown: (arguments, cell, yes or no)."""
    if view.at(lexicon.EXISTS) and not view.at(lexicon.COUNT):
        return ({"aggregate": "count"}, None, True) if view.conditions else None
    days = period(view)
    if days is not None:
        return {"aggregate": "avg", "column": days} if view.at(lexicon.AVERAGE) else {"column": days}, None, False
    extreme = superlative(view)
    if extreme is not None:
        return extreme
    if view.at(lexicon.AVERAGE) or view.at(lexicon.MEDIAN):
        measure = _measure(view)
        if measure is None:
            return None
        view.explain(view.links[measure])
        return {"aggregate": "avg" if view.at(lexicon.AVERAGE) else "median", "column": measure}, None, False
    explicit = named_product(view)
    if explicit is not None:
        return {"aggregate": "sum", "column": explicit}, None, False
    if view.at(lexicon.PERCENT) and view.conditions and not _is_percentage(view):
        match = re.search(r"\bof\s+(?:the|all|our)\s+", view.question.text, re.I)
        view.explain(_noun_phrase(view, match.end() if match else 0)[:1])
        return {"aggregate": "percent"}, None, False
    if view.at(lexicon.COUNT):
        return _count(view)
    product = product_of(view)
    if product is not None:
        return {"aggregate": "sum", "column": product}, None, False
    if view.at(lexicon.TOTAL) or view.at(lexicon.AMOUNT) or view.at(lexicon.TOOK):
        measure = _measure(view) or _money(view)
        if measure is not None:
            view.explain(view.links[measure])
            return {"aggregate": "sum", "column": measure}, None, False
    return _lookup(view)


def _is_percentage(view: View) -> bool:
    """Whether a column is named that holds percentages: nothing is to be divided."""
    return any(measured.in_percent(column.name) and _named(view, column) for column in view.kinds("number"))


def _count(view: View) -> Shape | None:
    """``how many X``: rows, different values, or the sum of a number column that X names; no unit is a thing."""
    match = lexicon.COUNT.search(view.question.text)
    assert match is not None
    head = _noun_phrase(view, match.end())
    things = _counted_things(view, head)
    if things is not None:
        return {"aggregate": "sum", "column": things}, None, False
    sized = _sized_column(view, head)
    if sized is not None:
        view.explain(head[:1])
        return {"aggregate": "sum", "column": sized}, None, False
    named = _counted_column(view, head)
    if named is not None:
        return named
    measure = _measure(view) if view.at(lexicon.TOTAL) else None
    if measure is not None and max(view.links[measure].values(), default=0.0) >= 0.8:
        view.explain(view.links[measure])  # "How many kilos do they weigh together"
        view.explain(head[:1], 0.5)
        return {"aggregate": "sum", "column": measure}, None, False
    words = [view.question.words[i] for i in head[:2]]
    if any(word.stem not in _COUNTED and conversions.unit_of(word.text.lower()) is not None for word in words):
        return None
    view.explain(head[:1], 0.5)  # what is counted are the rows, whatever they are called
    days = [c for c in view.info.columns if c.kind == "date"]
    if days and head and view.question.words[head[0]].stem in ("day", "date"):
        distinct = view.at(lexicon.DISTINCT) and days[0].distinct < view.info.rows
        if distinct or days[0].distinct == view.info.rows:
            view.explain(head[:1])
        if distinct:
            return {"aggregate": "distinct", "column": days[0].name}, None, False
    return {"aggregate": "count"}, None, False


def _counted_column(view: View, head: list[int]) -> Shape | None:
    """The column that the counted noun names: summed if it adds up, its different values counted if it is text."""
    rows = set(name_stems(view.info.name))
    compared = {column for column, _, _ in view.conditions}
    for i in head:
        word = view.question.words[i]
        if word.stem in rows or word.text.lower().endswith(("ing", "ed")):
            return None
        # "kg of hops": of the columns in kg the one of hops
        for column in sorted(view.kinds("number"), key=lambda column: -view.strength(column)):
            link = view.links[column.name].get(i, 0.0)
            adds_up = lexicon.ADDITIVE & set(name_stems(column.name)) and not lexicon.PRICES & set(
                name_stems(column.name)
            )
            if i == head[0] and link and adds_up:
                link = max(link, 0.8)
            if link >= 0.8 and column.name not in compared and not numbers_rows(view, column):
                view.explain(view.links[column.name])
                view.explain([i])
                return {"aggregate": "sum", "column": column.name}, None, False
        for column in view.kinds("text"):
            if view.links[column.name].get(i, 0.0) >= 0.8:
                view.explain(view.links[column.name])
                several = column.distinct < view.info.rows or view.at(lexicon.DISTINCT)
                return (
                    ({"aggregate": "distinct", "column": column.name} if several else {"aggregate": "count"}),
                    None,
                    False,
                )
        if word.content:
            return None
    return None


def _sized_column(view: View, head: list[int]) -> str | None:
    """``How many hours did it take``, of a column of minutes: the only one measured in units of that kind."""
    unit = conversions.unit_of(view.question.words[head[0]].text.lower()) if head and view.conditions else None
    sized = [c.name for c in view.kinds("number") if unit is not None and measured.measures(c.name, unit)]
    alike = [name for name in sized if conversions.unit_of(measured.unit_named(name)) == unit] or sized
    return alike[0] if len(alike) == 1 else None


def _counted_things(view: View, head: list[int]) -> str | None:
    """``How many lanterns``, a value of an item column: the sum of the table's amounts, if it has such a column."""
    named = {column for column, op, _ in view.conditions if op == "="}
    if not head or view.explained.get(head[0], 0.0) < 0.7 or head[0] in table_links(view.info, view.question.words):
        return None
    word = view.question.words[head[0]]
    values = [view.info.column(name) for name in named if view.info.column(name).kind == "text"]
    of = [c for c in values if any(word.stem in name_stems(value) for value in c.values)]
    amounts = [
        c for c in view.kinds("number") if set(name_stems(c.name)) & lexicon.THINGS and not numbers_rows(view, c)
    ]
    amounts = [
        c for c in amounts if not set(name_stems(c.name)) & lexicon.PRICES and "reorder" not in c.name.lower()
    ]
    return amounts[0].name if of and amounts else None


def _noun_phrase(view: View, start: int) -> list[int]:
    """Words of the noun phrase from a place on, its head first: ``observing sessions`` → sessions, observing."""
    run: list[int] = []
    for i, word in enumerate(view.question.words):
        if word.start < start:
            continue
        low = word.text.lower()
        if not run and (low in ("the", "of", "a", "all", "our", "my", "there") or lexicon.DISTINCT.fullmatch(low)):
            continue
        if low in STOP_WORDS or (
            run and (word.stem in lexicon.FILLER or word.start - view.question.words[i - 1].end > 1)
        ):
            break
        named = word.text[0].isupper() and conversions.unit_of(low) is None  # not "degrees Celsius"
        if run and named and view.question.words[i - 1].text[0].islower():
            break  # "how many pallets Hartwell Timber shipped"
        run.append(i)
        if len(run) == 3:
            break
    return run[::-1]


def _measure(view: View, *, but: str = "") -> str | None:
    """The number column that the question speaks of most; the only one there is, if it speaks of none."""
    numbers = [c for c in view.kinds("number") if c.name != but and not numbers_rows(view, c)]
    compared = {column for column, _, _ in view.conditions}
    free = [c for c in numbers if c.name not in compared] or numbers
    if not free:
        return None
    best = max(free, key=view.strength)
    if view.strength(best) > 0:
        return best.name
    if len(free) == 1:
        view.guessed += 1
        return best.name
    return None


def _money(view: View) -> str | None:
    """The only column of money, where it is asked what was spent or came in."""
    if not (view.at(lexicon.WORTH) or view.at(lexicon.TOOK)):
        return None
    sums = [
        c.name
        for c in view.kinds("number")
        if set(name_stems(c.name)) & lexicon.MONEY and not numbers_rows(view, c)
    ]
    if len(sums) != 1 or not view.conditions:
        return None
    said = [
        match.span() for pattern in (lexicon.WORTH, lexicon.TOOK) for match in pattern.finditer(view.question.text)
    ]
    view.explain([i for i, w in enumerate(view.question.words) if any(a <= w.start < b for a, b in said)])
    return sums[0]


def _any_date(view: View, asked: Column) -> bool:
    """Whether nothing says that it is this date that is asked for: when a house was *built* is not when one of the
    plants in it was received.
    """
    rows = any(
        view.info.column(column).distinct == view.info.rows for column, op, _ in view.conditions if op == "="
    )
    # of "the rabbit day" a row about vaccinating rabbits is none
    part = any(_PART[0] < weight < _PART[1] for weight in view.explained.values())
    return (not rows or part) and not _named(view, asked) and not set(name_stems(asked.name)) & lexicon.DATED


def _named(view: View, column: Column) -> bool:
    """Whether a question names a column by more than its question word."""
    return any(not WH.fullmatch(view.question.words[i].text) for i in view.links[column.name])


def _explained(view: View, text: str) -> bool:
    """Whether a condition holds a word: the treasurer, where that is somebody's role."""
    return any(view.explained.get(i, 0.0) >= 0.7 for i, word in enumerate(view.question.words) if word.text == text)


def _lookup(view: View) -> Shape | None:
    if not view.conditions:
        return None
    asked = asked_column(view)
    priced = max(
        (c for c in view.kinds("number") if view.at(lexicon.WORTH)),
        key=lambda c: max(view.links[c.name].values(), default=0.0),
        default=None,
    )
    if asked is None and priced is not None and max(view.links[priced.name].values(), default=0.0) > 0:
        asked = priced  # "What does she pay?"
    guess = bool(WH.match(view.question.text.strip()))
    if view.at(_HOW_SIZED):  # no text that is not even named says how old or tall
        guess = False
        if asked is not None and asked.kind == "text" and not view.links[asked.name]:
            return None
    kind = _OF_A_KIND.match(view.question.text)
    # (what rows are called, their name, needs no column of that name)
    if (
        kind is not None
        and (kind["of"] or "").lower() != "name"
        and not any(lexicon.stems(kind["kind"] or kind["of"]) & set(name_stems(c.name)) for c in view.info.columns)
    ):
        if asked is not None and not _named(view, asked) and not _explained(view, kind["of"] or ""):
            return None
        guess = False
    if asked is None and guess:  # "What did she buy?": the first text that is open
        used = {column for column, _, _ in view.conditions}
        asked = next(
            (
                c
                for c in view.info.columns
                if c.kind == "text" and c.name not in used and not numbers_rows(view, c) and may_be(view, c)
            ),
            None,
        )
        view.guessed += 1
    if asked is None and _LISTS.match(view.question.text) and not view.at(WH):  # "name the organic ones"
        asked = row_name(view)
    asked = _open(view, asked)
    if asked is None or (asked.kind == "date" and _any_date(view, asked)):
        return None
    return _shown(view, asked)


def _open(view: View, asked: Column | None) -> Column | None:
    """What is asked for, if it says more than the conditions do: else the name of the rows."""
    if asked is not None and (asked.name, "empty", "") in view.conditions:  # "staff without a cabin"
        asked = row_name(view)
    if asked is None:
        asked = max(view.kinds("number"), key=view.strength, default=None)
        if asked is None or view.strength(asked) <= 0:
            return None
    compared = {column for column, op, _ in view.conditions if op in ("<", ">", "<=", ">=")}
    if asked.kind == "number" and asked.name in compared and not view.at(_ASKS_VALUE):
        return row_name(view) or asked  # "boats over 10 metres" are boats, no lengths
    return asked


def _shown(view: View, asked: Column) -> Shape:
    """The column of the rows that are meant; its sum where numbers add up."""
    view.explain(view.links[asked.name])
    if asked.kind == "date":  # "on what date": this is one
        view.explain([i for i, word in enumerate(view.question.words) if word.stem in lexicon.DATED])
    adds_up = bool(lexicon.ADDITIVE & set(name_stems(asked.name))) and not lexicon.PRICES & set(
        name_stems(asked.name)
    )
    if asked.kind == "number" and (view.at(lexicon.TOTAL) or adds_up):
        return {"aggregate": "sum", "column": asked.name}, None, False
    return {"column": asked.name}, None, False
