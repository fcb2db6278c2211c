"""The network of ``agents/parsing/pointing.py`` in torch, and its lessons: the words of sentences that answer."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from parser_training.nearer import asking_of
from parser_training.network import Layer, embedded
from pointwork.agents.parsing.encoder import LAYERS, WIDTH, Encoder
from pointwork.agents.parsing.pointing import LONGEST, RUN, Row, row
from pointwork.agents.quoting import nearest
from pointwork.agents.readings import sentences

READ = 6  # sentences beside a question
_DROPPED = 0.08
_NEVER = -1e9


@dataclass(frozen=True)
class Lesson:
    """A question beside the sentences that fit best; right runs as (sentence, first piece, last); none: unsaid."""

    rows: list[Row]
    right: list[tuple[int, int, int]]


def lessons(pages: Sequence[tuple[str, Mapping[str, Any]]], read: Encoder) -> Iterator[Lesson]:
    """The questions of some pages, each beside the sentences of all that fit it best, and one that answers it."""
    everything, idf = asking_of(pages)
    for name, page in pages:
        for pair in page["qa"]:
            found = nearest(pair["q"], sentences.ranked(pair["q"], everything, idf))
            said = _said(pair["a"]) if pair["a"] is not None else None
            holding = [one for one in found if said and one.passage.path == name and said.search(one.told)]
            if not found or (said is not None and not holding):
                continue
            shown = found[:READ]
            if holding and not any(one in shown for one in holding):
                shown = [*shown[: READ - 1], holding[0]]
            rows = [row(pair["q"], one.headed, read) for one in shown]
            right = [
                (number, *run)
                for number, one in enumerate(shown)
                if said is not None and one.passage.path == name
                for run in _runs(said, one, rows[number])
            ]
            if right or said is None:
                yield Lesson(rows, right)


def _said(answer: str) -> re.Pattern[str]:
    words = r"\s+".join(map(re.escape, re.sub(r"[*_`]", "", answer).split()))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def _runs(said: re.Pattern[str], one: sentences.Sentence, shown: Row) -> Iterator[tuple[int, int]]:
    """The first and the last piece of an answer wherever a sentence has it."""
    begun = len(one.headed) - len(one.told)
    for match in said.finditer(one.told):
        start, end = begun + match.start(), begun + match.end()
        inside = [at for at, (a, b) in enumerate(shown.places) if b > start and a < end]
        if inside and inside[-1] - inside[0] < RUN:
            yield inside[0], inside[-1]


class Points(nn.Module):
    """Reads a question and a sentence together.

    Args:
        parser: has the word pieces.
        begins: weights by the names of ``Encoder``: of ``pointing``, or of an encoder that marks nothing.
    """

    def __init__(self, parser: Encoder, begins: Mapping[str, Any]) -> None:
        super().__init__()
        self.word = embedded(parser)
        self.pos, self.mark = nn.Parameter(torch.zeros(LONGEST, WIDTH)), nn.Embedding(2, WIDTH)
        nn.init.normal_(self.mark.weight, std=0.02)
        self.n0 = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.ends, self.none = nn.Linear(WIDTH, 2), nn.Linear(WIDTH, 1)
        for name, tensor in self.state_dict().items():
            if name in begins and (name != "mark.weight" or "ends.weight" in begins):
                known = torch.tensor(np.array(begins[name]))
                tensor[: len(known)] = known[: len(tensor)]
                tensor[len(known) :] = known[-1]  # of places that it never saw, the last

    def see(self, rows: Sequence[Row]) -> torch.Tensor:
        """The last layer: shape (rows, longest, width)."""
        longest = -(-max(len(one.pieces) for one in rows) // 16) * 16  # few different shapes
        ids, marks = (torch.zeros(len(rows), longest, dtype=torch.long) for _ in range(2))
        away = torch.full((len(rows), 1, 1, longest), _NEVER)
        for number, one in enumerate(rows):
            length = len(one.pieces)
            ids[number, :length], marks[number, one.begin : length] = torch.tensor(one.pieces), 1
            away[number, :, :, :length] = 0
        with torch.autocast("cpu", torch.bfloat16):
            x = self.n0(
                functional.dropout(self.word(ids), _DROPPED, self.training) + self.pos[:longest] + self.mark(marks)
            )
            for layer in self.layers:
                x = layer(x, away.to(torch.bfloat16))
        return functional.dropout(x.float(), _DROPPED, self.training)

    def loss(self, some: Sequence[Lesson]) -> torch.Tensor:
        """How surprised it is at the right runs, among all of a question's sentences and that there is none."""
        seen = self.see([one for lesson in some for one in lesson.rows])
        ends, nones = self.ends(seen), self.none(seen[:, 0])[:, 0]
        total, at = torch.zeros(()), 0
        for lesson in some:
            many = len(lesson.rows)
            runs = [_runs_of(ends[at + n, one.begin : len(one.pieces) - 1]) for n, one in enumerate(lesson.rows)]
            none = nones[at : at + many].logsumexp(0) - math.log(many)
            every = torch.cat([*(one.flatten() for one in runs), none[None]]).logsumexp(0)
            right = [runs[n][first, last] for n, first, last in lesson.right]
            total = total + every - (torch.stack(right).logsumexp(0) if right else none)
            at += many
        return total / len(some)


def _runs_of(ends: torch.Tensor) -> torch.Tensor:
    """Of a sentence's runs the logits, by first and last piece."""
    runs = ends[:, 0][:, None] + ends[:, 1][None]
    there = torch.ones_like(runs, dtype=torch.bool)
    return runs.masked_fill(~(there.triu() & there.tril(RUN - 1)), _NEVER)
