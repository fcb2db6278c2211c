"""The playbook: short bullets of advice, changed one by one, never rewritten whole (after ACE).

A bullet is added, voted for or against, merged with another, retired. It knows where it came from. What outsiders
wrote (trust ``tool`` or ``web``) or what reads like an order by anybody but the user can not become a bullet: it
waits, in state ``pending``, until the user approves it, and no agent sees it before.
"""

import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from pointwork.embedding import Embedder, default_embedder
from pointwork.errors import UsageError
from pointwork.memory.items import UNTRUSTED, check_trust, part_of
from pointwork.memory.suspicion import gives_orders
from pointwork.store import Store, new_id
from pointwork.store.tables import playbook as table
from pointwork.text import count_tokens_estimate, tokenize

LIVE, PENDING, RETIRED = "live", "pending", "retired"
_SAME = 0.93  # cosine from which two bullets of a section say the same
_LONGEST = 400  # characters: a bullet is a sentence or two
_HARM = 2  # votes against, beyond those for it, that retire a bullet
PROOF = "replay: "  # begins what stands among a note's sources and is none: how it went without and with it
PREAMBLE = "Advice from earlier runs; where it comes from stands in brackets:"


@dataclass(frozen=True, slots=True)
class Bullet:
    """A piece of advice.

    Attributes:
        id: for votes and merges.
        section: what it is about: ``tables``, ``mistakes``, …
        text: a sentence or two.
        helpful, harmful: votes so far.
        sources: where it came from, in the callers' own terms.
        state: ``live``, ``pending`` (waits for approval) or ``retired``.
    """

    id: str
    section: str
    text: str
    helpful: int
    harmful: int
    sources: tuple[str, ...]
    state: str

    @property
    def worth(self) -> float:
        """The share of helpful votes, one of each kind counted before the first; 0 to 1."""
        return (self.helpful + 1) / (self.helpful + self.harmful + 2)


class Playbook:
    """The bullets of one store."""

    def __init__(self, store: Store, embedder: Embedder | None = None) -> None:
        self._store = store
        self._embedder = embedder or default_embedder()

    def add(self, section: str, text: str, *, sources: Sequence[str], trust: str = "agent") -> str:
        """Add a bullet, or vote for the one that says the same already; returns its id.

        Args:
            section: what it is about.
            text: a sentence or two.
            sources: where it comes from; at least one.
            trust: who wrote it. ``tool`` and ``web`` wait for approval, and so does what gives orders.

        Raises:
            UsageError: an empty or long text, or no source.
        """
        text = " ".join(text.split())
        if not text or len(text) > _LONGEST or not section.strip() or not sources:
            raise UsageError(
                f"a bullet needs a section, a source and 1 to {_LONGEST} characters: section={section!r}, "
                f"{len(text)} characters, sources={list(sources)}"
            )
        safe = check_trust(trust) not in UNTRUSTED and (trust == "user" or not gives_orders(text))
        state = LIVE if safe else PENDING
        for bullet, likeness in self._near(text, [b for b in self.bullets(section) if b.state == state]):
            if likeness >= _SAME:
                self._change(bullet.id, lambda b: {"helpful": b.helpful + 1, "sources": _union(b.sources, sources)})
                return bullet.id
        bullet = Bullet(new_id(), section.strip(), text, 0, 0, tuple(dict.fromkeys(sources)), state)
        with self._store.write() as connection:
            _insert(connection, bullet)
        return bullet.id

    def take(self, bullets: Sequence[Bullet]) -> int:
        """Take over bullets of another playbook as they are, votes, sources and state; returns how many are new."""
        there = {bullet.id for bullet in self.bullets()}
        new = [bullet for bullet in bullets if bullet.id not in there]
        with self._store.write() as connection:
            for bullet in new:
                _insert(connection, bullet)
        return len(new)

    def approve(self, bullet_id: str) -> None:
        """Make a pending bullet live: the user has read it."""

        def approved(bullet: Bullet) -> dict[str, Any]:
            if bullet.state != PENDING:
                raise UsageError(f"bullet {bullet_id} does not wait for approval")
            return {"state": LIVE}

        self._change(bullet_id, approved)

    def vote(self, bullet_id: str, *, helpful: bool, undo: bool = False) -> None:
        """Count a use of the bullet, or take a vote back; one that does more harm than good is retired."""
        step = -1 if undo else 1

        def voted(bullet: Bullet) -> dict[str, Any]:
            ups, downs = max(0, bullet.helpful + step * helpful), max(0, bullet.harmful + step * (not helpful))
            state = RETIRED if bullet.state == LIVE and downs - ups >= _HARM else bullet.state
            return {"helpful": ups, "harmful": downs, "state": state}

        self._change(bullet_id, voted)

    def merge(self, keep: str, gone: str) -> None:
        """Let one bullet stand for another of its section: votes and sources are added, the other is retired."""
        first, second = self._get(keep), self._get(gone)
        if first.id == second.id or first.section != second.section or first.state != second.state:
            raise UsageError(f"bullets {keep} and {gone} can not be merged: not two of one section and state")
        self._change(
            keep,
            lambda bullet: {
                "helpful": bullet.helpful + second.helpful,
                "harmful": bullet.harmful + second.harmful,
                "sources": _union(bullet.sources, second.sources),
            },
        )
        self._change(gone, lambda _: {"state": RETIRED})

    def retire(self, bullet_id: str) -> None:
        """Keep a bullet for the record, and show it no more."""
        self._change(bullet_id, lambda _: {"state": RETIRED})

    def remove(self, bullet_id: str) -> None:
        """Delete a bullet."""
        self._get(bullet_id)
        with self._store.write() as connection:
            connection.execute(delete(table).where(table.c.id == bullet_id))

    def forget(self, source: str) -> int:
        """Delete what came from a source and its parts alone, and them from the others; returns how many went."""
        with self._store.write() as connection:
            return forget_sources(connection, lambda other: part_of(other, source))

    def bullets(self, section: str | None = None) -> list[Bullet]:
        """All bullets, of every state, in the order they were added."""
        query = select(table).order_by(table.c.created, table.c.id)
        if section is not None:
            query = query.where(table.c.section == section.strip())
        return [_bullet(row) for row in self._store.rows(query)]

    def advice(
        self, question: str, *, k: int = 5, budget_tokens: int = 200, near: float = 0.25
    ) -> tuple[str, list[Bullet]]:
        """What may help with a question, as text for a model, and the bullets in it: live ones, best first.

        Best is near in meaning, sharing words, and proved by votes. Nothing near (a cosine of ``near``, or 0.3 of
        the question's words): an empty text.
        """
        live = [bullet for bullet in self.bullets() if bullet.state == LIVE]
        asked = set(tokenize(question))
        scored: list[tuple[float, Bullet]] = []
        for bullet, likeness in self._near(question, live):
            shared = len(asked & set(tokenize(bullet.text))) / (len(asked) or 1)
            if likeness >= near or shared >= 0.3:
                scored.append(((likeness + shared) * bullet.worth, bullet))
        scored.sort(key=lambda pair: -pair[0])
        lines, shown = [PREAMBLE], list[Bullet]()
        for _, bullet in scored[:k]:
            line = f"- {bullet.text} ({', '.join(bullet.sources[:2])}; +{bullet.helpful}/-{bullet.harmful})"
            if count_tokens_estimate("\n".join([*lines, line])) <= budget_tokens:
                lines.append(line)
                shown.append(bullet)
        return ("\n".join(lines), shown) if shown else ("", [])

    def _near(self, text: str, bullets: Sequence[Bullet]) -> list[tuple[Bullet, float]]:
        if not bullets:
            return []
        vectors = self._embedder.embed([text, *(bullet.text for bullet in bullets)])
        return list(zip(bullets, (vectors[1:] @ vectors[0]).tolist(), strict=True))

    def _get(self, bullet_id: str) -> Bullet:
        return _there(bullet_id, self._store.row(select(table).where(table.c.id == bullet_id)))

    def _change(self, bullet_id: str, change: Callable[[Bullet], Mapping[str, Any]]) -> None:
        """Change what a bullet is in the transaction that reads it: two who vote at once are both counted."""
        asked = select(table).where(table.c.id == bullet_id).with_for_update()
        with self._store.write() as connection:
            bullet = _there(bullet_id, connection.execute(asked).mappings().first())
            values = {**change(bullet), "updated": clock.time()}
            connection.execute(update(table).where(table.c.id == bullet_id).values(**values))


def forget_sources(connection: Connection, gone: Callable[[str], bool]) -> int:
    """Delete the bullets that came from some sources alone, and these from the others; returns how many went.

    What a replay proved is a note that names the tasks of its runs: it goes with the first of them.
    """
    count = 0
    for row in connection.execute(select(table).with_for_update()).mappings().all():
        there, mine = row["sources"] or (), table.c.id == row["id"]
        left = [other for other in there if not gone(other)]
        if len(left) == len(there):
            continue
        if left and not any(other.startswith(PROOF) for other in left):
            values = {"sources": left, "updated": clock.time()}
            connection.execute(update(table).where(mine).values(**values))
        else:
            count += 1
            connection.execute(delete(table).where(mine))
    return count


def _insert(connection: Connection, bullet: Bullet) -> None:
    now = clock.time()
    values = {**asdict(bullet), "sources": list(bullet.sources), "created": now, "updated": now}
    connection.execute(insert(table).values(**values))


def _there(bullet_id: str, row: Mapping[Any, Any] | None) -> Bullet:
    if row is None:
        raise UsageError(f"the playbook has no bullet {bullet_id!r}")
    return _bullet(row)


def _bullet(row: Mapping[Any, Any]) -> Bullet:
    return Bullet(
        id=row["id"],
        section=row["section"],
        text=row["text"],
        helpful=row["helpful"],
        harmful=row["harmful"],
        sources=tuple(row["sources"] or ()),
        state=row["state"],
    )


def _union(first: Sequence[str], second: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*first, *second]))
