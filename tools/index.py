"""Finding a few tools of thousands for a request, so that a model is shown only those.

Three things are asked of each tool: do its words fit (BM25F over name, description, parameters and results, with
words that mean nearly the same), does its meaning fit (static sentence embeddings of name and description), and did
it serve requests like this one before. Requests that ask for several things are split: a part that some tool covers
well stands for itself. What a request is to leave behind (a report, a saved file) asks for what makes that, and a
tool whose neighbours on its server fit is the likelier one.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex, cast

import numpy as np
from numpy.typing import NDArray

from pointwork.embedding import Embedder, StaticEmbedder, default_embedder, unit
from pointwork.errors import UsageError
from pointwork.sentences import encoder
from pointwork.store import Store, open_store
from pointwork.text import tokenize
from pointwork.tools.described import Described, about_group, describe, own_words
from pointwork.tools.kept import Kept
from pointwork.tools.lexical import Floats, Ints, Lexicon
from pointwork.tools.ranker import Ranker, Signals, positive, standard
from pointwork.tools.requests import Request, read_request
from pointwork.tools.spec import Tool
from pointwork.tools.usage import Usage

FIELDS = {"name": 1.5, "description": 1.0, "parameters": 0.5, "results": 0.5}

# With more tools, meaning is compared in the leading components alone, and only likely tools are looked at closely.
MANY = 20_000
FEW_DIMS = 64
LIKELY = 1_500
MOST_ENCODED = 5_000  # with more, the sentence encoder has to be asked for: it reads some hundred tools a second
MOST_COMPARED = 4
_UNLIKELY = np.float32(-1e9)  # the score of what was not looked at closely

# The share of what all tools have in common that is taken from a request's vector: a sentence encoder's needs less.
_MEAN, _MEAN_ENCODED = 0.7, 0.3
_FILES = 0.6  # weight of what a request's file names mean
_LEAVES, _LEAVES_FIRM = 0.6, 0.2  # of what it leaves behind; the second where it names the tools that it wants
_GROUP = 0.15  # of the best tools of a tool's server
_BEST_OF_GROUP = 3
_ALIKE, _VARIED = 0.05, 40  # what likeness to a better tool of another server costs, among the best
_USED = 2.0  # weight of past usage


@dataclass(frozen=True)
class Hit:
    """A tool that was found.

    Attributes:
        name: as it was given.
        score: 0 to 1, comparable within one search only.
        tool: as it was given.
        tokens: about what showing it to a model costs.
    """

    name: str
    score: float
    tool: Any
    tokens: int


class ToolIndex:
    """An index of tools.

    >>> index = ToolIndex([{"name": "getTide", "description": "Times of high water"}])
    >>> index.search("When is the tide high?", k=1)[0].name
    'getTide'

    Args:
        tools: ``Tool`` objects, or dictionaries with name, description, input_schema and, if known, output_schema.
            Names are unique, non-empty and otherwise anything.
        store: where past usage is kept (a store, or a URL); None: only in memory.
        embedder: says what tools and requests mean: ``static``, ``minilm`` (extra ``embed``), an ``Embedder``; None
            or ``auto`` takes MiniLM where the extra is installed and there are no more than ``MOST_ENCODED`` tools.
        groups: tool to what it belongs to, its server say; without one, what stands before a "/" in its name.

    Searching is safe from several threads.

    Raises:
        UsageError: a tool without a name, two of one name, an unknown word for the embedder.
        ImportError: ``minilm`` without the extra.
    """

    def __init__(
        self,
        tools: Sequence[Tool | Mapping[str, Any]],
        *,
        store: "Store | str | None" = None,
        embedder: Embedder | str | None = None,
        groups: Mapping[str, str] | None = None,
    ) -> None:
        given: Any = tools
        if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
            raise UsageError(f"an index is made of a list of tools, not {given!r:.200}")
        if not isinstance(cast(Any, groups), Mapping | None):
            raise UsageError(f"groups are a dictionary, tool to what it belongs to, not {groups!r:.200}")
        self._tools = list(tools)
        read = [describe(tool) for tool in self._tools]
        self._names = [tool.name for tool in read]
        self._number = {name: number for number, name in enumerate(self._names)}
        if len(self._number) < len(read):
            twice = next(name for name, count in Counter(self._names).items() if count > 1)
            raise UsageError(f"the index was given two tools named {twice!r}")
        self._tokens = [tool.tokens for tool in read]
        self._groups, self._group_names = _grouped(self._names, groups or {})
        static: Embedder = StaticEmbedder(FEW_DIMS) if len(read) > MANY else default_embedder()
        chosen = _chosen(embedder, len(read))
        self._embedder = chosen or static
        kept = None if store is None else open_store(store)
        # tens of thousands of past requests: an encoder would take minutes over them, and finds no more
        self._usage = Usage(self._number, kept, static)
        self._lock = threading.Lock()
        if read:
            self._build(read, Kept(chosen, kept) if chosen and kept else self._embedder)

    def _build(self, read: list[Described], embedder: Embedder) -> None:
        fields = {
            "name": [tokenize(tool.words) for tool in read],
            "description": [tokenize(tool.description) for tool in read],
            "parameters": [tokenize(tool.parameters) for tool in read],
            "results": [tokenize(tool.results) for tool in read],
        }
        surface: Counter[str] = Counter()
        for tool in read:
            surface.update(tokenize(f"{tool.words} {tool.description} {tool.parameters}", stem=False))
        self._lexicon = Lexicon(fields, FIELDS, surface, self._embedder, embedder)
        encoded = not isinstance(self._embedder, StaticEmbedder)
        whole = embedder.embed([f"{tool.words}. {tool.description}" for tool in read])
        common: Floats = whole.mean(axis=0, dtype=np.float32)
        self._common = np.float32(_MEAN_ENCODED if encoded else _MEAN) * common
        self._meaning = unit(whole - common)
        # the server's name would make its tools alike; what the server is, is asked for itself
        named = [own_words(tool, group) for tool, group in zip(read, self._group_names, strict=True)]
        self._named: Floats = embedder.embed(named)
        self._servers = None if self._groups is None else self._meant_by_groups(named, embedder)
        # a name says little to an encoder and hides what the description says
        self._told = (
            unit(embedder.embed([tool.description or tool.words for tool in read]) - common) if encoded else None
        )
        self._ranker = Ranker(
            self._lexicon,
            [frozenset(tokens) for tokens in fields["name"]],
            [frozenset(tokens) for tokens in fields["description"]],
            [frozenset((*a, *b)) for a, b in zip(fields["parameters"], fields["results"], strict=True)],
            encoded=encoded,
        )

    def _meant_by_groups(self, named: list[str], embedder: Embedder) -> Floats:
        """What each group is, in the order of their numbers, the first of which is 1."""
        tools: dict[str, list[str]] = {}
        for group, words in zip(self._group_names, named, strict=True):
            if group:
                tools.setdefault(group, []).append(words)
        meant: Floats = embedder.embed([about_group(group, words) for group, words in tools.items()])
        return unit(meant - meant.mean(axis=0, dtype=np.float32))

    @property
    def all_tokens(self) -> int:
        """About what it would cost to show all tools to a model."""
        return sum(self._tokens)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._number

    def search(self, request: str, k: int = 5) -> list[Hit]:
        """The k tools that fit a request best, best first.

        Args:
            request: in anybody's words; may ask for several things.
            k: how many; fewer come back if there are fewer, none for a request without words.

        Raises:
            UsageError: k is below 1, or something is of the wrong kind.
        """
        kinds: tuple[Any, Any] = request, k
        if not isinstance(kinds[0], str):
            raise UsageError(f"a request is a text, not {request!r:.200}")
        if not isinstance(kinds[1], SupportsIndex):
            raise UsageError(f"k is a whole number, not {k!r:.200}")
        if k < 1:
            raise UsageError(f"a search is for at least 1 tool, not k={k}")
        if not self._names or not tokenize(request, stop=False):
            return []
        with self._lock:
            scores = self._scores(read_request(request))
            if used := self._usage.scores(request):
                scores = positive(scores)
                places = np.fromiter(used, np.intp)
                scores[places] += _USED * np.fromiter(used.values(), np.float32)
        k = min(k, len(self._names))
        best = np.flatnonzero(scores > _UNLIKELY) if k <= LIKELY else np.arange(len(scores))
        best = best[np.argpartition(-scores[best], k - 1)[:k]]
        best = best[np.argsort(-scores[best], kind="stable")]
        top = max(1.0, float(scores[best[0]]))
        return [
            Hit(self._names[n], max(0.0, float(scores[n])) / top, self._tools[n], self._tokens[n])
            for n in map(int, best)
        ]

    def _scores(self, request: Request) -> Floats:
        texts = [request.text if tokenize(request.text) else request.files or request.text, *request.parts]
        meant = [request.files] if request.files and texts[0] != request.files else []
        # what its files mean, and what it leaves, counts as words too
        besides = [*meant, *request.leaves]
        among = self._likely([*texts, " . ".join(besides)] if besides else texts)
        signals = self._signals(texts, among)
        scores = self._ranker.scores(signals)
        if besides:
            made = self._signals(besides, among)
            loose = self._ranker.loose(made)
            scores = positive(scores)
            if meant:
                scores = scores + np.float32(_FILES) * loose[0]
            if request.leaves:
                weight = _LEAVES + (_LEAVES_FIRM - _LEAVES) * self._ranker.firmness(signals)
                # where no tool makes such a thing, those that come nearest are none for it
                there = self._ranker.there(made)[len(meant) :, None]
                scores = positive(scores) + np.float32(weight) * (there * loose[len(meant) :]).max(axis=0)
        return self._spread(self._varied(self._with_neighbours(scores, among), among), among)

    def _with_neighbours(self, scores: Floats, among: Ints | None) -> Floats:
        """A share of how well the best tools of its group fit, for each tool of one."""
        if self._groups is None:
            return scores
        groups = self._groups if among is None else self._groups[among]
        scores = positive(scores)
        order = np.lexsort((-scores, groups))
        sorted_groups = groups[order]
        starts = np.searchsorted(sorted_groups, sorted_groups)  # where the group of each begins
        best = order[np.arange(len(order)) - starts < _BEST_OF_GROUP]
        count = np.bincount(groups[best])
        means = np.bincount(groups[best], scores[best]) / np.maximum(count, 1)
        means[0] = 0.0  # those of no group
        fit: Floats = (means / max(float(means.max()), 1e-9)).astype(np.float32)
        return scores + np.float32(_GROUP) * fit[groups]

    def _varied(self, scores: Floats, among: Ints | None) -> Floats:
        """Less for a tool that does what a better one of another group does: one of the two will do."""
        if self._groups is None:
            return scores
        scores = positive(scores)
        best = np.argsort(-scores, kind="stable")[:_VARIED]
        numbers = best if among is None else among[best]
        groups = self._groups[numbers]
        alike: Floats = np.maximum(self._meaning[numbers] @ self._meaning[numbers].T, np.float32(0))
        alike[groups[:, None] == groups] = 0
        left = np.ones(len(best), bool)
        worth = scores[best]
        most = np.zeros(len(best), np.float32)  # how like each is to the most like of those before it
        for _ in range(len(best)):
            now = worth - np.float32(_ALIKE) * most
            chosen = int(np.argmax(np.where(left, now, _UNLIKELY)))
            left[chosen] = False
            scores[best[chosen]] = now[chosen]
            most = np.maximum(most, alike[chosen])
        return scores

    def _likely(self, texts: list[str]) -> Ints | None:
        """Of very many tools, those that are worth a closer look; None: all are."""
        if len(self._names) <= MANY:
            return None
        # the words of all parts stand in the whole; adding them part by part would only cost time
        rough = positive(self._lexicon.plain([" ".join(texts[:1] + texts[len(texts) - 1 :])])[0])
        asked = unit(self._embedder.embed(texts[:MOST_COMPARED]) - self._common)
        # all texts at once: reading the tools' vectors is what takes the time
        for meaning in np.ascontiguousarray((self._meaning @ asked.T).T):
            rough = np.maximum(rough, meaning * np.float32(1 / max(float(meaning.max()), 1e-9)))
        limit = np.partition(rough, -LIKELY)[-LIKELY]
        return np.flatnonzero(rough >= limit)[: 2 * LIKELY].astype(np.int32)

    def _spread(self, scores: Floats, among: Ints | None) -> Floats:
        if among is None:
            return scores
        whole = np.full(len(self._names), _UNLIKELY, np.float32)
        whole[among] = scores
        return whole

    def _signals(self, texts: Sequence[str], among: Ints | None = None) -> Signals:
        plain, wide = self._lexicon.scores(texts, among)
        vectors = self._embedder.embed(texts)
        centred = unit(vectors - self._common)

        def cosines(of: Floats, tools: Floats) -> Floats:
            return of @ (tools if among is None else tools[among]).T

        served = None
        if self._servers is not None and self._groups is not None:
            groups = standard(centred @ self._servers.T)
            # in the first place are those of no group
            served = np.pad(groups, ((0, 0), (1, 0)))[:, self._groups if among is None else self._groups[among]]

        return Signals(
            tuple(texts),
            plain,
            wide,
            cosines(centred, self._meaning),
            cosines(vectors, self._named),
            None if self._told is None else cosines(centred, self._told),
            served,
            among,
        )

    def learn(
        self, request: str, tools: str | Sequence[str], *, ok: bool = True, run_id: str | None = None
    ) -> None:
        """Remember which tools served a request, or (``ok=False``) did not.

        Names that the index does not have are kept too: the tools may be back later.

        Raises:
            UsageError: something is of the wrong kind.
        """
        given: Any = [tools] if isinstance(tools, str) else tools
        names = list(cast(Iterable[Any], given)) if isinstance(given, Iterable) else [given]
        if not isinstance(cast(Any, request), str) or not all(isinstance(name, str) for name in names):
            raise UsageError(
                f"a request and the names of its tools are texts, not {request!r:.200} and {tools!r:.200}"
            )
        with self._lock:
            self._usage.add(request, names, ok=ok, run_id=run_id)

    @staticmethod
    def schema_tokens(hits: Sequence[Hit]) -> int:
        """About how many tokens it costs to show hits to a model."""
        return sum(hit.tokens for hit in hits)


def _grouped(names: Sequence[str], given: Mapping[str, str]) -> tuple[NDArray[np.intp] | None, list[str]]:
    """Each tool's group, by number (0: none; without numbers if there is but one group, or none) and by name."""
    numbers: dict[str, int] = {}
    groups = [given.get(name) or name.rpartition("/")[0] for name in names]
    found = [numbers.setdefault(group, len(numbers) + 1) if group else 0 for group in groups]
    return (np.array(found, np.intp) if len(numbers) > 1 else None), groups


def _chosen(embedder: Embedder | str | None, tools: int) -> Embedder | None:
    """The encoder to use, if any."""
    if tools > MOST_ENCODED and (embedder is None or embedder == "auto"):
        return None
    return encoder(embedder)
