"""The network of ``agents/parsing/nearness.py`` in torch, and its lessons: which sentence answers a question."""

import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from parser_training.fitting import shrunk
from parser_training.network import Layer, embedded
from pointwork.agents.parsing.encoder import LAYERS, WIDTH, Encoder
from pointwork.agents.parsing.nearness import LONGEST
from pointwork.agents.readings import sentences
from pointwork.text import tokenize
from pointwork.tools.passages import Passage, cut

RECIPES = Path(__file__).parents[2] / "training/recipes"
READ = 90  # sentences that a question is told from at once
ASKED = 14  # questions of a place in a step
_DROPPED = 0.05
_WORDLESS = 0.3  # of the steps in which shared words do not count: then the encoder has to know it alone


@dataclass(frozen=True)
class Asked:
    """A question, the sentences of its place that hold the answer, and how well each fits by its words."""

    question: str
    right: list[int]
    words: list[float]


@dataclass(frozen=True)
class Place:
    """The sentences of some pages and the questions that they answer."""

    sentences: list[str]
    asked: list[Asked]


def rows_of(name: str) -> list[dict[str, Any]]:
    """The pages of a recipe, with their questions."""
    return [json.loads(line) for line in (RECIPES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def asking_of(pages: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[list[Passage], Callable[[str], float]]:
    """The passages of some pages, and how rare a word is in them."""
    everything = [passage for name, page in pages for passage in cut(name, page["text"])]
    counts = Counter(word for passage in everything for word in set(tokenize(passage.text)))

    def idf(word: str) -> float:
        return math.log(1 + (len(everything) - counts[word] + 0.5) / (counts[word] + 0.5))

    return everything, idf


def place(pages: Sequence[tuple[str, Mapping[str, Any]]]) -> Place:
    """Pages by name, each with its text and questions, as agents read them."""
    everything, idf = asking_of(pages)
    told = [one for passage in everything for one in sentences.sentences(passage)]
    at = {_key(one): number for number, one in enumerate(told)}
    asked: list[Asked] = []
    for name, page in pages:
        for pair in page["qa"]:
            if pair["a"] is None:
                continue
            answer = re.compile(rf"(?<!\w){re.escape(_bare(pair['a']))}(?!\w)")
            right = [i for i, one in enumerate(told) if one.passage.path == name and answer.search(_bare(one.told))]
            words = [0.0] * len(told)
            for one in sentences.ranked(pair["q"], everything, idf):
                words[at[_key(one)]] = one.score
            if right:
                asked.append(Asked(pair["q"], right, words))
    return Place([one.headed for one in told], asked)


def _key(one: sentences.Sentence) -> tuple[str, int, str, str]:
    return one.source, one.passage.first, one.text, one.before


def _bare(text: str) -> str:
    return re.sub(r"[*_`]", "", " ".join(text.lower().split()))


class Near(nn.Module):
    """Vectors of texts; ``begins``: weights by the names of ``Encoder``."""

    def __init__(self, parser: Encoder, begins: Mapping[str, Any]) -> None:
        super().__init__()
        self.pieces, self.word = parser.pieces, embedded(parser)
        self.pos = nn.Parameter(torch.zeros(LONGEST, WIDTH))
        self.n0 = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.near, self.shared = nn.Parameter(torch.tensor(15.0)), nn.Parameter(torch.tensor(10.0))
        for name, tensor in self.state_dict().items():
            if name in begins:
                tensor.copy_(torch.as_tensor(np.array(begins[name]))[: len(tensor)])

    def forward(self, texts: Sequence[str]) -> torch.Tensor:
        """Shape (texts, width), each of length 1."""
        ends = self.pieces.special("[CLS]"), self.pieces.special("[SEP]")
        rows = [[ends[0], *self.pieces.of(text)[: LONGEST - 2], ends[1]] for text in texts]
        longest = -(-max(map(len, rows)) // 16) * 16  # few different shapes
        ids, there = torch.zeros(len(rows), longest, dtype=torch.long), torch.zeros(len(rows), longest)
        for number, row in enumerate(rows):
            ids[number, : len(row)], there[number, : len(row)] = torch.tensor(row), 1.0
        with torch.autocast("cpu", torch.bfloat16):
            x = self.n0(functional.dropout(self.word(ids), _DROPPED, self.training) + self.pos[:longest])
            for layer in self.layers:
                x = layer(x, ((1 - there) * -1e9)[:, None, None].to(torch.bfloat16))
        summed = (x.float() * there[..., None]).sum(1)
        return functional.normalize(summed, dim=1)

    def loss(self, places: Sequence[Place], chance: random.Random) -> torch.Tensor:
        """How surprised it is at the sentences that answer, among all of the places (softmax over both scores)."""
        texts, asked = some_of(places, chance)
        words = torch.tensor([one.words for one in asked]) * float(chance.random() >= _WORDLESS)
        logits = self.near * (self([one.question for one in asked]) @ self(texts).T) + self.shared * words
        wrong = torch.ones_like(logits, dtype=torch.bool)
        for number, one in enumerate(asked):
            wrong[number, one.right] = False
        return (logits.logsumexp(1) - logits.masked_fill(wrong, -1e9).logsumexp(1)).mean()


def some_of(places: Sequence[Place], chance: random.Random) -> tuple[list[str], list[Asked]]:
    """Some questions of each place, and at most ``READ`` sentences of all with those that answer them."""
    texts, begun = [text for one in places for text in one.sentences], 0
    chosen: list[tuple[Asked, int]] = []
    for one in places:
        chosen += [(asked, begun) for asked in chance.sample(one.asked, min(len(one.asked), ASKED))]
        begun += len(one.sentences)
    kept = {begins + at for asked, begins in chosen for at in asked.right}
    others = [at for at in range(len(texts)) if at not in kept]
    kept |= set(chance.sample(others, min(len(others), max(0, READ - len(kept)))))
    order = sorted(kept)
    now = {at: number for number, at in enumerate(order)}
    return [texts[at] for at in order], [
        Asked(
            asked.question,
            [now[begins + at] for at in asked.right],
            [asked.words[at - begins] if 0 <= at - begins < len(asked.words) else 0.0 for at in order],
        )
        for asked, begins in chosen
    ]


def steps(single: Sequence[Place], whole: Sequence[Place], chance: random.Random) -> Iterator[list[Place]]:
    """Endless: three single pages, or a place of several."""
    while True:
        order = list(single)
        chance.shuffle(order)
        made = [*(order[at : at + 3] for at in range(0, len(order), 3)), *([one] for one in whole)]
        chance.shuffle(made)
        yield from made


def stored(network: Near) -> dict[str, Any]:
    """What ``Encoder`` reads; nothing is marked."""
    arrays = shrunk(network, ("near", "shared", "word.weight"))
    return {"mark.weight": np.zeros((1, WIDTH), np.float16), **arrays}
