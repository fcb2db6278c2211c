"""Tools that were made when none fitted: tested in the sandbox, kept with versions, retired when they fail.

A tool's code defines ``run(**arguments)``; it runs in the sandbox, always, with the standard library alone. Its
cases are pairs of arguments and what ``run`` must return. Code is never run in this process.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import insert, select, update

from pointwork.errors import ToolError, UsageError
from pointwork.store import Store, new_id
from pointwork.store.tables import made_tools
from pointwork.tools.index import ToolIndex
from pointwork.tools.sandbox import Limits, run_python
from pointwork.tools.spec import Tool, ToolResult

LEAST_CASES = 2
# A tool is retired when it has failed so often, and at least this share of its calls.
FAILURES, SHARE = 3, 0.5
LIMITS = Limits(seconds=10, cpu_seconds=8, memory_mb=256)

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
    ) -> Made:
        """Test a tool on its cases, and keep it as the next version of its name.

        Raises:
            UsageError: no valid name, no description, or too few cases.
            ToolError: a case fails; says which.
        """
        if not name.isidentifier() or not description.strip():
            raise UsageError(f"a made tool needs a Python name and a description, not {name!r}")
        if len(cases) < LEAST_CASES:
            raise UsageError(f"tool {name!r}: at least {LEAST_CASES} cases are needed to believe it")
        asked = [dict(arguments) for arguments, _ in cases]
        found = _run(name, code, asked)
        for arguments, (_, wanted), value in zip(asked, cases, found, strict=True):
            if value != json.loads(json.dumps(wanted)):
                raise ToolError(f"tool {name!r} fails a case: run(**{arguments}) gave {value!r}, not {wanted!r}")
        newest = max((made.version for made in self.all() if made.name == name), default=0)
        kept = tuple((dict(arguments), wanted) for arguments, wanted in cases)
        state = "waiting" if self._needs_approval else "live"
        made = Made(new_id(), name, newest + 1, description, input_schema, code, kept, state, run_id)
        row = {
            "id": made.id,
            "name": name,
            "version": made.version,
            "description": description,
            "input_schema": input_schema,
            "code": code,
            "cases": [[arguments, wanted] for arguments, wanted in kept],
            "labels": [],
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
        return [self._tool(made) for made in newest.values()]

    def find(self, request: str, k: int = 3) -> list[Tool]:
        """Live tools that fit a request, best first."""
        tools = self.tools()
        return [hit.tool for hit in ToolIndex(tools).search(request, k=k)] if tools else []

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

    def _tool(self, made: Made) -> Tool:
        def call(**arguments: Any) -> ToolResult:
            try:
                [value] = _run(made.name, made.code, [arguments])
            except ToolError:
                self._count(made, failed=True)
                raise
            self._count(made, failed=False)
            return ToolResult(value, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))

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
