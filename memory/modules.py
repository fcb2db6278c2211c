"""The five modules of recall and the tiers in which each can work.

    filter -> {entity, temporal, topic} -> summary          (after BudgetMem)

*filter* finds candidates, the middle three raise those that fit the question's names, times and conversation, and
*summary* makes of the best ones a text within the token budget. Each is a Protocol. ``REGISTRY`` maps (module,
tier) to what does the work: Low is deterministic and lexical; Mid looks at meaning too (static embeddings), follows
mentions from document to document, and lets a trained re-ranker weigh everything; High reads the best of what Mid
found with a sentence encoder (filter and topic: ``high``) or asks a model (entity, temporal and summary:
``asking``). What is not there is an error that says what there is.

An implementation keeps no state between calls and may be called from several threads.
"""

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol, cast, runtime_checkable

from pointwork.errors import UsageError
from pointwork.extras import encoder_installed
from pointwork.memory.dates import Period, periods, to_epoch
from pointwork.memory.items import Item
from pointwork.text import tokenize

if TYPE_CHECKING:
    from pointwork.memory.encoded import Encoded
    from pointwork.memory.index import Index
    from pointwork.memory.reader import Reader
    from pointwork.memory.texts import Known, Texts
    from pointwork.memory.view import View

Module = Literal["filter", "entity", "temporal", "topic", "summary"]
Tier = Literal["low", "mid", "high"]
Need = Literal["encoder", "model"]  # what a module of tier High may not work without

MODULES: tuple[Module, ...] = ("filter", "entity", "temporal", "topic", "summary")
BOOSTERS: tuple[Module, ...] = ("entity", "temporal", "topic")
TIERS: tuple[Tier, ...] = ("low", "mid", "high")


@dataclass(slots=True)
class Meter:
    """What one module spent in one recall: model tokens and US dollars. Time is measured around it.

    ``waited``: seconds for a model, which it was not working in. ``fell_back``: its model failed, so that it worked
    as in tier Mid.
    """

    tokens: int = 0
    usd: float = 0.0
    waited: float = 0.0
    fell_back: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of memory.

    Attributes:
        text: as asked.
        tokens: of the text, as ``pointwork.text.tokenize`` gives them.
        k: how many items are wanted.
        budget_tokens: for the text shown to a model.
        thread: the conversation in which it is asked.
        now: when, seconds since the epoch; "yesterday" is seen from here.
        held: ids of items that state what held at the time asked for: they come first.
        spare: how many items beyond k are looked at for them.
        thrift: share of a piece of evidence that a whole budget of tokens has to bring, or they are left.
        periods: times that it speaks of, if not those that its words say by rule.
    """

    text: str
    tokens: Sequence[str]
    k: int
    budget_tokens: int
    thread: str | None
    now: float
    held: tuple[str, ...] = ()
    spare: int = 0
    thrift: float = 0.0
    periods: tuple[Period, ...] = ()

    def times(self) -> list[Period]:
        """The times that it speaks of."""
        return list(self.periods) or periods(self.text, self.now)


def checked(
    text: str, k: int, budget_tokens: int, thread: str | None, now: float | None, thrift: float = 0.0
) -> Question:
    """A question as ``Memory.recall`` takes it; ``now=None`` is the clock's.

    Raises:
        UsageError: it can not be asked like this.
    """
    if not isinstance(text, str) or not text.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError("the question is empty; ask memory something")
    for name, number in (("k", k), ("budget_tokens", budget_tokens)):
        if type(number) is not int or number < 1:
            raise UsageError(f"{name}={number!r} must be a whole number of at least 1")
    if not isinstance(thrift, int | float) or not 0 <= thrift < math.inf:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"thrift={thrift!r} must be a number from 0 on, such as 0.5")
    if thread is not None and not isinstance(thread, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"thread={thread!r} must be the name of a conversation")
    moment = to_epoch(now)
    moment = time.time() if moment is None else moment
    return Question(text, tuple(tokenize(text)), k, budget_tokens, thread, moment, thrift=thrift)


@dataclass(slots=True)
class Candidate:
    """A row that may answer, on its way through the modules.

    Attributes:
        known: the row.
        score: so far.
        why: module -> what it gave.
    """

    known: "Known"
    score: float
    why: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def item(self) -> Item:
        """The row, with its exact text."""
        return self.known.item

    @property
    def tokens(self) -> frozenset[str]:
        """Of text, title and speaker."""
        return self.known.bag

    def scored(self) -> Item:
        """The item with the score that it has now."""
        return replace(self.item, score=self.score)


@dataclass(frozen=True, slots=True)
class Resources:
    """What modules may use: the index, locked for the call, and the texts of its rows.

    Attributes:
        odds: item id -> the re-ranker's score, for the summary; empty where none ranked.
        encoded: the rows' vectors by the sentence encoder, for tier High; None where there is no encoder.
        reader: the model that tier High asks; where there is none, asking is an error.
    """

    index: "Index"
    texts: "Texts"
    reader: "Reader"
    odds: Mapping[str, float] = field(default_factory=dict[str, float])
    encoded: "Encoded | None" = None


@dataclass(frozen=True, slots=True)
class Digest:
    """A text for a model, and the ids of the items whose text is in it, whole or shortened."""

    text: str
    shown: tuple[str, ...]


@runtime_checkable
class Filter(Protocol):
    """Finds the rows that may answer. It does not read their texts from the store: the index is all it has."""

    def find(self, question: Question, resources: Resources, meter: Meter) -> list[tuple[int, float]]:
        """Serial numbers and scores, best first; more than k, so that the others can choose."""
        ...


@runtime_checkable
class Booster(Protocol):
    """Raises candidates that fit one side of the question. It does not remove any."""

    def boost(
        self, question: Question, candidates: Sequence[Candidate], resources: Resources, meter: Meter
    ) -> list[float]:
        """Per candidate a factor b >= 0: its score is multiplied by 1 + b."""
        ...


@runtime_checkable
class Looker(Protocol):
    """What a middle module does from Mid on: it may add candidates, and its features join the re-ranker's."""

    def look(self, question: Question, view: "View", resources: Resources, meter: Meter) -> Sequence[float] | None:
        """Add candidates to the view, if it knows any, or times that the question speaks of.

        Returns:
            What it gives each candidate besides its features, in log-odds; None: nothing.
        """
        ...


@runtime_checkable
class Finder(Protocol):
    """What the filter does from Mid on."""

    def gather(self, question: Question, view: "View", meter: Meter) -> None:
        """Put candidates into the view."""
        ...


@runtime_checkable
class Summary(Protocol):
    """Makes the text for a model. It never loses an item: what it leaves out can be read by id."""

    def digest(self, question: Question, items: Sequence[Item], resources: Resources, meter: Meter) -> Digest:
        """The items, best first, within ``question.budget_tokens`` by ``count_tokens_estimate``."""
        ...


Implementation = Filter | Finder | Booster | Looker | Summary


class Registry:
    """(module, tier) -> what does the work."""

    def __init__(self) -> None:
        self._known: dict[tuple[Module, Tier], Implementation] = {}

    def register(self, module: Module, tier: Tier, implementation: object) -> None:
        """Enter an implementation; one entered before is replaced.

        Raises:
            UsageError: there is no such module or tier, or it can not do that module's work.
        """
        low: dict[str, type] = {"filter": Filter, "summary": Summary}
        kind = low.get(module, Booster) if tier == "low" else {**low, "filter": Finder}.get(module, Looker)
        if module not in MODULES or tier not in TIERS or not isinstance(implementation, kind):
            raise UsageError(f"{module}/{tier} can not be {implementation!r}: it must be a {kind.__name__}")
        self._known[module, tier] = cast(Implementation, implementation)

    def available(self, having: Collection[Need] = ("encoder", "model")) -> dict[Module, tuple[Tier, ...]]:
        """Module -> its tiers that work with what there is, cheapest first."""
        return {
            module: tuple(
                tier
                for tier in TIERS
                if (module, tier) in self._known and self.needs(module, tier) in (None, *having)
            )
            for module in MODULES
        }

    def needs(self, module: Module, tier: Tier) -> Need | None:
        """What a module can not work without in a tier."""
        return getattr(self._known.get((module, tier)), "needs", None)

    def filter(self) -> Filter:
        """The filter of tier Low."""
        return cast(Filter, self._get("filter", "low"))

    def booster(self, module: Module) -> Booster:
        """The entity, temporal or topic module of tier Low."""
        return cast(Booster, self._get(module, "low"))

    def finder(self, tier: Tier) -> Finder:
        """The filter of a higher tier."""
        return cast(Finder, self._get("filter", tier))

    def looker(self, module: Module, tier: Tier) -> Looker:
        """The entity, temporal or topic module of a higher tier."""
        return cast(Looker, self._get(module, tier))

    def summary(self, tier: Tier) -> Summary:
        """The summary of a tier."""
        return cast(Summary, self._get("summary", tier))

    def check(self, module: str, tier: str, having: Collection[Need] = ("encoder", "model")) -> tuple[Module, Tier]:
        """A module's and a tier's name as the registry writes them (``"Low"`` is ``"low"``).

        Raises:
            UsageError: no such module, no such tier, or a tier that the module does not have, or not without
                something that is not there.
        """
        if module not in MODULES:
            raise UsageError(f"memory has no module {module!r}; its modules are {', '.join(MODULES)}")
        lowered = tier.lower()
        there = self.available(having)[module]
        if lowered not in there:
            known = f"not available here: {module} has {', '.join(there)}" if lowered in TIERS else "unknown"
            need = self.needs(module, cast(Tier, lowered))
            more = _BRINGS[need] if need else ""
            raise UsageError(
                f"tier {tier!r} of memory module {module} is {known}; tiers are {', '.join(TIERS)}{more}"
            )
        return module, lowered

    def spread(self, tier: str, having: Collection[Need] = ("encoder", "model")) -> dict[Module, Tier]:
        """One tier for all modules: what does not have it works in its highest below.

        Raises:
            UsageError: no such tier, or no module has it with what there is.
        """
        there, lowered = self.available(having), tier.lower()
        if not any(lowered in tiers for tiers in there.values()):
            self.check("filter", tier, having)
        most = TIERS.index(cast(Tier, lowered))
        found: dict[Module, Tier] = {}
        for module, tiers in there.items():
            for one in tiers:  # cheapest first
                if TIERS.index(one) <= most:
                    found[module] = one
        return found

    def chosen(self, tiers: Mapping[str, str], having: Collection[Need]) -> dict[Module, Tier]:
        """A tier for each module: the chosen one, else its cheapest; raises as ``check`` does."""
        cheapest: dict[Module, Tier] = {module: there[0] for module, there in self.available(having).items()}
        return cheapest | dict(self.check(module, tier, having) for module, tier in tiers.items())

    def unasked(self, tiers: Mapping[Module, Tier]) -> dict[Module, Tier]:
        """The same, with Mid for what would ask a model."""
        return {module: "mid" if self.needs(module, tier) == "model" else tier for module, tier in tiers.items()}

    def _get(self, module: Module, tier: Tier) -> Implementation:
        module, tier = self.check(module, tier)
        return self._known[module, tier]


_BRINGS: Mapping[Need, str] = {
    "encoder": "; high needs the extra 'embed': pip install 'pointwork[embed]'",
    "model": '; high needs a model to ask: Memory(…, model="local:"), or any other that open_client takes',
}

REGISTRY = Registry()


def available_tiers() -> Mapping[Module, tuple[Tier, ...]]:
    """Module -> the tiers that it can work in here without a model, cheapest first."""
    return load().available(["encoder"] if encoder_installed() else [])


def load() -> Registry:
    """The registry with what the package itself brings."""
    from pointwork.memory import asking, high, low, mid

    if not REGISTRY.available()["filter"]:
        low.register(REGISTRY)
        mid.register(REGISTRY)
        high.register(REGISTRY)
        asking.register(REGISTRY)
    return REGISTRY
