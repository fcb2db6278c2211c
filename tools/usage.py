"""What past requests used: requests like them may need the same tools."""

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import select

from pointwork.embedding import Embedder, Vectors
from pointwork.store import Store
from pointwork.store.tables import tool_usage
from pointwork.text import tokenize

NEAREST = 40
SHARPNESS = 6.0  # how much a nearer request counts for more
LEAST = 0.25  # likeness below which a request says nothing
MOST = 50_000  # past requests that are kept in memory, the latest
_WORDS = 0.5  # share of common words in the likeness; the rest is meaning


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
        self._vectors: Vectors = np.zeros((0, embedder.dims), np.float32)
        self._postings: dict[str, list[int]] = defaultdict(list)
        self._waiting: list[str] = []
        if store is not None:
            query = select(tool_usage.c.request, tool_usage.c.tool, tool_usage.c.ok)
            rows = store.rows(query.order_by(tool_usage.c.id.desc()).limit(MOST))
            for row in reversed(rows):
                self._keep(row["request"], row["tool"], row["ok"])

    def add(self, request: str, tools: Sequence[str], *, ok: bool, run_id: str | None) -> None:
        """Remember."""
        for tool in tools:
            self._keep(request, tool, ok)
        if self._store is not None and tools:
            now = time.time()
            rows = [{"run_id": run_id, "request": request, "tool": t, "ok": ok, "created": now} for t in tools]
            self._store.append(tool_usage, *rows)
            self._store.flush()

    def _keep(self, request: str, tool: str, ok: bool) -> None:
        number = self._numbers.get(tool)
        if number is None or len(self._tools) >= MOST:
            return
        for token in set(tokenize(request)):
            self._postings[token].append(len(self._tools))
        self._tools.append(number)
        self._good.append(1.0 if ok else -0.5)
        self._waiting.append(request)

    def scores(self, request: str) -> dict[int, float]:
        """Tool number → how much requests like this one speak for it, at most 1 in all."""
        if not self._tools:
            return {}
        if self._waiting:
            self._vectors = np.concatenate([self._vectors, self._embedder.embed(self._waiting)])
            self._waiting.clear()
        like = (1 - _WORDS) * np.maximum(self._vectors @ self._embedder.embed([request])[0], 0)
        like = like + np.float32(_WORDS) * self._shared(request)
        best = np.argpartition(-like, min(NEAREST, len(like) - 1))[:NEAREST]
        best = best[like[best] > LEAST]
        if not len(best):
            return {}
        weights = like[best] ** SHARPNESS
        total = float(weights.sum()) + LEAST**SHARPNESS
        found: Counter[int] = Counter()
        for place, weight in zip(best.tolist(), weights.tolist(), strict=True):
            found[self._tools[place]] += self._good[place] * weight / total
        return {tool: max(-0.5, share) for tool, share in found.items()}

    def _shared(self, request: str) -> Vectors:
        """The share of a request's rare words that each past one has."""
        shares = np.zeros(len(self._tools), np.float32)
        total = 0.0
        for token in set(tokenize(request)):
            places = self._postings.get(token, [])
            idf = float(np.log(1 + (len(self._tools) + 0.5) / (len(places) + 0.5)))
            total += idf
            shares[places] += idf
        return shares / np.float32(max(total, 1e-9))
