"""What memory gives back: items, and a recall of them with what it cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pointwork.errors import UsageError

if TYPE_CHECKING:
    from pointwork.memory.facts import Fact

# Who wrote an item. What the last two wrote is never followed, only quoted: see ``quoting``.
TRUSTS = ("user", "agent", "tool", "web")
UNTRUSTED = frozenset({"tool", "web"})


@dataclass(frozen=True, slots=True)
class Item:
    """A piece of memory, verbatim.

    Attributes:
        id: what ``Memory.read`` takes.
        text: exactly as it was added; of a chunk: that part of it.
        score: how well it fits the question: the share of the question's information (IDF mass) found in it, about
            0 to 1, raised by the modules' boosts. 0 in a listing.
        source: as given, also on a chunk.
        trust: who wrote it, one of ``TRUSTS``.
        title: as given, or the first line of the text.
        time: when it was said, seconds since the epoch (UTC), if known.
        speaker: who said it, if known.
        thread: the conversation it belongs to.
        parent: id of the text that this is a chunk of.
        start: character offset in the parent; ``end`` is one past the last.
        layer: episodic, document (a text kept whole beside its chunks), …
        created: when it was stored, seconds since the epoch.
    """

    id: str
    text: str
    score: float
    source: str
    trust: str
    title: str | None = None
    time: float | None = None
    speaker: str | None = None
    thread: str | None = None
    parent: str | None = None
    start: int | None = None
    end: int | None = None
    layer: str = "episodic"
    created: float = 0.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What something took: model tokens, US dollars, seconds."""

    tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.tokens + other.tokens, self.usd + other.usd, self.seconds + other.seconds)


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer to ``Memory.recall``.

    Attributes:
        items: best first, at most k; each whole, whatever the token budget was.
        tiers: module -> the tier that did its work.
        cost: of the whole recall; ``tokens`` are model tokens spent to find the items, not those of ``text``.
        text: what may be shown to a model: the items as quoted data under their ids, within the token budget.
        tokens: of ``text``, by ``count_tokens_estimate``.
        shown: ids of the items whose text is in ``text``, whole or shortened; the others are in ``items`` only.
        costs: module -> its part of the cost.
        why: item id -> module -> what the module gave it (of the filter: its score).
        facts: what held when, if the question asks for that; what held at the time asked for comes first.
    """

    items: list[Item]
    tiers: Mapping[str, str]
    cost: Cost
    text: str
    tokens: int = 0
    shown: tuple[str, ...] = ()
    costs: Mapping[str, Cost] = field(default_factory=dict[str, Cost])
    why: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    facts: "tuple[Fact, ...]" = ()


def check_trust(trust: str) -> str:
    """The trust level, if it is one.

    Raises:
        UsageError: it is not one of ``TRUSTS``.
    """
    if trust not in TRUSTS:
        raise UsageError(f"trust={trust!r} is not known; it says who wrote the text: one of {', '.join(TRUSTS)}")
    return trust


def part_of(name: str, source: str) -> bool:
    """Whether a source is the other one or a part of it: ``notes.md#Gate`` of ``notes.md``."""
    return name == source or name.startswith(f"{source}#")


def item_of(row: Mapping[str, Any], text: str, score: float = 0.0) -> Item:
    """A row of ``memory_items`` as an item with its exact text."""
    return Item(
        id=row["id"],
        text=text,
        score=score,
        source=row["source"],
        trust=row["trust"],
        title=row["title"],
        time=row["time"],
        speaker=row["speaker"],
        thread=row["thread"],
        parent=row["parent_id"],
        start=row["start"],
        end=row["end"],
        layer=row["layer"],
        created=row["created"],
    )
