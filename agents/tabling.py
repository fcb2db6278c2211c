"""What a question to tables means: by its words, by what documents tell besides, and by the trained parser."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pointwork.agents.parsing.parser import TABLES as PARSED
from pointwork.agents.parsing.parser import Parsed, parsed
from pointwork.agents.quoting import sentences_about
from pointwork.agents.readings import Reading, bridging, choosing, conversions, measured, tables
from pointwork.agents.readings.stated import stated
from pointwork.agents.readings.wanting import asking, wanted
from pointwork.agents.spec import asked_words
from pointwork.errors import ToolError
from pointwork.text import tokenize
from pointwork.tools import ToolContext
from pointwork.tools.catalog import TableInfo, catalog, texts_of, widened, years_of

# Where this stands, "who" and "when" say of what: "how many huts are there whose warden …".
_HOW = re.compile(r"\bhow\b|\b(?:add|sum|total|number|count|average)\b|\bwhose\b(?<!^whose)", re.IGNORECASE)

# By so much more of it a sentence and a table have to account for than the table alone.
GAINED = 0.1

# A query that is so likely to the parser counts before all readings of the words. On 14 folders that neither had
# seen they differ in 99 questions: the parser of then is right in 58 from .2 on, the words in 15; the one of now is
# surer of what it is wrong in (docs/readings.md).
MEANT = 0.35
# What accounts for all words counts before it where it is less likely than this; what accounts for most of them,
# where it leaves a name out.
ALL, LIKELY = 0.85, 0.5
# Where the parser knows no query that is this likely, 2 of 31 readings of the words were right: they count half.
DOUBTED, DOUBT = 0.1, 0.5
# A reading that counts less than this is none; from the second on it is nearly sure.
READ, FIRM = 0.4, 0.8


def share(words: set[str], text: str) -> float:
    """Share of a question's words that a text holds."""
    return len(words & set(tokenize(text))) / len(words) if words else 0.0


def ranked(text: str, tables: Sequence[TableInfo]) -> list[tuple[float, TableInfo]]:
    """Tables with the share of a question's words that their names, columns and values hold, best first."""
    words = asked_words(text)
    scored: list[tuple[float, TableInfo]] = []
    for table in tables:
        described = [table.name, *(word for column in table.columns for word in (column.name, *column.values))]
        named = 0.5 if re.search(rf"\b{re.escape(Path(table.source.path).name)}\b", text, re.IGNORECASE) else 0.0
        scored.append((min(1.0, named + share(words, " ".join(described))), table))
    return sorted(scored, key=lambda pair: -pair[0])


async def readable_tables(context: ToolContext) -> Sequence[TableInfo]:
    if context.root is None:
        return []
    return [table for table in await asyncio.to_thread(catalog, context.root) if not table.problem]


async def read_tables(text: str, context: ToolContext) -> list[Reading]:
    """Readings of a question as a query, best first: what its words say, and what the parser takes it to mean."""
    root = context.root
    if root is None:
        return []
    known = await readable_tables(context)
    if (either := await _between(text, context, known)) is not None:
        return [either]
    try:
        said = await asyncio.to_thread(stated, text, known, partial(texts_of, root))
    except ToolError:  # a file is just being written
        said = None
    if said is not None:
        return [said]
    found = await _by_words(text, root, known)
    if not known or wanted(asking(text)).kind == "yes-no":
        return found
    try:
        return _weighed(text, found, await asyncio.to_thread(_meant, text, root, known))
    except ToolError:  # a file is just being written, say: the parser has not looked, and doubts nothing
        return found


async def _between(text: str, context: ToolContext, known: Sequence[TableInfo]) -> Reading | None:
    """Which of two has more of something, where a table holds both."""
    asked, root = choosing.choice(text), context.root
    if asked is None or root is None:
        return None

    def read(both: choosing.Both) -> Reading | None:
        meant = _meant(both.core, root, [both.info])
        ranked = choosing.ranked(meant.sql) if meant is not None and meant.chance >= choosing.MEANT else {}
        said = [one.arguments for one in _readings(both.core, root, [both.info]) if one.score >= choosing.SAID]
        found = (choosing.among(asked, both, arguments) for arguments in [*said, ranked] if arguments)
        return next((one for one in found if one is not None), None)

    try:
        holding = await asyncio.to_thread(choosing.holding, asked, known, partial(texts_of, root))
        # of Mabel her own row says more than what she has borrowed
        for both in sorted(holding, key=lambda both: not both.own):
            if (found := await asyncio.to_thread(read, both)) is not None:
                return found
    except ToolError:  # a file is just being written
        return None
    return None


# A whole column, and how one is asked for.
_COLUMN = re.compile(r'SELECT "(?:[^"]|"")+" FROM "(?:[^"]|"")+"')
_SAYS_BACK = re.compile(r'SELECT ("(?:[^"]|"")+") FROM "(?:[^"]|"")+" WHERE \1 = ')
_SEVERAL = re.compile(r"\b(?:list|all|every|each|are|were|do|have|had|name)\b", re.IGNORECASE)


def _meant(text: str, root: Path, known: Sequence[TableInfo]) -> Parsed | None:
    """What the parser takes a question to mean.

    It was taught on folders of files: small tables inside pages distract it. So it looks at the files by themselves
    too, and what it is surer of counts.
    """
    likely = [table for _, table in ranked(text, known)[:PARSED]]
    looked = [parsed(text, root, likely)]
    files = [table for table in known if table.source.kind != "page"]
    if files and any(table.source.kind == "page" for table in likely):
        looked.append(parsed(text, root, [table for _, table in ranked(text, files)[:PARSED]]))
    listed = _SEVERAL.search(text) is not None
    fitting = [
        one
        for one in looked
        # a whole column for one thing, or what is asked said back, is no answer
        if one is not None and (listed or not _COLUMN.fullmatch(one.sql)) and not _SAYS_BACK.match(one.sql)
    ]
    return max(fitting, key=lambda one: one.chance, default=None)


def _weighed(text: str, found: list[Reading], meant: Parsed | None) -> list[Reading]:
    """Readings with the parser's before those of the words; where it knows no likely one, these count less."""
    if meant is None or meant.chance < DOUBTED:
        return [replace(reading, score=DOUBT * reading.score) for reading in found]
    if meant.chance < MEANT or (
        found and found[0].score >= READ and (_says_more(found[0], meant) or _measures(text, found[0], meant))
    ):
        return found
    if found and _agrees(found[0], meant):
        return [replace(found[0], score=max(found[0].score, meant.chance)), *found[1:]]
    unit = meant.unit or measured.unit_named(meant.column)
    return [Reading("sql", {"query": meant.sql}, max(meant.chance, READ), unit=unit), *found]


def _says_more(reading: Reading, meant: Parsed) -> bool:
    """Whether the words bind a number or a date that the query leaves out, or are nearly sure of another table.

    Where they account for most that is asked, also a name that it leaves out; for all, where it is not likely.
    """
    if reading.score >= FIRM and f'"{reading.arguments.get("table", "")}"' not in meant.sql:
        return True
    if reading.score >= FIRM and not _agrees(reading, meant):
        named = (value.lower().replace("'", "''") for value in _values(reading))
        left_out = any(value not in meant.sql.lower() for value in named)
        if left_out or (reading.score >= ALL and meant.chance < LIKELY):
            return True
    return any(re.search(r"\d", value) and value not in meant.sql for value in _values(reading))


def _measures(text: str, reading: Reading, meant: Parsed) -> bool:
    """Whether the words find a column in the unit that is asked for, and the query shows none: kegs are no kg."""
    asked = conversions.asked_unit(text)
    if asked is None or reading.score < FIRM:
        return False
    named = (unit_of(reading), meant.unit or measured.unit_named(meant.column))
    so = [bool(unit) and conversions.compatible(conversions.unit_of(unit), asked[1]) for unit in named]
    return so[0] and not so[1]


def _agrees(reading: Reading, meant: Parsed) -> bool:
    """Whether a query shows, computes and binds what the words say: both are as sure then as the surer one."""
    aggregate = str(reading.arguments.get("aggregate", "none"))
    same = str(reading.arguments.get("column", "")) == meant.column and not reading.yes_no
    sql = meant.sql.lower()
    if same and (by := reading.arguments.get("order_by")) and reading.arguments.get("limit") == 1:
        way = "desc" if reading.arguments.get("order") == "desc" else "(?:asc)?"
        last = rf'order by "{re.escape(str(by).lower())}"\s*{way}\s*(?:nulls last\s*)?limit 1'
        return re.search(last, sql) is not None and all(v.lower() in sql for v in _values(reading))
    grouped = any(reading.arguments.get(part) for part in ("group_by", "order_by"))
    computed = not grouped and (
        f"{aggregate}(" in sql if aggregate != "none" else "(" not in sql.partition(" from ")[0]
    )
    return same and computed and " in (select" not in sql and all(v.lower() in sql for v in _values(reading))


def _values(reading: Reading) -> list[str]:
    given = (str(reading.arguments.get(f"{part}_value", "")) for part in ("where", "and", "also"))
    return [part for value in given for part in value.split(", ") if part]


async def _by_words(text: str, root: Path, known: Sequence[TableInfo]) -> list[Reading]:
    found = await asyncio.to_thread(_readings, text, root, known)
    if found and found[0].score >= 1 - GAINED:
        return found
    # what stands in the rows that a table's keys stand for counts too, where without it less is accounted for
    wide = await asyncio.to_thread(lambda: _readings(text, root, widened(root)))
    least = (found[0].score if found else 0.0) + GAINED
    return [*(reading for reading in wide[:1] if reading.score >= least), *found]


def _readings(text: str, root: Path, known: Sequence[TableInfo]) -> list[Reading]:
    found = tables.readings(
        text,
        known,
        lambda info, column: texts_of(root, info, column),
        lambda info, column: years_of(root, info, column),
    )
    asked = conversions.asked_unit(text)
    kind = "" if _HOW.search(asking(text)) else wanted(asking(text)).kind
    fitting = (_of_kind(_in_unit(reading, asked), kind, known) for reading in found)
    return sorted(fitting, key=lambda reading: -reading.score)


async def bridged(text: str, context: ToolContext, direct: Sequence[Reading]) -> bridging.Bridge | None:
    """A reading as a query about what a document tells of, where it accounts for more than one without."""
    root, known = context.root, await readable_tables(context)
    if root is None or not known:
        return None
    # what the parser doubts is not doubted here: a bridge reads by words, too
    said = [*direct, *await asyncio.to_thread(_readings, text, root, known)]
    least = max((reading.score for reading in said), default=0.0) + GAINED
    if least > 1.0:
        return None
    found = await sentences_about(text, context, bridging.SENTENCES)

    def read() -> bridging.Bridge | None:
        forms = bridging.forms_of(v for info in known for c in info.columns for v in texts_of(root, info, c))
        return bridging.bridged(text, found, forms, known, lambda asked: _readings(asked, root, known))

    bridge = await asyncio.to_thread(read)
    return bridge if bridge is not None and bridge.reading.score >= least else None


def _in_unit(reading: Reading, asked: tuple[str, object] | None) -> Reading:
    """A reading with its score lowered where its column is measured in something else than is asked for."""
    unit = conversions.unit_of(unit_of(reading)) if asked is not None else None
    if asked is None or unit is None:
        return reading
    return reading if conversions.compatible(unit, asked[1]) else replace(reading, score=0.3 * reading.score)


def _of_kind(reading: Reading, kind: str, known: Sequence[TableInfo]) -> Reading:
    """A reading with its score lowered where a day or a person is asked for, and it gives a number, and where it
    looks for the best of one row.
    """
    given = reading.arguments
    info = next(info for info in known if info.name == given["table"])
    unique = {column.name for column in info.columns if column.distinct == info.rows > 1}
    one = any(given.get(f"{p}_column") in unique and given.get(f"{p}_op") == "=" for p in ("where", "and", "also"))
    if one and given.get("order_by") and ", " not in str(given.get("where_value")):
        return replace(reading, score=0.3 * reading.score)
    if kind not in ("date", "when", "weekday", "person") or reading.yes_no:
        return reading
    shown = given.get("column") or given.get("group_by")
    column = next((column for column in info.columns if column.name == shown), None)
    counted = column is None or (column.kind == "number" and "year" not in tokenize(column.name))
    return replace(reading, score=0.3 * reading.score) if counted else reading


def unit_of(reading: Reading) -> str:
    """The unit that the end of a number column's name says; none of a count."""
    if reading.arguments.get("aggregate", "none") in ("count", "distinct") or reading.yes_no:
        return ""
    return reading.unit or measured.unit_named(str(reading.arguments.get("column", "")))
