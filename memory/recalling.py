"""One recall on its way through the modules."""

import math
import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pointwork.memory.items import Cost, Item
from pointwork.memory.modules import BOOSTERS, Candidate, Meter, Module, Question, Registry, Resources, Tier
from pointwork.memory.timely import first

if TYPE_CHECKING:
    from pointwork.memory.high import Closer
    from pointwork.memory.texts import Known
    from pointwork.memory.view import View


class Work:
    """One question: ``run``, then read the attributes.

    Attributes:
        items: best first.
        text, shown: of the summary.
        costs: module -> what it took.
        tiers: module -> the tier that did its work: Mid where the model of a higher one failed.
        why: item id -> module -> what it gave.
    """

    def __init__(
        self, question: Question, resources: Resources, registry: Registry, tiers: Mapping[Module, Tier]
    ) -> None:
        self._question = question
        self._resources = resources
        self._registry = registry
        self._tiers = tiers
        self.tiers: dict[str, str] = dict[str, str](tiers.items())
        self.costs: dict[str, Cost] = {}
        self.items: list[Item] = []
        self.why: dict[str, Mapping[str, float]] = {}
        self.text = ""
        self.shown: tuple[str, ...] = ()

    def run(self) -> "Work":
        low = all(self._tiers[module] == "low" for module in ("filter", *BOOSTERS))
        if len(self._resources.index):
            self.items = self._by_boosts() if low else self._by_ranking()
            if self._question.spare:
                self.items = first(self.items, self._question.held, self._question.k)
        else:
            self.costs.update((module, Cost()) for module in ("filter", *BOOSTERS))
        with self.metered("summary") as meter:
            summary = self._registry.summary(self._tiers["summary"])
            odds = {item: why["ranker"] for item, why in self.why.items() if "ranker" in why}
            digest = summary.digest(self._question, self.items, replace(self._resources, odds=odds), meter)
        self.text, self.shown = digest.text, digest.shown
        return self

    def _by_boosts(self) -> list[Item]:
        """All Low: the filter's scores, raised by the middle modules."""
        with self.metered("filter") as meter:
            found = self._found(self._question, meter)
            more = max(self._question.k, len(found) // 4)
            # what gives orders takes no other's place: if something does, more are looked at
            for _ in range(_TRIES):
                if not any(known.suspect for known, _ in found):
                    break
                more *= 2
                found = self._found(replace(self._question, k=more), meter)
        candidates = self._boosted(found)
        candidates.sort(key=lambda candidate: -candidate.score)  # stable: equals stay as the filter had them
        for candidate in candidates:
            candidate.score *= not candidate.known.suspect
        candidates.sort(key=lambda candidate: candidate.known.suspect)
        best = candidates[: self._question.k + self._question.spare]
        self.why = {candidate.item.id: candidate.why for candidate in best}
        return [candidate.scored() for candidate in best]

    def _found(self, question: Question, meter: Meter) -> "list[tuple[Known, float]]":
        hits = self._registry.filter().find(question, self._resources, meter)
        known = self._resources.texts.get(serial for serial, _ in hits)
        return [(known[serial], score) for serial, score in hits if serial in known]

    def _boosted(self, found: "Sequence[tuple[Known, float]]") -> list[Candidate]:
        candidates = [Candidate(known, score, {"filter": score}) for known, score in found]
        for module in BOOSTERS:
            with self.metered(module) as meter:
                booster = self._registry.booster(module)
                boosts = booster.boost(self._question, candidates, self._resources, meter)
            for candidate, boost in zip(candidates, boosts, strict=True):
                candidate.why[module] = boost
        for candidate in candidates:
            for module in BOOSTERS:
                candidate.score *= 1 + candidate.why[module]
        return candidates

    def _by_ranking(self) -> list[Item]:
        """Some above Low: the re-ranker weighs all features of the modules that work at Mid or High."""
        import numpy as np

        from pointwork.memory.ranker import ranked
        from pointwork.memory.view import View

        question, tiers = self._question, self._tiers
        without = frozenset(module for module in ("filter", *BOOSTERS) if tiers[module] == "low")
        with self.metered("filter") as meter:
            view = View(question.text, self._resources.index, self._resources.texts, beside="topic" not in without)
            if "filter" in without:
                view.find(question.thread, question.k, by_meaning=False)
            else:
                self._registry.finder(tiers["filter"]).gather(question, view, meter)
        given: list[Sequence[float]] = []
        for module in BOOSTERS:
            if module not in without:
                with self.metered(module) as meter:
                    looker = self._registry.looker(module, tiers[module])
                    given.append(looker.look(question, view, self._resources, meter) or ())
        question = self._question = replace(question, periods=tuple(view.periods))
        scores = ranked(view, question.now, without, self.metered, self._closer(view))
        if question.thread is not None:
            scores = scores + np.array([_OWN_THREAD * (k.row["thread"] == question.thread) for k in view.known])
        scores = scores + self._rules(view, without)
        for some in given:
            scores[: len(some)] += some
        # rounded: a matrix product's last digits depend on how many rows it has
        order: list[int] = np.argsort(-np.round(scores, 3), kind="stable")[: question.k + question.spare].tolist()
        best = [(view.known[n], float(view.share[n]), float(scores[n])) for n in order]
        last, left = float(scores.min(initial=0.0)) - _ORDERS, question.k + question.spare - len(best)
        best += [(known, 0.0, last) for known in list(view.aside.values())[:left]]
        items = self._shared(best)
        for n, item in zip(order, items, strict=False):
            for how, places in (("mention", view.mentioned), ("model", view.sought)):
                if int(view.places[n]) in places:
                    self.why[item.id] = {**self.why[item.id], how: 1.0}
        return items

    def _closer(self, view: "View") -> "Closer | None":
        """What reads the best candidates closely, if filter or topic want it."""
        modules = [m for m in ("filter", "topic") if self._registry.needs(m, self._tiers[m]) == "encoder"]
        if not modules or self._resources.encoded is None:
            return None
        from pointwork.memory.high import Closer

        return Closer(view, self._resources.encoded, modules, self.metered)

    def _rules(self, view: "View", without: frozenset[str]) -> "list[float]":
        """What Low's rules give: for modules that work at Low, and the rules of time for documents."""
        candidates = [Candidate(known, 0.0) for known in view.known]
        documents = [view.is_document(n) for n in range(len(candidates))]
        given = [_SHARE * share if of else 0.0 for share, of in zip(view.share.tolist(), documents, strict=True)]
        for module in BOOSTERS:
            if module in without or (module == "temporal" and any(documents)):
                with self.metered(module) as meter:
                    boosts = self._registry.booster(module).boost(
                        self._question, candidates, self._resources, meter
                    )
                for n, boost in enumerate(boosts):
                    if module in without or documents[n]:
                        given[n] += _RULES * math.log1p(boost)
        return given

    def _shared(self, best: "Sequence[tuple[Known, float, float]]") -> list[Item]:
        """The ranked items with the share of what is asked that each holds, falling with the rank."""
        candidates = self._boosted([(known, share) for known, share, _ in best])
        scores = falling([candidate.score for candidate in candidates])
        for candidate, (_, _, rank) in zip(candidates, best, strict=True):
            self.why[candidate.item.id] = {**candidate.why, "ranker": rank}
        return [replace(c.item, score=score) for c, score in zip(candidates, scores, strict=True)]

    def metered(self, module: str) -> "_Metered":
        """``with`` it, a module works: what it takes is added to its costs."""
        return _Metered(module, self.costs, self.tiers)


# Log-odds, by judgement: no set has them. For the conversation in which the question is asked, and for what Low's
# rules of time and topic say of a document, which the re-ranker could not learn (its documents have no times).
_OWN_THREAD = 6.0
_RULES = 4.0
_TRIES = 2  # times that Low looks again for twice as many
_ORDERS = 8.0  # by which what gives orders comes after all else
_SHARE = 2.0  # for all that a document holds of the question: what it is like may be new, this is never wrong


def falling(values: Sequence[float]) -> list[float]:
    """The nearest sequence, in squares, that nowhere rises (pool adjacent violators; Ayer et al. 1955)."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        mean, count = value, 1
        while blocks and blocks[-1][0] < mean:
            before, size = blocks.pop()
            mean, count = (before * size + mean * count) / (size + count), size + count
        blocks.append((mean, count))
    return [mean for mean, count in blocks for _ in range(count)]


class _Metered:
    """Measures what a module takes: ``with`` gives the meter it enters its tokens and money in."""

    def __init__(self, module: str, costs: dict[str, Cost], tiers: dict[str, str]) -> None:
        self._module, self._costs, self._tiers = module, costs, tiers
        self._meter = Meter()

    def __enter__(self) -> Meter:
        self._started = clock.perf_counter()
        return self._meter

    def __exit__(self, *_: Any) -> None:
        seconds = clock.perf_counter() - self._started + self._meter.waited
        spent = Cost(self._meter.tokens, self._meter.usd, seconds)
        self._costs[self._module] = self._costs.get(self._module, Cost()) + spent
        if self._meter.fell_back:
            self._tiers[self._module] = "mid"
