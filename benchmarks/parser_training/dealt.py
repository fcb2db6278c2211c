"""Tasks with a part of their lines: which amounts are needed, where others that are needed stand elsewhere.

Too many lines are dealt into rows, and what is needed most in each is read together (``calculating.needed``).
So what a network says of such a row is learnt of such rows too, not only of those that hold all.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parser_training.calculations import Calculated, Step, calculated
from parser_training.ways import ways_of
from pointwork.agents.facts.figures import in_one_form
from pointwork.agents.parsing.calculating import ROW, dealt_into_rows
from pointwork.agents.parsing.layout import Pieces
from pointwork.agents.parsing.showing import Shown, show, size_of

_NEEDED = 0.8  # how often a row is taken that holds something


@dataclass(frozen=True)
class Dealt:
    """A task with a row of its lines.

    Attributes:
        leaves: the places of each value that is needed and stands here, of all where it stands.
        whole: whether all that are needed do.
    """

    shown: Shown
    leaves: tuple[tuple[int, ...], ...]
    whole: bool

    @property
    def pieces(self) -> tuple[int, ...]:
        """By their number tasks are put together."""
        return self.shown.pieces

    @property
    def steps(self) -> Sequence[Step]:
        """None that are asked for."""
        return ()


Lesson = Calculated | Dealt


def dealt(row: Mapping[str, Any], pieces: Pieces, chance: random.Random) -> Dealt | None:
    """One of the rows that its lines are dealt into; None where they have room in one, or do not say it.

    Raises:
        Other: its steps can not be said.
    """
    one = calculated(row, pieces)
    task, lines = in_one_form(str(row["task"])), str(row["around"]).splitlines()
    sizes = [size_of(line, pieces) for line in lines]
    room = ROW - 1 - size_of(task, pieces)
    if not one.steps or sum(sizes) <= room:
        return None
    amounts = one.shown.amounts
    leaves = [
        [(amounts[place].line, amounts[place].start) for place in places]
        for places in ways_of(one).leaves
        if places[0] < len(amounts)
    ]
    needed = {line for leaf in leaves for line, _ in leaf if line}
    rows = list(dealt_into_rows(sizes, room, chance))
    holding = [some for some in rows if any(line + 1 in needed for line in some)]
    others = [some for some in rows if some not in holding]
    taken = chance.choice(holding if holding and (not others or chance.random() < _NEEDED) else others)
    shown = show(task, [lines[line] for line in taken], pieces)
    at = {
        (taken[amount.line - 1] + 1 if amount.line else 0, amount.start): place
        for place, amount in enumerate(shown.amounts)
    }
    here = [tuple(at[place] for place in leaf if place in at) for leaf in leaves]
    return Dealt(shown, tuple(filter(None, here)), all(here)) if at else None
