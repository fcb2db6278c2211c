"""DuckDB behind a wall: in memory, filled by us, then without files, network, extensions or settings.

``Database.query`` runs SQL that this package wrote. SQL that a model wrote goes through ``run_foreign``: its own
process, as a constant expression such as ``repeat('x', 3000000000)`` takes memory and time while it is planned,
where neither DuckDB's memory limit nor its interrupt reach (tried with 2.0).
"""

import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from datetime import time as clock
from decimal import Decimal
from pathlib import Path
from typing import Any

from pointwork.errors import ToolError
from pointwork.tools.table_loading import Source, copy_file, quote_name, reader_for

SECONDS = 10.0
"""Longest that one query runs."""

MEMORY_MB = 512
_KEPT = 12  # databases that stay loaded

# Of a folder's tables the small ones lie in one database: to open one takes longer than to load such a table.
_SMALL, _TOGETHER = 2_000_000, 30_000_000  # bytes of a file, of all
_SHELVES = 4  # such databases that stay loaded

_BEFORE = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "memory_limit": f"{MEMORY_MB}MB",
    "python_enable_replacements": "false",
    "temp_directory": "",
    "threads": "2",
}
_ISO = {
    r"\d{4}-\d\d-\d\d": "DATE",
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?": "TIMESTAMP",
}


@dataclass(frozen=True)
class Rows:
    """What a query gave.

    Attributes:
        columns: their names.
        rows: plain JSON values.
        more: there were more rows than asked for.
    """

    columns: list[str]
    rows: list[list[Any]]
    more: bool = False


class Database:
    """Tables in memory that can only be read. Threads may share it.

    Attributes:
        sources: the tables that it was made of. Where it need not be ``whole``, those that can be read.
    """

    def __init__(self, root: Path, sources: tuple[Source, ...], *, whole: bool = True) -> None:
        import duckdb

        self._connection = duckdb.connect(":memory:", config=dict(_BEFORE))
        needed, loaded = _with_others(sources), set[Source]()
        for source in needed:
            try:
                self._load(root, source)
            except ToolError:
                if whole:
                    raise
            else:
                loaded.add(source)
        self.sources = frozenset(loaded)
        for source in needed:
            if source.references:
                self._join(source)
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def _load(self, root: Path, source: Source) -> None:
        import duckdb

        with tempfile.TemporaryDirectory(prefix="pointwork-table-") as folder:
            copy = copy_file(root, source.path, Path(folder))
            reader = reader_for(source, copy)
            name = quote_name(source.name)
            try:
                self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {reader}")  # noqa: S608
                if source.kind == "sqlite":
                    self._type_dates(name)
            except duckdb.Error as error:
                raise ToolError(f"{source.path!r} can not be read as a table: {_clean(error, folder)}") from error

    def _join(self, source: Source) -> None:
        """Give a table the names that its keys stand for, as columns."""
        import duckdb

        table, joined = quote_name(source.name), quote_name(f"{source.name} joined")
        columns, joins = ["this.*"], [f"{table} AS this"]
        for number, reference in enumerate(source.references):
            columns.append(f"r{number}.{quote_name(reference.shown)} AS {quote_name(reference.name)}")
            same = f"this.{quote_name(reference.column)} = r{number}.{quote_name(reference.key)}"
            joins.append(f"LEFT JOIN {quote_name(reference.to.name)} AS r{number} ON {same}")
        query = f"SELECT {', '.join(columns)} FROM {' '.join(joins)} ORDER BY this.rowid"  # noqa: S608
        try:
            self._connection.execute(f"CREATE TABLE {joined} AS {query}")
        except duckdb.Error as error:
            raise ToolError(f"{source.path!r} can not be joined with what it refers to: {_clean(error)}") from error
        self._connection.execute(f"DROP TABLE {table}")
        self._connection.execute(f"ALTER TABLE {joined} RENAME TO {table}")

    def _type_dates(self, table: str) -> None:
        """SQLite has no dates: a text column with nothing but ISO dates becomes one."""
        texts = [quote_name(name) for name, kind in self.types(table) if kind == "VARCHAR"]
        typed: set[str] = set()
        for column, (pattern, target) in itertools.product(texts, _ISO.items()):
            if column in typed:
                continue
            fits = f"regexp_full_match({column}, '{pattern}') AND TRY_CAST({column} AS {target}) IS NOT NULL"
            query = f"SELECT count({column}) > 0 AND bool_and(coalesce({fits}, true)) FROM {table}"  # noqa: S608
            if self.query(query, 1).rows[0][0]:
                self._connection.execute(f"ALTER TABLE {table} ALTER {column} TYPE {target}")
                typed.add(column)

    def types(self, table: str) -> list[tuple[str, str]]:
        """(column, DuckDB's type) of a quoted table."""
        # not DESCRIBE of the table itself: "DESCRIBE tables" lists all tables, even in quotes
        described = self.query(f"DESCRIBE SELECT * FROM {table}", 10_000)  # noqa: S608
        return [(str(row[0]), str(row[1])) for row in described.rows]

    def query(self, sql: str, limit: int, seconds: float = SECONDS) -> Rows:
        """Run one query of this package's own making and take at most ``limit`` rows.

        Raises:
            ToolError: DuckDB's message, shortened, or that the time is over.
        """
        import duckdb

        cursor = self._connection.cursor()
        stop = threading.Timer(seconds, cursor.interrupt)
        stop.daemon = True
        stop.start()
        try:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            cursor.execute(sql)
            found = cursor.fetchmany(limit + 1)
            columns = [str(column[0]) for column in cursor.description or ()]
        except duckdb.InterruptException as error:
            raise ToolError(f"the query took longer than {seconds:g} s: ask for less") from error
        except duckdb.Error as error:
            raise ToolError(_clean(error)) from error
        finally:
            stop.cancel()
            cursor.close()
        return Rows(columns, [[plain(cell) for cell in row] for row in found[:limit]], len(found) > limit)


def _with_others(sources: Sequence[Source]) -> list[Source]:
    """Sources behind those that they refer to, each table once; of two ways to show it the outermost's."""
    found = {source.name: source for source in sources}
    others: dict[str, Source] = {}
    for source in sources:
        for other in _with_others([reference.to for reference in source.references]):
            if other.name not in found and (other.references or other.name not in others):
                others[other.name] = other
    return [*others.values(), *found.values()]


def _clean(error: Exception, folder: str = "") -> str:
    """DuckDB's message in one line, without the private path."""
    text = str(error)
    if folder:
        text = re.sub(re.escape(folder) + r"\S*", "the file", text)
    text = re.split(r"\n\s*\n|Possible [Ss]olution", text)[0]
    return " ".join(text.split())[:400]


def plain(cell: Any) -> Any:
    """A cell as JSON has it: dates in ISO form, decimals as numbers, what is too long shortened."""
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    if isinstance(cell, Decimal):
        return int(cell) if cell == cell.to_integral_value() else float(cell)
    if isinstance(cell, datetime | date | clock):
        return cell.isoformat(sep=" ") if isinstance(cell, datetime) else cell.isoformat()
    if isinstance(cell, bytes | bytearray):
        return cell[:100].hex()
    if isinstance(cell, dict | list | tuple):
        return json.dumps(cell, default=str, ensure_ascii=False)[:500]
    if isinstance(cell, str):
        return cell if len(cell) <= 500 else cell[:500] + "…"
    return cell if cell is None or isinstance(cell, bool | int) else str(cell)


_databases: OrderedDict[tuple[Path, tuple[Source, ...]], Database] = OrderedDict()
_shelves: OrderedDict[tuple[Path, frozenset[Source]], Database] = OrderedDict()
_lock = threading.Lock()


def load_together(root: Path, sources: Sequence[Source]) -> None:
    """Load the small tables among these into one database, which ``open_database`` then gives for each of them.

    What can not be read, or refers to others, is left out: ``open_database`` says why, or joins them.
    """
    small: list[Source] = []
    size = 0
    for source in sources:
        if source.size <= _SMALL and size + source.size <= _TOGETHER and not source.references:
            small.append(source)
            size += source.size
    if len(small) < 2:
        return
    made = Database(root, tuple(small), whole=False)
    with _lock:
        _shelves[root, made.sources] = made
        while len(_shelves) > _SHELVES:
            _shelves.popitem(last=False)


def _together(root: Path, sources: tuple[Source, ...]) -> Database | None:
    """The database in which a table lies with others of its folder."""
    if len(sources) != 1:
        return None
    [one] = sources
    return next((made for (of, held), made in _shelves.items() if of == root and one in held), None)


def open_database(root: Path, sources: tuple[Source, ...]) -> Database:
    """A database with these tables; the last few stay loaded until their files change.

    Raises:
        ToolError: a file is broken, too large or gone.
    """
    key = (root, sources)
    with _lock:
        if key in _databases:
            _databases.move_to_end(key)
            return _databases[key]
        if (shared := _together(root, sources)) is not None:
            return shared
    made = Database(root, sources)
    with _lock:
        _databases[key] = made
        while len(_databases) > _KEPT:
            _databases.popitem(last=False)
    return made


def run_foreign(root: Path, sources: tuple[Source, ...], sql: str, limit: int, seconds: float = SECONDS) -> Rows:
    """Run one SELECT that someone else wrote, over these tables, in a process of its own.

    Raises:
        ToolError: it is no single SELECT, fails, takes too long or too much memory.
    """
    job = {
        "root": str(root),
        "sources": [asdict(s) for s in sources],
        "sql": sql,
        "limit": limit,
        "seconds": seconds,
    }
    environment = {"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-P", "-m", "pointwork.tools.sql_worker"]
    try:
        done = subprocess.run(  # noqa: S603
            command,
            input=json.dumps(job),
            capture_output=True,
            text=True,
            timeout=seconds + 10,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"the query took longer than {seconds:g} s: ask for less") from error
    if done.returncode != 0:
        raise ToolError("the query needed too much memory or time: ask for less")
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise ToolError(answer["error"])
    return Rows(answer["columns"], answer["rows"], answer["more"])
