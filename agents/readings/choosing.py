"""Which of two has more of something: "Who is older, Jonas or Rowan?" is who is oldest, among both.

"Is Jonas older than Rowan?" asks whether it is the first.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pointwork.agents.readings import Reading, lexicon
from pointwork.agents.readings.linking import name_stems, value_links
from pointwork.agents.readings.question import Question
from pointwork.tools.catalog import Column, TableInfo
from pointwork.tools.table_loading import quote_name

# Where both are rows of a table, one of them is the answer: a plan of several steps would end in a number. The
# superlative must be read with as much as SAID, by so much less in a table where each is a row of its own.
SETTLED, SAID, OWN = 0.96, 0.35, 0.15

_IRREGULAR = {
    **{"more": "most", "less": "least", "fewer": "fewest", "better": "best", "worse": "worst", "later": "latest"},
    **{"farther": "farthest", "further": "furthest", "elder": "eldest"},
}
_MORE = re.compile(r"(?P<the>\bthe\s+)?\b(?P<word>more|less|[a-z]{3,}er|worse)\b(?!-)", re.IGNORECASE)
_WHICH = r"(?:who|which|what)\b"
_BOTH = r"(?:the\s+)?(?P<a>[^,;:?]{2,40}?)\s+(?:or|and)\s+(?:the\s+)?(?P<b>[^,;:?]{2,40}?)"
_VERB = r"(?-i:is|are|was|were|has|have|had|did|came|went|took|cost|[a-z]+s)\b"
_FORMS = (
    # "Which is dearer, the vase or the bowl?"
    re.compile(rf"\W*(?P<core>{_WHICH}[^,;:?]+?)\s*[,:;–-]\s*{_BOTH}\s*\??\s*", re.IGNORECASE),
    # "Which of Ada and Jonah is older?"; "Of Ada and Jonah, who is older?"
    re.compile(rf"\W*(?P<core>{_WHICH})\s+of\s+{_BOTH}(?P<rest>\s+{_VERB}[^,;:?]+?)\s*\??\s*", re.IGNORECASE),
    re.compile(rf"\W*of\s+{_BOTH}\s*,\s*(?P<core>{_WHICH}[^,;:?]+?)\s*\??\s*", re.IGNORECASE),
)
# "Is the vase heavier than the bowl?"; "Does Mabel earn more an hour than Jonah?"
_NAME = r"(?:(?:the\s+)?(?-i:[A-Z])[\w’'-]*(?:\s+(?-i:[A-Z])[\w’'-]*)*|the\s+\w+)"
_HOW = r"(?P<how>more|less|worse|[a-z]{3,}er)"
_THAN = (
    r"(?P<tail>\s[^,;:?]*?)??\s*\bthan\s+(?:the\s+)?(?P<b>[^,;:?]{2,40}?)(?:\s+(?:is|are|was|were|do(?:es)?|did))?"
    r"\s*\??\s*"
)
_WHETHER = tuple(
    re.compile(rf"\W*{head}\s+{_HOW}{_THAN}", re.IGNORECASE)
    for head in (
        r"(?P<verb>is|are|was|were)\s+(?:the\s+)?(?P<a>[^,;:?]{2,40}?)",
        rf"(?:does|do|did|has|have|had)\s+(?P<a>{_NAME})\s+(?P<verb>[^,;:?]+?)",
    )
)


@dataclass(frozen=True)
class Choice:
    """What is asked of all, and the two that are meant; or whether it is the first of them."""

    core: str
    first: str
    second: str
    whether: bool = False


def choice(question: str) -> Choice | None:
    """A question for the one of two with more of something, as a superlative; None: it is none."""
    for form in _FORMS:
        match = form.fullmatch(question)
        if match is None:
            continue
        core = match["core"] + (match.groupdict().get("rest") or "")
        superlative = _MORE.sub(_most, core)
        if superlative != core:
            return Choice(f"{superlative}?", match["a"].strip(), match["b"].strip())
    for form in _WHETHER:
        match = form.fullmatch(question)
        most = _MORE.sub(_most, match["how"]) if match is not None else ""
        if match is not None and most != match["how"]:
            core = f"Which {match['verb'].lower()} {most}{match['tail'] or ''}?"
            return Choice(core, match["a"].strip(), match["b"].strip(), whether=True)
    return None


def _most(match: re.Match[str]) -> str:
    """The superlative of a comparative; another word as it is: "the driver"."""
    word = match["word"].lower()
    found = _IRREGULAR.get(word, f"{word[:-2]}est")
    known = lexicon.UP | lexicon.DOWN | lexicon.LAST | lexicon.FIRST
    return f"the {found}" if lexicon.stems(found) <= known else match[0]


@dataclass(frozen=True)
class Both:
    """The column and the values that the names of a choice stand for; ``own``: each is one row of the table."""

    info: TableInfo
    column: Column
    values: tuple[str, str]
    own: bool


def holding(
    asked: Choice, known: Sequence[TableInfo], texts: Callable[[TableInfo, Column], Sequence[str]]
) -> list[Both]:
    """Where both are.

    Args:
        asked: of ``choice``.
        known: the tables.
        texts: values of a column.
    """
    found: list[Both] = []
    for info in known:
        for column in info.columns:
            if column.kind != "text":
                continue
            first, second = (_value(name, column, texts(info, column)) for name in (asked.first, asked.second))
            if first and second and first != second:
                found.append(Both(info, column, (first, second), column.distinct == info.rows))
    return found


def core_of(asked: Choice, both: Both) -> str:
    """The superlative, said of the table's own kind of thing: "Which title is the longest?"."""
    return _WHICH_IS.sub(rf"\g<which> {both.column.name} \g<verb>", asked.core)


_WHICH_IS = re.compile(rf"^(?P<which>which|what)\s+(?P<verb>{_VERB})", re.IGNORECASE)
# What the parser makes of a superlative.
_RANKED = re.compile(
    r'SELECT "(?P<column>[^"]+)" FROM "(?P<table>[^"]+)" ORDER BY "(?P<order_by>[^"]+)" (?P<order>ASC|DESC) LIMIT 1'
)


def among(asked: Choice, both: Both, best: Reading) -> Reading | None:
    """A reading of the superlative for the two alone; None: it ranks no rows of their table.

    Args:
        asked: of ``choice``.
        both: of ``holding``.
        best: what ``core_of`` is read as.
    """
    arguments = best.arguments
    if ranked := _RANKED.fullmatch(str(arguments.get("query", ""))):
        arguments = {**ranked.groupdict(), "order": ranked["order"].lower(), "limit": 1}
    days = {column.name for column in both.info.columns if column.kind == "date"}
    if _OFTEN.search(asked.core) and arguments.get("order_by") in days:
        # who borrowed most is there most often; not first
        least = "least" in asked.core.lower() or "fewest" in asked.core.lower()
        arguments = {"table": both.info.name, "aggregate": "count", "group_by": both.column.name}
        arguments |= {"order": "asc" if least else "desc", "limit": 1}
    grouped = bool(arguments.get("group_by"))
    by = arguments.get("order_by") or (arguments.get("column", "rows") if grouped else "")
    if arguments.get("table") != both.info.name or not by or arguments.get("where_column"):
        return None
    if _COSTS.search(asked.core):
        priced = [column.name for column in both.info.columns if _is_money(column)]
        if by not in priced:  # £ in a name says more than the parser knows of it
            if len(priced) != 1 or grouped:
                return None
            by = priced[0]
            arguments = {**arguments, "order_by": by}
    if asked.whether:
        query = None if grouped else _compared(both, str(by), str(arguments.get("order")))
        return Reading("sql", {"query": query}, best.score, yes_no=True) if query else None
    two = {"where_column": both.column.name, "where_op": "=", "where_value": ", ".join(both.values)}
    shown = {"group_by" if grouped else "column": both.column.name}
    return Reading("query_table", {**arguments, **shown, **two}, best.score, cell=0)


_OFTEN = re.compile(r"\bthe\s+(?:most|least|fewest)\b(?!\s+recent)", re.IGNORECASE)


def meant(found: Sequence[tuple[Both, Reading]]) -> Reading | None:
    """The reading that is meant: of Mabel her own row says more than what she has borrowed."""
    best = max(found, key=lambda one: one[1].score + OWN * one[0].own, default=None)
    if best is None or best[1].score < SAID:
        return None
    return replace(best[1], score=max(best[1].score, SETTLED))


_COSTS = re.compile(r"\b(?:cost\w*|dear\w*|cheap\w*|expensive|pric\w+)\b", re.IGNORECASE)


def _is_money(column: Column) -> bool:
    named = re.search(r"[$€£]", column.name) is not None or bool(set(name_stems(column.name)) & lexicon.MONEY)
    return column.kind == "number" and named


def _compared(both: Both, by: str, order: str) -> str:
    """A query that counts the first if it has more of a measure than the second, or less."""
    name, table, measure = (quote_name(part) for part in (both.column.name, both.info.name, by))
    first, second = ("'" + value.replace("'", "''") + "'" for value in both.values)
    sign = ">" if order == "desc" else "<"
    other = f"(SELECT {measure} FROM {table} WHERE {name} = {second})"  # noqa: S608
    return f"SELECT count(*) FROM {table} WHERE {name} = {first} AND {measure} {sign} {other}"  # noqa: S608


def _value(name: str, column: Column, texts: Sequence[str]) -> str:
    found = value_links(Question(f"of {name}"), column, texts)  # a first word may be any word
    return found[0].value if found else ""
