"""``Memory``: add, recall, read, list, delete."""

import os
import threading
import time as clock
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import ColumnElement

from pointwork.errors import UsageError
from pointwork.extras import encoder_installed
from pointwork.memory.episodic import MAX_ID, Entry, Episodic, Kept, check_label, exact_text, labelled, of_entries
from pointwork.memory.items import Item, Recall, item_of
from pointwork.memory.modules import Need, Question, Resources, checked, load
from pointwork.memory.policy import TierPolicy, TierRequest, Tiers, policy_of, promoted, request_of
from pointwork.memory.reader import Answers, Wanted, reader
from pointwork.memory.usage import log_use
from pointwork.store import Store, open_store
from pointwork.text import count_tokens_estimate, tokenize

if TYPE_CHECKING:
    from pointwork.embedding import Embedder
    from pointwork.memory.encoded import Encoded
    from pointwork.memory.facts import Facts
    from pointwork.memory.index import Index
    from pointwork.memory.reader import Reader
    from pointwork.memory.recalling import Work
    from pointwork.memory.texts import Texts
    from pointwork.memory.view import View
    from pointwork.models.protocol import ModelClient

_SOME = 1000  # entries that are forgotten at once; databases limit the number of parameters
_INDEX_AT = 2048  # entries added before the index takes them in without being asked


class Memory:
    """What is remembered in one store, and finding it again.

    Several may work on one store, in threads and in processes; each sees what the others add and delete. The
    search index is in the store; what was added since it was last written there is indexed in memory.

    Args:
        store: an SQLAlchemy URL, an open ``Store``, or None for one in memory. What is missing is created.
        tiers: how recall works unless told otherwise: one tier for all modules (``"low"``), module -> tier (one
            that is not named keeps its default: High where there is an encoder for it, else Mid), or a policy that
            picks them per question. None: what ``train tiers`` made live in this store, else those defaults.
        embedder: turns texts into vectors for the index; None: the static one of the package.
        encoder: reads the best candidates closely at tier High: ``minilm`` (extra ``embed``), ``static`` (none: no
            module has a High), an ``Embedder``; None or ``auto`` takes MiniLM where the extra is installed.
        model: what entity, temporal and summary ask at tier High, where High is asked for: as
            ``pointwork.models.open_client`` takes it (``"local:"``), a client, or a ``Reader``.

    Raises:
        ConfigError: the URL is not one of a supported database.
        StoreError: the store can not be opened.
        UsageError: a tier that is not there, or an unknown word for the encoder.
        ImportError: ``minilm`` without the extra.
    """

    def __init__(
        self,
        store: str | Store | None = None,
        *,
        tiers: Tiers | None = None,
        embedder: "Embedder | None" = None,
        encoder: "Embedder | str | None" = None,
        model: "Reader | ModelClient | str | None" = None,
    ) -> None:
        self.store = open_store(store)
        self._embedder = embedder
        self._encoded: Encoded | None = None
        if encoder_installed() or encoder not in (None, "auto"):
            from pointwork.memory.encoded import encoded_by

            self._encoded = encoded_by(self.store, encoder)
        self._reader = reader(model)
        self._rows = Episodic(self.store)
        self._policy = policy_of(tiers, self._having())
        if tiers is None:
            self._policy = promoted(self.store) or self._policy
        self._found: tuple[Index, Texts] | None = None
        self._unwritten = 0  # rows added by this memory since its index was last brought up to date
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"Memory({self.store.url!r})"

    @property
    def policy(self) -> TierPolicy:
        """What picks the tiers unless a recall says otherwise."""
        return self._policy

    @property
    def facts(self) -> "Facts":
        """What is known to hold, since when and by whom: ``add``, ``history``, ``at``; filled by what is added."""
        from pointwork.memory.facts import Facts

        return Facts(self.store)

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
        return self.add_many([Entry(text, source, trust, title, time, speaker, thread)])[0]

    def add_many(self, entries: Iterable[Entry]) -> list[str]:
        """Remember many texts in one transaction, all or none; much faster than one by one. See ``add``."""
        ids = self._rows.add(entries)
        self._grown(len(ids))
        return ids

    def keep(self, entries: Iterable[Entry]) -> Kept:
        """Remember those of many texts that are not there yet, to the letter and with the same labels."""
        kept = self._rows.keep(entries)
        self._grown(len(kept.new))
        return kept

    def keep_only(self, source: str, ids: Collection[str]) -> int:
        """Forget what there is of a source and its parts but for some entries; returns how many went."""
        gone = [item.id for item in self.items(source=source) if item.id not in ids]
        return sum(self._forget(of_entries(gone[at : at + _SOME])) for at in range(0, len(gone), _SOME))

    def _grown(self, count: int) -> None:
        self._unwritten += count
        if self._unwritten >= _INDEX_AT:
            # the index is written by those who add much, so that those who ask need not wait for it
            with self._lock:
                self._synced()

    def ingest(
        self,
        path: "str | os.PathLike[str]",
        *,
        trust: str = "user",
        source: str | None = None,
        replace: bool = False,
    ) -> list[str]:
        """Keep a file: Markdown by sections, PDF by pages, HTML, chat logs by turns, other text whole.

        What is there already, unchanged, is not kept again. What the file held before and holds no more stays.

        Args:
            path: of the file; its suffix says what it is.
            trust: who wrote it; give ``web`` for what was downloaded.
            source: where it is from; None: the path.
            replace: forget what its source held before and the file holds no more.

        Returns:
            The ids of its entries.

        Raises:
            UsageError: the file can not be read, or has no text; nothing was stored.
            ImportError: PDF and HTML need the extra ``read``.
        """
        from pointwork.memory.ingest import read_file

        kept = self.keep(read_file(path, trust=trust, source=source))
        if replace:
            self.keep_only(source or str(Path(path)), kept.ids)
        return list(kept.ids)

    def ingest_run(self, run_id: str) -> list[str]:
        """Keep a run of the same store: its task, its steps and its answer, in place of what was kept of it.

        Raises:
            UsageError: there is no such run.
        """
        from pointwork.memory.ingest import read_run

        kept = self.keep(read_run(self.store, run_id))
        self.keep_only(f"run:{run_id}", kept.ids)  # not delete, which unlearns what the run has taught
        return list(kept.ids)

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
        """Entries in the order they were added, whole ones only, of one source, thread, speaker, or all.

        ``source="notes.md"`` is also its parts, which ``ingest`` names ``notes.md#…``.
        """
        for name, number in (("limit", limit), ("offset", offset)):
            if number is not None and (not isinstance(number, int) or number < 0):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise UsageError(f"{name}={number!r} must be a whole number, not negative")
        condition = labelled(source=source, thread=thread, speaker=speaker)
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

        A source's parts go with it: ``source="notes.md"`` forgets ``notes.md#…``, as ``ingest`` names them, too.
        Rows, chunks, index entries and vectors go, here and in every other ``Memory`` on the store at its next
        recall; what facts, skills and the playbook had from them alone, or from sources of which nothing is
        left, too, and what the runs of a thread taught.

        Returns:
            How many entries went; 0 if there was none such.

        Raises:
            UsageError: nothing was named, or an id together with something else.
        """
        condition = labelled(source=source, thread=thread, speaker=speaker)
        if (id is None) == (condition is None):
            raise UsageError("delete needs an id, or any of source, thread and speaker")
        if condition is None:
            return self._forget(of_entries([self._rows.root(str(id))]))
        whole = sum(value is not None for value in (source, thread, speaker)) == 1
        return self._forget(condition, *((source, thread) if whole else ()))

    def _forget(self, condition: ColumnElement[bool], source: str | None = None, thread: str | None = None) -> int:
        """Delete rows, and what rests on them, on a source or on the runs of a thread alone; entries that went."""
        from pointwork.memory.semantic import ending, forget

        for name in {*ending(self.store, condition, thread), *([] if source is None else [source])}:
            forget(self.store, name)
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
        thrift: float = 0.0,
        model: "Reader | ModelClient | str | Literal[False] | None" = None,
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
            thrift: the text ends, whatever is left of the budget, where more of it would bring less than this
                share of a piece of evidence for a whole budget. 0 fills it; with 0.5 questions that are easily
                answered take less. Of no effect with summary at Low, which knows no likelihoods.
            model: what tier High asks, for this recall, as for ``Memory``. False: none; what would, works at Mid.

        Raises:
            UsageError: an empty question, k or budget below 1, a negative thrift, an unknown module or tier.
            StoreError: the database could not be read.
        """
        started = clock.perf_counter()
        asked = checked(question, k, budget_tokens, thread, now, thrift)
        for name, value in (("run_id", run_id), ("subtask", subtask)):
            check_label(name, value, MAX_ID)
        from pointwork.memory.timely import SPARE, timely

        known = timely(self.facts, question, asked.now, budget_tokens)
        if known.facts:
            left = max(1, budget_tokens - count_tokens_estimate(known.text))
            asked = replace(asked, budget_tokens=left, held=known.held, spare=SPARE)
        asks = Answers(self._reader if model is None else reader(model or None))
        found = self._work(asked, budget_tokens, tiers, asks, ask=model is not False)
        seconds = clock.perf_counter() - started
        text = "\n".join(part for part in (known.text, found.text) if part)
        recall = Recall(
            found.items,
            found.tiers,
            replace(sum(found.costs.values(), asks.unused()), seconds=seconds),
            text,
            count_tokens_estimate(text),
            found.shown,
            found.costs,
            found.why,
            known.facts,
        )
        log_use(self.store, recall, question, run_id, subtask)
        return recall

    def _work(
        self, asked: Question, budget_tokens: int, tiers: Tiers | None, model: Answers, *, ask: bool
    ) -> "Work":
        """The modules' work, from the start again with each answer of a model."""
        from pointwork.memory.recalling import Work

        chosen, registry = None, load()
        while True:
            try:
                with self._lock:
                    index, texts = self._synced()
                    if chosen is None:
                        having = self._having(model.there or not ask)
                        policy = self._policy if tiers is None else policy_of(tiers, having)
                        request = request_of(asked.text, asked.k, budget_tokens, having, index)
                        chosen = registry.chosen(policy.choose(request), having)
                        chosen = chosen if ask else registry.unasked(chosen)
                    resources = Resources(index, texts, model, encoded=self._encoded)
                    return Work(asked, resources, registry, chosen).run()
            except Wanted as wanted:
                model.fetch(wanted.request)

    def request(self, question: str, k: int = 10, budget_tokens: int = 800) -> TierRequest:
        """What a tier policy is asked for such a recall: to train one, and to look at its choices."""
        with self._lock:
            index, _ = self._synced()
            glance = index.glance(tokenize(question))
            return replace(request_of(question, k, budget_tokens, self._having(), index), look=lambda: glance)

    def measured(self, question: str, now: float) -> "tuple[View, dict[str, Any]]":
        """A question's candidates with the numbers that the re-ranker sees: to train it, and to explain it."""
        from pointwork.memory import features
        from pointwork.memory.high import deep_rows
        from pointwork.memory.view import View

        with self._lock:
            index, texts = self._synced()
            view = View(question, index, texts)
            view.find(None, 10)
            view.hop()
            kinds = [view.is_document(n) for n in range(len(view.known))]
            turns = features.turn_features(view, now) if kinds and not all(kinds) else None
            documents = features.document_features(view, now) if any(kinds) else None
            found: dict[str, Any] = {"turn": turns, "document": documents}
            if self._encoded and turns is not None:
                found["deep"] = deep_rows(view, self._encoded, turns, now)
        return view, found

    def _synced(self) -> "tuple[Index, Texts]":
        if self._found is None:
            from pointwork.embedding import default_embedder
            from pointwork.memory.index import Index
            from pointwork.memory.texts import Texts

            embedder = self._embedder or default_embedder()
            self._found = Index(self._rows, self.store, embedder), Texts(self._rows, embedder)
        index, texts = self._found
        index.sync()
        self._unwritten = 0
        texts.expect(index.dropped)
        if self._encoded:
            self._encoded.expect(index.dropped)
        return self._found

    def _having(self, model: bool | None = None) -> list[Need]:
        """What tier High can work with here; ``model``: whether there is one, None if that is the memory's own."""
        asks = self._reader is not None if model is None else model
        there: dict[Need, bool] = {"encoder": self._encoded is not None, "model": asks}
        return [need for need, yes in there.items() if yes]
