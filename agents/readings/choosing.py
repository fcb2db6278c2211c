"""Which of two has more of something: "Who is older, Jonas or Rowan?" is who is oldest, among both.

"Is Jonas older than Rowan?" asks whether it is the first. What is not wholly understood is no choice: both names
must be values of one column in all their words, the rest must be read as a superlative.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pointwork.agents.readings import Reading, lexicon
from pointwork.agents.readings.linking import value_links
from pointwork.agents.readings.question import Question
from pointwork.tools.catalog import Column, TableInfo
from pointwork.tools.table_loading import quote_name, quote_text

# Where both are found, one of them is the answer: a plan of several steps would end in a number. So sure is it, if
# the words account for so much of the superlative, or the parser is so sure of its query.
SETTLED, SAID, MEANT = 0.96, 0.75, 0.5

# Longer questions are none: the patterns below look at every way to part one.
LONGEST = 200

# "worse" is not here: whether much or little is bad depends on the column.
_IRREGULAR = {
    "more": "most", "less": "least", "fewer": "fewest", "better": "best", "later": "latest", "elder": "eldest",
    "farther": "farthest", "further": "furthest",
}  # fmt: skip
_MORE = re.compile(r"(?:\bthe\s+)?\b(?P<word>more|less|[a-z]{3,}er)\b(?!-)")
_WHICH = r"(?:who|which|what)\b"
_BE = r"(?:is|are|was|were)\b"
_VERB = rf"(?:(?-i:{_BE}|has|have|had|did|came|went|took|cost|[a-z]+s)\b)"
_BOTH = r"(?:the\s+)?(?P<a>[^,;:?]{2,40}?)\s+(?:or|and)\s+(?:the\s+)?(?P<b>[^,;:?]{2,40}?)"
_EITHER = _BOTH.replace("or|and", "or")
_FORMS = (
    # "Which is dearer, the vase or the bowl?"
    re.compile(rf"\W*(?P<core>{_WHICH}[^,;:?]+?)(?:\s*[,:;]|\s+[–-])\s*{_EITHER}\s*\??\s*", re.IGNORECASE),
    # "Which of Ada and Jonah is older?"; "Of Ada and Jonah, who is older?"
    re.compile(rf"\W*(?P<core>{_WHICH})\s+of\s+{_BOTH}(?P<rest>\s+{_VERB}[^,;:?]+?)\s*\??\s*", re.IGNORECASE),
    re.compile(rf"\W*of\s+{_BOTH}\s*,\s*(?P<core>{_WHICH}[^,;:?]+?)\s*\??\s*", re.IGNORECASE),
)
# "Is the vase heavier than the bowl?"; "Does Mabel earn more an hour than Jonah does?"
_WHETHER = re.compile(
    rf"\W*(?P<verb>{_BE}|does|do|did|has|have|had)\s+(?:the\s+)?(?P<left>[^,;:?]+?)\s+than\s+(?:the\s+)?"
    rf"(?P<b>[^,;:?]{{2,40}}?)(?:\s+(?:{_BE}|do(?:es)?|did))?\s*\??\s*",
    re.IGNORECASE,
)
# "Who earns less than 12, Ada or Jonah?" asks something else, and so does "Is it no heavier than …?"
_OTHERWISE = re.compile(r"\b(?:than|not|no|never|both|same)\b|n['’]t\b|\d", re.IGNORECASE)


@dataclass(frozen=True)
class Choice:
    """What is asked of all, and the two that are meant; or whether it is the first of them.

    Attributes:
        core: the superlative; with ``whether`` what stands behind the first name, and a verb.
        first, second: names; with ``whether`` the first words may be more than a name.
    """

    core: str
    first: str
    second: str
    whether: bool = False


@dataclass(frozen=True)
class Both:
    """The column and the values that the names of a choice stand for.

    Attributes:
        info, column, values: where they are.
        core: the superlative, said of the table's own kind of thing: "Which title is the longest?".
        own: each is one row of the table.
    """

    info: TableInfo
    column: Column
    values: tuple[str, str]
    core: str
    own: bool


def choice(question: str) -> Choice | None:
    """A question for the one of two with more of something, as a superlative; None: it is none."""
    text = " ".join(question.split())
    if len(text) > LONGEST:
        return None
    for form in _FORMS:
        if match := form.fullmatch(text):
            core = match["core"] + (match.groupdict().get("rest") or "")
            superlative = _MORE.sub(_most, core)
            if superlative != core and not _OTHERWISE.search(core):
                return Choice(f"{superlative}?", match["a"], match["b"])
    match = _WHETHER.fullmatch(text)
    if match is None or _OTHERWISE.search(match["left"]):
        return None
    compared = [more for more in _MORE.finditer(match["left"]) if _most(more) != more[0]]
    if not compared:
        return None
    more = compared[-1]
    verb = match["verb"].lower() if re.fullmatch(_BE, match["verb"], re.IGNORECASE) else ""
    rest = f"{verb} {{}} {_most(more)}{match['left'][more.end() :]}?"
    return Choice(rest, match["left"][: more.start()].strip(), match["b"], whether=True)


def _most(match: re.Match[str]) -> str:
    """The superlative of a comparative; another word as it is: "the driver"."""
    word = match["word"]
    found = _IRREGULAR.get(word, f"{word[:-2]}est")
    known = lexicon.UP | lexicon.DOWN | lexicon.LAST | lexicon.FIRST
    return f"the {found}" if lexicon.stems(found) <= known else match[0]


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
            held = texts(info, column) if column.kind == "text" else ()
            second = _value(asked.second, column, held) if held else ""
            first, core = _first(asked, column, held) if second else ("", "")
            if first:
                found.append(Both(info, column, (first, second), core, column.distinct == info.rows))
    return found


def _first(asked: Choice, column: Column, held: Sequence[str]) -> tuple[str, str]:
    """The value of the first name, and the superlative."""
    words = asked.first.split()
    for count in range(len(words), 0 if asked.whether else len(words) - 1, -1):
        if value := _value(" ".join(words[:count]), column, held):
            if asked.whether:
                said = asked.core.replace("{}", " ".join(words[count:]))
                return value, f"Which {column.name} {' '.join(said.split())}"
            return value, _WHICH_IS.sub(lambda which: f"{which[1]} {column.name} {which[2]}", asked.core)
    return "", ""


_WHICH_IS = re.compile(rf"^(which|what)\s+({_VERB})", re.IGNORECASE)


def _value(name: str, column: Column, texts: Sequence[str]) -> str:
    """The one value that all words of a name stand for; empty: there is none, or there are several."""
    question = Question(f"of {name}")  # a first word may be any word
    links = value_links(question, column, texts)
    best = [link for link in links if link.weight == links[0].weight and len(link.words) == len(links[0].words)]
    said = {i for i, word in enumerate(question.words) if i and word.content}
    sole = len({link.value for link in best}) == 1 and said <= set(best[0].words)
    return best[0].value if sole else ""


# What the parser makes of a superlative.
_RANKED = re.compile(
    r'SELECT "(?P<column>[^"]+)" FROM "(?P<table>[^"]+)" ORDER BY "(?P<order_by>[^"]+)" (?P<order>ASC|DESC) LIMIT 1'
)


def ranked(sql: str) -> dict[str, object]:
    """The arguments of a query that ranks rows; empty if it is another one."""
    match = _RANKED.fullmatch(sql)
    return {**match.groupdict(), "order": match["order"].lower()} if match is not None else {}


def among(asked: Choice, both: Both, arguments: dict[str, object]) -> Reading | None:
    """A superlative for the two alone; None: it ranks no rows of their table, or not all that is asked is known.

    Args:
        asked: of ``choice``.
        both: of ``holding``.
        arguments: what ``both.core`` is read as, of ``query_table``.
    """
    by, aggregate = str(arguments.get("order_by") or ""), str(arguments.get("aggregate") or "")
    if arguments.get("table") != both.info.name or arguments.get("where_column"):
        return None
    kinds = {column.name: column.kind for column in both.info.columns}
    often = kinds.get(by) == "date" and _OFTEN.search(both.core)  # who borrowed most is there most often; not first
    least = arguments.get("order") == "asc"
    if both.own and not often and by in kinds:
        measure = f"any_value({quote_name(by)})"
    elif not both.own and (often or aggregate == "count"):
        by, measure = "rows", "count(*)"
        least = _LEAST.search(both.core) is not None if often else least
    elif not both.own and aggregate in ("sum", "avg"):
        by = str(arguments["column"])
        measure = f"{aggregate}({quote_name(by)})"
    else:
        return None
    return Reading("sql", {"query": _query(asked, both, by, measure, least)}, SETTLED, cell=0)


def _query(asked: Choice, both: Both, by: str, measure: str, least: bool) -> str:
    """Both with their measures, the one that is meant first, or whether it is the first of the question.

    No row where one has none, or, of which is asked, of equals.
    """
    name, table = quote_name(both.column.name), quote_name(both.info.name)
    first, second = map(quote_text, both.values)
    each = f"SELECT {name} AS one, {measure} AS has FROM {table} WHERE {name} IN ({first}, {second}) GROUP BY 1"  # noqa: S608
    if not asked.whether:
        apart = "(SELECT count(DISTINCT has) FROM two) = 2"
        order, shown = "ASC" if least else "DESC", quote_name(by)
        return (
            f"WITH two AS ({each}) SELECT one AS {name}, has AS {shown} FROM two WHERE {apart} ORDER BY has {order}"  # noqa: S608
        )
    has = [f"max(has) FILTER (WHERE one = {one})" for one in (first, second)]
    more = f"CASE WHEN {has[0]} {'<' if least else '>'} {has[1]} THEN 'yes' ELSE 'no' END AS answer"
    shown = ", ".join(f"{one} AS {quote_name(value)}" for one, value in zip(has, both.values, strict=True))
    return f"SELECT {more}, {shown} FROM ({each}) HAVING count(has) = 2"  # noqa: S608


_OFTEN = re.compile(r"\bthe\s+(?:most|least|fewest)\b(?!\s+recent)", re.IGNORECASE)
_LEAST = re.compile(r"\bthe\s+(?:least|fewest)\b", re.IGNORECASE)
