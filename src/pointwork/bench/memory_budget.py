"""Evidence in the text that a model is shown, by its tokens; beside whole turns by BM25 and the whole dialogue."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from pointwork.bench.memory_rows import Row, filled, held, plain_bm25, row_of
from pointwork.bench.memory_sets import Question, Set
from pointwork.memory import Entry, Recall
from pointwork.text import count_tokens_estimate, sentences, tokenize

BUDGETS = (250, 500, 1000, 2000)
SAVED = 0.72  # of the tokens of the whole top 20: what was asked for
THRIFT = 0.65
_LEFT = 1.48  # how much larger a budget has to be with it for about as many tokens to be shown
_K = 40  # items that may be shown
_NAMES = ("recall", "answering", "words", "tokens")


def measure(sets: list[Set], limit: int | None, encoder: str = "auto") -> Iterator[Row]:
    """Rows per system and budget.

    ``recall`` counts a piece of evidence whose id stands in the text with its likeliest sentence or more,
    ``answering`` one whose sentence nearest to question and answer stands there, ``words`` the share of its content
    words. ``of_top_20`` is recall beside that of the whole top 20, ``saved`` tokens beside its plain lines.
    """
    systems = ("BM25, whole turns", "default, summary Low", "default")
    thrifty = f"default, thrift {THRIFT:g}"
    full: list[list[float]] = []
    rows: dict[tuple[str, int], list[list[float]]] = {}
    target = round((1 - SAVED) * _plain_top(sets, limit, encoder))
    for one in sets:
        memory, index = filled(one, encoder=encoder), plain_bm25(one)
        entries = {entry.source: entry for entry in one.entries}
        everything = sum(count_tokens_estimate(line_of(e)) + 1 for e in one.entries)
        for question in one.questions[:limit]:
            top = memory.recall(question.text, k=20, budget_tokens=100_000, now=one.now)
            found = [item.source for item in top.items]
            plain = sum(count_tokens_estimate(line_of(entries[source])) + 1 for source in found)
            full.append([held(question.gold, found), top.tokens, plain, everything])
            ranked = [source for source, _ in index.search(tokenize(question.text), 100)]
            for budget in (target, *BUDGETS):
                sources, spent = _fitting(ranked, entries, budget)
                text = "\n".join(entries[source].text for source in sources)
                rows.setdefault((systems[0], budget), []).append([*seen(question, entries, sources, text), spent])
                for system in systems[1:]:
                    tiers = {**top.tiers, "summary": "low"} if "Low" in system else top.tiers
                    recall = memory.recall(question.text, k=_K, budget_tokens=budget, now=one.now, tiers=tiers)
                    rows.setdefault((system, budget), []).append(shown_of(question, entries, recall))
                room = round(_LEFT * budget)
                recall = memory.recall(question.text, k=_K, budget_tokens=room, now=one.now, thrift=THRIFT)
                rows.setdefault((thrifty, room), []).append(shown_of(question, entries, recall))
    whole = np.mean(full, axis=0)
    for (system, budget), values in sorted(rows.items()):
        row = row_of("budget", system, f"{budget} tokens", _NAMES, values)
        share, low, high = _ratio([value[0] for value in values], [value[0] for value in full])
        row.values |= {"of_top_20": share, "saved": 1 - row.values["tokens"] / float(whole[2])}
        row.intervals["of_top_20"] = (low, high)
        yield row
    count = len(full)
    yield Row("budget", "top 20, whole", "plain lines", count, _whole(float(whole[0]), float(whole[2])))
    yield Row("budget", "top 20, whole", "Recall.text", count, _whole(float(whole[0]), float(whole[1])))
    yield Row("budget", "full dialogue", "everything", count, _whole(1.0, float(whole[3])))


def shown_of(question: Question, entries: dict[str, Entry], recall: Recall) -> list[float]:
    """What a recall shows of a question's evidence, and its tokens: see ``measure``."""
    sources = [item.source for item in recall.items if item.id in recall.shown]
    return [*seen(question, entries, sources, recall.text), recall.tokens]


def _whole(recall: float, tokens: float) -> dict[str, float]:
    return {"recall": recall, "answering": recall, "words": recall, "tokens": tokens}


def line_of(entry: Entry) -> str:
    """A turn as a transcript has it."""
    return f"{entry.speaker}: {entry.text}"


def _plain_top(sets: list[Set], limit: int | None, encoder: str) -> float:
    """Mean tokens of the best 20 turns as plain lines."""
    found: list[int] = []
    for one in sets:
        memory = filled(one, encoder=encoder)
        entries = {entry.source: entry for entry in one.entries}
        for question in one.questions[:limit]:
            items = memory.recall(question.text, k=20, now=one.now).items
            found.append(sum(count_tokens_estimate(line_of(entries[item.source])) + 1 for item in items))
    return float(np.mean(found))


def seen(
    question: Question, entries: dict[str, Entry], shown: Sequence[str], text: str
) -> tuple[float, float, float]:
    """What of a question's evidence a text shows: see ``measure``.

    Args:
        entries: by source.
        shown: sources of the entries whose id stands in the text.
        text: what a model sees.
    """
    flat = _flat(re.sub(r"^> ", "", text, flags=re.MULTILINE))
    there = set(shown)
    recall = answering = words = 0.0
    for source in question.gold & there & entries.keys():
        parts = [_flat(part) for part in sentences(entries[source].text)]
        within = [part in flat for part in parts]
        recall += 1
        answering += any(within[n] for n in nearest(question, parts))
        counts = [len(tokenize(part)) for part in parts]
        held_ = sum(count for count, yes in zip(counts, within, strict=True) if yes)
        words += held_ / sum(counts) if sum(counts) else float(all(within))
    count = len(question.gold)
    return recall / count, answering / count, words / count


def nearest(question: Question, parts: Sequence[str]) -> list[int]:
    """Numbers of the sentences that share most with question and answer, a word of the answer counting twice."""
    answer = set(tokenize(question.answer))
    asked = set(tokenize(question.text)) - answer
    shares = [2 * len(answer & (words := set(tokenize(part)))) + len(asked & words) for part in parts]
    return [number for number, share in enumerate(shares) if share == max(shares)]


def _flat(text: str) -> str:
    return " ".join(text.split())


def _fitting(ranked: list[str], entries: dict[str, Entry], budget: int) -> tuple[list[str], int]:
    """The best whole turns that fit a budget, as the baseline shows them: a line each, without id or speaker."""
    shown: list[str] = []
    spent = 0
    for source in ranked:
        cost = count_tokens_estimate(entries[source].text) + 1
        if spent + cost <= budget:
            shown.append(source)
            spent += cost
    return shown, spent


def _ratio(some: Sequence[float], of: Sequence[float]) -> tuple[float, float, float]:
    """The mean of some by the mean of others, with its 95 % interval: a paired bootstrap over questions."""
    pairs = np.array([some, of]).T
    means = pairs[np.random.default_rng(0).integers(0, len(pairs), (1000, len(pairs)))].mean(axis=1)
    low, high = np.quantile(means[:, 0] / means[:, 1], [0.025, 0.975])
    return float(pairs[:, 0].mean() / pairs[:, 1].mean()), float(low), float(high)
