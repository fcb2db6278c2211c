"""Which tier each module works in, for this question at this budget."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import select

from pointwork.errors import UsageError
from pointwork.memory.modules import MODULES, Module, Need, Tier, load
from pointwork.store import Store
from pointwork.store.tables import models
from pointwork.text import tokenize

if TYPE_CHECKING:
    from pointwork.memory.index import Index


@dataclass(frozen=True, slots=True)
class Glance:
    """What the words of a question alone find, before any module works: how sure Low would be.

    Attributes:
        best: the share of what is asked that the best item holds, 0 to 1.
        gap: by how much it is ahead of the fifth.
        spread: the mean of the best ten beside the best, 0 to 1: near 1, nothing stands out.
        known: the share of the question's tokens that stand in any item.
        many: items that share a word with it, of all.
    """

    best: float = 0.0
    gap: float = 0.0
    spread: float = 0.0
    known: float = 0.0
    many: float = 0.0


@dataclass(frozen=True, slots=True)
class TierRequest:
    """What a policy may decide on.

    Attributes:
        question: as asked.
        k: how many items are wanted.
        budget_tokens: for the text shown to a model.
        usd_left: what the caller may still spend in US dollars; None: not said.
        available: module -> its tiers that exist here, cheapest first.
        items: how many rows there are to search.
        look: gives a glance at what the words find (a part of what Low does); None: there is nothing to look at.
    """

    question: str
    k: int
    budget_tokens: int
    usd_left: float | None
    available: Mapping[Module, tuple[Tier, ...]]
    items: int
    look: Callable[[], Glance] | None = field(default=None, compare=False)


# What recall does unless told otherwise, until a learned policy has proved its gain: all that needs no model.
DEFAULT = "mid"
ENCODED = "high"  # the same where there is a sentence encoder


# Under this name the table ``models`` has the learned policies of a store; the live one is what recall does.
ROLE = "memory-tiers"


class TierPolicy(Protocol):
    """Picks a tier per module and runs nothing; a learned one goes live only through the promotion gate."""

    def choose(self, request: TierRequest) -> Mapping[str, str]:
        """Module -> tier; modules left out work in their cheapest."""
        ...


class StaticTiers:
    """The same tiers for every question.

    Args:
        tiers: one tier for all modules, or module -> tier. Names are checked when they are used.
    """

    def __init__(self, tiers: str | Mapping[str, str] | Mapping[Module, Tier] = "low") -> None:
        named = dict.fromkeys(MODULES, tiers) if isinstance(tiers, str) else tiers
        self.tiers: dict[str, str] = {module: tier for module, tier in named.items()}

    def choose(self, request: TierRequest) -> Mapping[str, str]:
        return self.tiers


Tiers = str | Mapping[str, str] | TierPolicy


def policy_of(tiers: Tiers | None, having: Collection[Need]) -> TierPolicy:
    """What is meant by tiers as ``Memory`` takes them.

    Args:
        tiers: None: what recall does unless told otherwise. No model is asked then, even if there is one.
        having: what tier High can work with.

    Raises:
        UsageError: a tier that is not there.
    """
    if isinstance(tiers, str):
        return StaticTiers(load().spread(tiers, having))
    if tiers is None or isinstance(tiers, Mapping):
        encoder: list[Need] = [need for need in having if need == "encoder"]
        wanted: Mapping[str, str] = {} if tiers is None else tiers
        load().chosen(wanted, having)
        return StaticTiers({**load().spread(ENCODED if encoder else DEFAULT, encoder), **wanted})
    if not callable(getattr(tiers, "choose", None)):
        raise UsageError(f"tiers are a tier's name, a mapping of modules to tiers, or a TierPolicy, not {tiers!r}")
    return tiers


def request_of(question: str, k: int, budget_tokens: int, having: Collection[Need], index: "Index") -> TierRequest:
    """What a policy is asked for a recall."""
    there, look = load().available(having), lambda: index.glance(tokenize(question))
    return TierRequest(question, k, budget_tokens, None, there, len(index), look)


def promoted(store: Store) -> TierPolicy | None:
    """The learned policy that is live in a store."""
    query = select(models.c.metrics).where(models.c.role == ROLE, models.c.state == "live")
    row = store.row(query.order_by(models.c.created.desc()).limit(1))
    if row is None:
        return None
    from pointwork.memory.learned import NetworkTiers

    return NetworkTiers.from_json(row["metrics"] or {})
