"""A question as one query over one table.

Values, dates and comparisons become conditions; the form of the question (how many, average, the oldest) chooses
what is computed; the words left over say which column. The score is the share of the content words that found a
place, so a question that is about something else scores low. Schema linking as in RAT-SQL (Wang et al., ACL 2020,
§3), with rules for what their encoder learns.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pointwork.agents.readings import Reading, lexicon
from pointwork.agents.readings.conditions import Texts, Years, take_conditions
from pointwork.agents.readings.linking import column_links, name_stems, table_links
from pointwork.agents.readings.question import Question
from pointwork.agents.readings.shapes import shape_of
from pointwork.agents.readings.view import View
from pointwork.tools.catalog import Column, TableInfo
from pointwork.tools.table_info import holds_times

# Conditions that one query takes.
MOST_CONDITIONS = 3


def readings(question: str, tables: Sequence[TableInfo], texts: Texts, years: Years) -> list[Reading]:
    """What a question can mean as one query, best first; at most one reading per table."""
    asked = Question(question)
    if not asked.words:
        return []
    found = [reading for info in tables if (reading := _read(asked, info, texts, years)) is not None]
    return sorted(found, key=lambda reading: -reading.score)


def _read(asked: Question, info: TableInfo, texts: Texts, years: Years) -> Reading | None:
    view = View(asked, info)
    each = [match.start("one") for match in lexicon.EACH.finditer(asked.text)]
    view.links = {column.name: _links(column, asked, each) for column in info.columns}
    others = {reference.name: reference for reference in info.source.references if not reference.names}
    for name, reference in others.items():  # a partner's distance: "partner" names the row, not its distance
        said = replace(info.column(name), name=reference.shown)
        view.links[name] = _links(said, asked, each)
    view.explain(table_links(info, asked.words))
    take_conditions(view, texts, years)
    for column, _, _ in view.conditions:
        if column in others:
            rows = {*name_stems(others[column].to.name), *name_stems(others[column].column)}
            view.explain([i for i, word in enumerate(asked.words) if word.stem in rows])
    shape = shape_of(view)
    if shape is None or len(view.conditions) > MOST_CONDITIONS:
        return None
    arguments, cell, yes_no = shape
    column = str(arguments.get("column", ""))
    used = {column, *(str(arguments.get(part, "")) for part in ("group_by", "order_by"))}
    used |= {name for name, _, _ in view.conditions}
    if others and used - {""} <= others.keys() and not table_links(info, asked.words):
        return None  # it is about the rows of another table
    # a difference that is no column of its own is one of dates or of times (``periods``)
    first = next((c for c in info.columns if column.startswith(f"{c.name} - ")), None)
    unit = "" if first is None else "minutes" if holds_times(first) else "days"
    score = _score(view) or _TENURE * _is_tenure(view, arguments)
    return Reading("query_table", _arguments(info, view, arguments), score, cell, yes_no, unit)


_TENURE = 0.6


def _is_tenure(view: View, arguments: Mapping[str, object]) -> bool:
    """``Who has been with us longest?`` has no word about a table, but asks who joined first."""
    ranked = set(name_stems(str(arguments.get("order_by", ""))))
    here = re.search(
        r"\bwho\b.*\b(?:with us|for us|here|work(?:ed|ing)|serv(?:ed|ing))\b", view.question.text, re.I
    )
    return bool(here and ranked & lexicon.JOINED)


def _links(column: Column, asked: Question, each: Sequence[int]) -> dict[int, float]:
    """Words that speak of a column; "an hour" speaks of a rate and of no number of hours."""
    links = column_links(column, asked.words)
    rate = set(name_stems(column.name)) & lexicon.PRICES
    return {i: weight for i, weight in links.items() if rate or asked.words[i].start not in each}


def _score(view: View) -> float:
    content = [i for i, word in enumerate(view.question.words) if word in view.question.content]
    if not content:
        return 0.0
    named = {i for links in view.links.values() for i, weight in links.items() if weight >= 0.8}
    # a word that names a column places the question here, even if it is not what is computed
    share = sum(max(min(1.0, view.explained.get(i, 0.0)), 0.4 * (i in named)) for i in content) / len(content)
    # what stands under a key belongs to the table whose key it is, before those that refer to it
    keys = {reference.column for reference in view.info.source.references}
    referring = any(column in keys for column, _, _ in view.conditions)
    # rows that the question calls by name are meant before those of a table that refers to them
    called = bool(table_links(view.info, view.question.words))
    return max(0.0, 0.99 * (share - 0.15 * view.guessed - 0.02 * referring) + 0.01 * called)


def _arguments(info: TableInfo, view: View, arguments: dict[str, object]) -> dict[str, object]:
    prefixes = ("where", "and", "also")
    found: dict[str, object] = {"table": info.name} | arguments
    for prefix, (column, op, value) in zip(prefixes, view.conditions, strict=False):
        found |= {f"{prefix}_column": column, f"{prefix}_op": op, f"{prefix}_value": value}
    return found
