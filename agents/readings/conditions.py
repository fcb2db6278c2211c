"""What of a question restricts the rows: values, dates, comparisons, truths and empty cells, as conditions."""

import calendar
import re
from collections.abc import Callable, Sequence

from pointwork.agents.readings import clocks, lexicon
from pointwork.agents.readings.linking import ValueLink, is_key, name_stems, table_links, value_links
from pointwork.agents.readings.question import DIGITS, DateMention
from pointwork.agents.readings.view import View
from pointwork.tools.catalog import Column, TableInfo
from pointwork.tools.table_info import holds_times

Texts = Callable[[TableInfo, Column], Sequence[str]]
Years = Callable[[TableInfo, Column], Sequence[int]]

_BETWEEN = re.compile(
    r"\b(?:between\s+|from\s+)?(?P<a>\d[\d,]*(?:\.\d+)?)\s+(?:and|to|–|-)\s+(?P<b>\d[\d,]*(?:\.\d+)?)(?!\s*[A-Z]?[a-z]*\s+\d{4})\b",
    re.I,
)
_NUMBER_NEXT = re.compile(
    r"\W*(?:\d|(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|an?)\b)", re.I
)
_DENIED = r"(?:\b(?:not|never|no|without)|n['’]t)\b[^.?,]*$"
_COLUMN_COMPARED = re.compile(
    r"\b(?:under|below|less than|lower than|fewer than|smaller than|above|over|more than|higher than|greater than|"
    r"larger than|longer than|exceed(?:s|ed)?|(?:fewer|less|more|lower|higher)\s+(?:\w+\s+){1,3}than)\b",
    re.I,
)


def take_conditions(view: View, texts: Texts, years: Years) -> None:
    """Put the conditions of a question into the view, and mark the words that they explain."""
    _take_values(view, texts)
    valued = {i for i, weight in view.explained.items() if weight == 1.0} - set(
        table_links(view.info, view.question.words)
    )
    view.links = {
        name: {i: weight for i, weight in links.items() if i not in valued} for name, links in view.links.items()
    }
    _take_truths(view)
    _take_columns(view)
    _take_dates(view, years)
    _take_times(view)
    _take_comparisons(view)
    _take_ranges(view)
    _take_numbers(view)
    _take_absence(view)


def _take_values(view: View, texts: Texts) -> None:
    """Conditions from the values that the question names."""
    links: list[ValueLink] = []
    for column in view.info.columns:
        if column.kind == "text":
            links += value_links(view.question, column, texts(view.info, column))
    links.sort(key=lambda link: (-link.weight, -len(link.words), -view.strength(view.info.column(link.column))))
    taken: dict[int, str] = {}
    chosen: dict[str, list[ValueLink]] = {}
    for link in links:
        if any(i in taken for i in link.words) or (link.weight < 1 and chosen.get(link.column)):
            continue
        if link.weight < 1 and _is_named_thing(view, link):
            continue
        if _is_measure_word(view, link):
            continue
        chosen.setdefault(link.column, []).append(link)
        taken |= dict.fromkeys(link.words, link.column)
        view.explain(link.words, link.weight)
    if any(link.weight == 1.0 and view.info.column(link.column).distinct == view.info.rows for link in links):
        # the row is named: a word that is part of another value means something else (Ann joined *the garden*)
        chosen = {column: whole for column, of in chosen.items() if (whole := [o for o in of if o.weight >= 0.9])}
    for column, several in chosen.items():
        first = several[0]
        before = view.question.text[: view.question.words[first.words[0]].start][-22:]
        op = "!=" if lexicon.NEGATION.search(before) and not re.search(r"\bno\b[^,]*$", before[-4:]) else "="
        view.conditions.append((column, op, ", ".join(link.value for link in several)))


def _is_named_thing(view: View, link: ValueLink) -> bool:
    """Part of a value that is also the word for the rows or a column (concerts, in "Harvest Concert")."""
    rows = table_links(view.info, view.question.words)
    return any(i in rows or any(links.get(i, 0.0) >= 0.8 for links in view.links.values()) for i in link.words)


def _is_measure_word(view: View, link: ValueLink) -> bool:
    """A word that also names a number column, in a question with a number to compare it with (10 mm of rain)."""
    summed = any(view.at(p) for p in (lexicon.TOTAL, lexicon.AVERAGE, lexicon.AMOUNT))
    ranked = any(word.stem in lexicon.UP | lexicon.DOWN for word in view.question.words)
    denied = lexicon.NOTHING.search(view.question.text[: view.question.words[link.words[0]].start])
    counted = view.at(lexicon.COUNT) and not (view.question.comparisons or summed or ranked or denied)
    if len(link.words) > 1 or counted:
        return False
    return any(set(link.words) & set(view.links[c.name]) for c in view.info.columns if c.kind == "number")


def _take_truths(view: View) -> None:
    """``unpaid``, ``has been paid``: a column of yes and no that a word names."""
    for column in view.info.columns:
        if column.kind != "bool":
            continue
        for i, weight in view.links[column.name].items():
            word = view.question.words[i]
            if weight < 0.8:
                continue
            before = view.question.text[max(0, word.start - 40) : word.start]
            waiting = re.search(r"\b(?:waiting|pending|due|outstanding|missing|open|lack\w*)\b", before, re.I)
            denied = word.text.lower().startswith("un") or waiting or re.search(_DENIED, before, re.I)
            view.conditions.append((column.name, "=", "false" if denied else "true"))
            view.explain([i])
            view.explain(
                [j for j in range(max(0, i - 3), i) if waiting and view.question.words[j].text in waiting[0]]
            )
            break


_GONE = re.compile(r"\b(?:sold\s+out|out\s+of\s+stock|r[au]n\s+out(?:\s+of)?|none\s+left|used\s+up)\b", re.I)


def _take_columns(view: View) -> None:
    """A number column compared with another (stock below the reorder level), or with nothing (no cloud)."""
    words, text = view.question.words, view.question.text
    numbers = [c for c in view.info.columns if c.kind == "number"]
    for match in _COLUMN_COMPARED.finditer(text):
        left = [
            (words[i].end, c)
            for c in numbers
            for i, w in view.links[c.name].items()
            if w >= 0.8 and words[i].end <= match.end()
        ]
        right = [
            (-words[i].start, c)
            for c in numbers
            for i, w in view.links[c.name].items()
            if w >= 0.8 and words[i].start >= match.end()
        ]
        if not left and right:  # "items below their reorder level": the amount goes without saying
            left = [
                (0, c)
                for c in numbers
                if set(name_stems(c.name)) & lexicon.THINGS and c != max(right, key=lambda p: p[0])[1]
            ]
        if not left or not right or re.match(r"\W*\d", text[match.end() :]):
            continue
        first, second = max(left, key=lambda p: p[0])[1], max(right, key=lambda p: p[0])[1]
        if (
            first != second
            and not _NUMBER_NEXT.match(text[match.end() :])
            and -max(right, key=lambda p: p[0])[0] - match.end() < 30
        ):
            op = "<" if lexicon.BELOW.search(match[0]) else ">"
            view.conditions.append((first.name, op, second.name))
            view.explain(view.links[first.name])
            view.explain(view.links[second.name])
            return
    if (gone := _GONE.search(text)) is not None and not view.question.dates:  # no licence runs out of stock
        held = [c for c in numbers if set(name_stems(c.name)) & lexicon.THINGS and view.own(c)]
        told = any(
            gone.start() <= w.start < gone.end() and view.explained.get(i) == 1.0 for i, w in enumerate(words)
        )
        if len(held) == 1 and not told:  # a column of its own may say so
            view.conditions.append((held[0].name, "=", "0"))
            view.explain([i for i, word in enumerate(words) if gone.start() <= word.start < gone.end()])
            return
    for column in numbers:
        for i, weight in view.links[column.name].items():
            if weight >= 0.8 and lexicon.NOTHING.search(text[: words[i].start]):
                view.conditions.append((column.name, "=", "0"))
                view.explain([i])
                view.explain([j for j in range(max(0, i - 3), i)], 0.5)
                return


def _take_dates(view: View, years: Years) -> None:
    dates = view.question.dates
    decade = re.search(r"\b((?:1[5-9]|20)\d0)s\b", view.question.text)
    if decade and not dates:
        for column in view.info.columns:
            if column.kind == "date" or (column.kind == "number" and "year" in name_stems(column.name)):
                first = int(decade[1])
                view.conditions += [(column.name, ">=", str(first)), (column.name, "<=", str(first + 9))]
                return
    columns = [column for column in view.info.columns if column.kind == "date"]
    yearly = [c for c in view.info.columns if c.kind == "number" and "year" in name_stems(c.name)]
    if not dates:
        return
    if not columns and not yearly:
        view.guessed += 2
        return
    best = max(columns or yearly, key=lambda c: (_date_strength(view, c), -view.info.columns.index(c)))
    known = years(view.info, best) if best.kind == "date" else ()
    view.explain(view.links[best.name])
    if best.kind == "date" and (
        _take_part_of_month(view, best, dates[0]) or _take_part_of_year(view, best, dates[0])
    ):
        return
    span = _FROM.search(view.question.text[: dates[0].start]) if len(dates) == 2 else None
    if span is not None:  # "from the beginning of May to the end of August"
        ends = (
            i for i, word in enumerate(view.question.words) if word.text.lower() in ("beginning", "start", "end")
        )
        view.explain([i for i in ends if span.start() <= view.question.words[i].start < dates[1].end])
    for number, date in enumerate(dates[:2] if span else dates[:4]):
        value = date.value(known[0] if len(known) == 1 else 0)
        if not value or (best in yearly and (date.month or not date.year)):
            view.guessed += 1
            continue
        op = (">=", "<=")[number] if span else view.question.date_operator(date)
        view.conditions.append((best.name, op, value))


_FROM = re.compile(r"\b(?:between|from)\s+(?:(?:the\s+)?(?:beginning|start)\s+of\s+|the\s+)?$", re.I)
_PART_OF_MONTH = re.compile(
    r"\b(?P<end>first|last)\s+(?P<n>\d+|[a-z]+)\s+(?P<unit>day|week)s?\s+(?:of|in)\s*$", re.I
)


def _take_part_of_month(view: View, column: Column, date: DateMention) -> bool:
    """``the first seven days of March 2024``: from its first to its seventh day."""
    match = _PART_OF_MONTH.search(view.question.text[: date.start])
    if match is None or not (date.year and date.month) or date.day:
        return False
    word = match["n"].lower()
    count = int(DIGITS.get(word, word if word.isdigit() else "0"))
    length = calendar.monthrange(date.year, date.month)[1]
    count = min(count * (7 if match["unit"].lower() == "week" else 1), length)
    if not count:
        return False
    first, last = (1, count) if match["end"].lower() == "first" else (length - count + 1, length)
    month = f"{date.year:04}-{date.month:02}"
    view.conditions += [(column.name, ">=", f"{month}-{first:02}"), (column.name, "<=", f"{month}-{last:02}")]
    words = enumerate(view.question.words)
    view.explain([i for i, word in words if match.start() <= word.start < date.end])
    return True


_PART_OF_YEAR = re.compile(
    r"\b(?P<nth>first|second|third|fourth|last|1st|2nd|3rd|4th)\s+(?P<unit>half|quarter)\s+(?:of\s+|in\s+)?(?:the\s+year\s+)?$|"
    r"\b[HQ](?P<n>[1-4])\s+(?:of\s+)?$",
    re.I,
)


def _take_part_of_year(view: View, column: Column, date: DateMention) -> bool:
    """``the first half of 2024``, ``Q2 2024``: from the first to the last day of it."""
    match = _PART_OF_YEAR.search(view.question.text[: date.start])
    if match is None or not date.year or date.month:
        return False
    half = (match["unit"] or match[0][0]).lower().startswith("h")
    parts = 2 if half else 4
    nth = int(match["n"]) if match["n"] else lexicon.PLACES.get(match["nth"].lower(), parts)
    if nth > parts:
        return False
    months = 12 // parts
    last = nth * months
    end = f"{date.year:04}-{last:02}-{calendar.monthrange(date.year, last)[1]}"
    view.conditions += [(column.name, ">=", f"{date.year:04}-{last - months + 1:02}-01"), (column.name, "<=", end)]
    words = enumerate(view.question.words)
    view.explain([i for i, word in words if match.start() <= word.start < date.end])
    return True


def _date_strength(view: View, column: Column) -> float:
    return max(view.links[column.name].values(), default=0.0)


_CLOCK = re.compile(
    r"\b(?P<op>before|earlier\s+than|after|later\s+than|past|until|at)\s+"
    rf"(?P<hour>\d{{1,2}}|{'|'.join([*clocks.NAMED, *clocks.HOURS])})(?::(?P<minute>\d\d))?"
    rf"(?:\s*(?P<half>{clocks.HALF})|"
    r"(?=\s*(?:$|[.,;?!)]|\s(?:on|in|of)\b)))",
    re.I,
)


def _take_times(view: View) -> None:
    """``before ten in the morning``, of a column with times of day."""
    columns = [column for column in view.info.columns if holds_times(column)]
    if not columns:
        return
    for match in _CLOCK.finditer(view.question.text):
        if any(match.start("hour") < date.end and date.start < match.end() for date in view.question.dates):
            continue
        value = clocks.time_of_day(match["hour"], match["minute"], match["half"])
        if not value:
            continue
        word = match["op"].lower()
        op = "<" if word.startswith(("before", "earlier")) else ">" if word != "at" and word != "until" else "="
        best = max(columns, key=lambda c: max(view.links[c.name].values(), default=0.0))
        view.conditions.append((best.name, "<=" if word == "until" else op, value))
        view.explain(view.links[best.name])
        view.clocks.append(match.span())
        view.explain([i for i, w in enumerate(view.question.words) if match.start() <= w.start < match.end()])


def _take_comparisons(view: View) -> None:
    """``more than 10 mm``: the number column that is named nearest, one that is not compared yet first."""
    words = view.question.words
    for comparison in view.question.comparisons:
        if any(start < comparison.end and comparison.start < end for start, end in view.clocks):
            continue
        numbers = [c for c in view.kinds("number") if not is_key(view.info, c)]
        if not numbers:
            view.guessed += 1
            continue
        strengths = {c.name: _nearest(view, c, comparison.start, comparison.end) for c in numbers}
        best = max(numbers, key=lambda c: strengths[c.name])
        if strengths[best.name] <= 0.05:
            view.guessed += 1
        view.explain(view.links[best.name])
        for i, word in enumerate(words):  # the unit behind the number belongs to it
            if 0 <= word.start - comparison.end <= 2:
                view.explain([i], 0.6)
        view.conditions.append((best.name, comparison.op, comparison.value))


def _nearest(view: View, column: Column, start: int, end: int) -> float:
    """How strongly a column is named near a place."""
    words, links = view.question.words, view.links[column.name]
    gaps = {i: min(abs(words[i].start - end), abs(words[i].end - start)) for i in links}
    used = any(column.name == name for name, _, _ in view.conditions)
    return (0.5 if used else 1.0) * max((links[i] / (1 + gaps[i] / 20) for i in links), default=0.0)


def _take_ranges(view: View) -> None:
    """``between 15 and 16 crowns``."""
    match = _BETWEEN.search(view.question.text)
    if match is None or any(date.start <= match.start("a") < date.end for date in view.question.dates):
        return
    numbers = [c for c in view.kinds("number") if not is_key(view.info, c)]
    best = max(numbers, key=lambda c: _nearest(view, c, match.start(), match.end()), default=None)
    if best is None or _nearest(view, best, match.start(), match.end()) <= 0:
        return
    first, last = (match[name].replace(",", "") for name in ("a", "b"))
    view.conditions += [(best.name, ">=", first), (best.name, "<=", last)]
    view.explain(view.links[best.name])


def _take_numbers(view: View) -> None:
    """Bare numbers beside a name: ``floor 2``, ``order 1012``, ``three lessons``, ``paid 15.60 an hour``."""
    words = view.question.words
    if any(column for column, op, _ in view.conditions if op == "<=") and _BETWEEN.search(view.question.text):
        return
    for value, start, end in view.question.numbers:
        if any(first <= start < last for first, last in view.clocks) or _names_a_column(view, value, start, end):
            continue
        for column in view.kinds("number", "text"):
            links = view.links[column.name]
            named = [i for i, weight in links.items() if weight >= 0.8 and 0 < start - words[i].end <= 4]
            counted = [i for i, weight in links.items() if weight >= 0.8 and 0 < words[i].start - end <= 2]
            named = named or (counted if column.kind == "number" and not _asked_by_how_many(view, counted) else [])
            if not named and column.kind == "number" and "." in value and not view.at(lexicon.COUNT):
                named = [i for i in links if abs(words[i].start - end) < 25]
            if named:
                view.conditions.append((column.name, "=", value))
                view.explain(named)
                break


def _names_a_column(view: View, value: str, start: int, end: int) -> bool:
    """Whether a number is part of a column's name, as the words beside it are: the price of a *30 l keg*."""
    beside = {
        i for i, word in enumerate(view.question.words) if -4 <= word.start - end <= 4 or 0 < start - word.end <= 2
    }
    return any(
        value in name_stems(column.name) and any(view.links[column.name].get(i, 0.0) >= 1.0 for i in beside)
        for column in view.info.columns
    )


def _asked_by_how_many(view: View, places: list[int]) -> bool:
    """Whether a word stands behind ``how many``: then it is asked for and no condition."""
    return any(
        re.search(r"\bhow\s+many\s+(?:\w+\s+)?$", view.question.text[: view.question.words[i].start], re.I)
        for i in places
    )


def _take_absence(view: View) -> None:
    """``has not been returned``: an empty cell, if a column has such and the words after the negation fit it."""
    match = lexicon.ABSENT.search(view.question.text)
    holes = [column for column in view.info.columns if 0 < column.empties < view.info.rows]
    if match is None or not holes:
        return
    words = view.question.words
    after = [i for i, word in enumerate(words) if match.end() <= word.start <= match.end() + 30]
    if re.search(
        r"empty|blank|missing|unknown", match[0], re.I
    ):  # "is the date left empty": the name stands before
        after += [i for i, word in enumerate(words) if match.start() - 35 <= word.start < match.start()]
    best = max(holes, key=lambda column: sum(view.links[column.name].get(i, 0.0) for i in after))
    linked = any(i in view.links[best.name] for i in after)
    denied = any(op == "=" and value == "false" for _, op, value in view.conditions)  # that took the negation
    if linked or (len(holes) == 1 and not denied):
        # "no deposit" is an empty cell where there are such, and not a nought besides
        view.conditions = [one for one in view.conditions if one != (best.name, "=", "0")]
        view.conditions.append((best.name, "empty", ""))
        view.explain(after[:3], 1.0 if linked else 0.7)
