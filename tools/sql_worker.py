"""The process in which foreign SQL runs: a job as JSON on standard input, rows or an error on standard output."""

import contextlib
import json
import resource
import sys
from pathlib import Path
from typing import Any

from pointwork.errors import ToolError
from pointwork.tools.duck import Database
from pointwork.tools.table_loading import Source

_MEMORY = 3_000_000_000  # bytes of address space


def wrapped(sql: str, limit: int) -> str:
    """One SELECT, cut off after ``limit`` + 1 rows.

    Raises:
        ToolError: it is not exactly one SELECT, or can not be parsed.
    """
    import duckdb

    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise ToolError(" ".join(str(error).split())[:300]) from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ToolError("write exactly one SELECT: nothing else is allowed here")
    return f"SELECT * FROM (\n{statements[0].query.strip().rstrip(';')}\n) LIMIT {limit + 1}"  # noqa: S608


def _bound(seconds: float) -> None:
    for kind, most in ((resource.RLIMIT_AS, _MEMORY), (resource.RLIMIT_CPU, int(3 * seconds) + 2)):
        with contextlib.suppress(ValueError, OSError):  # a lower limit is set already, or the system has none
            resource.setrlimit(kind, (most, most))


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Do one job; what goes wrong is in the answer."""
    try:
        database = Database(Path(job["root"]), tuple(map(Source.from_json, job["sources"])))
        rows = database.query(wrapped(job["sql"], job["limit"]), job["limit"], job["seconds"])
    except ToolError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": "the query needed too much memory: ask for less"}
    return {"columns": rows.columns, "rows": rows.rows, "more": rows.more}


def main() -> None:
    """Read a job, bound this process, answer."""
    job = json.load(sys.stdin)
    _bound(job["seconds"])
    json.dump(run(job), sys.stdout)


if __name__ == "__main__":
    main()
