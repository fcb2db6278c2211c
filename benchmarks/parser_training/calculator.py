"""The network of ``agents/parsing/calculating.py`` in torch, and its losses."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from parser_training.calculations import Calculated
from parser_training.dealt import Dealt, Lesson
from parser_training.network import Layer, embedded
from parser_training.ways import Course, Ways, ways_of
from pointwork.agents.parsing.amounts import NUMBER
from pointwork.agents.parsing.calculating import COMES_TO, RELEVANT
from pointwork.agents.parsing.encoder import LAYERS, WIDTH, Encoder, rounded
from pointwork.agents.parsing.layout import MARKS
from pointwork.agents.parsing.operations import CONSTANTS, OPERATIONS
from pointwork.agents.parsing.showing import SHOWN

_JOINED, _INNER = 96, 192  # width of a value, and of two
_DROPPED = 0.1
_RELEVANCE = 0.5  # of the loss of which amounts are needed
_HALF = bool(getattr(torch.cpu, "get_capabilities", dict)().get("avx512_bf16"))  # else 32 bits are faster
_KINDS = torch.tensor(COMES_TO)
_ALL = 2 * len(OPERATIONS)


class Calculator(nn.Module):
    """An encoder that begins as that of the parser, and what joins amounts.

    Args:
        parser: what ships.
        goes_on: a calculator from which all that is learnt is taken.
    """

    def __init__(self, parser: Encoder, goes_on: Encoder | None = None) -> None:
        super().__init__()
        self.word = embedded(parser)
        self.pos, self.mark = nn.Parameter(torch.zeros(SHOWN, WIDTH)), nn.Embedding(len(MARKS), WIDTH)
        self.n0 = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        for name, tensor in self.state_dict().items():
            if name != "word.weight":
                known = torch.tensor(np.array(parser.weights[name]))
                tensor.copy_(_lengthened(known, len(tensor)))
        self.answer = nn.Linear(WIDTH, 1)
        self.u = nn.Sequential(nn.Linear(2 * WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, 1))
        self.wide, self.cls = nn.Linear(WIDTH, _JOINED), nn.Linear(WIDTH, _JOINED)
        self.const, self.kind = nn.Embedding(len(CONSTANTS), _JOINED), nn.Embedding(len(COMES_TO), _JOINED)
        self.intask = nn.Embedding(2, _JOINED)
        for embedding, spread in ((self.const, 0.5), (self.kind, 0.3), (self.intask, 0.3)):
            nn.init.normal_(embedding.weight, std=spread)
        self.pair, self.op = nn.Linear(5 * _JOINED, _INNER), nn.Linear(_INNER, len(OPERATIONS) * _JOINED)
        self.norm, self.score = nn.LayerNorm(_JOINED), nn.Linear(_JOINED, 2)
        self.copy, self.mix = nn.Linear(2 * _JOINED, 1), nn.Parameter(torch.tensor(0.5))
        for name, tensor in self.state_dict().items() if goes_on is not None else ():
            if name != "word.weight":
                known = torch.tensor(np.array(goes_on.weights[name]))
                tensor.copy_(_lengthened(known, len(tensor)) if tensor.ndim else known)

    def see(self, rows: Sequence[Lesson]) -> torch.Tensor:
        """The last layer of some tasks: shape (tasks, longest, width)."""
        longest = -(-max(len(row.pieces) for row in rows) // 8) * 8
        ids, marks = (torch.zeros(len(rows), longest, dtype=torch.long) for _ in range(2))
        away = torch.full((len(rows), 1, 1, longest), -1e9)
        for number, row in enumerate(rows):
            ids[number, : len(row.pieces)] = torch.tensor(row.pieces)
            marks[number, : len(row.pieces)] = torch.tensor(row.shown.marks)
            away[number, :, :, : len(row.pieces)] = 0
        x = self.n0(self.word(ids) + self.pos[:longest] + self.mark(marks))
        away = away.to(torch.bfloat16) if _HALF else away
        with torch.autocast("cpu", torch.bfloat16, enabled=_HALF):
            for layer in self.layers:
                x = layer(x, away)
        return functional.dropout(x.float(), _DROPPED, self.training)

    def loss(self, seen: torch.Tensor, one: Lesson) -> torch.Tensor:
        """Whether the lines say it, which amounts are needed, and of all steps which two and how."""
        if isinstance(one, Dealt):
            return self._loss_of_dealt(seen, one)
        said = torch.tensor(float(bool(one.steps)))
        total = functional.binary_cross_entropy_with_logits(self.answer(seen[0])[0], said)
        if not one.steps:
            return total
        ways = ways_of(one)
        pooled, weights = self._amounts(seen, one)
        best, needed = _relevant(weights, [places for places in ways.leaves if places[0] < len(pooled)])
        # those that are needed, and the likeliest others
        order = weights.detach().argsort(descending=True).tolist()
        chosen = sorted(list(dict.fromkeys([*best, *order]))[: max(RELEVANT, len(best))])
        steps = self._steps(seen[0], pooled, weights, one, ways, chosen)
        return sum((_choices(logits, right) for logits, right in steps if right), total + _RELEVANCE * needed)

    def _loss_of_dealt(self, seen: torch.Tensor, one: Dealt) -> torch.Tensor:
        """Whether all that is needed stands in a part of the lines, and which amounts are."""
        total = functional.binary_cross_entropy_with_logits(self.answer(seen[0])[0], torch.tensor(float(one.whole)))
        leaves = list(dict.fromkeys(one.leaves))
        return total + _relevant(self._amounts(seen, one)[1], leaves)[1]

    def right(self, seen: torch.Tensor, one: Calculated) -> bool:
        """Whether the likeliest is right at each step; of a task that its lines answer."""
        ways = ways_of(one)
        pooled, weights = self._amounts(seen, one)
        chosen = sorted(weights.argsort(descending=True)[:RELEVANT].tolist())
        steps = self._steps(seen[0], pooled, weights, one, ways, chosen)
        return all(int(logits.argmax()) in right for logits, right in steps)

    def _amounts(self, seen: torch.Tensor, one: Lesson) -> tuple[torch.Tensor, torch.Tensor]:
        """What stands for each amount, and how likely it is needed, as a logit."""
        pooled = torch.stack([seen[a:b].mean(0) for a, b in one.shown.places])
        return pooled, self.u(torch.cat([pooled, seen[0].expand(len(pooled), WIDTH)], 1))[:, 0]

    def _steps(
        self,
        context: torch.Tensor,
        pooled: torch.Tensor,
        weights: torch.Tensor,
        one: Calculated,
        ways: Ways,
        chosen: list[int],
    ) -> Iterator[tuple[torch.Tensor, list[int]]]:
        """Of each step the logits of all that can be joined, and which of them are right."""
        count, fixed = len(chosen), len(pooled)
        there, kinds, relevance = self._start(pooled, weights, one, chosen)
        context, last = self.cls(context), torch.zeros(_JOINED)
        placed = {place: number for number, place in enumerate(chosen)}
        placed |= {fixed + number: count + number for number in range(len(CONSTANTS))}
        course = Course(ways, placed)
        while True:
            first, second = self._pairs(kinds, count)
            made, logits = self._joined(there, kinds, relevance, first, second, context, last)
            if not course.step:
                both = torch.cat([there[:count], context.expand(count, _JOINED)], 1)
                logits = torch.cat([logits, self.copy(both)[:, 0] + 2 * self.mix * relevance[:count]])
            if course.copied:
                yield logits, [len(first) * _ALL + place for place in course.copied]
                return
            pairs = {pair: place for place, pair in enumerate(zip(first.tolist(), second.tolist(), strict=True))}
            right = {
                (pairs[i, j] * len(OPERATIONS) + operation) * 2 + course.stops: (i, j, operation)
                for i, j, operation in course.right()
                if (i, j) in pairs
            }
            yield logits, list(right)
            if course.stops or not right:  # what was joined before can be gone on from in no way that is kept
                return
            i, j, operation = right[max(right, key=lambda at: float(logits[at].detach()))]
            course.taken((i, j, operation), len(kinds))
            last = made[pairs[i, j], operation]
            there = torch.cat([there, last[None]])
            kinds = torch.cat([kinds, _KINDS[kinds[i], kinds[j], operation][None]])
            relevance = torch.cat([relevance, torch.zeros(1)])

    def _start(
        self, pooled: torch.Tensor, weights: torch.Tensor, one: Calculated, chosen: list[int]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        amounts = [one.shown.amounts[place] for place in chosen]
        kinds = torch.tensor([amount.kind for amount in amounts])
        asked = torch.tensor([int(amount.line == 0) for amount in amounts])
        own = self.wide(pooled[chosen]) + self.kind(kinds) + self.intask(asked)
        there = torch.cat([own, self.const.weight + self.kind.weight[NUMBER]])
        fixed = torch.full((len(CONSTANTS),), NUMBER)
        relevance = torch.cat([functional.logsigmoid(weights[chosen]), torch.zeros(len(CONSTANTS))])
        return there, torch.cat([kinds, fixed]), relevance

    def _pairs(self, kinds: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        first, second = torch.triu_indices(len(kinds), len(kinds), 1)
        end = count + len(CONSTANTS)
        fixed = (first >= count) & (first < end) & (second >= count) & (second < end)
        keep = ~fixed & (_KINDS[kinds[first], kinds[second]].amax(1) >= 0)
        return first[keep], second[keep]

    def _joined(
        self,
        there: torch.Tensor,
        kinds: torch.Tensor,
        relevance: torch.Tensor,
        first: torch.Tensor,
        second: torch.Tensor,
        context: torch.Tensor,
        last: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        a, b = there[first], there[second]
        around = [one.expand_as(a) for one in (context, last)]
        inner = functional.gelu(self.pair(torch.cat([a, b, a * b, *around], 1)))
        made = functional.gelu(self.op(inner)).view(-1, len(OPERATIONS), _JOINED) + (a + b)[:, None] / 2
        made = self.norm(made)
        logits = self.score(made) + self.mix * (relevance[first] + relevance[second])[:, None, None]
        return made, logits.masked_fill((_KINDS[kinds[first], kinds[second]] < 0)[:, :, None], -1e9).reshape(-1)


def _lengthened(known: torch.Tensor, length: int) -> torch.Tensor:
    """So many rows; places that were never seen begin as the last ones that were."""
    while (further := length - len(known)) > 0:
        known = torch.cat([known, known[-further:]])
    return known[:length]


def _relevant(weights: torch.Tensor, leaves: Sequence[Sequence[int]]) -> tuple[list[int], torch.Tensor]:
    """Of the places of each value the likeliest, and the loss; the others of them are neither needed nor not."""
    best, likely = list[int](), weights.tolist()
    for places in leaves:
        best.append(max((place for place in places if place not in best), key=lambda at: likely[at]))
    wanted = torch.zeros(len(weights))
    wanted[best] = 1
    counts = torch.ones(len(weights))
    counts[[place for places in leaves for place in places if place not in best]] = 0
    return best, functional.binary_cross_entropy_with_logits(weights, wanted, counts, reduction="sum")


def _choices(logits: torch.Tensor, right: Sequence[int]) -> torch.Tensor:
    """That it is any of those that are right."""
    return logits.logsumexp(0) - logits[list(right)].logsumexp(0)


def stored(weights: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """What ``Encoder`` reads: matrices of the layers in 8 bits, the rest in 16 or 32; no word pieces."""
    arrays: dict[str, Any] = {}
    for name, tensor in weights.items():
        array = tensor.float().numpy()
        if name.startswith("layers.") and array.ndim == 2:
            arrays[f"{name}.int8"], arrays[f"{name}.scale"] = rounded(array)
        elif name != "word.weight":
            arrays[name] = array.astype(np.float16 if array.ndim > 1 else np.float32)
    return arrays
