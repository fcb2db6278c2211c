"""From a table file below the root to something DuckDB can read: a private copy, checked, in plain UTF-8.

DuckDB never opens the user's file itself: the copy is taken through ``paths``, so links and globs in names lead
nowhere, SQLite's side files are never touched, and a broken file is reported by its own line.
"""

import csv
import io
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, cast

from pointwork.errors import ToolError
from pointwork.tools import paths
from pointwork.tools.markdown_tables import SUFFIXES as PAGES
from pointwork.tools.markdown_tables import markdown_reader

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
}
MAX_BYTES = 200_000_000
MAX_CHECKED = 30_000_000  # larger CSV files are left to DuckDB's own checks
MAX_SQLITE_ROWS = 1_000_000
_NULL = "\\N"


@dataclass(frozen=True)
class Reference:
    """A column that holds the keys of another table.

    Attributes:
        column: of this table.
        to: the other table.
        key: its column of keys.
        shown: its column that names a row.
        name: under which this table shows that one.
        names: whether that column names the row, and does not only say more of it.
    """

    column: str
    to: "Source"
    key: str
    shown: str
    name: str
    names: bool = True


@dataclass(frozen=True)
class Source:
    """One table in one file, at one moment.

    Attributes:
        path: of the file, relative to the root.
        mtime_ns, size: of the file, so that a changed file is another source.
        inner: the table inside an SQLite file or a Markdown page, or the key of a JSON object that holds the rows;
            else empty.
        name: what the table is called in queries.
        references: to other tables, each shown as a column more.
    """

    path: str
    mtime_ns: int
    size: int
    inner: str
    name: str
    references: tuple[Reference, ...] = ()

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Source":
        """What ``dataclasses.asdict`` made of one."""
        references: list[dict[str, Any]] = value.get("references", [])
        made: list[Reference] = []
        for one in references:
            given: dict[str, Any] = {**one, "to": cls.from_json(one["to"])}
            made.append(Reference(**given))
        fields: dict[str, Any] = {**value, "references": tuple(made)}
        return cls(**fields)

    @property
    def kind(self) -> str:
        """csv, json, parquet, sqlite or page."""
        suffix = PurePosixPath(self.path).suffix.lower()
        return "page" if suffix in PAGES else SUFFIXES[suffix]


def quote_name(name: str) -> str:
    """A name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """A text for SQL.

    Raises:
        ToolError: it has a zero byte.
    """
    if "\0" in text:
        raise ToolError("a value has a zero byte")
    return "'" + text.replace("'", "''") + "'"


def copy_file(root: Path, path: str, folder: Path) -> Path:
    """A private copy of a file below the root, and of the write-ahead log beside it if there is one.

    Raises:
        ToolError: too large, gone, unreadable.
    """
    target = folder / ("data" + PurePosixPath(path).suffix.lower())
    _copy(root, path, target)
    if SUFFIXES.get(target.suffix) == "sqlite" and (log := paths.resolve(root, path + "-wal")) is not None:
        _copy(root, log, Path(f"{target}-wal"))
    return target


def _copy(root: Path, path: str, target: Path) -> None:
    with os.fdopen(paths.open_inside(root, path), "rb") as file, target.open("wb") as copy:
        if os.fstat(file.fileno()).st_size > MAX_BYTES:
            raise ToolError(f"{path!r} is larger than {MAX_BYTES / 1e6:g} MB")
        shutil.copyfileobj(file, copy)


def reader_for(source: Source, copy: Path) -> str:
    """The SQL that reads the copy, as a table expression.

    Raises:
        ToolError: the file is broken; the message names the line.
    """
    if source.kind == "csv":
        return csv_reader(source.path, copy)
    if source.kind == "json":
        if source.inner:
            copy.write_text(json.dumps(_rows_under(source.path, source.inner, copy)), encoding="utf-8")
        check_json(source.path, copy)
        return f"read_json({quote_text(str(copy))}, sample_size=-1, maximum_object_size=4000000)"
    if source.kind == "parquet":
        return f"read_parquet({quote_text(str(copy))})"
    if source.kind == "page":
        target = quote_text(str(markdown_reader(source.path, source.inner, copy)))
        return f"read_csv({target}, delim=',', quote='\"', escape='\"', header=true, sample_size=-1)"
    return sqlite_reader(source.path, source.inner, copy)


def csv_reader(path: str, copy: Path) -> str:
    """Check a CSV file's shape and say how to read it; rewrites the copy as UTF-8."""
    options = ["sample_size=-1"]
    if copy.stat().st_size <= MAX_CHECKED:
        text = _decode(copy.read_bytes())
        if not text.strip():
            raise ToolError(f"{path!r} is empty")
        copy.write_text(text, encoding="utf-8", newline="")
        delimiter = "\t" if path.lower().endswith(".tsv") else _delimiter(text)
        header = _check_records(path, text, delimiter)
        options += [f"delim={quote_text(delimiter)}", "quote='\"'", "escape='\"'", f"header={str(header).lower()}"]
        options += ["null_padding=false", "strict_mode=true"]
        if delimiter == ";" and re.search(r"(?m)(?:^|;)-?\d+,\d+(?:;|\r?$)", text):
            options.append("decimal_separator=','")
    return f"read_csv({quote_text(str(copy))}, {', '.join(options)})"


def _decode(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _delimiter(text: str) -> str:
    """What separates the names in the first line; a comma if nothing does."""
    first = re.sub(r'"[^"]*"', "", next(line for line in text.splitlines() if line.strip()))
    return max(",;\t|", key=first.count)


def _check_records(path: str, text: str, delimiter: str) -> bool:
    """Whether the first record is a header.

    Raises:
        ToolError: a record has another number of fields than the first, or a quote is not closed.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    first: list[str] = []
    start = 1
    try:
        for record in reader:
            if record and not first:
                first = record
            if record and len(record) != len(first):
                raise ToolError(
                    f"{path!r} is broken at line {start}: {len(record)} fields, but the first line has {len(first)}"
                )
            start = reader.line_num + 1
    except csv.Error as error:
        raise ToolError(f"{path!r} is broken at line {start}: {error}") from error
    return _is_header(first)


def _is_header(first: list[str]) -> bool:
    """Names, not data: no number among them but years, nothing twice."""
    numbers = [cell for cell in first if re.fullmatch(r"\s*[-+]?\d+(?:[.,]\d+)?\s*", cell)]
    years = [cell for cell in numbers if re.fullmatch(r"\s*(?:19|20)\d\d\s*", cell)]
    return len(numbers) == len(years) < len(first) and len(set(first)) == len(first)


def check_json(path: str, copy: Path) -> None:
    """Pass if the file is an array of objects or one object per line.

    Raises:
        ToolError: it is not, so it is no table.
    """
    with copy.open("rb") as file:
        head = file.read(65_536).decode("utf-8-sig", errors="replace").lstrip()
    if re.match(r"\[\s*\{", head):
        return
    lines = [line for line in head.splitlines() if line.strip()]
    whole = lines if copy.stat().st_size <= 65_536 else lines[:-1]
    try:
        by_line = bool(whole) and (len(whole) > 1 or path.lower().endswith((".jsonl", ".ndjson")))
        if by_line and all(isinstance(json.loads(line), dict) for line in whole[:3]):
            return
    except json.JSONDecodeError as error:
        if not path.lower().endswith(".json"):
            raise ToolError(f"{path!r} is broken: {error}") from error
    raise ToolError(f"{path!r} is no table: a JSON table is an array of objects, or one object per line")


def json_tables(copy: Path) -> list[str]:
    """Keys of a JSON object whose values are arrays of objects: ``{"society": "…", "members": [{…}, …]}``."""
    if copy.stat().st_size > MAX_CHECKED:
        return []
    try:
        whole: Any = json.loads(copy.read_bytes().decode("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError):
        return []
    if not isinstance(whole, dict):
        return []
    return [str(key) for key, value in cast(dict[Any, Any], whole).items() if _is_rows(value)]


def _is_rows(value: object) -> bool:
    rows = cast(list[object], value) if isinstance(value, list) else []
    return bool(rows) and all(isinstance(row, dict) for row in rows)


def _rows_under(path: str, key: str, copy: Path) -> object:
    try:
        whole: Any = json.loads(copy.read_bytes().decode("utf-8-sig", errors="replace"))
        return whole[key]
    except (ValueError, KeyError, TypeError) as error:
        raise ToolError(f"{path!r} has no rows under {key!r} any more") from error


def is_sqlite(path: Path) -> bool:
    """Whether a file begins as SQLite's do."""
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _connect(copy: Path) -> sqlite3.Connection:
    # an empty log makes SQLite want to write; the copy is ours, so recovering a full one is fine
    writable = Path(f"{copy}-wal").exists()
    connection = sqlite3.connect(f"file:{copy}?mode={'rw' if writable else 'ro&immutable=1'}", uri=True)
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA query_only=ON")
    connection.text_factory = _text
    return connection


_OWN = ({"alembic_version", "memory_items", "ledger"}, {"checkpoints", "writes"})


def sqlite_tables(copy: Path) -> list[str]:
    """The names of the tables in an SQLite file; views and virtual tables are left out.

    Of Pointwork's own store and checkpoints there are none: a run would find its own words in them as data.
    """
    query = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
        "AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
    )
    with closing(_connect(copy)) as connection:
        names = [str(row[0]) for row in connection.execute(query)]
    return [] if any(names_of_ours <= set(names) for names_of_ours in _OWN) else names


def sqlite_reader(path: str, table: str, copy: Path) -> str:
    """Write an SQLite table as CSV beside the copy, and say how to read that: 10⁵ rows take about 0.2 s."""
    target = copy.with_name(f"table{abs(hash(table))}.csv")
    try:
        with closing(_connect(copy)) as connection:
            declared = [
                (str(row[1]), str(row[2]).upper())
                for row in connection.execute(f"PRAGMA table_info({quote_name(table)})")
            ]
            cursor = connection.execute(f"SELECT * FROM {quote_name(table)} LIMIT {MAX_SQLITE_ROWS + 1}")  # noqa: S608
            count = _write_rows(target, [name for name, _ in declared], cursor)
    except sqlite3.Error as error:
        raise ToolError(f"{path!r}, table {table!r}, can not be read: {error}") from error
    if count > MAX_SQLITE_ROWS:
        raise ToolError(f"{path!r}: table {table!r} has more than {MAX_SQLITE_ROWS} rows")
    texts = [name for name, kind in declared if re.search(r"CHAR|CLOB|TEXT", kind)]
    types = "{" + ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in texts) + "}"
    options = f"delim=',', quote='\"', escape='\"', header=true, nullstr={quote_text(_NULL)}, sample_size=-1"
    options += ", max_line_size=4000000" + (f", types={types}" if texts else "")
    return f"read_csv({quote_text(str(target))}, {options})"


def _write_rows(target: Path, names: list[str], cursor: sqlite3.Cursor) -> int:
    count = 0
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in cursor:
            writer.writerow(
                [_NULL if cell is None else cell.hex() if isinstance(cell, bytes) else cell for cell in row]
            )
            count += 1
    return count
