"""Which of two has more of something: "Who is older, Jonas or Rowan?" is who is oldest, among both."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pointwork.agents.readings import Reading, lexicon
from pointwork.agents.readings.linking import value_links
from pointwork.agents.readings.question import Question
from pointwork.tools.catalog import Column, TableInfo

# Where both are rows of a table, one of them is the answer: a plan of several steps would end in a number. The
# superlative must be read with as much as this.
SETTLED, SAID = 0.96, 0.35

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


@dataclass(frozen=True)
class Choice:
    """What is asked of all, and the two that are meant."""

    core: str
    first: str
    second: str


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
    return None


def _most(match: re.Match[str]) -> str:
    """The superlative of a comparative; another word as it is: "the driver"."""
    word = match["word"].lower()
    found = _IRREGULAR.get(word, f"{word[:-2]}est")
    known = lexicon.UP | lexicon.DOWN | lexicon.LAST | lexicon.FIRST
    return f"the {found}" if lexicon.stems(found) <= known else match[0]


@dataclass(frozen=True)
class Both:
    """Two rows of a table that are called by the names of a choice: their column, and its values."""

    info: TableInfo
    column: Column
    values: tuple[str, str]


def holding(
    asked: Choice, known: Sequence[TableInfo], texts: Callable[[TableInfo, Column], Sequence[str]]
) -> list[Both]:
    """Where both are; only where each is a row of its own, if there is such a table.

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
                found.append(Both(info, column, (first, second)))
    own = [both for both in found if both.column.distinct == both.info.rows]
    return own or found


def core_of(asked: Choice, both: Both) -> str:
    """The superlative, said of the table's own kind of thing: "Which title is the longest?"."""
    return _WHICH_IS.sub(rf"\g<which> {both.column.name} \g<verb>", asked.core)


_WHICH_IS = re.compile(rf"^(?P<which>which|what)\s+(?P<verb>{_VERB})", re.IGNORECASE)
# What the parser makes of a superlative.
_RANKED = re.compile(
    r'SELECT "(?P<column>[^"]+)" FROM "(?P<table>[^"]+)" ORDER BY "(?P<order_by>[^"]+)" (?P<order>ASC|DESC) LIMIT 1'
)


def among(both: Both, best: Reading) -> Reading | None:
    """A reading of the superlative for the two alone; None: it ranks no rows of their table.

    Args:
        both: of ``holding``.
        best: what ``core_of`` is read as.
    """
    arguments = best.arguments
    if ranked := _RANKED.fullmatch(str(arguments.get("query", ""))):
        arguments = {**ranked.groupdict(), "order": ranked["order"].lower(), "limit": 1}
    grouped = bool(arguments.get("group_by"))
    by = arguments.get("order_by") or (arguments.get("column") if grouped else "")
    if arguments.get("table") != both.info.name or not by or arguments.get("where_column"):
        return None
    two = {"where_column": both.column.name, "where_op": "=", "where_value": ", ".join(both.values)}
    shown = {"group_by" if grouped else "column": both.column.name}
    score = max(best.score, SETTLED) if best.score >= SAID else best.score
    return Reading("query_table", {**arguments, **shown, **two}, score, cell=0)


def _value(name: str, column: Column, texts: Sequence[str]) -> str:
    found = value_links(Question(f"of {name}"), column, texts)  # a first word may be any word
    return found[0].value if found else ""
