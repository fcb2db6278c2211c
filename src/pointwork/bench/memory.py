"""What memory finds, at what cost: recall of evidence, tokens shown, tiers, and what injected text does to it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pointwork.bench import memory_budget, memory_poison
from pointwork.bench.memory_rows import Row, filled, held, plain_bm25, row_of
from pointwork.bench.memory_sets import TRAINED, TRAINED_HOTPOT, Set, hotpot, locomo
from pointwork.sentences import encoder as sentence_encoder
from pointwork.text import tokenize

KS = (5, 10, 20)
PARTS = ("locomo", "hotpot", "budget", "poison", "tiers")
MODEL = "model"  # a part besides, which asks one


def measure(
    data: Path, parts: Sequence[str] = PARTS, limit: int | None = None, encoder: str = "auto", model: str = ""
) -> Iterator[Row]:
    """The rows of the report, as they are ready.

    Args:
        data: folder of the benchmark data.
        parts: which of ``PARTS``, and ``MODEL``.
        limit: at most so many questions of each dialogue; None: all.
        encoder: of tier High, as ``Memory`` takes it: ``auto``, ``static`` or ``minilm``.
        model: that the part ``MODEL`` asks, as ``Memory`` takes it.

    Raises:
        UsageError: a file of the data can not be read.
        ImportError: ``minilm`` without the extra ``embed``.
    """
    if "locomo" in parts:
        yield from _locomo(locomo(data), limit, encoder)
    if "hotpot" in parts:
        yield from _hotpot(hotpot(data), limit, encoder)
    if "budget" in parts:
        yield from memory_budget.measure(locomo(data)[TRAINED:], limit, encoder)
    if "poison" in parts:
        yield from memory_poison.measure(locomo(data), limit, encoder)
    if MODEL in parts:
        from pointwork.bench import memory_model

        yield from memory_model.measure(locomo(data), hotpot(data), limit, encoder, model or None)
    if "tiers" in parts:
        from pointwork.bench import memory_tiers

        yield from memory_tiers.measure(data, limit)


def systems(encoder: str) -> list[tuple[str, str | None]]:
    """What is compared, with the tiers of each: with an encoder, Mid is no longer the default."""
    found: list[tuple[str, str | None]] = [("BM25", None), ("all Low", "low")]
    if sentence_encoder(encoder) is None:
        return [*found, ("default (Mid)", None)]
    return [*found, ("all Mid", "mid"), ("default (High)", None)]


def _locomo(sets: list[Set], limit: int | None, encoder: str) -> Iterator[Row]:
    for system, tiers in systems(encoder):
        rows: list[tuple[int, str, list[float]]] = []
        for number, one in enumerate(sets):
            memory = filled(one, encoder=encoder) if system != "BM25" else None
            index = plain_bm25(one) if memory is None else None
            for question in one.questions[:limit]:
                if index is not None:
                    found = [source for source, _ in index.search(tokenize(question.text), KS[-1])]
                else:
                    assert memory is not None
                    recall = memory.recall(question.text, k=KS[-1], now=one.now, tiers=tiers)
                    found = [item.source for item in recall.items]
                rows.append((number, question.category, [held(question.gold, found[:k]) for k in KS]))
        names = [f"recall@{k}" for k in KS]
        unseen = [row for row in rows if row[0] >= TRAINED]
        yield row_of("locomo", system, "dialogues 8-9, unseen", names, [row[2] for row in unseen])
        for category in sorted({row[1] for row in unseen}):
            chosen = [row[2] for row in unseen if row[1] == category]
            yield row_of("locomo", system, f"dialogues 8-9, {category}", names, chosen)
        yield row_of("locomo", system, "all dialogues", names, [row[2] for row in rows])


def _hotpot(one: Set, limit: int | None, encoder: str) -> Iterator[Row]:
    names = ["R@5", "C@5", "C@10"]
    for system, tiers in systems(encoder):
        memory = filled(one, encoder=encoder) if system != "BM25" else None
        index = plain_bm25(one)
        rows: list[list[float]] = []
        for question in one.questions[:limit]:
            if memory is None:
                found = [source for source, _ in index.search(tokenize(question.text), 10)]
            else:
                found = [item.source for item in memory.recall(question.text, k=10, tiers=tiers).items]
            share = held(question.gold, found[:5])
            rows.append([share, float(share == 1.0), float(held(question.gold, found) == 1.0)])
        yield row_of("hotpot", system, "all questions", names, rows)
        if len(rows) > TRAINED_HOTPOT:
            yield row_of(
                "hotpot", system, f"questions from {TRAINED_HOTPOT + 1}, unseen", names, rows[TRAINED_HOTPOT:]
            )
