"""Routing logs as lines of JSON: one decision with its outcomes per line. ``docs/logs.md`` lists the fields."""

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import func, or_, select

from pointwork.portable import canonical
from pointwork.portable.conversation import Names
from pointwork.portable.importer import Prepared, check_format
from pointwork.portable.rows import Row, Wrong, checked, expect, named
from pointwork.store import Store, tables

FORMAT = "pointwork.decision"
VERSION = 1
BATCH = 500

# The last time that can be meant, in seconds since 1970; the largest number in a context and in a score (a price
# in a budget of next to nothing is huge).
LATEST = 1e11
MOST = 1e12  # decisions before one
LONGEST = 256  # characters of an arm's name
STATE = 4  # numbers of an arm's state
LARGEST = 1e6
MODES = {"quality_floor": 1.0, "cost_weight": 1e12, "max_usd": 1e12}  # what a request can ask for, at most
FARTHEST = 1e60

IMPORTED = "import:"
"""Routers of logs without features are called so: no router at work takes them for its own."""

# Field of a line -> column, where they differ.
_COLUMNS = {"prompt": "text", "choice": "arm", "time": "created"}
_FIELD_OF = {column: name for name, column in _COLUMNS.items()}
_FIELDS = (
    "id",
    "router",
    "time",
    "clock",
    "run_id",
    "subtask",
    "policy",
    "policy_version",
    "features_version",
    "prompt",
    "context",
    "candidates",
    "choice",
    "propensity",
    "propensities",
    "scores",
)
_OUTCOME_FIELDS = ("time", "quality", "usd", "seconds", "error", "source")
# of an outcome, and how much it can be
_AMOUNTS = (("quality", 1.0), ("usd", math.inf), ("seconds", math.inf))


def count_decisions(store: Store, *, router: str | None = None, since: float | None = None) -> int:
    """How many decisions ``export_decisions`` would give."""
    query = select(func.count().label("n")).select_from(tables.decisions)
    if router is not None:
        query = query.where(tables.decisions.c.router == router)
    if since is not None:
        query = query.where(tables.decisions.c.created >= since)
    row = store.row(query)
    return 0 if row is None else int(row["n"])


def export_decisions(store: Store, *, router: str | None = None, since: float | None = None) -> Iterator[bytes]:
    """Decisions with their outcomes as lines, router by router, in the order they were made.

    Memory does not grow with their number.

    Args:
        store: to read from.
        router: only this router's.
        since: only those made at this time or later (seconds since the epoch).

    Raises:
        StoreError: the database refused.
    """
    table = tables.decisions
    names = [router] if router is not None else _routers(store)
    for name in names:
        last: Row | None = None
        while True:
            query = select(table).where(table.c.router == name).order_by(table.c.clock, table.c.id).limit(BATCH)
            if since is not None:
                query = query.where(table.c.created >= since)
            if last is not None:
                # the first condition is what an index can be searched by
                query = query.where(
                    table.c.clock >= last["clock"],
                    or_(table.c.clock > last["clock"], table.c.id > last["id"]),
                )
            batch = store.rows(query)
            yield from _lines(store, batch).values()
            if len(batch) < BATCH:
                break
            last = batch[-1]


def _routers(store: Store) -> list[str]:
    return sorted(row["router"] for row in store.rows(select(tables.decisions.c.router).distinct()))


def lines_of(store: Store, ids: Sequence[str]) -> dict[str, bytes]:
    """The lines of a few decisions, by id."""
    return _lines(store, store.rows(select(tables.decisions).where(tables.decisions.c.id.in_(ids))))


def _lines(store: Store, decisions: Sequence[Row]) -> dict[str, bytes]:
    table = tables.outcomes
    ids = [row["id"] for row in decisions]
    said: dict[str, list[Row]] = {}
    for row in store.rows(select(table).where(table.c.decision_id.in_(ids)).order_by(table.c.id)) if ids else ():
        said.setdefault(row["decision_id"], []).append(row)
    return {row["id"]: _line(row, said.get(row["id"], ())) for row in decisions}


def _line(decision: Mapping[str, Any], outcomes: Sequence[Mapping[str, Any]]) -> bytes:
    line: Row = {"format": FORMAT, "version": VERSION}
    line |= {name: decision[_COLUMNS.get(name, name)] for name in _FIELDS}
    line["outcomes"] = [{name: row[_COLUMNS.get(name, name)] for name in _OUTCOME_FIELDS} for row in outcomes]
    return canonical.dump(line)


class Reader:
    """Makes rows of lines; fills in what a log of another program does not say.

    Args:
        store: where the lines go: clocks go on from those of the same router.
        router: the name for decisions that have none.
    """

    def __init__(self, store: Store, router: str) -> None:
        self._store, self._router = store, router
        self._names = Names("decision")
        self._clocks: dict[str, int] = {}

    def prepared(self, value: Any) -> Prepared:
        """The rows of a line.

        Raises:
            Wrong: a field is missing, unknown or makes no sense.
        """
        line = dict(cast(Row, expect(value, dict, "")))
        if "format" in line or "version" in line:
            check_format(line, FORMAT, VERSION)
        unknown = line.keys() - {"format", "version", "outcome", "outcomes", *_FIELDS}
        if unknown:
            raise Wrong(min(unknown), "is not a field of a routing log; see docs/logs.md")
        outcomes = _outcomes(line)
        decision = self._decision(line, value)
        rows = [
            checked(
                tables.outcomes,
                {_COLUMNS.get(k, k): v for k, v in outcome.items()}
                | {"decision_id": decision["id"], "created": outcome.get("time", decision["created"])},
                f"outcomes[{i}]",
            )
            for i, outcome in enumerate(outcomes)
        ]
        by_table = {"decisions": [decision], "outcomes": rows}
        # a line without an id is known by what is in it, so it can not differ from what is stored
        again: Callable[[], bytes] | None = (
            (lambda: self._again(line, decision, outcomes, rows)) if "id" in line else None
        )
        return Prepared(decision["id"], by_table, again)

    def _again(self, line: Row, decision: Row, outcomes: Sequence[Row], rows: Sequence[Row]) -> bytes:
        """A line to compare with the store's: what it does not say was filled in anew, and is as it was then."""
        table = tables.decisions
        kept = self._store.row(select(table.c.clock, table.c.created).where(table.c.id == decision["id"])) or {}
        filled = {name: kept[name] for name in kept if _FIELD_OF.get(name, name) not in line}
        created = {**decision, **filled}["created"]
        said = zip(outcomes, rows, strict=True)
        again = [row if "time" in outcome else {**row, "created": created} for outcome, row in said]
        return _line({**decision, **filled}, again)

    def _decision(self, line: Row, value: Any) -> Row:
        for name in ("choice", "propensity"):
            if line.get(name) is None:
                raise Wrong(name, "is missing")
        choice, propensity = expect(line["choice"], str, "choice"), _number(line["propensity"], "propensity", 1)
        propensities = line.get("propensities", {choice: propensity})
        context = line.get("context", {})
        router = expect(line.get("router", self._router), str, "router")
        if not context and not router.startswith(IMPORTED):
            router = IMPORTED + router
        filled = {
            "id": line["id"] if "id" in line else f"dec{self._names.of(value)[:28]}",
            "router": router,
            "created": line.get("time", time.time()),
            "clock": line["clock"] if "clock" in line else self._clock(router),
            "run_id": line.get("run_id"),
            "subtask": line.get("subtask"),
            "policy": line.get("policy", "import"),
            "policy_version": line.get("policy_version", ""),
            "features_version": line.get("features_version", "none"),
            "text": line.get("prompt"),
            "context": context,
            "candidates": line.get("candidates", list(expect(propensities, dict, "propensities"))),
            "arm": choice,
            "propensity": propensity,
            "propensities": propensities,
            "scores": line.get("scores", {}),
        }
        try:
            decision = checked(tables.decisions, filled, "")
            check_decision(decision)
        except Wrong as wrong:
            raise Wrong(_field_of(wrong.field), wrong.why) from None
        return decision

    def _clock(self, router: str) -> int:
        if router not in self._clocks:
            table = tables.decisions
            row = self._store.row(select(func.max(table.c.clock).label("last")).where(table.c.router == router))
            self._clocks[router] = 0 if row is None or row["last"] is None else int(row["last"]) + 1
        self._clocks[router] += 1
        return self._clocks[router] - 1


def check_decision(decision: Row) -> None:
    """Whether a row of decisions makes sense: else estimates from the log are wrong, or a router stumbles over it.

    Raises:
        Wrong: it does not; names the column.
    """
    _check_choice(decision)
    _check_learnable(decision)


def check_outcome(outcome: Row) -> None:
    """Whether a row of outcomes makes sense.

    Raises:
        Wrong: it does not; names the column.
    """
    for name, most in _AMOUNTS:
        if outcome[name] is not None:
            _number(outcome[name], name, most)
    _within(outcome["created"], "created", 0, LATEST)


def _check_learnable(decision: Row) -> None:
    """What a router takes for granted of the decisions of its name: it must not stumble over one when it is opened.

    Raises:
        Wrong: a number beyond all sense, or something else than a number.
    """
    _within(decision["created"], "created", 0, LATEST)
    _within(decision["clock"], "clock", 0, MOST)
    context, scores = cast(Row, decision["context"]), cast(Row, decision["scores"] or {})
    _numbers(context.get("text") or [], "context.text")
    for arm, state in cast(Row, expect(context.get("arms") or {}, dict, "context.arms")).items():
        field = f"context.arms.{arm}"
        _numbers(state, field)
        if len(state) != STATE:
            raise Wrong(field, f"has {len(state)} numbers, not {STATE}")
    ask = cast(Row, expect(context.get("ask") or {}, dict, "context.ask"))
    for mode, value in ask.items():
        if mode not in MODES:
            raise Wrong(f"context.ask.{mode}", f"is not one of {', '.join(MODES)}")
        _within(value, f"context.ask.{mode}", 0, MODES[mode])
    if ask.keys() >= {"quality_floor", "cost_weight"}:
        raise Wrong("context.ask", "has a quality_floor and a cost_weight, which exclude each other")
    for arm, said in scores.items():
        field = f"scores.{arm}"
        if arm not in decision["propensities"]:
            raise Wrong(field, "is of an arm that has no propensity")
        for name, value in cast(Row, expect(said, dict, field)).items():
            if name != "health":
                _within(value, f"{field}.{name}", 0 if name.endswith("_usd_per_mtok") else -FARTHEST, FARTHEST)
        missing = [name for name in ("price", "cost") if "score" in said and name not in said]
        if missing:
            raise Wrong(f"{field}.{missing[0]}", "is missing")


def _numbers(value: Any, field: str) -> None:
    for i, number in enumerate(cast(list[Any], expect(value, list, field))):
        _within(number, f"{field}[{i}]", -LARGEST, LARGEST)


def _within(value: Any, field: str, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Wrong(field, f"must be a number, not {named(value)}")
    if not least <= value <= most:
        hint = ": are these milliseconds?" if most == LATEST and value > most else ""
        raise Wrong(field, f"must be from {least:g} to {most:g}, not {str(value)[:40]}{hint}")


def _field_of(column: str) -> str:
    name = column.removeprefix(".")
    return _FIELD_OF.get(name, name)


def _check_choice(decision: Row) -> None:
    """What every estimate from logs rests on."""
    _number(decision["propensity"], "propensity", 1)
    candidates = cast(list[Any], decision["candidates"])
    for i, name in enumerate(candidates):
        expect(name, str, f"candidates[{i}]")
        if not name.strip() or len(name) > LONGEST:
            raise Wrong(f"candidates[{i}]", f"must be a name of 1 to {LONGEST} characters, not {name[:40]!r}")
    if decision["arm"] not in candidates:
        raise Wrong("arm", f"is {decision['arm']!r}, which is not among the candidates")
    if decision["propensity"] == 0:
        raise Wrong("propensity", "is 0, yet the choice was made: it must be above 0")
    propensities = cast(dict[str, Any], decision["propensities"])
    for name, value in propensities.items():
        if name not in candidates:
            raise Wrong(f"propensities.{name}", "is not among the candidates")
        _number(value, f"propensities.{name}", 1)
    if abs(propensities.get(decision["arm"], decision["propensity"]) - decision["propensity"]) > 1e-9:
        raise Wrong("propensities", "give the choice another propensity than the field propensity")
    total = sum({**propensities, decision["arm"]: decision["propensity"]}.values())
    if total > 1 + 1e-6:
        raise Wrong("propensities", f"sum up to {total:g}, more than 1")


def _outcomes(line: Row) -> list[Row]:
    if "outcome" in line and "outcomes" in line:
        raise Wrong("outcome", "and outcomes are both there: give one of them")
    if "outcome" in line:
        given = line["outcome"]
        simple = isinstance(given, int | float)
        return [] if given is None else [_outcome({"quality": given} if simple else given, "outcome")]
    listed = expect(line.get("outcomes") or [], list, "outcomes")
    return [_outcome(value, f"outcomes[{i}]") for i, value in enumerate(listed)]


def _outcome(value: Any, field: str) -> Row:
    outcome = dict(cast(Row, expect(value, dict, field)))
    unknown = outcome.keys() - set(_OUTCOME_FIELDS)
    if unknown:
        raise Wrong(f"{field}.{min(unknown)}", "is not a field of an outcome; see docs/logs.md")
    for name, most in _AMOUNTS:
        if outcome.get(name) is not None:
            outcome[name] = _number(outcome[name], f"{field}.{name}", most)
    if outcome.get("time") is not None:
        _within(outcome["time"], f"{field}.time", 0, LATEST)
    return {"source": "import", **outcome}


def _number(value: Any, field: str, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Wrong(field, f"must be a number, not {value!r}")
    if not 0 <= value <= min(most, sys.float_info.max):
        raise Wrong(
            field, f"must be {'from 0 to 1' if most == 1 else 'finite and not negative'}, not {str(value)[:40]}"
        )
    return float(value)
