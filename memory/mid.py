"""The Mid tiers: words and meaning together, mentions followed, everything weighed by the re-ranker. No model.

What each module brings is a group of the re-ranker's features (``features``); the entity module also adds documents
that the question or the best documents mention by title.
"""

from collections.abc import Sequence

from pointwork.memory.compact import Compact
from pointwork.memory.modules import Meter, Question, Registry, Resources
from pointwork.memory.view import View


class HybridFilter:
    """Candidates by words, with their neighbours' share, and by static embedding."""

    def gather(self, question: Question, view: View, meter: Meter) -> None:
        view.find(question.thread, question.k)


class Mentions:
    """The second hop: documents whose titles the question or the best documents mention."""

    def look(self, question: Question, view: View, resources: Resources, meter: Meter) -> Sequence[float] | None:
        view.hop()
        return None


class Features:
    """Adds no candidates; the module's features are all it has to say."""

    def look(self, question: Question, view: View, resources: Resources, meter: Meter) -> Sequence[float] | None:
        return None


def register(registry: Registry) -> None:
    """Enter the Mid tiers."""
    registry.register("filter", "mid", HybridFilter())
    registry.register("entity", "mid", Mentions())
    registry.register("temporal", "mid", Features())
    registry.register("topic", "mid", Features())
    registry.register("summary", "mid", Compact())
