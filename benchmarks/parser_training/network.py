"""The parser's network in torch: the encoder of ``agents/parsing/encoder.py``, its heads, what each is taught."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from parser_training.labels import Example
from parser_training.steps import Solved
from pointwork.agents.parsing.encoder import HEADS, LAYERS, WIDTH, Encoder, packed, rounded, unpacked
from pointwork.agents.parsing.layout import MARKS
from pointwork.agents.parsing.problems import CONSTANTS, FORMS, OPERATIONS
from pointwork.agents.parsing.query import OPERATORS
from pointwork.agents.parsing.scoring import CELLS, COLUMN, FLAGS, GLOBAL, LINKED

POSITIONS = 400
_JOINED, _INNER = 64, 96  # width of a number in a deduction, and of two
_DROPPED = 0.1


class Layer(nn.Module):
    """One layer of BERT; ``of`` takes the weights of all-MiniLM-L6-v2."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.n1, self.n2 = nn.LayerNorm(WIDTH, eps=1e-12), nn.LayerNorm(WIDTH, eps=1e-12)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    @classmethod
    def of(cls, weights: Mapping[str, torch.Tensor], number: int) -> "Layer":
        at, made = f"encoder.layer.{number}", cls()
        parts = [f"{at}.attention.self.{part}" for part in ("query", "key", "value")]
        made.qkv.weight.data = torch.cat([weights[f"{part}.weight"] for part in parts]).float()
        made.qkv.bias.data = torch.cat([weights[f"{part}.bias"] for part in parts]).float()
        made.out = _linear(weights, f"{at}.attention.output.dense")
        made.n1 = _norm(weights, f"{at}.attention.output.LayerNorm")
        made.up, made.down = (_linear(weights, f"{at}.{part}.dense") for part in ("intermediate", "output"))
        made.n2 = _norm(weights, f"{at}.output.LayerNorm")
        return made

    def forward(self, x: torch.Tensor, away: torch.Tensor) -> torch.Tensor:
        many, length, _ = x.shape
        query, key, value = self.qkv(x).view(many, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        # written out: of the fused one the way back takes a third longer (16 bits, a CPU)
        logits = query @ key.transpose(2, 3) / (WIDTH // HEADS) ** 0.5 + away
        seen = logits.softmax(-1).to(value.dtype) @ value
        x = self.n1(x + self.out(seen.transpose(1, 2).reshape(many, length, WIDTH)))
        return self.n2(x + self.down(functional.gelu(self.up(x))))


def _linear(weights: Mapping[str, torch.Tensor], name: str) -> nn.Linear:
    weight = weights[f"{name}.weight"].float()
    made = nn.Linear(weight.shape[1], weight.shape[0])
    made.weight.data, made.bias.data = weight, weights[f"{name}.bias"].float()
    return made


def _norm(weights: Mapping[str, torch.Tensor], name: str) -> nn.LayerNorm:
    made = nn.LayerNorm(WIDTH, eps=1e-12)
    made.weight.data, made.bias.data = weights[f"{name}.weight"].float(), weights[f"{name}.bias"].float()
    return made


def embedded(parser: Encoder) -> nn.Embedding:
    """The vectors of word pieces that ship; they stay as they are."""
    return nn.Embedding.from_pretrained(torch.tensor(parser.vectors(range(parser.pieces.count))), freeze=True)


class Deduce(nn.Module):
    """Joins two of what there is, again and again (Jie, Li and Lu, ACL 2022, §3.2)."""

    def __init__(self) -> None:
        super().__init__()
        self.wide, self.cls = nn.Linear(WIDTH, _JOINED), nn.Linear(WIDTH, _JOINED)
        self.form, self.const = nn.Embedding(len(FORMS), _JOINED), nn.Embedding(len(CONSTANTS), _JOINED)
        self.pair = nn.Linear(5 * _JOINED, _INNER)
        self.op = nn.Linear(_INNER, len(OPERATIONS) * _JOINED)
        self.norm, self.score = nn.LayerNorm(_JOINED), nn.Linear(_JOINED, 2)
        nn.init.normal_(self.form.weight, std=0.1)
        nn.init.normal_(self.const.weight, std=0.5)

    def loss(self, seen: torch.Tensor, one: Solved) -> torch.Tensor:
        """Of all steps: which two, which operation, whether it is the last."""
        count = len(one.places)
        pooled = torch.stack([seen[a:b].mean(0) for a, b in one.places])
        there = torch.cat([self.wide(pooled) + self.form(torch.tensor(one.forms)), self.const.weight])
        context, last = self.cls(seen[0]), torch.zeros(_JOINED)
        total = torch.zeros(())
        for number, (i, j, operation) in enumerate(one.steps):
            first, second = torch.triu_indices(len(there), len(there), 1)
            end = count + len(CONSTANTS)
            fixed = (first >= count) & (first < end) & (second >= count) & (second < end)
            first, second = first[~fixed], second[~fixed]
            a, b = there[first], there[second]
            around = [one_.expand_as(a) for one_ in (context, last)]
            inner = functional.gelu(self.pair(torch.cat([a, b, a * b, *around], 1)))
            made = functional.gelu(self.op(inner)).view(-1, len(OPERATIONS), _JOINED) + (a + b)[:, None] / 2
            made = self.norm(made)
            place = int(((first == i) & (second == j)).nonzero()[0, 0])
            stops = int(number == len(one.steps) - 1)
            wanted = torch.tensor([(place * len(OPERATIONS) + operation) * 2 + stops])
            total = total + functional.cross_entropy(self.score(made).reshape(1, -1), wanted)
            last = made[place, operation]
            there = torch.cat([there, last[None]])
        return total


class Network(nn.Module):
    """The encoder with all its heads; the vectors of word pieces are as they will be stored, and stay so.

    Args:
        weights: of all-MiniLM-L6-v2.
        rows: which of its word pieces are kept.
    """

    def __init__(self, weights: Mapping[str, torch.Tensor], rows: Sequence[int]) -> None:
        super().__init__()
        words = weights["embeddings.word_embeddings.weight"].float().numpy()[list(rows)]
        self.word = nn.Embedding.from_pretrained(torch.tensor(unpacked(*packed(words))), freeze=True)
        place = weights["embeddings.position_embeddings.weight"][:POSITIONS].float()
        self.pos = nn.Parameter(place + weights["embeddings.token_type_embeddings.weight"][0].float())
        self.mark = nn.Embedding(len(MARKS), WIDTH)
        nn.init.zeros_(self.mark.weight)
        self.n0 = _norm(weights, "embeddings.LayerNorm")
        self.layers = nn.ModuleList([Layer.of(weights, number) for number in range(LAYERS)])
        self.glob = nn.Linear(WIDTH, sum(size for _, size in GLOBAL))
        self.col = nn.Linear(WIDTH, len(COLUMN) + len(FLAGS))
        self.cell = nn.Linear(WIDTH, len(CELLS))
        self.ma, self.mb = nn.Linear(WIDTH, int(LINKED**2)), nn.Linear(WIDTH, int(LINKED**2))
        self.mnone, self.op = nn.Linear(WIDTH, 1), nn.Linear(WIDTH, len(OPERATORS))
        self.deduce = Deduce()

    def see(self, rows: Sequence[tuple[list[int], list[int]]]) -> torch.Tensor:
        """The last layer of some rows of (pieces, marks): shape (rows, longest, width)."""
        longest = -(-max(len(pieces) for pieces, _ in rows) // 32) * 32  # few different shapes: each is compiled
        ids, marks = (torch.zeros(len(rows), longest, dtype=torch.long) for _ in range(2))
        away = torch.full((len(rows), 1, 1, longest), -1e9)
        for number, (pieces, marked) in enumerate(rows):
            ids[number, : len(pieces)], marks[number, : len(pieces)] = torch.tensor(pieces), torch.tensor(marked)
            away[number, :, :, : len(pieces)] = 0
        with torch.autocast("cpu", torch.bfloat16):
            x = self.n0(self.word(ids) + self.pos[:longest] + self.mark(marks))
            for layer in self.layers:
                x = layer(x, away.to(torch.bfloat16))
        return functional.dropout(x.float(), _DROPPED, self.training)

    def loss(self, seen: torch.Tensor, one: Example) -> torch.Tensor:
        """The negative log-likelihood of all that is to be said of one question."""
        pooled = torch.stack([seen[a:b].mean(0) for a, b in one.items])
        said, start = {}, 0
        for name, size in GLOBAL:
            said[name] = self.glob(seen[0])[start : start + size]
            start += size
        total = _choice(said["answer"], int(one.answered))
        if not one.answered:
            return total
        columns, tables = one.kinds["column"], one.kinds["table"]
        column, both = self.col(pooled), [*tables, *columns]
        for name in ("aggregate", "form", "down", "nth", "metric"):
            if getattr(one, name) >= 0:
                total = total + _choice(said[name], getattr(one, name))
        total = total + _choice(column[both, 0], both.index(one.shown))
        if one.second >= 0:
            total = total + _choice(column[columns, 1], columns.index(one.second))
        for name, none, head in (("order", 0, 2), ("group", 1, 3)):
            logits = torch.cat([said["none"][none : none + 1], column[columns, head]])
            place = getattr(one, name)
            total = total + _choice(logits, 1 + columns.index(place) if place >= 0 else 0)
        total = total + _several(column[columns, 4], [place in one.used for place in columns])
        total = total + _several(column[tables, 5], [place in one.without for place in tables])
        total = total + _choices(column[columns, len(COLUMN) :], [one.flags.get(place, 0) for place in columns])
        cells = one.kinds["cell"]
        total = total + _choices(self.cell(pooled[cells]), [one.cells.get(place, 0) for place in cells])
        return total + self._mentioned(pooled, one)

    def _mentioned(self, pooled: torch.Tensor, one: Example) -> torch.Tensor:
        columns, mentions = one.kinds["column"], one.kinds["mention"]
        if not mentions:
            return torch.zeros(())
        said = pooled[mentions]
        linked = self.ma(said) @ self.mb(pooled[columns]).T / LINKED
        wanted = [1 + columns.index(one.mentions[i][0]) if i in one.mentions else 0 for i in mentions]
        total = _choices(torch.cat([self.mnone(said), linked], 1), wanted)
        bound = [number for number, i in enumerate(mentions) if i in one.mentions]
        return total + _choices(self.op(said[bound]), [one.mentions[mentions[n]][1] for n in bound])


def _choice(logits: torch.Tensor, wanted: int) -> torch.Tensor:
    return functional.cross_entropy(logits[None], torch.tensor([wanted]))


def _choices(logits: torch.Tensor, wanted: Sequence[int]) -> torch.Tensor:
    if not wanted:
        return torch.zeros(())
    return functional.cross_entropy(logits, torch.tensor(wanted), reduction="sum")


def _several(logits: torch.Tensor, wanted: Sequence[bool]) -> torch.Tensor:
    target = torch.tensor([float(one) for one in wanted])
    return functional.binary_cross_entropy_with_logits(logits, target, reduction="sum")


def stored(network: Network, vocabulary: Sequence[str]) -> dict[str, Any]:
    """What ``Encoder`` reads: matrices of the layers in 8 bits, word pieces in 4, the rest in 16 or 32."""
    arrays: dict[str, Any] = {"vocabulary": np.array("\n".join(vocabulary))}
    for name, tensor in network.state_dict().items():
        array = tensor.float().numpy()
        if name == "word.weight":
            arrays["word.codes"], arrays["word.scales"] = packed(array)
        elif name.startswith("layers.") and array.ndim == 2:
            arrays[f"{name}.int8"], arrays[f"{name}.scale"] = rounded(array)
        else:
            arrays[name] = array.astype(np.float16 if array.ndim > 1 else np.float32)
    return arrays


def rate(spent: float) -> float:
    """Share of the learning rate after a share of the time: up, level, then down to nothing."""
    return min(1.0, spent / 0.03) * max(0.02, min(1.0, (1 - spent) / 0.6))
