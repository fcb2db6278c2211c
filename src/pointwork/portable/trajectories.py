"""Whole runs as lines of JSON: everything that the store knows of a run, in one line.

A line is ``{"format": "pointwork.run", "version": 1, "run": {…}, "steps": […], "decisions": […], "outcomes": […],
"accounts": […], "ledger": […], "tool_calls": […], "memory_usage": […]}`` with the columns of the tables as fields.
Left out are serial row ids (the order of the lists stands for them) and the run's id in its rows (``run`` has it).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Table, and_, func, or_, select

from pointwork.portable import canonical
from pointwork.portable.importer import Prepared, check_format
from pointwork.portable.routing_logs import check_decision, check_outcome
from pointwork.portable.rows import Row, Wrong, checked, expect, fields
from pointwork.store import Store, tables
from pointwork.store.writes import rows_of_stored

FORMAT = "pointwork.run"
VERSION = 1

# Runs read at a time: few enough to hold, many enough that their eight queries cost little.
BATCH = 32


@dataclass(frozen=True)
class Part:
    """One list of a line.

    Attributes:
        table: whose rows.
        key: the column by which rows belong to a run, or to a row of ``owner``.
        owner: the part whose ids ``key`` holds; empty: the run.
        order: columns that give the list its order; empty: the serial id does.
    """

    table: Table
    key: str = "run_id"
    owner: str = ""
    order: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def left(self) -> tuple[str, ...]:
        """Columns that the line says elsewhere."""
        return () if self.owner else (self.key,)


# Owners before what belongs to them; the order of the fields of a line, and of insertion.
PARTS = (
    Part(tables.steps),
    Part(tables.decisions, order=("created", "clock", "id")),
    Part(tables.outcomes, key="decision_id", owner="decisions"),
    Part(tables.accounts, order=("id",)),
    Part(tables.ledger, key="account_id", owner="accounts"),
    Part(tables.tool_calls, order=("started", "id")),
    Part(tables.memory_usage),
)


_CHECKS: dict[str, Callable[[Row], None]] = {"decisions": check_decision, "outcomes": check_outcome}


def _chosen(ids: Sequence[str] | None, thread: str | None, since: float | None) -> ColumnElement[bool]:
    runs = tables.runs
    conditions: list[ColumnElement[bool]] = []
    if ids is not None:
        conditions.append(runs.c.id.in_(ids))
    if thread is not None:
        conditions.append(runs.c.thread == thread)
    if since is not None:
        conditions.append(runs.c.created >= since)
    return and_(True, *conditions)


def count_runs(
    store: Store, *, ids: Sequence[str] | None = None, thread: str | None = None, since: float | None = None
) -> int:
    """How many runs ``export_runs`` would give."""
    query = select(func.count().label("n")).select_from(tables.runs).where(_chosen(ids, thread, since))
    row = store.row(query)
    return 0 if row is None else int(row["n"])


def export_runs(
    store: Store, *, ids: Sequence[str] | None = None, thread: str | None = None, since: float | None = None
) -> Iterator[bytes]:
    """Runs as lines, oldest first; all of them, unless narrowed down.

    Memory does not grow with the number of runs. A run that is at work meanwhile is exported as far as it is.

    Args:
        store: to read from.
        ids: only these runs; ids that are not there are left out.
        thread: only runs of this conversation.
        since: only runs begun at this time or later (seconds since the epoch).

    Raises:
        StoreError: the database refused.
    """
    runs = tables.runs
    last: Row | None = None
    while True:
        query = select(runs).where(_chosen(ids, thread, since)).order_by(runs.c.created, runs.c.id).limit(BATCH)
        if last is not None:
            # the first condition is what an index can be searched by
            query = query.where(
                runs.c.created >= last["created"],
                or_(runs.c.created > last["created"], runs.c.id > last["id"]),
            )
        batch = store.rows(query)
        if batch:
            yield from (canonical.dump(value) for value in _assembled(store, batch))
        if len(batch) < BATCH:
            return
        last = batch[-1]


def lines_of(store: Store, ids: Sequence[str]) -> dict[str, bytes]:
    """The lines of a few runs, by id."""
    rows = store.rows(select(tables.runs).where(tables.runs.c.id.in_(ids)))
    return {value["run"]["id"]: canonical.dump(value) for value in _assembled(store, rows)}


def _assembled(store: Store, runs: Sequence[Row]) -> Iterator[Row]:
    """The lines of these runs, as values."""
    # which run a row of each part belongs to, by the row's own id
    belongs: dict[str, dict[str, str]] = {"": {run["id"]: run["id"] for run in runs}}
    parts: dict[str, dict[str, list[Row]]] = {run["id"]: {} for run in runs}
    for part in PARTS:
        owners = belongs[part.owner]
        rows = _rows_of(store, part, list(owners))
        if part.order:
            belongs[part.name] = {row["id"]: owners[row[part.key]] for row in rows}
        for row in rows:
            parts[owners[row[part.key]]].setdefault(part.name, []).append(row)
    for run in runs:
        yield _value(run, parts[run["id"]])


def _rows_of(store: Store, part: Part, owners: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    for some in chunks(owners, 500):
        query = select(part.table).where(part.table.c[part.key].in_(some))
        rows += store.rows(query if part.order else query.order_by(part.table.c.id))
    return rows


def _value(run: Row, parts: Mapping[str, Sequence[Row]]) -> Row:
    """A line, from the rows of a run."""
    value: Row = {"format": FORMAT, "version": VERSION, "run": run}
    for part in PARTS:
        rows = parts.get(part.name, ())
        if part.order:  # sorted here: databases differ in how they compare texts
            rows = sorted(rows, key=lambda row, order=part.order: tuple(row[name] for name in order))
        names = [field.name for field in fields(part.table, part.left)]
        value[part.name] = [{name: row[name] for name in names} for row in rows]
    return value


def chunks(values: Sequence[str], size: int) -> Iterable[Sequence[str]]:
    """A sequence in pieces, as many ids as one query may name."""
    return (values[start : start + size] for start in range(0, len(values), size))


def parsed_run(value: Any) -> Prepared:
    """The rows of a line.

    Raises:
        Wrong: the line is not one of a whole run; says which field, and what is wrong with it.
    """
    line = expect(value, dict, "")
    check_format(line, FORMAT, VERSION)
    unknown = line.keys() - {"format", "version", "run"} - {part.name for part in PARTS}
    if unknown:
        raise Wrong(min(unknown), "is not a part of a run that this version of pointwork knows")
    if "run" not in line:
        raise Wrong("run", "is missing")
    run = checked(tables.runs, line["run"], "run")
    _check_result(run["result"])
    rows: dict[str, list[Row]] = {"runs": [run]}
    for part in PARTS:
        if part.name not in line:
            raise Wrong(part.name, "is missing")
        listed = expect(line[part.name], list, part.name)
        found = [checked(part.table, row, f"{part.name}[{i}]", part.left) for i, row in enumerate(listed)]
        _check_owners(part, found, rows)
        _check_sense(part, found)
        rows[part.name] = found if part.owner else [{**row, part.key: run["id"]} for row in found]
    rows["accounts"] = _parents_first(rows["accounts"])
    rows["tool_writes"] = list(rows_of_stored(rows["tool_calls"]))
    return Prepared(run["id"], rows, lambda: canonical.dump(_value(run, rows)))


def _check_result(result: Row | None) -> None:
    """What every reader of a result takes for granted."""
    kinds: dict[str, type] = {"text": str, "status": str, "plan": dict, "decisions": list, "missing": list}
    for name, kind in kinds.items() if result is not None else ():
        expect((result or {}).get(name), kind, f"run.result.{name}")


def _check_owners(part: Part, found: Sequence[Row], rows: dict[str, list[Row]]) -> None:
    if part.owner:
        owners = {row["id"] for row in rows[part.owner]}
        for i, row in enumerate(found):
            if row[part.key] not in owners:
                raise Wrong(
                    f"{part.name}[{i}].{part.key}", f"is {row[part.key]!r}, which is not among {part.owner}"
                )


def _check_sense(part: Part, found: Sequence[Row]) -> None:
    """What routers and estimates take for granted, as of a routing log."""
    check = _CHECKS.get(part.name)
    if check is None:
        return
    for i, row in enumerate(found):
        try:
            check(row)
        except Wrong as wrong:
            raise Wrong(f"{part.name}[{i}].{wrong.field}", wrong.why) from None


def _parents_first(accounts: list[Row]) -> list[Row]:
    """A budget tree from its root down, as its foreign keys want it."""
    waiting = {row["id"]: row for row in accounts}
    if len(waiting) < len(accounts):
        raise Wrong("accounts", "has an id twice")
    placed: list[Row] = []
    while waiting:
        ready = [row for row in waiting.values() if row["parent_id"] not in waiting]
        if not ready:
            raise Wrong("accounts", f"{min(waiting)!r} is an ancestor of itself")
        for row in ready:
            del waiting[row["id"]]
        placed += ready
    return placed
