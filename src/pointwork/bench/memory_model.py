"""What memory's High tiers that ask a model find, beside Mid, question by question."""

import random
import time
from collections.abc import Iterator, Sequence

from pointwork.bench.memory_budget import shown_of
from pointwork.bench.memory_rows import Row, filled, held, row_of
from pointwork.bench.memory_sets import TRAINED, TRAINED_HOTPOT, Question, Set
from pointwork.errors import UsageError
from pointwork.memory import Memory
from pointwork.memory.reader import Reader, Reply, reader
from pointwork.models import ChatRequest

BUDGETS = (70, 120, 271)
_QUESTIONS = 30  # of each set, drawn once: a small model takes ten seconds for each
_SUMMARY = ("recall", "answering", "words", "tokens")


def measure(
    dialogues: Sequence[Set], documents: Set, limit: int | None, encoder: str, model: "Reader | str | None"
) -> Iterator[Row]:
    """Rows of summary (dialogues 8-9, by budget) and entity (both sets), and of what High adds to Mid.

    Args:
        limit: questions of each set; None: 30.
        model: as ``Memory`` takes it.
    """
    asks = _Once(reader(model))
    unseen = dialogues[TRAINED:]
    memories = [filled(one, encoder=encoder, model=asks) for one in unseen]
    drawn = [_drawn(one.questions, limit) for one in unseen]
    for budget in BUDGETS:
        mid: list[list[float]] = []
        high: list[list[float]] = []
        for one, memory, questions in zip(unseen, memories, drawn, strict=True):
            entries = {entry.source: entry for entry in one.entries}
            for question in questions:
                for rows, tiers in ((mid, None), (high, {"summary": "high"})):
                    recall = memory.recall(question.text, k=40, budget_tokens=budget, now=one.now, tiers=tiers)
                    rows.append(shown_of(question, entries, recall))
        yield from _compared("summary", f"dialogues 8-9, {budget} tokens", _SUMMARY, mid, high)
    yield asks.row("summary")
    names = ("recall@5", "recall@10", "recall@20")
    found = [
        _both(memory, question, one.now, (5, 10, 20))
        for one, memory, questions in zip(unseen, memories, drawn, strict=True)
        for question in questions
    ]
    yield from _compared("entity", "dialogues 8-9", names, *zip(*found, strict=True))
    memory = filled(documents, encoder=encoder, model=asks)
    questions = documents.questions[TRAINED_HOTPOT:][: limit or _QUESTIONS]
    found = [_both(memory, question, None, (5, 10)) for question in questions]
    yield from _compared("entity", "hotpot, unseen", ("R@5", "R@10"), *zip(*found, strict=True))
    yield asks.row("entity")


class _Once:
    """A reader that is not asked the same twice: what it is shown is the same at all budgets."""

    def __init__(self, model: Reader | None) -> None:
        if model is None:
            raise UsageError("which model is to be measured? Give it as --model, such as local:")
        self._model = model
        self._known: dict[str, Reply] = {}
        self._took: list[tuple[float, float]] = []

    def ask(self, request: ChatRequest) -> Reply:
        key = repr((request.messages, request.schema))
        if key not in self._known:
            started = time.perf_counter()
            reply = self._known[key] = self._model.ask(request)
            self._took.append((time.perf_counter() - started, reply.tokens))
        return self._known[key]

    def row(self, module: str) -> Row:
        """What the replies since the last such row took."""
        took, self._took = self._took, []
        return row_of("model", f"{module} High", "a reply", ("seconds", "tokens"), took or [(0.0, 0.0)])


def _drawn(questions: Sequence[Question], limit: int | None) -> list[Question]:
    drawn = list(questions)
    random.Random(0).shuffle(drawn)
    return drawn[: limit or _QUESTIONS]


def _both(
    memory: Memory, question: Question, now: float | None, ks: Sequence[int]
) -> tuple[list[float], list[float]]:
    """Of Mid and of High: evidence among the first."""
    rows: list[list[float]] = []
    for tiers in (None, {"entity": "high"}):
        recall = memory.recall(question.text, k=ks[-1], now=now, tiers=tiers)
        found = [item.source for item in recall.items]
        rows.append([held(question.gold, found[:k]) for k in ks])
    return rows[0], rows[1]


def _compared(
    module: str, what: str, names: Sequence[str], mid: Sequence[Sequence[float]], high: Sequence[Sequence[float]]
) -> Iterator[Row]:
    yield row_of("model", f"{module} Mid", what, names, mid)
    yield row_of("model", f"{module} High", what, names, high)
    more = [[b - a for a, b in zip(one, two, strict=True)] for one, two in zip(mid, high, strict=True)]
    yield row_of("model", f"{module}: High adds", what, names, more)
