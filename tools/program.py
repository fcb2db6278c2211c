"""A tool that runs a model's program over the tables and the Python files of the run's folder."""

import ast
import builtins
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pointwork.errors import ToolError
from pointwork.tools import passages, paths, units
from pointwork.tools.catalog import TableInfo, catalog
from pointwork.tools.duck import open_database
from pointwork.tools.sandbox import Limits, run_python
from pointwork.tools.spec import ToolContext, ToolResult, tool
from pointwork.tools.table_loading import quote_name

_PRELUDE = Path(__file__).with_name("program_prelude.py")

# A table with more is for a query.
MAX_ROWS = 20_000
_SHOWN = 20_000

# Python files of the folder that a program may call into: small ones, and not many.
_CODE_BYTES, _CODE_FILES = 50_000, 200

_OPENING = (
    "import sys, datetime, json, math, re, statistics; from collections import Counter, defaultdict; "
    "from datetime import date, timedelta; sys.path.insert(0, '/room'); "
    "from prelude import add, convert, tables, weekday; globals().update(tables()); "
)


# Names that a program may call without a file that defines them: Python's, and those of the opening.
_IMPORTS = (node for node in ast.walk(ast.parse(_OPENING)) if isinstance(node, ast.ImportFrom))
_GIVEN = {*dir(builtins), *(name.name for node in _IMPORTS for name in node.names)}


@tool(labels=["reads-private"], timeout=40.0, call_tokens=400)
def program(context: ToolContext, code: str) -> ToolResult:
    """Run a Python program over the folder's tables, each a list of dicts under its name. Print the answer.

    There besides: add(date, months=…), weekday(date), convert(value, unit, to), functions of the folder's files.

    Args:
        code: the program; print what is wanted

    Raises:
        ToolError: it failed, took too much, a table is too large for it, or this system has no sandbox.
    """
    nodes = _nodes(code)
    tables: list[TableInfo] = []
    cells: dict[str, dict[str, Any]] = {}
    called: dict[str, str] = {}
    if context.root is not None:
        root = paths.root_of(context)
        tables = _named(root, code)
        cells = {info.name: _cells(root, info) for info in tables}
        called = _called(root, nodes)
    given = {"units": units.factors(_units_named(nodes)), "tables": cells}
    files = {"prelude.py": _PRELUDE.read_text("utf-8"), "given.json": json.dumps(given, default=str)}
    opening = _OPENING
    for number, text in enumerate(called.values()):
        files[f"given_{number}.py"] = text
        opening += f"from given_{number} import *; "
    ran = run_python(f"{opening}\n{code}", files=files, limits=Limits(output_bytes=_SHOWN))
    if ran.ended != "ok":
        raise ToolError(f"the program ended with {ran.ended}: {ran.why or _last_line(ran.stderr)}")
    printed = ran.stdout.strip()
    if not printed:
        raise ToolError("the program printed nothing: print the answer")
    evidence = [(info.evidence, f"{info.rows} rows, read by a program") for info in tables]
    evidence += [(f"file:{path}", text) for path, text in called.items()]
    answer = _plain(printed.splitlines()[-1]) if len(printed) <= 200 else ""
    return ToolResult(printed, printed, (*evidence, ("tool:program", printed)), answer)


def _last_line(stderr: str) -> str:
    return (stderr.strip().splitlines() or ["without a word"])[-1][:500]


def _plain(line: str) -> str:
    """A line printed; a number in it without the noise of binary fractions, and a whole one without its ``.0``."""
    line = re.sub(r"-?\d+\.\d{7,}(?![\de])", lambda found: f"{float(found[0]):.10g}", line.strip())
    return re.sub(r"(?<![\w.])(-?\d+)\.0+(?![\w.])", r"\1", line)


def _named(root: Path, code: str) -> list[TableInfo]:
    """The tables that a program names."""
    words = set(re.findall(r"[^\W\d]\w*", code))
    return [info for info in catalog(root) if info.name in words and not info.problem]


def _cells(root: Path, info: TableInfo) -> dict[str, Any]:
    if info.rows > MAX_ROWS:
        raise ToolError(f"table {info.name} has {info.rows} rows, over {MAX_ROWS}: ask for what is needed with sql")
    rows = open_database(root, (info.source,)).query(f"SELECT * FROM {quote_name(info.name)}", MAX_ROWS)  # noqa: S608
    dates = [column.name for column in info.columns if column.kind == "date"]
    return {"columns": rows.columns, "dates": dates, "rows": rows.rows}


def _called(root: Path, nodes: Sequence[ast.AST]) -> dict[str, str]:
    """The folder's Python files, by path, that define what a program calls and does not define itself."""
    calls = {name for name, _ in _calls(nodes)}
    calls -= {node.name for node in nodes if isinstance(node, ast.FunctionDef)} | _GIVEN
    return {path: text for path, text, defined in _modules(root) if calls & defined} if calls else {}


def _units_named(nodes: Sequence[ast.AST]) -> list[str]:
    """The texts that a program gives to ``convert``."""
    conversions = [call for name, call in _calls(nodes) if name == "convert"]
    given = [part for call in conversions for part in [*call.args, *(named.value for named in call.keywords)]]
    return [part.value for part in given if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def _calls(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, ast.Call]]:
    """The calls of functions, by their names."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, node


def _nodes(code: str) -> list[ast.AST]:
    """A program's syntax; nothing where it is none: running it says what is wrong."""
    try:
        return list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError):
        return []


def _modules(root: Path) -> Iterator[tuple[str, str, set[str]]]:
    """(path, text, functions defined) of the Python files below a folder."""
    small = (entry for entry in paths.walk(root) if entry.path.endswith(".py") and entry.size <= _CODE_BYTES)
    for entry in itertools.islice(small, _CODE_FILES):
        try:
            text = passages.decode(paths.read_bytes(root, entry.path), entry.path)
            tree = ast.parse(text)
        except (SyntaxError, ToolError, ValueError):
            continue
        yield entry.path, text, {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
