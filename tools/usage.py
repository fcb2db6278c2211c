"""What past requests used: requests like them may need the same tools."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import delete, select

from pointwork.embedding import Embedder, unit
from pointwork.store import Store
from pointwork.store.tables import tool_usage
from pointwork.text import tokenize
from pointwork.tools.lexical import Floats

NEAREST = 200  # past requests that are looked at
MOST = 50_000  # past requests that are kept in memory, the latest
LONGEST = 1000  # characters of a request that are kept
PER_REQUEST = 8  # tools of one request that are kept
_MEANING = 0.4  # share of meaning in the likeness of two requests; the rest is their words
_COMMON = 0.7  # share of what all requests have in common that is taken from their vectors
_SURE = 0.4  # likeness from which a request speaks with its full weight
_FEW = 30  # with so many past requests, they count half


class Usage:
    """Past requests and the tools that served them, in memory and, with a store, on disk.

    Args:
        numbers: of the tools that the index has.
        store: where usage is kept; that of all indices together.
        embedder: of requests.
    """

    def __init__(self, numbers: Mapping[str, int], store: Store | None, embedder: Embedder) -> None:
        self._numbers, self._store, self._embedder = numbers, store, embedder
        self._tools: list[int] = []
        self._good: list[float] = []
        self._texts: list[str] = []
        self._vectors: Floats = np.zeros((0, embedder.dims), np.float32)
        self._centred = self._vectors
        self._mean = np.zeros(embedder.dims, np.float32)
        self._places: dict[str, NDArray[np.int32]] = {}
        self._norms: Floats = np.zeros(0, np.float32)
        self._last = 0  # id of the last row that was taken in
        if store is not None:
            newest = select(tool_usage.c.id).order_by(tool_usage.c.id.desc()).limit(1).offset(MOST)
            for row in store.rows(newest):  # what is too old to count need not be kept
                self._last = row["id"]
                with store.write() as connection:
                    connection.execute(delete(tool_usage).where(tool_usage.c.id <= self._last))
        self._catch_up()

    def add(self, request: str, tools: Sequence[str], *, ok: bool, run_id: str | None) -> None:
        """Remember."""
        if self._store is None:
            for tool in tools:
                self._keep(request, tool, ok)
        elif tools:
            now = time.time()
            rows = [{"run_id": run_id, "request": request, "tool": t, "ok": ok, "created": now} for t in tools]
            self._store.append(tool_usage, *rows)
            self._store.flush()
            self._catch_up()

    def _catch_up(self) -> None:
        """Take in what runs, also of other processes, have written since."""
        if self._store is None:
            return
        new = select(tool_usage).where(tool_usage.c.id > self._last).order_by(tool_usage.c.id).limit(MOST)
        for row in self._store.rows(new):
            self._last = row["id"]
            self._keep(row["request"], row["tool"], row["ok"])

    def _keep(self, request: str, tool: str, ok: bool) -> None:
        number = self._numbers.get(tool)
        if number is None or len(self._tools) >= MOST:
            return
        self._tools.append(number)
        self._good.append(1.0 if ok else -0.5)
        self._texts.append(request)

    def scores(self, request: str) -> dict[int, float]:
        """Tool number → how much requests like this one speak for it, at most 1."""
        self._catch_up()
        if not self._tools:
            return {}
        if len(self._norms) < len(self._tools):
            self._refresh()
        vector = unit(self._embedder.embed([request]) - self._mean)[0]
        like = np.float32(_MEANING) * (self._centred @ vector) + np.float32(1 - _MEANING) * self._shared(request)
        near = np.argpartition(-like, NEAREST)[:NEAREST] if len(like) > NEAREST else np.arange(len(like))
        by_tool: dict[int, list[float]] = defaultdict(list)
        for place in map(int, near[np.argsort(-like[near])]):
            if like[place] > 0:
                by_tool[self._tools[place]].append(float(like[place]) * self._good[place])
        found = {tool: (likes[0] + sum(likes[:3]) / 3) / 2 for tool, likes in by_tool.items()}
        best = max(found.values(), default=0.0)
        if best <= 0:
            return {}
        likest = min(1.0, float(like.max()))
        # few past requests say little, unless one of them is this very one
        sure = min(1.0, likest / _SURE) * max(len(self._tools) / (len(self._tools) + _FEW), likest**3)
        return {tool: sure * max(-0.5, score / best) for tool, score in found.items()}

    def _refresh(self) -> None:
        """Take in what was added since."""
        new = self._texts[len(self._vectors) :]
        self._vectors = np.concatenate([self._vectors, self._embedder.embed(new)])
        self._mean = (np.float32(_COMMON) * self._vectors.mean(axis=0)).astype(np.float32)
        self._centred = unit(self._vectors - self._mean)
        places: dict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(self._texts):
            for token in set(tokenize(text)):
                places[token].append(number)
        self._places = {token: np.array(numbers, np.int32) for token, numbers in places.items()}
        squares = np.zeros(len(self._texts), np.float32)
        for token, numbers in self._places.items():
            squares[numbers] += self._idf(token) ** 2
        self._norms = np.sqrt(np.maximum(squares, 1e-9))

    def _idf(self, token: str) -> float:
        found = len(self._places.get(token, ()))
        return float(np.log(1 + (len(self._texts) + 0.5) / (found + 0.5)))

    def _shared(self, request: str) -> Floats:
        """Cosine of the words of a request and of each past one, rare words counting more."""
        products = np.zeros(len(self._texts), np.float32)
        own = 0.0
        for token in set(tokenize(request)):
            square = self._idf(token) ** 2
            own += square
            if token in self._places:
                products[self._places[token]] += square
        return products / (self._norms * np.float32(max(own, 1e-9) ** 0.5))


def remember(store: Store, request: str, tools: Sequence[str], run_id: str | None) -> None:
    """Keep that tools served a request in a run; that they did is kept once, however often it is asked."""
    request = request.strip()[:LONGEST]
    fresh: list[str] = []
    for tool in list(dict.fromkeys(tools))[:PER_REQUEST]:
        known = select(tool_usage.c.id).where(tool_usage.c.tool == tool, tool_usage.c.request == request)
        if store.row(known.limit(1)) is None:
            fresh.append(tool)
    now = time.time()
    rows = [{"run_id": run_id, "request": request, "tool": t, "ok": True, "created": now} for t in fresh]
    if rows:
        store.append(tool_usage, *rows)
