"""Many token sequences that share prefixes, packed so that each shared prefix is computed once.

Sequences are laid out as a *trie* in depth-first order: sorted, each goes on where it parts from the one before it.
A node is one token in one context; a causal model's state there depends on the node's ancestors only, so all that
pass through it share it: n answers to one prompt, the turns of a dialogue whose prompts repeat what was said
before, and equal beginnings of answers. (Liu et al., "Prefix Grouper", 2025, shares the prompt of a group;
agent-lightning merges turns by prefix; a trie is both.) Nothing is lost: loss and gradient are those of the
sequences computed one by one, which a test holds.

In depth-first order the nodes under node j are j … end[j] − 1, so one number per node says who sees whom: node i
attends to j iff j ≤ i < end[j]. Positions are depths. A trained token needs the output at its predecessor.

Attention is computed over all pairs of a row, seen or not, so a row is shared only where that saves more than it
costs: the rollouts of a long prompt share one, worked examples with nothing but a head in common do not. Rows of
one sequence need no mask; 500 tokens each on a CPU, they take three quarters of the time they take side by side.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pointwork.errors import UsageError
from pointwork.training.tensors import of_array

Integers = npt.NDArray[np.int64]

# What a pair of places costs in attention, in tokens that go through all weights: 2 × width × layers / weights.
# 1/3,000 in SmolLM2-135M, less in larger models.
PAIR = 1 / 3000


@dataclass(frozen=True)
class Sample:
    """One model call to train on.

    Attributes:
        prompt_ids: what the model saw; at least one token.
        completion_ids: what it wrote, and what is trained.
        advantage: of every token of it; 1 for a worked example.
        served: log-probabilities (nat) of ``completion_ids`` as the server gave them, if it did.
    """

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    advantage: float = 1.0
    served: tuple[float, ...] | None = None


@dataclass
class Batch:
    """Rows of nodes, padded to one length, and the trained tokens among them.

    Attributes:
        ids, positions, ends: (B, L) token, depth and end of the subtree of each node; padding has ends 0.
        source: (T,) where the output that predicts each trained token stands, in the flattened (B·L) nodes.
        targets: (T,) the trained tokens.
        sequence: (T,) which of ``members`` each belongs to.
        members: indexes of the samples, as they were given to ``pack``.
        places: (T,) index of each token in its completion.
    """

    ids: Tensor
    positions: Tensor
    ends: Tensor
    source: Tensor
    targets: Tensor
    sequence: Tensor
    places: Tensor
    members: list[int]

    def to(self, device: torch.device) -> "Batch":
        """The same on another device."""
        tensors = {
            name: getattr(self, name).to(device, non_blocking=True)
            for name in ("ids", "positions", "ends", "source", "targets", "sequence", "places")
        }
        return Batch(**tensors, members=self.members)

    def mask(self) -> Tensor | None:
        """(B, 1, L, L), True where row attends to column; None if every row is one sequence, padded or not."""
        length = self.ids.shape[1]
        last = self.ends.max(dim=1, keepdim=True).values
        if bool(((self.ends == last) | (self.ends == 0)).all()):
            return None  # causal alone: the padding stands behind all that is real
        place = torch.arange(length, device=self.ids.device)
        seen = (place[None, :] <= place[:, None])[None] & (place[None, :, None] < self.ends[:, None, :])
        # Padding sees itself, as a softmax over nothing is NaN.
        return (seen | torch.eye(length, dtype=torch.bool, device=self.ids.device)).unsqueeze(1)


class _Row:
    """One row under construction: a trie of sorted paths, in depth-first order.

    Args:
        room: nodes that it can have.
    """

    def __init__(self, room: int) -> None:
        self.size = 0
        self.ids, self.positions, self.ends = (np.zeros(room, np.int64) for _ in range(3))
        self.members: list[tuple[int, Integers]] = []
        self._path = self._nodes = np.zeros(0, np.int64)

    def shared(self, path: Integers) -> int:
        """How many of the first nodes of this path are there already."""
        least = min(len(self._path), len(path))
        other = np.flatnonzero(self._path[:least] != path[:least])
        return int(other[0]) if len(other) else least

    def takes(self, path: Integers, width: int) -> bool:
        """Whether a path fits and sharing its beginning saves more than the wider row costs."""
        common = self.shared(path)
        new = len(path) - common
        return self.size + new <= width and common >= 2 * PAIR * self.size * new

    def add(self, member: int, path: Integers) -> None:
        common = self.shared(path)
        self._close(common)
        first, self.size = self.size, self.size + len(path) - common
        self.ids[first : self.size] = path[common:]
        self.positions[first : self.size] = np.arange(common, len(path))
        self._path = path
        self._nodes = np.concatenate([self._nodes[:common], np.arange(first, self.size)])
        self.members.append((member, self._nodes))

    def _close(self, depth: int) -> None:
        self.ends[self._nodes[depth:]] = self.size

    def finish(self) -> "_Row":
        self._close(0)
        return self


def pack(samples: Sequence[Sample], *, width: int = 1024, budget: int = 8192) -> list[Batch]:
    """Rows of at most ``width`` nodes (longer sequences get a row of their own), in batches of at most ``budget``.

    Args:
        samples: what to train on; those with an empty completion are left out.
        width: nodes of a row. Attention costs its square, so a few times the usual sequence is enough.
        budget: rows × longest row of a batch; one row at least.

    Raises:
        UsageError: a sample has no prompt.
    """
    rows: list[_Row] = []
    for member, tokens in sorted(_paths(samples), key=lambda item: item[1]):
        path = np.array(tokens, np.int64)
        row = rows[-1] if rows else None
        if row is None or not row.takes(path, width):
            row = _Row(max(width, len(path)))
            rows.append(row)
        row.add(member, path)
    rows = sorted((row.finish() for row in rows), key=lambda row: -row.size)
    batches: list[Batch] = []
    while rows:
        count = max(1, budget // rows[0].size)
        batches.append(_batch(rows[:count], samples))
        rows = rows[count:]
    return batches


def _paths(samples: Sequence[Sample]) -> Iterator[tuple[int, tuple[int, ...]]]:
    for member, sample in enumerate(samples):
        if not sample.prompt_ids:
            raise UsageError(f"sample {member} has no prompt: its first token has nothing to be predicted from")
        if sample.completion_ids:
            # Nobody needs the output at the last token.
            yield member, tuple(sample.prompt_ids) + tuple(sample.completion_ids[:-1])


def _batch(rows: Sequence[_Row], samples: Sequence[Sample]) -> Batch:
    length = max(row.size for row in rows)
    ids, positions, ends = (np.zeros((len(rows), length), np.int64) for _ in range(3))
    source: list[Integers] = []
    members: list[int] = []
    for number, row in enumerate(rows):
        ids[number, : row.size], ends[number, : row.size] = row.ids[: row.size], row.ends[: row.size]
        # Padding goes on counting: a position that falls back is taken for the start of another sequence.
        last = row.positions[row.size - 1]
        positions[number] = np.arange(last + 1 - row.size, last + 1 - row.size + length)
        positions[number, : row.size] = row.positions[: row.size]
        for member, nodes in row.members:
            source.append(number * length + nodes[len(samples[member].prompt_ids) - 1 :])
            members.append(member)
    counts = [len(samples[member].completion_ids) for member in members]
    return Batch(
        ids=of_array(ids),
        positions=of_array(positions),
        ends=of_array(ends),
        source=of_array(np.concatenate(source)),
        targets=torch.tensor([token for member in members for token in samples[member].completion_ids]),
        sequence=torch.repeat_interleave(torch.arange(len(members)), torch.tensor(counts)),
        places=torch.cat([torch.arange(count) for count in counts]),
        members=members,
    )
