"""The High tiers of filter and topic: the best of what Mid found, read by a sentence encoder (extra ``embed``).

Mid finds and orders the candidates. The encoder then reads the best ``CLOSELY`` turns of them and, for topic, the
turns beside these; a network that knows its likeness besides all that Mid knows orders them anew, above the others.
What was read once is kept (``encoded``), so that a recall takes some tenths of a second where all is new, and one
reading of the question where nothing is. Documents stay as Mid orders them: they are long, so dear to read, and it
gained nothing on them (docs/memory.md).
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointwork.memory import features
from pointwork.memory.encoded import Encoded
from pointwork.memory.mid import Features, HybridFilter
from pointwork.memory.modules import Need, Registry
from pointwork.memory.view import View

Floats = NDArray[Any]
Metered = Callable[[str], AbstractContextManager[Any]]

CLOSELY = 64  # candidates that are read; of the evidence among the 100 candidates of LoCoMo 0-7, 99.6 % is in them

# columns besides those of Mid, by module; a module below High leaves its own empty
FILTER = ("deep", "deep_gap", "deep_rank")
TOPIC = ("deep_window", "deep_window_gap", "deep_window_rank", "deep_before", "deep_after")
COLUMNS = (*features.TURN, *FILTER, *TOPIC)
GROUPS = {"deep_filter": FILTER, "deep_topic": TOPIC}


class EncodedFilter(HybridFilter):
    """Candidates as Mid finds them; what the encoder says of them are features of ``Closer``."""

    needs: Need = "encoder"


class EncodedTopic(Features):
    """The same for their neighbours."""

    needs: Need = "encoder"


class Closer:
    """Orders the best turns of one question anew.

    Args:
        view: the candidates.
        encoded: their vectors.
        modules: which of filter and topic work at High.
        metered: module -> a context that measures its work.
    """

    def __init__(
        self, view: View, encoded: Encoded, modules: Collection[str], metered: Metered | None = None
    ) -> None:
        self._view, self._encoded, self._modules = view, encoded, modules
        self._metered: Metered = metered or (lambda _: nullcontext())

    def scores(self, rows: Floats, mid: Floats, turns: Floats) -> Floats:
        """The scores of all candidates, those that were read closely above the others.

        Args:
            rows: Mid's features, shape (candidates, len(features.TURN)).
            mid: Mid's scores.
            turns: which candidates are turns, as booleans.
        """
        from pointwork.memory.ranker import deep_network

        chosen, deep = self.rows(rows, mid, turns)
        found = mid.copy()
        found[chosen] = deep_network().scores(deep)
        others = np.setdiff1d(np.flatnonzero(turns), chosen)
        if len(others) and len(chosen):  # in their order, below the last that was read
            found[others] -= max(0.0, float(found[others].max()) - float(found[chosen].min()))
        return found

    def rows(self, rows: Floats, mid: Floats, turns: Floats | Sequence[bool]) -> tuple[Floats, Floats]:
        """The turns that are read, by number, and their features, shape (turns, len(COLUMNS)); see ``scores``."""
        all_turns = np.flatnonzero(turns)
        chosen = np.sort(all_turns[np.argsort(-np.round(mid[all_turns], 3), kind="stable")[:CLOSELY]])
        with self._metered("filter" if "filter" in self._modules else "topic"):
            asked = self._encoded.encoder.embed([self._view.asked.plain])[0]
            numbers: list[int] = chosen.tolist()
            places = self._view.places[chosen]
            own = self._of(
                places, {place: self._view.known[n].text for n, place in zip(numbers, places.tolist(), strict=True)}
            )
        deep = np.full((len(chosen), len(FILTER) + len(TOPIC)), np.nan, np.float32)
        if "filter" in self._modules:
            deep[:, : len(FILTER)] = np.stack(_three(own @ asked), axis=1)
        if "topic" in self._modules:
            with self._metered("topic"):
                deep[:, len(FILTER) :] = self._topic(chosen, own, asked)
        return chosen, np.concatenate([rows[chosen], deep], axis=1)

    def _topic(self, chosen: Floats, own: Floats, asked: Floats) -> Floats:
        before, after, beside = self._view.neighbours()
        texts = {place: known.text for place, known in beside.items()}
        left, right = (self._of(places[chosen], texts) for places in (before, after))
        window = own + 0.5 * left + 0.5 * right
        window /= np.linalg.norm(window, axis=1, keepdims=True) + 1e-9
        return np.stack([*_three(window @ asked), left @ asked, right @ asked], axis=1)

    def _of(self, places: Floats, texts: dict[int, str]) -> Floats:
        """Vectors of places, shape (places, dims); 0 where there is none, or no text of it."""
        serials = self._view.index.lexical.columns.serials
        number = {place: int(serials[place]) for place in places.tolist() if place in texts}
        known = self._encoded.of({number[place]: texts[place] for place in number})
        found = np.zeros((len(places), self._encoded.encoder.dims), np.float32)
        for row, place in enumerate(places.tolist()):
            if place in number:
                found[row] = known[number[place]]
        return found


def deep_rows(view: View, encoded: Encoded, turns: Floats, now: float) -> tuple[Floats, Floats]:
    """``Closer.rows`` with both modules at High, to train on; ``turns`` are Mid's features of the candidates."""
    from pointwork.memory.ranker import ranked

    kinds = [not view.is_document(n) for n in range(len(view.known))]
    return Closer(view, encoded, ("filter", "topic")).rows(turns, ranked(view, now, again=False), kinds)


def _three(near: Floats) -> tuple[Floats, Floats, Floats]:
    """A likeness, how far it is from the highest, and its rank as a share."""
    return near, near - near.max(initial=-1), 1 / (1 + features.ranks(near))


def register(registry: Registry) -> None:
    """Enter the High tiers."""
    registry.register("filter", "high", EncodedFilter())
    registry.register("topic", "high", EncodedTopic())
