"""Which tables there are below a root: names, columns, types, rows, distinct values. Kept until a file changes."""

import re
import tempfile
import threading
from collections import Counter, OrderedDict
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from pointwork.errors import ToolError
from pointwork.tools import paths
from pointwork.tools.duck import Database, load_together, open_database
from pointwork.tools.markdown_tables import MAX_BYTES as MAX_PAGE
from pointwork.tools.markdown_tables import SUFFIXES as PAGES
from pointwork.tools.markdown_tables import markdown_tables
from pointwork.tools.paths import Entry
from pointwork.tools.references import referring, wider
from pointwork.tools.table_info import CODE, DIGITS, Column, TableInfo
from pointwork.tools.table_loading import (
    SUFFIXES,
    Source,
    copy_file,
    is_sqlite,
    json_tables,
    quote_name,
    sqlite_tables,
)

MAX_TABLES = 100
MAX_PAGES = 1_000
"""Markdown pages that are looked through for tables."""

MAX_VALUES = 50
"""A text column with more distinct values than this does not list them."""

MAX_TEXTS = 5_000
"""Distinct texts of a column that a question's words are looked for in."""

_MAX_VALUE = 80  # characters of a value that is listed
_KEPT_TEXTS = 64 * MAX_TEXTS

_Key = tuple[Path, Source]
_known: OrderedDict[_Key, TableInfo] = OrderedDict()
_linked: OrderedDict[tuple[Path, tuple[Source, ...]], list[TableInfo]] = OrderedDict()
_wide: OrderedDict[tuple[Path, tuple[Source, ...]], list[TableInfo]] = OrderedDict()
_inner: OrderedDict[tuple[Path, Entry], list[str]] = OrderedDict()
_texts: OrderedDict[tuple[Path, Source, str], tuple[str, ...]] = OrderedDict()
_lock = threading.Lock()


def catalog(root: Path) -> list[TableInfo]:
    """All tables below a root, by name, at most ``MAX_TABLES``. A broken file is listed with its problem."""
    root = root.resolve()
    sources = tuple(table_sources(root))
    with _lock:
        if (root, sources) in _linked:
            return list(_linked[root, sources])
        new = [source for source in sources if (root, source) not in _known]
    load_together(root, new)
    found = _referring(root, [_described(root, source) for source in sources])
    with _lock:
        _linked[root, sources] = found
        while len(_linked) > 16:
            _linked.popitem(last=False)
    return list(found)


def widened(root: Path) -> list[TableInfo]:
    """The tables that hold keys of others, with the columns of those rows: a hire with its costume's period."""
    root = root.resolve()
    known = {info.name: info for info in catalog(root)}
    key = (root, tuple(info.source for info in known.values()))
    with _lock:
        if key in _wide:
            return list(_wide[key])
    sources = wider(root, known)
    found = [info for source in sources if not (info := _described(root, source)).problem]
    with _lock:
        _wide[key] = found
        while len(_wide) > 16:
            _wide.popitem(last=False)
    return list(found)


def _referring(root: Path, tables: list[TableInfo]) -> list[TableInfo]:
    """Tables with the names that their keys stand for."""
    try:
        made = referring(root, tables)
    except ToolError:  # a file was changed meanwhile, or comparing takes too long: without
        return tables
    return [_described(root, replace(info.source, references=made.get(info.name, ()))) for info in tables]


def table_sources(root: Path) -> list[Source]:
    """The tables by name, without looking into them (only SQLite files and JSON objects are opened)."""
    found: list[tuple[Entry, str]] = []
    pages: list[Entry] = []
    for entry in paths.walk(root):
        suffix = PurePosixPath(entry.path).suffix.lower()
        kind = SUFFIXES.get(suffix)
        if suffix in PAGES and entry.size <= MAX_PAGE:
            pages.append(entry)
        if kind == "sqlite" or (kind == "json" and _no_table(root, entry)):
            found += [(entry, table) for table in _tables_inside(root, entry)]
        elif kind:
            found.append((entry, ""))
        if len(found) >= MAX_TABLES:
            break
    for entry in pages[:MAX_PAGES]:  # what a file is made for comes first
        found += [(entry, table) for table in _tables_inside(root, entry)]
    names = _names([(entry.path, table) for entry, table in found[:MAX_TABLES]])
    return [
        Source(entry.path, entry.mtime_ns, entry.size, table, name)
        for (entry, table), name in sorted(zip(found, names, strict=False), key=lambda pair: pair[1])
    ]


def _no_table(root: Path, entry: Entry) -> bool:
    """Whether a ``.json`` file is a single object or a list of something else: settings, not a table."""
    if not entry.path.lower().endswith(".json"):
        return False
    try:
        with open(paths.open_inside(root, entry.path), "rb") as file:
            head = file.read(4096).decode("utf-8-sig", errors="replace").strip()
    except ToolError:
        return True
    lines = head.splitlines()
    by_line = len(lines) > 1 and all(line.lstrip().startswith("{") for line in lines[:2]) and len(lines[0]) > 2
    return not (re.match(r"\[\s*\{", head) or by_line)


def _tables_inside(root: Path, entry: Entry) -> list[str]:
    with _lock:
        if (root, entry) in _inner:
            return _inner[root, entry]
    names: list[str] = []
    try:
        with tempfile.TemporaryDirectory(prefix="pointwork-table-") as folder:
            copy = copy_file(root, entry.path, Path(folder))
            names = _looked(copy)
    except Exception:  # locked, broken or encrypted: no table in it can be read
        names = []
    with _lock:
        _inner[root, entry] = names
        while len(_inner) > 2 * MAX_PAGES:
            _inner.popitem(last=False)
    return names


def _looked(copy: Path) -> list[str]:
    if copy.suffix == ".json":
        return json_tables(copy)
    if copy.suffix in PAGES:
        text = copy.read_bytes().decode("utf-8-sig", errors="replace")
        return [table.name for table in markdown_tables(text)]
    return sqlite_tables(copy) if is_sqlite(copy) else []


def _names(places: list[tuple[str, str]]) -> list[str]:
    """A short name for each (file, inner table); the folder, file or suffix is added where names clash."""
    chosen = ["" for _ in places]
    for level in range(4):
        wanted = [name or _name(path, table, level) for name, (path, table) in zip(chosen, places, strict=True)]
        often = Counter(name.lower() for name in wanted)
        chosen = [
            have or (name if often[name.lower()] == 1 else "") for have, name in zip(chosen, wanted, strict=True)
        ]
    return [name or f"table_{number}" for number, name in enumerate(chosen, start=1)]


def _name(path: str, table: str, level: int) -> str:
    place = PurePosixPath(path)
    parts = [place.stem] if not table else [table] if level == 0 else [place.stem, table]
    if level >= 1 and (not table or level >= 2):
        parts = [*place.parent.parts[-1 if level == 1 else 0 :], *parts]
    if level == 3:
        parts.append(place.suffix)
    name = re.sub(r"[\W_]+", "_", "_".join(parts)).strip("_") or "table"
    return f"t_{name}" if name[0].isdigit() else name


def _described(root: Path, source: Source) -> TableInfo:
    with _lock:
        if (root, source) in _known:
            return _known[root, source]
    try:
        info = _look(open_database(root, (source,)), source)
    except ToolError as error:
        info = TableInfo(source.name, source, problem=str(error))
    with _lock:
        _known[root, source] = info
        while len(_known) > 8 * MAX_TABLES:
            _known.popitem(last=False)
    return info


def _look(database: Database, source: Source) -> TableInfo:
    table = quote_name(source.name)
    columns = [Column(name, kind) for name, kind in database.types(table)]
    rows, counted = _counts(database, table, columns)
    described = tuple(
        Column(
            c.name,
            c.type,
            _values(database, table, c) if distinct <= MAX_VALUES else (),
            empties,
            distinct,
            0 < distinct == codes,
        )
        for c, (empties, distinct, codes) in zip(columns, counted, strict=True)
    )
    return TableInfo(source.name, source, described, rows)


def _counts(database: Database, table: str, columns: list[Column]) -> tuple[int, list[tuple[int, int, int]]]:
    """The rows, and of each column (empty cells, different values, different codes)."""
    asked = ["count(*)"]
    for column in columns:
        name, text = quote_name(column.name), column.kind == "text"
        empty = f"trim(CAST({name} AS VARCHAR)) = ''" if column.kind in ("text", "other") else "false"
        coded = f"regexp_full_match({name}, '{CODE}') AND NOT regexp_full_match({name}, '{DIGITS}')"
        asked += [f"count(*) FILTER ({name} IS NULL OR {empty})", f"count(DISTINCT {name})"]
        asked += [f"count(DISTINCT {name}) FILTER ({coded})" if text else "0"]
    row = database.query(f"SELECT {', '.join(asked)} FROM {table}", 1).rows[0]  # noqa: S608
    numbers = iter(map(int, row[1:]))
    return int(row[0]), list(zip(numbers, numbers, numbers, strict=True))


def texts_of(root: Path, info: TableInfo, column: Column) -> tuple[str, ...]:
    """The distinct texts of a text column, at most ``MAX_TEXTS``, also where ``values`` lists none."""
    if column.values or column.kind != "text":
        return column.values
    key = (root.resolve(), info.source, column.name)
    with _lock:
        if key in _texts:
            return _texts[key]
    name = quote_name(column.name)
    sql = f"SELECT DISTINCT {name} FROM {quote_name(info.name)} WHERE length({name}) BETWEEN 1 AND {_MAX_VALUE}"  # noqa: S608
    found = tuple(str(row[0]) for row in open_database(key[0], (info.source,)).query(sql, MAX_TEXTS).rows)
    with _lock:
        _texts[key] = found
        # a folder may have hundreds of columns with few texts each, all of them looked at for each question
        while len(_texts) > 1 and sum(1 + len(texts) for texts in _texts.values()) > _KEPT_TEXTS:
            _texts.popitem(last=False)
    return found


def _values(database: Database, table: str, column: Column) -> tuple[str, ...]:
    if column.kind != "text":
        return ()
    name = quote_name(column.name)
    found = database.query(
        f"SELECT {name} FROM {table} WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1",  # noqa: S608
        MAX_VALUES,
    )
    values = [str(row[0]) for row in found.rows]
    return () if found.more or any(len(value) > _MAX_VALUE for value in values) else tuple(values)


def years_of(root: Path, info: TableInfo, column: Column) -> tuple[int, ...]:
    """The years in a date column, at most ten."""
    name = quote_name(column.name)
    sql = f"SELECT DISTINCT year({name}) FROM {quote_name(info.name)} WHERE {name} IS NOT NULL ORDER BY 1"  # noqa: S608
    return tuple(int(row[0]) for row in open_database(root.resolve(), (info.source,)).query(sql, 10).rows)


AGGREGATES = ("none", "count", "distinct", "percent", "sum", "avg", "min", "max", "median")
COMPARED = ("=", "!=", ">", ">=", "<", "<=")
OPERATORS = (*COMPARED, "contains", "empty", "not empty")


def arguments_schema(info: TableInfo) -> dict[str, Any]:
    """The JSON schema of ``query_table``'s arguments, narrowed to what this table has.

    Columns are enums; a value is one of those that stand in the table, or a number or date where a column has
    such, or free text where a text column's values are too many to list.
    """
    names = [column.name for column in info.columns]
    numbers = [column.name for column in info.columns if column.kind == "number"]
    groups = [name for name in names if name not in numbers] + numbers
    parts = [f"{part}({c.name})" for c in info.columns if c.kind == "date" for part in ("year", "month")]
    return {
        "type": "object",
        "properties": {
            "table": {"const": info.name},
            "aggregate": {"enum": list(AGGREGATES) if numbers else ["none", "count", "distinct", "min", "max"]},
            "column": {"enum": ["", *names]},
            "group_by": {"enum": ["", *groups, *parts]},
            "where_column": {"enum": ["", *names]},
            "where_op": {"enum": list(OPERATORS)},
            "where_value": _value_schema(info),
            "order": {"enum": ["none", "asc", "desc"]},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        },
        "required": [
            "table",
            "aggregate",
            "column",
            "group_by",
            "where_column",
            "where_op",
            "where_value",
            "order",
            "limit",
        ],
        "additionalProperties": False,
    }


def _value_schema(info: TableInfo) -> dict[str, Any]:
    texts = [column for column in info.columns if column.kind == "text"]
    if any(not column.values for column in texts):
        return {"type": "string", "maxLength": _MAX_VALUE}
    listed = list(dict.fromkeys(["", *(value for column in texts for value in column.values)]))
    choices: list[dict[str, Any]] = [{"enum": listed}]
    if any(column.kind == "number" for column in info.columns):
        choices.append({"type": "string", "pattern": "^-?[0-9]{1,12}(\\.[0-9]{1,6})?$"})
    if any(column.kind == "date" for column in info.columns):
        choices.append({"type": "string", "pattern": "^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$"})
    if any(column.kind == "bool" for column in info.columns):
        choices.append({"enum": ["true", "false"]})
    return {"anyOf": choices} if len(choices) > 1 else choices[0]
