"""Facts: subject, relation, value, from when to when, and who says so.

What is stored is what was stated, each statement a row with its sources; nothing is ever overwritten. The interval
in which a value held is worked out when it is asked for: it ends where a newer value of the same subject and
relation begins. So the order in which statements come does not matter, two writers can not spoil each other's
intervals, and where a statement is deleted the one before it holds again.

Who is trusted less never closes what who is trusted more has said (user, then agent, then tool and web): both are
kept, and shown as disputed. Statements of equal standing from the same moment dispute each other too.
"""

import hashlib
import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select

from pointwork.errors import UsageError
from pointwork.memory.dates import to_epoch
from pointwork.memory.episodic import MAX_LABEL, check_label, of_source
from pointwork.memory.extracting import IMPLIED, Stated, extract
from pointwork.memory.items import UNTRUSTED, check_trust
from pointwork.memory.turns import take_turn
from pointwork.store import Store
from pointwork.store.tables import fact_sources, facts, memory_items
from pointwork.text import tokenize

RANK = {"user": 2, "agent": 1, "tool": 0, "web": 0}

_LONGEST = 500  # characters of a subject, relation or value
_BATCH = 400  # rows of a query with a list in it; databases limit the number of parameters
_FOUND = 500  # statements that are looked at for one question


@dataclass(frozen=True, slots=True)
class Fact:
    """A value and when it held.

    Attributes:
        id: of its first statement.
        subject, relation, value: as stated last.
        valid_from: seconds since the epoch; None: it is not known since when.
        valid_to: one past the end; None: it holds still, as far as is known.
        sources: who says so: ids of memory's items, or labels as given.
        trust: of the most trusted of them.
        disputed: another value of the same subject and relation is held to be true in the same time.
    """

    id: str
    subject: str
    relation: str
    value: str
    valid_from: float | None
    valid_to: float | None
    sources: tuple[str, ...]
    trust: str
    disputed: bool = False

    def holds(self, start: float, end: float | None = None) -> bool:
        """Whether it held at a moment, or (with ``end``) at any in a stretch of time."""
        last = start if end is None else end
        begun = self.valid_from is None or self.valid_from <= start or self.valid_from < last
        return begun and (self.valid_to is None or self.valid_to > start)


class Facts:
    """The facts of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        asked = (store.among(column, "asked") for column in (facts.c.head, facts.c.tail))
        near = select(facts.c.key, facts.c.subject, facts.c.relation).where(or_(*asked))
        self._near = near.distinct().limit(_FOUND)  # what every recall asks, made once

    def add(
        self,
        subject: str,
        relation: str,
        value: str,
        valid_from: float | str | datetime | None = None,
        valid_to: float | str | datetime | None = None,
        sources: Sequence[str] | str = ("user",),
        trust: str = "user",
    ) -> str:
        """State a fact; a value that held before ends where this one begins. The same again changes nothing.

        Args:
            subject, relation, value: ``"gate", "code", "4711"``; case, endings and "the" make no difference.
            valid_from: since when, as ``Memory.add`` takes times. None: from now on; with ``valid_to``: not known.
            valid_to: until when; None: until something newer is stated.
            sources: ids of memory's items, or labels. A source that is deleted takes the fact with it.
            trust: of who says so: ``user``, ``agent``, ``tool`` or ``web``.

        Returns:
            The statement's id.

        Raises:
            UsageError: a part is missing or too long, or it ends before it begins; nothing was stored.
        """
        begins, ends = to_epoch(valid_from), to_epoch(valid_to)
        if begins is None and ends is None:
            begins = clock.time()
        if begins is not None and ends is not None and ends <= begins:
            raise UsageError(f"valid_from={valid_from!r} must be before valid_to={valid_to!r}")
        named = tuple(dict.fromkeys([sources] if isinstance(sources, str) else sources))
        if not named or not all(named):
            raise UsageError(f"a fact needs sources; not {list(named)!r}")
        for source in named:
            check_label("sources", source, MAX_LABEL)
        row = statement(Stated(subject, relation, value, begins, ends), check_trust(trust))
        with self._store.write() as connection:
            take_turn(connection)
            _insert(connection, [(row, named)])
        return row["id"]

    def history(self, subject: str, relation: str | None = None) -> list[Fact]:
        """All values that a subject had, the oldest first: of one relation, or of each in turn."""
        if relation is not None:
            condition = facts.c.key == _key(subject, relation)
        else:
            condition = facts.c.key.startswith(f"{_normal(subject)}|", autoescape=True)
        return [fact for group in self._resolved(select(facts).where(condition)).values() for fact in group]

    def at(self, subject: str, relation: str, when: float | str | datetime | None = None) -> list[Fact]:
        """What held at a moment (None: now): one value, or those that are disputed, the most trusted first."""
        moment = to_epoch(when)
        moment = clock.time() if moment is None else moment
        held = [fact for fact in self.history(subject, relation) if fact.holds(moment)]
        return sorted(held, key=lambda fact: -RANK[fact.trust])

    def all(self) -> list[Fact]:
        """All facts, by subject and relation."""
        return [fact for group in self._resolved(select(facts)).values() for fact in group]

    def named(self, tokens: Iterable[str], wanted: Callable[[str, str], bool]) -> list[list[Fact]]:
        """The histories of what ends in one of some tokens, subject or relation, and is ``wanted`` by these two."""
        asked = sorted(set(tokens))[:_BATCH]
        if not asked:
            return []
        rows = self._store.rows(self._near, {"asked": asked})
        keys = list({row["key"] for row in rows if wanted(row["subject"], row["relation"])})[:_BATCH]
        return list(self._resolved(select(facts).where(facts.c.key.in_(keys))).values()) if keys else []

    def forget(self, source: str) -> int:
        """Delete what a source and its parts alone say, and them from the others; returns how many went."""
        label = fact_sources.c.source
        with self._store.write() as connection:
            parts = [row[0] for row in connection.execute(select(label).where(of_source(label, source)).distinct())]
            return forget_sources(connection, parts)

    def extract(self) -> int:
        """Take in what the items of memory state, where it is not known: for what was added by an older package.

        Returns:
            How many statements are new.
        """
        count, last = self._count(), 0
        while True:
            items = select(memory_items).where(memory_items.c.serial > last, memory_items.c.parent_id.is_(None))
            rows = self._store.rows(items.order_by(memory_items.c.serial).limit(1000))
            if not rows:
                return self._count() - count
            last = rows[-1]["serial"]
            with self._store.write() as connection:
                take_turn(connection)
                keep_stated(connection, rows)

    def _count(self) -> int:
        found = self._store.row(select(func.count().label("n")).select_from(facts))
        return 0 if found is None else int(found["n"])

    def _resolved(self, query: Any) -> dict[str, list[Fact]]:
        """Key -> its facts, oldest first."""
        rows = self._store.rows(query.order_by(facts.c.key))
        sources: dict[str, list[str]] = {}
        ids = [row["id"] for row in rows]
        for at in range(0, len(ids), _BATCH):
            some = select(fact_sources).where(fact_sources.c.fact_id.in_(ids[at : at + _BATCH]))
            for row in self._store.rows(some.order_by(fact_sources.c.source)):
                sources.setdefault(row["fact_id"], []).append(row["source"])
        by_key: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            by_key.setdefault(row["key"], []).append(row)
        return {key: resolve(group, sources) for key, group in by_key.items()}


def resolve(statements: Sequence[Mapping[str, Any]], sources: Mapping[str, Sequence[str]]) -> list[Fact]:
    """Statements of one subject and relation as facts with the intervals that follow, the oldest first."""
    known = [
        Fact(
            row["id"], row["subject"], row["relation"], row["value"], row["valid_from"],
            _end(row, statements), tuple(sources.get(row["id"], ())), row["trust"],
        )
        for row in sorted(statements, key=lambda row: (_begin(row), row["id"]))
    ]  # fmt: skip
    merged: list[Fact] = []
    for fact in known:
        for number, other in enumerate(merged):
            if _same(fact, other) and _meet(fact, other):
                merged[number] = _joined(other, fact)
                break
        else:
            merged.append(fact)
    return [replace(fact, disputed=any(_disputes(other, fact) for other in merged)) for fact in merged]


def keep_stated(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Keep what rows of memory state, in the transaction that stores them. Chunks repeat their whole: left out."""
    found: list[tuple[dict[str, Any], tuple[str, ...]]] = []
    for row in rows:
        if row["parent_id"] is not None:
            continue
        seen = row["time"] if row["time"] is not None else row["created"]
        for stated in extract(row["text"], seen=seen, speaker=row["speaker"], trust=row["trust"]):
            begins = stated.valid_from
            if begins is None and (stated.valid_to is None or stated.valid_to > seen):
                begins = seen
            if begins is not None and stated.valid_to is not None and begins >= stated.valid_to:
                continue
            found.append((statement(replace(stated, valid_from=begins), row["trust"]), (row["id"],)))
    if found:
        _insert(connection, found)


def forget_sources(connection: Connection, sources: Sequence[str]) -> int:
    """Delete what some sources alone say, and them from the others; returns how many statements went."""
    gone = 0
    for at in range(0, len(sources), _BATCH):
        some = list(sources[at : at + _BATCH])
        touched = select(fact_sources.c.fact_id).where(fact_sources.c.source.in_(some)).distinct()
        ids = [row[0] for row in connection.execute(touched)]
        connection.execute(delete(fact_sources).where(fact_sources.c.source.in_(some)))
        for part in range(0, len(ids), _BATCH):
            left = select(fact_sources.c.fact_id).where(fact_sources.c.fact_id == facts.c.id)
            alone = delete(facts).where(facts.c.id.in_(ids[part : part + _BATCH]), ~left.exists())
            gone += connection.execute(alone).rowcount
    return gone


def _insert(connection: Connection, given: Sequence[tuple[dict[str, Any], tuple[str, ...]]]) -> None:
    """Insert statements and their sources; those that are there already stay as they are."""
    rows = {row["id"]: row for row, _ in given}
    pairs = dict.fromkeys((row["id"], source) for row, named in given for source in named)
    ids = list(rows)
    for at in range(0, len(ids), _BATCH):
        some = ids[at : at + _BATCH]
        there = {row[0] for row in connection.execute(select(facts.c.id).where(facts.c.id.in_(some)))}
        known = select(fact_sources.c.fact_id, fact_sources.c.source).where(fact_sources.c.fact_id.in_(there))
        said = {(row[0], row[1]) for row in connection.execute(known)} if there else set[tuple[str, str]]()
        fresh = [rows[number] for number in some if number not in there]
        if fresh:
            connection.execute(insert(facts), fresh)
        wanted = set(some)
        named = [pair for pair in pairs if pair[0] in wanted and pair not in said]
        if named:
            connection.execute(insert(fact_sources), [{"fact_id": f, "source": s} for f, s in named])


def statement(stated: Stated, trust: str) -> dict[str, Any]:
    """The row of a statement.

    Raises:
        UsageError: a part can not be stored.
    """
    parts = {"subject": stated.subject, "relation": stated.relation, "value": stated.value}
    for name, text in parts.items():
        if not check_label(name, text, _LONGEST) or not text.strip():
            raise UsageError(f"{name}={text!r}: a fact's {name} is a text of 1 to {_LONGEST} characters")
    key = _key(stated.subject, stated.relation)
    said = "\x1f".join(map(str, (key, _normal(stated.value), stated.valid_from, stated.valid_to, trust)))
    about = (tokenize(stated.relation) or [""]) if stated.relation.lower() not in IMPLIED else [""]
    return {
        "id": "f" + hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:24],
        **{name: " ".join(text.split()) for name, text in parts.items()},
        "key": key,
        "head": (tokenize(stated.subject) or [""])[-1][:64],
        "tail": about[-1][:64],
        "valid_from": stated.valid_from,
        "valid_to": stated.valid_to,
        "trust": trust,
        "created": clock.time(),
    }


def _normal(text: str) -> str:
    """A text as two that mean the same are alike: stems, no small words."""
    words = tokenize(text) or tokenize(text, stop=False) or [" ".join(text.lower().split())]
    normal = " ".join(words).replace("|", "/")
    return normal if len(normal) <= 100 else f"{normal[:60]} {hashlib.sha256(normal.encode()).hexdigest()[:32]}"


def _key(subject: str, relation: str) -> str:
    return f"{_normal(subject)}|{_normal(relation)}"


def _begin(row: Mapping[str, Any]) -> float:
    return float("-inf") if row["valid_from"] is None else row["valid_from"]


def _end(row: Mapping[str, Any], all_: Sequence[Mapping[str, Any]]) -> float | None:
    """When a statement ends: as stated, or where a newer one with another value and no less trust begins."""
    if row["valid_from"] is None:  # only its end is known
        return row["valid_to"]
    ends = [
        _begin(other)
        for other in all_
        if _begin(other) > _begin(row)
        and RANK[other["trust"]] >= RANK[row["trust"]]
        and _normal(other["value"]) != _normal(row["value"])
    ]
    if row["valid_to"] is not None:
        ends.append(row["valid_to"])
    return min(ends, default=None)


def _same(one: Fact, other: Fact) -> bool:
    alike = _normal(one.value) == _normal(other.value)
    return alike and (one.trust in UNTRUSTED) == (other.trust in UNTRUSTED)


def _meet(one: Fact, other: Fact) -> bool:
    """Whether two intervals overlap or touch."""
    first, second = (one, other) if _from(one) <= _from(other) else (other, one)
    return _to(first) >= _from(second)


def _joined(one: Fact, other: Fact) -> Fact:
    end = max(_to(one), _to(other))
    return replace(
        one,
        value=other.value,
        valid_from=min((fact.valid_from for fact in (one, other) if fact.valid_from is not None), default=None),
        valid_to=None if end == float("inf") else end,
        sources=tuple(dict.fromkeys([*one.sources, *other.sources])),
        trust=max(one.trust, other.trust, key=lambda trust: RANK[trust]),
    )


def _disputes(other: Fact, fact: Fact) -> bool:
    """Whether one fact speaks against another; outsiders do not against what is trusted."""
    if _normal(other.value) == _normal(fact.value) or (other.trust in UNTRUSTED and fact.trust not in UNTRUSTED):
        return False
    return _from(other) < _to(fact) and _from(fact) < _to(other)


def _from(fact: Fact) -> float:
    return float("-inf") if fact.valid_from is None else fact.valid_from


def _to(fact: Fact) -> float:
    return float("inf") if fact.valid_to is None else fact.valid_to
