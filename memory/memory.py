"""``Memory``: add, recall, read, list, delete."""

import threading
import time as clock
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement

from pointwork.errors import UsageError
from pointwork.memory.episodic import MAX_ID, Entry, Episodic, check_label, exact_text, replace_refused
from pointwork.memory.items import Cost, Item, Recall, item_of
from pointwork.memory.modules import (
    BOOSTERS,
    Candidate,
    Embedder,
    Meter,
    Module,
    Question,
    Registry,
    Resources,
    Tier,
    load,
)
from pointwork.memory.policy import StaticTiers, TierPolicy, TierRequest
from pointwork.store import Store, open_store
from pointwork.store.tables import memory_items, memory_usage
from pointwork.text import count_tokens_estimate, tokenize

if TYPE_CHECKING:
    from pointwork.memory.index import Index

# Rows read for the latest questions, kept for the next: many recalls find the same ones.
_KEPT = 2000

Tiers = str | Mapping[str, str] | TierPolicy


class Memory:
    """What is remembered in one store, and finding it again.

    Several may work on one store, in threads and in processes; each sees what the others add and delete. The
    search index is in memory, built at the first recall.

    Args:
        store: an SQLAlchemy URL, an open ``Store``, or None for one in memory. What is missing is created.
        tiers: how recall works unless told otherwise: one tier for all modules (``"low"``), module -> tier, or a
            policy that picks them per question. None: all Low.
        embedder: turns texts into vectors for the tiers that use them; Low ones do not.

    Raises:
        ConfigError: the URL is not one of a supported database.
        StoreError: the store can not be opened.
        UsageError: a tier that is not there.
    """

    def __init__(
        self, store: str | Store | None = None, *, tiers: Tiers | None = None, embedder: Embedder | None = None
    ) -> None:
        self.store = open_store(store)
        self.embedder = embedder
        self._rows = Episodic(self.store)
        self._policy = _policy("low" if tiers is None else tiers)
        self._index: Index | None = None
        self._texts = _Texts(self._rows)
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"Memory({self.store.url!r})"

    def __len__(self) -> int:
        """How many entries there are; a long text counts once."""
        return self._rows.count()

    def add(
        self,
        text: str,
        source: str = "user",
        trust: str = "user",
        title: str | None = None,
        time: float | str | datetime | None = None,
        speaker: str | None = None,
        thread: str | None = None,
    ) -> str:
        """Remember a text, exactly as it is; a long one can be found by its parts. Stored whole or not at all.

        Args:
            text: any text but an empty one.
            source: where it comes from, in the caller's own terms; every part of it keeps it.
            trust: who wrote it: ``user``, ``agent``, ``tool`` or ``web``. The last two are shown to models fenced.
            title: found twice as easily. None: the first line, if a line break follows it and it is not long.
            time: when it was said or written: epoch seconds, a datetime (UTC if it has no zone) or a string.
            speaker: who said it.
            thread: the conversation it belongs to. Turns of one speak for their neighbours.

        Returns:
            Its id, for ``read`` and ``delete``.

        Raises:
            UsageError: the text is empty or a label can not be kept; nothing was stored.
            StoreError: the database refused; nothing was stored.
        """
        return self._rows.add([Entry(text, source, trust, title, time, speaker, thread)])[0]

    def add_many(self, entries: Iterable[Entry]) -> list[str]:
        """Remember many texts in one transaction, all or none; much faster than one by one. See ``add``."""
        return self._rows.add(entries)

    def read(self, item_id: str) -> str:
        """The exact text of an item: what was added, or of a chunk its part of it.

        Raises:
            UsageError: there is no such item (any more).
        """
        return exact_text(self._rows.get(item_id))

    def get(self, item_id: str) -> Item:
        """An item with all that is known about it; raises as ``read`` does."""
        row = self._rows.get(item_id)
        return item_of(row, exact_text(row))

    def items(
        self,
        *,
        source: str | None = None,
        thread: str | None = None,
        speaker: str | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Item]:
        """Entries in the order they were added, whole ones only, of one source, thread, speaker, or all."""
        if offset < 0 or (limit is not None and limit < 0):
            raise UsageError(f"limit={limit} and offset={offset} can not be negative")
        condition = _where(source=source, thread=thread, speaker=speaker)
        return [item_of(row, exact_text(row)) for row in self._rows.listing(condition, limit, offset)]

    def delete(
        self,
        *,
        id: str | None = None,
        source: str | None = None,
        thread: str | None = None,
        speaker: str | None = None,
    ) -> int:
        """Forget: one entry by id (a chunk's id stands for its whole), or all that fulfil the other arguments.

        Rows, chunks and index entries go, here and in every other ``Memory`` on the store at its next recall.

        Returns:
            How many entries went; 0 if there was none such.

        Raises:
            UsageError: nothing was named, or an id together with something else.
        """
        condition = _where(source=source, thread=thread, speaker=speaker)
        if (id is None) == (condition is None):
            raise UsageError("delete needs an id, or any of source, thread and speaker")
        if id is not None:
            return self._rows.delete_entry(id)
        assert condition is not None
        return self._rows.delete(condition)

    def recall(
        self,
        question: str,
        k: int = 10,
        budget_tokens: int = 800,
        thread: str | None = None,
        tiers: Tiers | None = None,
        run_id: str | None = None,
        subtask: str | None = None,
        now: float | None = None,
    ) -> Recall:
        """Find what helps to answer a question, best first.

        Args:
            question: in any words. One that shares no word with any item finds nothing.
            k: how many items at most.
            budget_tokens: of ``Recall.text``. ``Recall.items`` are whole, whatever it is.
            thread: prefers items of this conversation among those that fit; excludes no others.
            tiers: for this recall, as for ``Memory``.
            run_id: the run that asks, for the record of use.
            subtask: its subtask.
            now: from where "yesterday" is seen, epoch seconds; None is the clock's.

        Raises:
            UsageError: an empty question, k or budget below 1, an unknown module or tier.
            StoreError: the database could not be read.
        """
        started = clock.perf_counter()
        asked = _question(question, k, budget_tokens, thread, clock.time() if now is None else now)
        for name, value in (("run_id", run_id), ("subtask", subtask)):
            check_label(name, value, MAX_ID)
        registry = load()
        with self._lock:
            index = self._synced()
            policy = self._policy if tiers is None else _policy(tiers)
            request = TierRequest(question, k, budget_tokens, None, registry.available(), len(index))
            chosen = _chosen(policy.choose(request), registry)
            found = _Work(asked, Resources(index, self.embedder), registry, chosen).run(self._texts)
        seconds = clock.perf_counter() - started
        spent = sum(found.costs.values(), Cost())
        recall = Recall(
            found.items,
            dict[str, str](chosen.items()),
            Cost(spent.tokens, spent.usd, seconds),
            found.text,
            count_tokens_estimate(found.text),
            found.shown,
            found.costs,
            found.why,
        )
        self._log(recall, question, run_id, subtask)
        return recall

    def _synced(self) -> "Index":
        if self._index is None:
            from pointwork.memory.index import Index

            self._index = Index(self._rows)
        self._index.sync()
        self._texts.expect(self._index.dropped)
        return self._index

    def _log(self, recall: Recall, question: str, run_id: str | None, subtask: str | None) -> None:
        self.store.append(
            memory_usage,
            {
                "run_id": run_id,
                "subtask": subtask,
                "question": replace_refused(question),
                "tiers": dict(recall.tiers),
                "items": [[item.id, item.score] for item in recall.items],
                "tokens": recall.tokens,
                "usd_nano": round(recall.cost.usd * 1e9),
                "seconds": recall.cost.seconds,
                "created": clock.time(),
            },
        )


class _Work:
    """One recall on its way through the modules."""

    def __init__(
        self, question: Question, resources: Resources, registry: Registry, tiers: Mapping[Module, Tier]
    ) -> None:
        self._question = question
        self._resources = resources
        self._registry = registry
        self._tiers = tiers
        self.costs: dict[str, Cost] = {}
        self.items: list[Item] = []
        self.why: dict[str, Mapping[str, float]] = {}
        self.text = ""
        self.shown: tuple[str, ...] = ()

    def run(self, texts: "_Texts") -> "_Work":
        question, resources, tiers = self._question, self._resources, self._tiers
        with self._metered("filter") as meter:
            hits = self._registry.filter(tiers["filter"]).find(question, resources, meter)
            candidates = texts.candidates(hits)
        boosts = [self._boosts(module, candidates) for module in BOOSTERS]
        for number, candidate in enumerate(candidates):
            for module, values in zip(BOOSTERS, boosts, strict=True):
                candidate.why[module] = values[number]
                candidate.score *= 1 + values[number]
        candidates.sort(key=lambda candidate: -candidate.score)  # stable: equals stay as the filter had them
        best = candidates[: question.k]
        self.items = [candidate.scored() for candidate in best]
        self.why = {candidate.item.id: candidate.why for candidate in best}
        with self._metered("summary") as meter:
            digest = self._registry.summary(tiers["summary"]).digest(question, self.items, resources, meter)
        self.text, self.shown = digest.text, digest.shown
        return self

    def _boosts(self, module: Module, candidates: Sequence[Candidate]) -> list[float]:
        with self._metered(module) as meter:
            booster = self._registry.booster(module, self._tiers[module])
            return booster.boost(self._question, candidates, self._resources, meter)

    def _metered(self, module: Module) -> "_Metered":
        return _Metered(module, self.costs)


class _Metered:
    """Measures what a module takes: ``with`` gives the meter it enters its tokens and money in."""

    def __init__(self, module: Module, costs: dict[str, Cost]) -> None:
        self._module = module
        self._costs = costs
        self._meter = Meter()

    def __enter__(self) -> Meter:
        self._started = clock.perf_counter()
        return self._meter

    def __exit__(self, *_: object) -> None:
        seconds = clock.perf_counter() - self._started
        self._costs[self._module] = Cost(self._meter.tokens, self._meter.usd, seconds)


class _Texts:
    """The filter's hits with their items and words; what was read lately is kept, until something is deleted."""

    def __init__(self, rows: Episodic) -> None:
        self._rows = rows
        self._kept: dict[int, tuple[Item, frozenset[str]]] = {}
        self._dropped = 0

    def expect(self, dropped: int) -> None:
        """Keep nothing of before the latest deletion, of which the index counts ``dropped``."""
        if dropped != self._dropped or len(self._kept) > _KEPT:
            self._kept.clear()
        self._dropped = dropped

    def candidates(self, hits: Sequence[tuple[int, float]]) -> list[Candidate]:
        """The hits in their order; rows deleted meanwhile are left out."""
        missing = [serial for serial, _ in hits if serial not in self._kept]
        for serial, row in (self._rows.by_serial(missing) if missing else {}).items():
            words = " ".join(part for part in (row["title"], row["speaker"], row["text"]) if part)
            self._kept[serial] = item_of(row, exact_text(row)), frozenset(tokenize(words))
        found = ((self._kept.get(serial), score) for serial, score in hits)
        return [Candidate(of[0], score, of[1], {"filter": score}) for of, score in found if of is not None]


def _question(text: str, k: int, budget_tokens: int, thread: str | None, now: float) -> Question:
    if not isinstance(text, str) or not text.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError("the question is empty; ask memory something")
    for name, number in (("k", k), ("budget_tokens", budget_tokens)):
        if not isinstance(number, int) or number < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"{name}={number!r} must be a whole number of at least 1")
    return Question(text, tuple(tokenize(text)), k, budget_tokens, thread, now)


def _policy(tiers: Tiers) -> TierPolicy:
    if isinstance(tiers, str | Mapping):
        policy = StaticTiers(tiers)
        _chosen(policy.tiers, load())
        return policy
    return tiers


def _chosen(tiers: Mapping[str, str], registry: Registry) -> dict[Module, Tier]:
    """A tier for each module: the chosen one, else its cheapest."""
    chosen: dict[Module, Tier] = {module: there[0] for module, there in registry.available().items()}
    chosen.update(registry.check(module, tier) for module, tier in tiers.items())
    return chosen


def _where(**labels: str | None) -> ColumnElement[bool] | None:
    """The rows that have all the labels given; None if none is."""
    condition: ColumnElement[bool] | None = None
    for name, value in labels.items():
        if value is not None:
            equal = memory_items.c[name] == value
            condition = equal if condition is None else condition & equal
    return condition
