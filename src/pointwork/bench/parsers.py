"""What goes without a model and without a plan: an expression, one table query, or the best sentence.

It stands still while the agents get better: of their code it uses only the tools.
"""

import asyncio
import re
from pathlib import Path

from pointwork.errors import ToolError
from pointwork.text import tokenize
from pointwork.tools import ToolContext, builtin_tools
from pointwork.tools.calculator import evaluate_text
from pointwork.tools.catalog import Column, TableInfo, catalog
from pointwork.tools.files import search_passages

# A table answers if it holds this share of the question's words, or a larger one than the best sentence does.
FITS = 0.6

_ASKING = frozenset(tokenize("how many much what which who whom tell give me list please find number of"))
_AGGREGATES = (
    ("avg", r"averages?|mean"),
    ("median", r"median"),
    ("sum", r"total|sum|altogether|in all|together|overall|combined"),
    ("max", r"most|highest|largest|longest|maximum|max|biggest|strongest|latest|newest|dearest|warmest|greatest"),
    ("min", r"least|lowest|smallest|shortest|minimum|min|fewest|weakest|earliest|oldest|cheapest|coldest"),
    ("count", r"how many|number of|count"),
)
_COMPARED = re.compile(
    r"\b(?P<op>(?:more|greater|higher|larger|later) than|over|above|(?:less|fewer|lower|smaller|earlier) than|"
    r"under|below|at least|at most)\s+(?P<value>\d[\d,.]*\d|\d)",
    re.IGNORECASE,
)


async def answer_without_a_model(task: str, root: Path) -> tuple[str, str]:
    """A short answer, and how it was found; both empty if nothing fits."""
    evaluated = evaluate_text(task)
    if evaluated is not None:
        return evaluated.text, f"evaluated {evaluated.expression}"
    asked = set(tokenize(task)) - _ASKING
    sentence, shared = await asyncio.to_thread(_best_sentence, task, asked, root)
    found = await _query(task, asked, root, FITS if shared < FITS else shared)
    if found is not None:
        return found
    return sentence, "best sentence" if sentence else ""


def _best_sentence(task: str, asked: set[str], root: Path) -> tuple[str, float]:
    try:
        hits = search_passages(root, task, 3)
    except ToolError:
        return "", 0.0
    best, share = "", 0.0
    for passage, _ in hits:
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z*\"'])|\n\s*\n", passage.text):
            there = len(asked & set(tokenize(sentence))) / max(1, len(asked))
            if there > share:
                best, share = " ".join(sentence.split()), there
    return best, share


async def _query(task: str, asked: set[str], root: Path, least: float) -> tuple[str, str] | None:
    tables = [table for table in await asyncio.to_thread(catalog, root) if not table.problem]
    scored = sorted(((_share(asked, table), n) for n, table in enumerate(tables)), reverse=True)
    if not scored or scored[0][0] < least:
        return None
    arguments = _arguments(tables[scored[0][1]], task)
    try:
        result = await builtin_tools()["query_table"].call(arguments, ToolContext(root=root))
    except ToolError:
        return None
    answer = result.answer or result.text.splitlines()[-1]
    return answer, f"query_table {arguments}"


def _share(asked: set[str], table: TableInfo) -> float:
    named = [table.name, *(word for column in table.columns for word in (column.name, *column.values))]
    return len(asked & set(tokenize(" ".join(named)))) / max(1, len(asked))


def _arguments(table: TableInfo, task: str) -> dict[str, str]:
    """Aggregate by its word, column and filter by what the question names."""
    aggregate = next(
        (name for name, words in _AGGREGATES if re.search(rf"\b(?:{words})\b", task, re.IGNORECASE)), "none"
    )
    asked = set(tokenize(task))
    values = [
        (column.name, value)
        for column in table.columns
        for value in column.values
        if set(tokenize(value)) and set(tokenize(value)) <= asked
    ]
    filters = [(column, "=", value) for column, value in values[:2]]
    numbers = [column for column in table.columns if column.kind == "number"]
    named = _most_named(numbers, asked)
    compared = _COMPARED.search(task)
    if compared and named and len(filters) < 2:
        filters.append((named.name, _operator(compared["op"].lower()), compared["value"].replace(",", "")))
    arguments = {"table": table.name, "aggregate": aggregate}
    grouped = _most_named([c for c in table.columns if c.kind == "text" and c.name not in dict(values)], asked)
    if aggregate in ("max", "min") and named is None and grouped:
        order = "desc" if aggregate == "max" else "asc"
        arguments |= {"aggregate": "count", "group_by": grouped.name, "order": order}
    elif aggregate != "count" and named:
        arguments["column"] = named.name
    elif aggregate == "none" and grouped:
        arguments["column"] = grouped.name
    for prefix, (column, op, value) in zip(("where", "and"), filters, strict=False):
        arguments |= {f"{prefix}_column": column, f"{prefix}_op": op, f"{prefix}_value": value}
    return arguments


def _most_named(columns: list[Column], asked: set[str]) -> Column | None:
    def share(column: Column) -> float:
        words = set(tokenize(column.name))
        return len(words & asked) / max(1, len(words))

    best = max(columns, key=share, default=None)
    return best if best is not None and share(best) > 0 else None


def _operator(words: str) -> str:
    if words in ("at least", "at most"):
        return ">=" if words == "at least" else "<="
    return (
        ">"
        if words in ("over", "above") or words.split()[0] in ("more", "greater", "higher", "larger", "later")
        else "<"
    )
