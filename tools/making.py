"""Tools that were made when none fitted: tested in the sandbox, kept with versions, retired when they fail.

A tool's code defines ``run(**arguments)``; it runs in the sandbox, always, with the standard library alone. Its
cases are pairs of arguments and what ``run`` must return. Code is never run in this process.
"""

import ast
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import insert, select, update

from pointwork.errors import ToolDenied, ToolError, UsageError
from pointwork.store import Store, new_id
from pointwork.store.tables import made_tools
from pointwork.tools.index import ToolIndex
from pointwork.tools.sandbox import Limits, run_python
from pointwork.tools.spec import Label, Tool, ToolContext, ToolResult

MAKE = "make_tool"
LEAST_CASES = 2
# A tool is retired when it has failed so often, and at least this share of its calls.
FAILURES, SHARE = 3, 0.5
LIMITS = Limits(seconds=10, cpu_seconds=8, memory_mb=256)

# What code that imports or calls these would do outside the sandbox.
_REACHES: dict[Label, frozenset[str]] = {
    "egress": frozenset(["socket", "ssl", "http", "urllib", "ftplib", "smtplib", "asyncio", "webbrowser"]),
    "reads-private": frozenset(["os", "pathlib", "glob", "shutil", "sqlite3", "tempfile", "open", "fileinput"]),
    "destructive": frozenset(
        ["subprocess", "ctypes", "signal", "multiprocessing", "exec", "eval", "compile", "__import__", "importlib"]
    ),
}

_MAIN = """\
import json, made
given = json.loads(open("arguments.json", encoding="utf-8").read())
print("\\n" + json.dumps([made.run(**each) for each in given]))
"""


@dataclass(frozen=True)
class Made:
    """A tool that was made.

    Attributes:
        name, version, description, input_schema, code: what it is.
        cases: (arguments, result) pairs that it passed.
        state: ``waiting`` (for a person's agreement), ``live`` or ``retired``.
        run_id: of the run that made it.
        calls, failures: since then.
        why: it was retired.
    """

    id: str
    name: str
    version: int
    description: str
    input_schema: dict[str, Any]
    code: str
    cases: tuple[tuple[dict[str, Any], Any], ...]
    state: str
    run_id: str | None = None
    calls: int = 0
    failures: int = 0
    why: str | None = None

    @property
    def success_rate(self) -> float:
        """The share of calls that did not fail; 1 before the first."""
        return 1.0 if not self.calls else 1 - self.failures / self.calls


class Manager:
    """Makes, keeps, finds and retires tools.

    Args:
        store: where they are kept.
        needs_approval: whether a new tool waits for a person. In the sandbox a tool can compute and nothing else,
            so the default is that it need not.
    """

    def __init__(self, store: Store, *, needs_approval: bool = False) -> None:
        self._store, self._needs_approval = store, needs_approval

    def make(
        self,
        name: str,
        description: str,
        input_schema: dict[str, Any],
        code: str,
        cases: Sequence[tuple[Mapping[str, Any], Any]],
        *,
        run_id: str | None = None,
        needs_approval: bool = False,
    ) -> Made:
        """Test a tool on its cases, and keep it as the next version of its name; the same code again is no new one.

        It waits for a person if the manager or ``needs_approval`` says so, or if its code wants more than to
        compute (``wants``).

        Raises:
            UsageError: no valid name, no description, no valid Python, or too few cases.
            ToolError: a case fails; says which.
        """
        if not name.isidentifier() or not description.strip():
            raise UsageError(f"a made tool needs a Python name and a description, not {name!r}")
        if len({json.dumps(dict(arguments), sort_keys=True) for arguments, _ in cases}) < LEAST_CASES:
            raise UsageError(f"tool {name!r}: at least {LEAST_CASES} cases, all different, are needed")
        labels = wants(name, code)
        earlier = [made for made in self.all() if made.name == name]
        same = next((made for made in earlier if made.code == code and made.state != "retired"), None)
        if same is not None:
            return same
        asked = [dict(arguments) for arguments, _ in cases]
        found = _run(name, code, asked)
        for arguments, (_, wanted), value in zip(asked, cases, found, strict=True):
            if not _same(value, wanted):
                raise ToolError(f"tool {name!r} fails a case: run(**{arguments}) gave {value!r}, not {wanted!r}")
        newest = max((made.version for made in earlier), default=0)
        kept = tuple((dict(arguments), wanted) for arguments, wanted in cases)
        state = "waiting" if self._needs_approval or needs_approval or labels else "live"
        made = Made(new_id(), name, newest + 1, description, input_schema, code, kept, state, run_id)
        row = {
            "id": made.id,
            "name": name,
            "version": made.version,
            "description": description,
            "input_schema": input_schema,
            "code": code,
            "cases": [[arguments, wanted] for arguments, wanted in kept],
            "labels": sorted(labels),
            "state": state,
            "run_id": run_id,
            "calls": 0,
            "failures": 0,
            "created": time.time(),
        }
        with self._store.write() as connection:
            connection.execute(insert(made_tools), row)
        return made

    def all(self) -> list[Made]:
        """All versions of all tools, oldest first."""
        rows = self._store.rows(select(made_tools).order_by(made_tools.c.created, made_tools.c.version))
        names = [name for name in Made.__dataclass_fields__ if name != "cases"]
        return [
            Made(**{name: row[name] for name in names}, cases=tuple((case[0], case[1]) for case in row["cases"]))
            for row in rows
        ]

    def tools(self) -> list[Tool]:
        """The live tools, each in its newest live version."""
        newest = {made.name: made for made in self.all() if made.state == "live"}
        return [self.tool(made) for made in newest.values()]

    def find(self, request: str, k: int = 3) -> list[Tool]:
        """Live tools that fit a request, best first."""
        tools = self.tools()
        # a few tools, looked through anew each time: not worth an encoder's second
        return [hit.tool for hit in ToolIndex(tools, embedder="static").search(request, k=k)] if tools else []

    def approve(self, name: str) -> None:
        """A person agrees to what waits under a name."""
        self._set((made_tools.c.name == name) & (made_tools.c.state == "waiting"), state="live")

    def retire(self, name: str, why: str) -> None:
        """Take all versions of a tool out of use; they stay in the store."""
        self._set((made_tools.c.name == name) & (made_tools.c.state != "retired"), state="retired", why=why)

    def _set(self, where: Any, **values: Any) -> None:
        with self._store.write() as connection:
            if connection.execute(update(made_tools).where(where).values(values)).rowcount == 0:
                raise UsageError("there is no such tool to change")

    def call(self, made: Made, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a made tool in the sandbox, and count whether it worked.

        Raises:
            ToolError: it failed; it may be retired by that.
        """
        try:
            [value] = _run(made.name, made.code, [arguments])
        except ToolError:
            self._count(made, failed=True)
            raise
        self._count(made, failed=False)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return ToolResult(value, text, answer=text if len(text) <= 200 else "")

    def tool(self, made: Made) -> Tool:
        """A made tool as one that can be called."""

        def call(**arguments: Any) -> ToolResult:
            return self.call(made, arguments)

        return Tool(made.name, made.description, made.input_schema, call, timeout=LIMITS.seconds + 10)

    def _count(self, made: Made, *, failed: bool) -> None:
        mine = made_tools.c.id == made.id
        added = {"calls": made_tools.c.calls + 1, "failures": made_tools.c.failures + int(failed)}
        with self._store.write() as connection:
            connection.execute(update(made_tools).where(mine).values(added))
        row = self._store.row(select(made_tools.c.calls, made_tools.c.failures).where(mine))
        if failed and row is not None:
            now = replace(made, calls=row["calls"], failures=row["failures"])
            if now.failures >= FAILURES and now.success_rate <= 1 - SHARE:
                why = f"{now.failures} of {now.calls} calls failed"
                self._set((made_tools.c.id == made.id) & (made_tools.c.state == "live"), state="retired", why=why)


def _same(value: Any, wanted: Any) -> bool:
    """Whether a result is the one of a case; numbers to nine digits."""
    wanted = json.loads(json.dumps(wanted))
    if isinstance(value, float) and isinstance(wanted, int | float):
        return abs(value - wanted) <= 1e-9 * max(1.0, abs(wanted))
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def wants(name: str, code: str) -> frozenset[Label]:
    """What code would like to reach beyond computing, by what it imports and calls.

    The sandbox lets it reach nothing of that; who agrees to such a tool should know that it tries.

    Raises:
        UsageError: it is no Python, or does not define ``run``.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"tool {name!r}: the code is no Python: {error}") from error
    if not any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in tree.body):
        raise UsageError(f"tool {name!r}: the code must define run(...)")
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            used |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            used.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            used.add(node.func.id)
    return frozenset(label for label, names in _REACHES.items() if used & names)


_PARAMETER = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,30}$"},
        "type": {"enum": ["string", "number", "integer", "boolean", "array", "object"]},
        "about": {"type": "string", "maxLength": 120},
    },
    "required": ["name", "type"],
    "additionalProperties": False,
}
_CASE = {
    "type": "object",
    "properties": {"arguments": {"type": "object"}, "result": {}},
    "required": ["arguments", "result"],
    "additionalProperties": False,
}
MAKE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z][a-z0-9_]{2,40}$", "description": "what the tool does"},
        "description": {"type": "string", "maxLength": 300, "description": "for whoever looks for such a tool"},
        "parameters": {"type": "array", "items": _PARAMETER, "minItems": 1, "maxItems": 8},
        "code": {"type": "string", "description": "Python that defines run(...), standard library only"},
        "cases": {"type": "array", "items": _CASE, "minItems": LEAST_CASES, "maxItems": 8},
        "arguments": {"type": "object", "description": "what to call it with now"},
    },
    "required": ["name", "description", "parameters", "code", "cases", "arguments"],
    "additionalProperties": False,
}


def make_tool(manager: Manager, *, approve: bool = False) -> Tool:
    """The tool that makes tools: it tests one on its cases, keeps it, and calls it.

    Args:
        manager: keeps them.
        approve: a person is asked before each.
    """

    def make(
        name: str,
        description: str,
        parameters: list[dict[str, Any]],
        code: str,
        cases: list[dict[str, Any]],
        arguments: dict[str, Any],
        context: ToolContext,
    ) -> ToolResult:
        properties = {p["name"]: {"type": p["type"], "description": p.get("about", "")} for p in parameters}
        schema = {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
        pairs = [(case["arguments"], case["result"]) for case in cases]
        try:
            made = manager.make(
                name,
                description,
                schema,
                code,
                pairs,
                run_id=context.run_id or None,
                needs_approval=context.tainted and not approve,
            )
        except UsageError as error:  # the model's mistake, that it may mend
            raise ToolError(str(error)) from error
        if made.state == "waiting" and approve:  # the person who was asked has seen its code
            manager.approve(name)
        elif made.state == "waiting":
            wanted = (
                ", ".join(sorted(wants(name, code))) or "it was written after private or untrusted text was read"
            )
            raise ToolDenied(
                f"tool {name!r} passed its cases and waits for a person's agreement ({wanted}): look at it with "
                f"'pointwork tools export {name}', then 'pointwork tools approve made {name}'"
            )
        return manager.call(made, arguments)

    return Tool(
        MAKE,
        "Write a tool where none fits: it is tested on its cases, kept for later, and called with the arguments.",
        MAKE_SCHEMA,
        make,
        timeout=2 * LIMITS.seconds + 10,
        takes_key=True,
        needs_approval=approve,
        call_tokens=900,
        context_parameter="context",
    )


def export_python(made: Made) -> str:
    """A made tool as a plain Python file, with its cases as a check at the end."""
    cases = "\n".join(f"    assert run(**{arguments!r}) == {wanted!r}" for arguments, wanted in made.cases)
    about = made.description.replace('"""', "'''")
    return f'"""{about}"""\n\n{made.code.strip()}\n\n\nif __name__ == "__main__":\n{cases}\n    print("ok")\n'


def _run(name: str, code: str, asked: Sequence[Mapping[str, Any]]) -> list[Any]:
    files = {"made.py": code, "arguments.json": json.dumps(list(asked))}
    ran = run_python(_MAIN.replace("import json, made", _IMPORT), files=files, limits=LIMITS)
    if ran.ended != "ok":
        raise ToolError(f"tool {name!r} failed ({ran.ended}): {ran.why or ran.stderr.strip()[-800:]}")
    try:
        values: list[Any] = json.loads(ran.stdout.rstrip().rsplit("\n", 1)[-1])
    except ValueError as error:
        raise ToolError(f"tool {name!r} gave back what is no JSON") from error
    return values


# -I keeps the folder of the program out of the search path
_IMPORT = "import json, sys; sys.path.insert(0, '/room'); import made"
