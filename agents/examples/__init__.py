"""Worked examples for models, picked by likeness to the request (DynaICL): ``tables``, ``plans``; and ``programs``.

A small model copies the form of what it is shown; a large one needs none of this and is not hurt by it. Written for
this purpose: none is taken from a benchmark.
"""

import functools
import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np

from pointwork.embedding import default_embedder


class Bank:
    """Examples with a text each, found by the cosine of their embeddings.

    Args:
        rows: JSON objects with the key ``ask``.
    """

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self.rows = list(rows)
        self._embedder = default_embedder()
        self._vectors = self._embedder.embed([row["ask"] for row in self.rows])

    def nearest(self, text: str, k: int) -> list[dict[str, Any]]:
        """The k examples most like a text, the likest last: models heed most what they read last."""
        scores = self._vectors @ self._embedder.embed([text])[0]
        return [self.rows[i] for i in np.argsort(scores, kind="stable")[-k:]]


@functools.cache
def bank(name: str) -> Bank:
    """The bank of a name; read once."""
    return Bank(_read(name))


@functools.cache
def tables() -> dict[str, Any]:
    """The tables that the examples of ``tables`` speak of, by name."""
    return _read("shown")


@functools.cache
def programs() -> list[dict[str, str]]:
    """Requests (``given``) with programs that do them: all are shown, so that engines keep what they have read."""
    return _read("programs")


def _read(name: str) -> Any:
    text = resources.files("pointwork.agents.examples").joinpath(f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text)
