"""What a question computes or shows, once its conditions are known."""

import re

from pointwork.agents.readings import lexicon
from pointwork.agents.readings.linking import name_stems
from pointwork.agents.readings.view import View
from pointwork.text import STOP_WORDS
from pointwork.tools.catalog import Column

_THINGS = frozenset(["thing", "things", "one", "ones", "item", "items", "product", "products", "article"])
_WH = re.compile(r"\b(who|whom|whose|which|what|where|when|how)\b", re.I)

Shape = tuple[dict[str, object], int | None, bool]


def shape_of(view: View) -> Shape | None:
    """What is computed or shown: (arguments, cell, yes or no)."""
    if view.at(lexicon.EXISTS) and not view.at(lexicon.COUNT):
        return ({"aggregate": "count"}, None, True) if view.conditions else None
    superlative = _superlative(view)
    if superlative is not None:
        return superlative
    if view.at(lexicon.AVERAGE) or view.at(lexicon.MEDIAN):
        measure = _measure(view)
        if measure is None:
            return None
        view.explain(view.links[measure])
        return {"aggregate": "avg" if view.at(lexicon.AVERAGE) else "median", "column": measure}, None, False
    explicit = _named_product(view)
    if explicit is not None:
        return {"aggregate": "sum", "column": explicit}, None, False
    if view.at(lexicon.PERCENT) and view.conditions:
        match = re.search(r"\bof\s+(?:the|all|our)\s+", view.question.text, re.I)
        view.explain(_noun_phrase(view, match.end() if match else 0)[:1])
        return {"aggregate": "percent"}, None, False
    if view.at(lexicon.COUNT):
        return _count(view)
    product = _product(view)
    if product is not None:
        return {"aggregate": "sum", "column": product}, None, False
    if view.at(lexicon.TOTAL) or view.at(lexicon.AMOUNT):
        measure = _measure(view)
        if measure is not None:
            view.explain(view.links[measure])
            return {"aggregate": "sum", "column": measure}, None, False
    return _lookup(view)


def _count(view: View) -> Shape:
    """``how many X``: rows, different values, or the sum of a number column that X names."""
    match = lexicon.COUNT.search(view.question.text)
    assert match is not None
    head = _noun_phrase(view, match.end())
    rows = set(name_stems(view.info.name))
    compared = {column for column, _, _ in view.conditions}
    for i in head:
        word = view.question.words[i]
        if word.stem in rows or word.text.lower().endswith(("ing", "ed")):
            break
        for column in view.kinds("number"):
            if (
                view.links[column.name].get(i, 0.0) >= 0.8
                and column.name not in compared
                and not _is_key(view, column)
            ):
                view.explain(view.links[column.name])
                return {"aggregate": "sum", "column": column.name}, None, False
        for column in view.kinds("text"):
            if view.links[column.name].get(i, 0.0) < 0.8:
                continue
            view.explain(view.links[column.name])
            if column.distinct < view.info.rows or view.at(lexicon.DISTINCT):
                return {"aggregate": "distinct", "column": column.name}, None, False
            return {"aggregate": "count"}, None, False
        if word.content:
            break
    together = view.at(lexicon.TOTAL)
    measure = _measure(view) if together else None
    if (
        measure is not None and max(view.links[measure].values(), default=0.0) >= 0.8
    ):  # "How many kilos do they weigh together"
        view.explain(view.links[measure])
        view.explain(head[:1], 0.5)
        return {"aggregate": "sum", "column": measure}, None, False
    for i in head[:1]:  # what is counted are the rows, whatever they are called
        view.explain([i], 0.5)
    dated = [c for c in view.info.columns if c.kind == "date" and c.distinct == view.info.rows]
    if dated and head:
        view.explain([i for i in head if view.question.words[i].stem in ("day", "date")], 1.0)
    return {"aggregate": "count"}, None, False


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
        run.append(i)
        if len(run) == 3:
            break
    return run[::-1]


def _is_key(view: View, column: Column) -> bool:
    names = set(name_stems(column.name))
    own = {"id", "no", "nr", "number", *name_stems(view.info.name)}
    return bool(own & names) and column.distinct == view.info.rows


def _measure(view: View, *, but: str = "") -> str | None:
    """The number column that the question speaks of most; the only one there is, if it speaks of none."""
    numbers = [c for c in view.kinds("number") if c.name != but and not _is_key(view, c)]
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


def _named_product(view: View) -> str | None:
    """``hours times rate``: two number columns with a sign of multiplication, or both named by what is paid."""
    numbers = [c for c in view.kinds("number") if not _is_key(view, c)]
    strong = [c for c in numbers if max(view.links[c.name].values(), default=0.0) >= 0.8]
    prices = [c for c in strong if set(name_stems(c.name)) & lexicon.PRICES]
    amounts = [c for c in strong if c not in prices]
    paid = bool(prices and amounts and view.conditions and view.at(lexicon.WORTH) and not view.at(lexicon.AVERAGE))
    if len(strong) < 2 or not (view.at(lexicon.TIMES) or paid):
        return None
    if paid and not view.at(lexicon.TIMES):
        pair = [max(amounts, key=view.strength), max(prices, key=view.strength)]
    else:
        pair = sorted(strong, key=view.strength)[-2:]
    for column in pair:
        view.explain(view.links[column.name])
    return f"{pair[0].name} * {pair[1].name}"


def _worth(view: View) -> str | None:
    """Amount times price of a table that has one of each."""
    numbers = [c for c in view.kinds("number") if not _is_key(view, c)]
    prices = [c for c in numbers if set(name_stems(c.name)) & lexicon.PRICES]
    amounts = [c for c in numbers if set(name_stems(c.name)) & lexicon.QUANTITIES and c not in prices]
    if not prices or not amounts or "per" in name_stems(amounts[0].name):
        return None
    return f"{amounts[0].name} * {prices[0].name}"


def _product(view: View) -> str | None:
    """Amount times price, where a question asks for a worth and the table has only its factors."""
    if not view.at(lexicon.WORTH):
        return None
    numbers = view.kinds("number")
    prices = [c for c in numbers if set(name_stems(c.name)) & lexicon.PRICES]
    amounts = [c for c in numbers if set(name_stems(c.name)) & lexicon.QUANTITIES and c not in prices]
    amounts = [c for c in amounts if "per" not in name_stems(c.name)]
    if not amounts or not prices:
        return None
    money = [c for c in numbers if c not in amounts + prices and view.strength(c) > 0 and not _is_key(view, c)]
    if money:  # the worth itself is a column
        return None
    amount, price = max(amounts, key=view.strength), max(prices, key=view.strength)
    if amount == price or not (view.conditions or view.at(lexicon.TOTAL)):
        return None
    direct = max(view.links[price.name].values(), default=0.0) >= 0.8 and not view.links[amount.name]
    total, value = view.at(lexicon.TOTAL), view.at(lexicon.VALUE)
    meant = total or value or max(view.links[amount.name].values(), default=0.0) >= 0.8
    if not meant or (direct and not total and not value):  # "what is the unit price of …": the price alone
        return None
    view.explain(view.links[amount.name])
    view.explain(view.links[price.name])
    return f"{amount.name} * {price.name}"


def _superlative(view: View) -> Shape | None:
    words = view.question.words
    places = [
        i
        for i, word in enumerate(words)
        if word.stem in lexicon.UP | lexicon.DOWN | lexicon.LAST | lexicon.FIRST and not _is_measured_name(view, i)
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
    view.explain([at])
    asked = _asked(view, at)
    often = nexts is not None and nexts.text.lower() in ("often", "frequently", "times", "frequent")
    if often:
        view.explain([at + 1])
    measure, direct = (None, True) if plain and often else _ranked_by(view, at, asked, plain)
    worth = _worth(view) if measure is None and plain and view.at(lexicon.WORTH) else None
    if worth is not None and asked is not None and asked.kind == "text":
        view.explain(view.links[asked.name])
        arguments: dict[str, object] = {"aggregate": "sum", "column": worth, "group_by": asked.name}
        return arguments | {"order": "asc" if down else "desc", "limit": 1}, 0, False
    if measure is None:
        if asked is None or not (plain or word.text.lower() in ("biggest", "largest", "smallest", "top", "best")):
            return None
        view.explain(view.links[asked.name])
        order = "asc" if down else "desc"
        cell = 1 if _wants_number(view) else 0
        return {"aggregate": "count", "group_by": asked.name, "order": order, "limit": 1}, cell, False
    if not direct:
        view.guessed += 1
    order = _direction(
        nexts.stem if plain and nexts is not None and nexts.stem in lexicon.LAST else word.stem, measure, down
    )
    view.explain(view.links[measure.name])
    if not plain and nexts is not None and not any(at + 1 in links for links in view.links.values()):
        view.explain([at + 1], 0.6)  # "the longest playing time": it only says which dimension
    if asked is None or asked.name == measure.name:
        if measure.kind == "number" and _grouped_by(view) is None:
            return {"aggregate": "max" if order == "desc" else "min", "column": measure.name}, None, False
        return {"column": measure.name, "order_by": measure.name, "order": order, "limit": 1}, 0, False
    view.explain(view.links[asked.name])
    if _sums_up(view, asked, measure, plain):
        aggregate = "avg" if view.at(lexicon.AVERAGE) else "sum"
        arguments = {"aggregate": aggregate, "column": measure.name, "group_by": asked.name}
        return arguments | {"order": order, "limit": 1}, 0, False
    return {"column": asked.name, "order_by": measure.name, "order": order, "limit": 1}, 0, False


def _is_measured_name(view: View, i: int) -> bool:
    """``max`` in ``max_c`` names a column: then it is no superlative by itself."""
    word = view.question.words[i]
    return word.stem in ("max", "min", "maximum", "minimum") and any(
        view.links[c.name].get(i, 0.0) >= 0.8 and {"max", "min"} & set(name_stems(c.name))
        for c in view.info.columns
    )


def _grouped_by(view: View) -> Column | None:
    return None


def _wants_number(view: View) -> bool:
    return view.at(lexicon.COUNT)


def _sums_up(view: View, asked: Column, measure: Column, plain: bool) -> bool:
    """Whether rows of one asked value belong together: ``which customer bought most``, not ``the longest trip``."""
    if measure.kind != "number" or asked.kind not in ("text",) or asked.distinct >= view.info.rows:
        return False
    if view.at(lexicon.TOTAL) or view.at(lexicon.AVERAGE):
        return True
    singular = set(name_stems(view.info.name)) | {
        s for c in view.info.columns if c.distinct == view.info.rows for s in name_stems(c.name)
    }
    match = re.search(r"\b(?:single|one|a|an|the|which|what)\s+(\w+)", view.question.text, re.I)
    rows_named = any(word.stem in singular for word in view.question.words)
    return plain and not (rows_named and match)


def _direction(stem: str, measure: Column, down: bool) -> str:
    """Of dates and years the oldest, first and longest are the least."""
    is_time = measure.kind == "date" or "year" in name_stems(measure.name) or "born" in name_stems(measure.name)
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
    ranked = [c for c in view.kinds("number", "date") if not _is_key(view, c)]
    named = {
        c.name: max(
            (w / (1 + 0.05 * abs(i - at)) for i, w in view.links[c.name].items() if i != at and w >= 0.8),
            default=0.0,
        )
        for c in ranked
    }
    best = max(ranked, key=lambda c: named[c.name], default=None)
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
    if own and not plain:
        return max(own, key=lambda c: near[c.name]), len(own) == 1
    soft = [c for c in ranked if near[c.name] > 0 and c != asked]
    if soft and (not plain or (at + 1 < len(words) and words[at + 1].stem in lexicon.EXPENSIVE)):
        return max(soft, key=lambda c: near[c.name]), False
    if soft and plain:
        best = max(soft, key=lambda c: near[c.name])
        adjacent = any(abs(i - at) <= 2 for i in view.links[best.name])
        return (best, False) if adjacent else (None, False)
    if asked in ranked and view.links[asked.name]:  # "How heavy is the lightest?"
        return asked, True
    return None, False


def _asked(view: View, at: int | None = None) -> Column | None:
    """The column that holds what is asked for."""
    words = view.question.words
    open_columns = [c for c in view.info.columns if c.name not in {n for n, op, _ in view.conditions if op == "="}]
    places = [i for i, word in enumerate(words) if _WH.fullmatch(word.text)]
    if any(words[i].text.lower() in ("who", "whom", "whose") for i in places):
        open_columns = [c for c in open_columns if c.kind == "text"]
    if not open_columns:
        return None
    rows = set(name_stems(view.info.name))
    thing = [
        i + 1
        for i in places
        if i + 1 < len(words)
        and words[i].text.lower() in ("which", "what")
        and (words[i + 1].text.lower() in _THINGS or words[i + 1].stem in rows)
        and not any(c.kind == "text" and view.links[c.name].get(i + 1, 0.0) == 1.0 for c in open_columns)
    ]
    if thing and (named := _row_name(view)) is not None and named in open_columns:
        return named
    scores: dict[str, float] = {}
    for column in open_columns:
        mentioned = [w for i, w in view.links[column.name].items() if w >= 0.8 and i != at]
        scores[column.name] = sum(_asks_for(view, column, wh, at) for wh in places) + 0.6 * max(
            mentioned, default=0.0
        )
    best = max(open_columns, key=lambda c: scores[c.name])
    if scores[best.name] >= 0.45:
        return best
    if at is not None or places:
        named = _row_name(view)
        if named is not None and named in open_columns:
            view.guessed += 0 if any(words[i].stem in name_stems(view.info.name) for i in range(len(words))) else 1
            return named
    return None


def _asks_for(view: View, column: Column, wh: int, at: int | None) -> float:
    """How much one question word asks for a column: by the noun behind it and by its kind."""
    words, links = view.question.words, view.links[column.name]
    kind = words[wh].text.lower()
    head = range(wh + 1, min(len(words), wh + (4 if kind in ("which", "what") else 1)))
    behind = [links.get(i, 0.0) * (1.0 if i == wh + 1 else 0.7) for i in head if i != at]
    score = 1.5 * max(behind, default=0.0)
    text = column.kind == "text"
    if kind in ("who", "whom", "whose"):
        score += 0.8 * (text and links.get(wh, 0.0) > 0) + 0.2 * (text and column == _first_text(view))
    elif kind == "where":
        score += 0.8 * (text and links.get(wh, 0.0) > 0)
    elif kind == "when" or (kind in ("which", "what") and _says_date(view, wh)):
        score += 0.8 * (column.kind == "date")
    elif kind == "how" and wh + 1 < len(words):
        score += links.get(wh + 1, 0.0) * (column.kind == "number")
    return score


def _says_date(view: View, wh: int) -> bool:
    return any(
        word.text.lower() in ("date", "day", "evening", "morning") for word in view.question.words[wh + 1 : wh + 2]
    )


def _first_text(view: View) -> Column | None:
    return next((c for c in view.info.columns if c.kind == "text"), None)


def _row_name(view: View) -> Column | None:
    """The column that names a row: the first text column in which no value stands twice."""
    texts = [c for c in view.info.columns if c.kind == "text"]
    unique = next((c for c in texts if c.distinct == view.info.rows), None)
    return unique or next((c for c in texts[:1] if c.distinct >= 0.5 * view.info.rows), None)


def _lookup(view: View) -> Shape | None:
    if not view.conditions:
        return None
    asked = _asked(view)
    priced = max(
        (c for c in view.kinds("number") if view.at(lexicon.WORTH)),
        key=lambda c: max(view.links[c.name].values(), default=0.0),
        default=None,
    )
    if asked is None and priced is not None and max(view.links[priced.name].values(), default=0.0) > 0:
        asked = priced  # "What does she pay?"
    if asked is None and _WH.match(view.question.text.strip()):  # "What did she buy?": the first text that is open
        used = {column for column, _, _ in view.conditions}
        asked = next(
            (c for c in view.info.columns if c.kind == "text" and c.name not in used and not _is_key(view, c)), None
        )
        view.guessed += 1
    if asked is None:
        measure = max(view.kinds("number"), key=view.strength, default=None)
        if measure is None or view.strength(measure) <= 0:
            return None
        asked = measure
    view.explain(view.links[asked.name])
    adds_up = bool(lexicon.ADDITIVE & set(name_stems(asked.name))) and not lexicon.PRICES & set(
        name_stems(asked.name)
    )
    if asked.kind == "number" and (view.at(lexicon.TOTAL) or adds_up):
        return {"aggregate": "sum", "column": asked.name}, None, False
    return {"column": asked.name}, None, False
