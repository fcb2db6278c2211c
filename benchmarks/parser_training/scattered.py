"""Word problems whose sentences stand among those of others: which numbers a question needs has to be found.

A task over files asks in one sentence and has its amounts in lines; there are some 180 places to learn that from,
and a network knows them by heart before it knows the next one. Word problems tell of thousands of places.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any

from parser_training.calculations import Calculated, Other, Step, problem
from pointwork.agents.facts.figures import in_one_form
from pointwork.agents.parsing.calculating import ROW
from pointwork.agents.parsing.layout import Pieces
from pointwork.agents.parsing.showing import show, size_of
from pointwork.text import sentence_spans

UNSAID = 0.12  # of the problems, from which a sentence with a number that they need is left out
FULL = (0.5, 1.0)  # how full a row of pieces is

Problem = tuple[str, Any, float]
"""Its text, its solution as ``calculations.problem`` takes it, what it comes to."""


def scattered(problems: Sequence[Problem], pieces: Pieces, seed: int) -> Iterator[Calculated]:
    """Those of some problems that can be said so, each among sentences of others; another seed, other sentences."""
    draw = random.Random(seed)
    cut = [_cut(in_one_form(text)) for text, _, _ in problems]
    strangers = [sentence for parts in cut for _, sentence in parts[:-1] if any(map(str.isdigit, sentence))]
    for (text, tree, answer), parts in zip(problems, cut, strict=True):
        if len(parts) > 1:
            try:
                yield _among(problem(text, tree, answer, pieces), parts, strangers, pieces, draw)
            except (Other, RecursionError, TypeError):
                continue


def _cut(text: str) -> list[tuple[int, str]]:
    """Sentences, and where each begins; the last one asks."""
    found = [(start, text[start:end].rstrip()) for start, end in sentence_spans(text) if text[start:end].strip()]
    return [(start + len(part) - len(part.lstrip()), part.strip()) for start, part in found]


def _among(
    whole: Calculated,
    parts: Sequence[tuple[int, str]],
    strangers: Sequence[str],
    pieces: Pieces,
    draw: random.Random,
) -> Calculated:
    (at, question), own = parts[-1], list(parts[:-1])
    amounts = whole.shown.amounts
    used = {place for i, j, _ in whole.steps for place in (i, j) if place < len(amounts)}
    needed = [
        number
        for number, (start, part) in enumerate(own)
        if any(start <= amounts[place].start < start + len(part) for place in used)
    ]
    if not needed:
        raise Other("the question says it all")
    lost = draw.choice(needed) if draw.random() < UNSAID else None
    lines: list[tuple[int | None, str]] = [part for number, part in enumerate(own) if number != lost]
    room = int(draw.uniform(*FULL) * ROW) - 1 - len(pieces.placed(question)[0])
    room -= sum(size_of(line, pieces) for _, line in lines)
    while strangers and room > 0 and (size := size_of(line := draw.choice(strangers), pieces)) <= room:
        lines.insert(draw.choice((0, len(lines))), (None, line))
        room -= size
    shown = show(question, [line for _, line in lines], pieces)
    if lost is not None:
        return Calculated(shown, [])
    starts = {0: at} | {number: start for number, (start, _) in enumerate(lines, 1) if start is not None}
    placed = {
        starts[amount.line] + amount.start: place
        for place, amount in enumerate(shown.amounts)
        if amount.line in starts
    }
    return Calculated(shown, list(_moved(whole, placed, len(shown.amounts))))


def _moved(whole: Calculated, placed: dict[int, int], count: int) -> Iterator[Step]:
    """Steps over the amounts at their new places."""
    amounts = whole.shown.amounts

    def place(old: int) -> int:
        if old >= len(amounts):
            return old - len(amounts) + count
        if (new := placed.get(amounts[old].start)) is None:
            raise Other(f"{amounts[old].written} is read otherwise by itself")
        return new

    for i, j, operation in whole.steps:
        yield place(i), place(j), operation
