"""One question on its way through the Mid tiers: the candidates, and what they have to do with it, as arrays."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointwork.memory.columns import NONE
from pointwork.memory.dates import Period
from pointwork.memory.index import Index
from pointwork.memory.lexical import Scores
from pointwork.memory.low import best
from pointwork.memory.names import title_keys
from pointwork.memory.products import product
from pointwork.memory.texts import Known, Texts, content, words_of
from pointwork.memory.words import folded
from pointwork.text import tokenize

Floats = NDArray[Any]
Places = NDArray[np.int64]

LEXICAL, DENSE = 120, 40  # candidates found by words, by meaning
CANDIDATES, DOCUMENTS = 100, 48  # of them that go on
SAID = 0.06  # for a text by or about somebody whom the question names and who speaks here
MEANT = 0.13  # cosine from which a text is a candidate that shares no word with the question
_NO_WORD = -1.5  # below all cosines
_TRIES = 4  # times that candidates are looked for anew because some of them were set aside
HOP_FROM, HOP_MOST = 10, 40  # documents whose mentions are followed, and documents found so

_CAPITAL = re.compile(r"\b[A-Z]\w*")


@dataclass(slots=True)
class Asked:
    """A question taken apart.

    Attributes:
        text: as asked.
        tokens: of it, each once, without the names of those who speak in this memory.
        speakers: the names of speakers in it, lower case.
        words: its content words, the speakers' names left out.
        plain: the text without the speakers' names.
        vector: of the whole; ``body`` of the plain text.
    """

    text: str
    tokens: tuple[str, ...]
    speakers: frozenset[str]
    words: tuple[str, ...]
    plain: str
    vector: Floats
    body: Floats


class View:
    """Candidates of a question.

    Args:
        question: its text.
        index: the index, in step with the store.
        texts: gives the candidates' texts.
        beside: whether the texts of their neighbours will be wanted: they are read with theirs.
    """

    def __init__(self, question: str, index: Index, texts: Texts, *, beside: bool = True) -> None:
        self.index = index
        self._beside = beside
        self._texts = texts
        self.asked = taken_apart(question, index)
        tokens = self.asked.tokens or tuple(dict.fromkeys(tokenize(question)))
        self.scores: Scores = index.lexical.scores(dict.fromkeys(tokens, 1.0))
        self.places: Places = np.zeros(0, np.int64)
        self.known: list[Known] = []
        # By place, candidates that read like orders by others than the user. The ranker does not see them: its
        # features compare candidates, and what is planted would change what it sees of the others.
        self.aside: dict[int, Known] = {}
        self._vectors: Floats | None = None
        self._neighbours: tuple[Places, tuple[Places, Places, dict[int, Known]]] | None = None
        self._own: tuple[Places, NDArray[np.bool_]] | None = None
        self._column: dict[int, int] = {}  # place -> column of ``_cosines``
        self._cosines: Floats = np.zeros((len(self.asked.words), 0), np.float32)
        self.mentioned: set[int] = set()  # places of candidates that others' mentions brought in
        self.sought: set[int] = set()  # those that were looked for because a model said so
        self.periods: list[Period] = []  # times that the question speaks of, if not those that rules read in it
        self.first: Floats = np.zeros(0, np.float32)  # the score by which they became candidates

    # -- finding -------------------------------------------------------------------------------------------

    @property
    def share(self) -> Floats:
        """The share of what the question asks that each candidate holds by its words, 0 to 1."""
        return np.minimum(self.scores.total[self.places] / np.float32(self.scores.ideal or 1.0), 1.0)

    def find(self, thread: str | None, k: int, *, by_meaning: bool = True) -> None:
        """The candidates: best by words with their neighbours', best by meaning, best of the asker's thread."""
        total = self.scores.total
        alive = self.index.lexical.columns.lengths > 0
        near, exact = np.zeros(len(total), np.float32), True
        if by_meaning:
            near, exact = self.index.dense.near(self.asked.body, len(total))
            near = np.where(alive, near, np.float32(-1))
        share = total / np.float32(self.scores.ideal or 1.0)
        mixed = share + np.float32(0.5) * (self._windowed(near) if exact else near)
        said = tuple(token for name in self.asked.speakers for token in tokenize(name))
        if said:
            mixed += np.float32(SAID) * self.index.lexical.having(said)
        mixed = np.round(mixed, 4)
        most = max(CANDIDATES, 4 * k)
        mine = self.index.places_in_thread(thread)
        own = mine
        aside: dict[int, Known] = {}
        wanted = 0
        for number in range(_TRIES):
            # what is set aside takes no other's place: if something was, more are looked at
            wide = 2**number
            # beyond the exact comparison, nearness is too coarse to be mixed in: each finds its own
            if exact:
                words = best(mixed, LEXICAL * wide)
            else:
                words = _best_of(np.flatnonzero(total), share, (most - DENSE) * wide)
            meant = nearest(near, DENSE * wide if by_meaning else 0)
            own = mine[best(mixed[mine], most // 2 * wide)] if len(mine) else mine
            found = np.setdiff1d(np.concatenate([words, meant, own]), list(aside))
            found = found[alive[found] & ((total[found] > 0) | (near[found] > MEANT))]
            found = found[np.argsort(-mixed[found], kind="stable")]
            found = found[self._within(found, most * wide, max(DOCUMENTS, 4 * k) * wide) | np.isin(found, own)]
            wanted = wanted or len(found)
            new = self._set(found, mixed[found])
            aside |= new
            if not new or len(self.known) >= wanted:
                break
        if len(self.known) > wanted:
            kept = self._within(self.places, most, max(DOCUMENTS, 4 * k)) | np.isin(self.places, own)
            self._set(self.places[kept], self.first[kept])
        self.aside = aside

    def _within(self, places: Places, turns: int, documents: int) -> NDArray[np.bool_]:
        """Which of the best are within a number of turns, and of documents.

        Of documents fewer are looked at: they are longer, and what they mention comes besides.
        """
        turn = self.index.lexical.columns.sequences[places] != NONE
        return np.where(turn, np.cumsum(turn) <= turns, np.cumsum(~turn) <= documents)

    def _windowed(self, near: Floats) -> Floats:
        """Nearness with half of that of the neighbours, on the same scale."""
        before, after = self.index.lexical.links
        beside = (before >= 0).astype(np.float32) + (after >= 0)
        return (near + 0.5 * (self.of(near, before) + self.of(near, after))) / np.sqrt(1 + beside / 2)

    def hop(self) -> None:
        """Add the documents whose titles the question or the best documents mention."""
        documents = [n for n in range(len(self.known)) if self.is_document(n)][:HOP_FROM]
        if not documents:
            return
        there = set(self.places.tolist())
        more: dict[int, None] = {}
        mentioned = [title_keys(folded(self.asked.text), cased=False)]
        mentioned += [title_keys(self.known[n].names.folded) for n in documents]
        for keys in mentioned:
            for places in self.index.titled(list(keys)).values():
                more.update(dict.fromkeys(place for place in places if place not in there))
        self.mentioned |= self._added(list(more)[:HOP_MOST])

    def seek(self, phrase: str, count: int) -> dict[int, float]:
        """Add the documents that fit another phrase best: place -> how well, up to 1."""
        tokens = tuple(dict.fromkeys(tokenize(phrase)))
        if not tokens:
            return {}
        scores = self.index.lexical.scores(dict.fromkeys(tokens, 1.0))
        share = np.minimum(scores.total / np.float32(scores.ideal or 1.0), 1.0)
        places = best(share, count)
        found = {place: float(share[place]) for place in places.tolist() if share[place] > 0}
        there = set(self.places.tolist())
        added = self._added([place for place in found if place not in there])
        self.sought |= added
        return {place: share for place, share in found.items() if place in there or place in added}

    def _added(self, places: Sequence[int]) -> set[int]:
        """Make more places candidates, but those that read like orders; which they are."""
        if not places:
            return set()
        added = np.array(places, np.int64)
        share = self.scores.total[added] / (self.scores.ideal or 1.0)
        near = product(self.vectors_of(added), self.asked.body)
        new = self._set(np.concatenate([self.places, added]), np.concatenate([self.first, share + 0.5 * near]))
        self.aside |= new
        return set(places) - new.keys()

    def is_document(self, number: int) -> bool:
        """Whether a candidate is a text of its own, not a turn of a dialogue."""
        row = self.known[number].row
        titled = row["title"] is not None
        return row["speaker"] is None and (titled or row["thread"] is None or row["parent_id"] is not None)

    def _set(self, places: Places, first: Floats) -> dict[int, Known]:
        """Make these the candidates, but those that read like orders; gives back these, by place."""
        serials = self.index.lexical.columns.serials[places].tolist()
        known = self._texts.get([*serials, *self._serials_beside(places)])
        there = [n for n, serial in enumerate(serials) if serial in known]
        kept = [n for n in there if not known[serials[n]].suspect]
        self._vectors = None
        self.places, self.first = places[kept], np.asarray(first, np.float32)[kept]
        self.known = [known[serials[n]] for n in kept]
        return {int(places[n]): known[serials[n]] for n in there if known[serials[n]].suspect}

    def _serials_beside(self, places: Places) -> list[int]:
        """Of the neighbours, which are looked at too: one query for all is quicker than two."""
        if not self._beside:
            return []
        beside = self.index.lexical.links[:, places].ravel()
        return self.index.lexical.columns.serials[beside[beside >= 0]].tolist()

    # -- looking closer ------------------------------------------------------------------------------------

    def neighbours(self) -> tuple[Places, Places, dict[int, Known]]:
        """Places of the candidates' neighbours before and after (-1: none), and what is known of them by place."""
        if self._neighbours is None or self._neighbours[0] is not self.places:
            before, after = (links[self.places] for links in self.index.lexical.links)
            places = np.unique(np.concatenate([before, after]))
            places = places[places >= 0]
            serials = self.index.lexical.columns.serials[places].tolist()
            known = self._texts.get(serials)
            beside = {p: known[s] for p, s in zip(places.tolist(), serials, strict=True) if s in known}
            self._neighbours = self.places, (before, after, beside)
        return self._neighbours[1]

    @property
    def vectors(self) -> Floats:
        """Of the candidates, shape (candidates, dims)."""
        if self._vectors is None:
            self._vectors = self.vectors_of(self.places)
        return self._vectors

    def vectors_of(self, places: Places) -> Floats:
        """Vectors of documents by place; 0 where there is none (-1)."""
        dense, size = self.index.dense, self.index.lexical.size
        there = np.flatnonzero(places >= 0)
        found = np.zeros((len(places), dense.embedder.dims), np.float32)
        kept = dense.of(places[there], size)
        if kept is None:
            serials = self.index.lexical.columns.serials[places[there]].tolist()
            known = self._texts.get(serials)
            there = np.array([n for n, s in zip(there.tolist(), serials, strict=True) if s in known], np.int64)
            kept = self._texts.vectors([known[s] for s in serials if s in known])
        found[there] = kept
        return found

    def alike(self) -> Floats:
        """For each word of the question and each candidate the cosine of its nearest; shape (words, candidates)."""
        found = self._alike(self.places.tolist(), self.known)
        return np.where(found < _NO_WORD, np.float32(0), found)

    def alike_around(self, before: Places, after: Places, beside: Mapping[int, Known]) -> Floats:
        """``alike`` of the words of two neighbours together; arguments as ``neighbours`` gives them."""
        found = np.full((len(self.asked.words), len(beside) + 1), -np.inf, np.float32)  # the last is of nothing
        found[:, :-1] = self._alike(list(beside), list(beside.values()))
        number = {place: n for n, place in enumerate(beside)}
        left, right = ([number.get(place, -1) for place in some.tolist()] for some in (before, after))
        best = np.maximum(found[:, left], found[:, right])
        return np.where(best < _NO_WORD, np.float32(0), best)

    def _alike(self, places: Sequence[int], known: Sequence[Known]) -> Floats:
        """As ``alike``, of texts by place, minus infinity where a text has no word; each is looked at once."""
        new = [n for n, place in enumerate(places) if place not in self._column]
        if new:
            more = self._nearest_words([known[n] for n in new])
            self._column |= {places[n]: column for column, n in enumerate(new, self._cosines.shape[1])}
            self._cosines = np.concatenate([self._cosines, more], axis=1)
        return self._cosines[:, [self._column[place] for place in places]]

    def _nearest_words(self, some: Sequence[Known]) -> Floats:
        asked, rows, table = words_of(self.index.dense.embedder).of(self.asked.words, some)
        best = np.full((len(asked), len(some)), -np.inf, np.float32)
        filled = [n for n, words in enumerate(rows) if len(words)]
        if len(asked) and filled:
            flat = np.concatenate(rows)
            there = np.zeros(len(table), bool)
            there[flat] = True
            cosines = product(table[np.flatnonzero(there)], table[asked].T)  # each word once
            starts = np.cumsum([0, *(len(rows[n]) for n in filled)])[:-1]
            columns = cosines[(np.cumsum(there) - 1)[flat]]
            best[:, filled] = np.maximum.reduceat(columns, starts, axis=0).T
        return best

    def held_here(self) -> NDArray[np.bool_]:
        """``held`` of the candidates: looked up once for them, as several features need it."""
        if self._own is None or self._own[0] is not self.places:
            self._own = self.places, self.held(self.places)
        return self._own[1]

    def held(self, places: Places) -> NDArray[np.bool_]:
        """Which documents have which of the question's tokens, shape (places, tokens); none at -1."""
        return self.index.lexical.holds(self.asked.tokens, places)

    def of(self, values: NDArray[Any], places: Places) -> Floats:
        """Values of places, 0 where there is none."""
        return np.where(places >= 0, values[np.maximum(places, 0)], 0).astype(np.float32)


def _best_of(places: Places, values: Floats, count: int) -> Places:
    """Those of some places that have the highest values, best first; equals in order."""
    return places[best(values[places], count)]


def nearest(near: Floats, count: int) -> Places:
    """``best``, but of a million mostly far ones: if enough are near at all, the others need not be sorted."""
    likely = np.flatnonzero(near > MEANT)
    return _best_of(likely if len(likely) >= count else np.arange(len(near)), near, count)


def taken_apart(question: str, index: Index) -> Asked:
    """A question as the ranker sees it."""
    capitals = {word.lower() for word in _CAPITAL.findall(question)}
    speakers = frozenset(capitals & index.speakers) or frozenset(
        name for name in (index.speakers if len(index.speakers) < 100 else ()) if set(name.split()) & capitals
    )
    named = {token for name in speakers for token in tokenize(name)}
    everything = tuple(dict.fromkeys(tokenize(question)))
    tokens = tuple(token for token in everything if token not in named)
    plain = " ".join(word for word in question.split() if word.strip("?,.!'’s").lower() not in speakers)
    vector, body = index.dense.embedder.embed([question, plain])
    parts = {part for name in speakers for part in name.split()}
    words = tuple(word for word in content(question) if word not in parts)
    return Asked(question, tokens or everything, speakers, words, plain, vector, body)
