"""The router's state and arithmetic, without locks, files or a store: ``Router`` wraps it.

Scalars that move with every event (breakers, running means, λ) depend only on the order of decisions and outcomes
and on the times given with them, so that replaying a log yields the same state.
"""

import copy
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from pointwork.embedding import Embedder
from pointwork.errors import UsageError
from pointwork.router import learning
from pointwork.router.arms import Arm
from pointwork.router.asking import Ask, Judged, capped
from pointwork.router.decisions import Decision, Outcome, new_decision_id
from pointwork.router.drift import Drift
from pointwork.router.estimates import Estimates, Sheet
from pointwork.router.features import Features
from pointwork.router.health import Health
from pointwork.router.inputs import checked_names
from pointwork.router.pacing import Pacer
from pointwork.router.pending import Ledger, Pending
from pointwork.router.policies.base import Policy, View
from pointwork.router.priors import inherited_quality
from pointwork.router.screen import Screen
from pointwork.router.settings import Settings

Array = npt.NDArray[np.float64]
Slots = npt.NDArray[np.intp]


_SALT = 0x706F696E74


def as_ints(slots: Slots) -> list[int]:
    """Slots as Python numbers."""
    return slots.tolist()


class Core:
    """Everything a router knows.

    Args:
        arms: at least one, names unique.
        policy: who prefers.
        budget: US dollars per request, or None.
        seed: of the draws.
        settings: numbers that hold for all arms.
        embedder: for texts.

    Attributes:
        estimates: the regressions; they exist once ``features`` do, when the length of a context is known.
    """

    estimates: Estimates

    def __init__(
        self,
        arms: Sequence[Arm],
        policy: Policy,
        budget: float | None,
        seed: int,
        settings: Settings,
        embedder: Embedder,
    ) -> None:
        self.arms = list(arms)
        self.slots = {arm.name: slot for slot, arm in enumerate(self.arms)}
        if len(self.slots) != len(self.arms):
            names = [arm.name for arm in self.arms]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise UsageError(f"names of arms must be unique; twice: {', '.join(twice)}")
        self.active = [True] * len(self.arms)
        self.policy = policy
        self.optimism = float(getattr(policy, "optimism", 0.0))
        # as arrays, which numpy takes up in half the time of Python's numbers
        self._optimism, self._greedy = np.array(self.optimism), np.array(1.0 - settings.exploration)
        self.pacer = Pacer(budget, len(self.arms))
        self.settings = settings
        self.embedder = embedder
        if seed < 0:
            raise UsageError(f"a seed must not be negative, but it is {seed}")
        # not PCG64(seed) itself: a caller who simulates outcomes with that would have them follow our draws
        self.bits = np.random.PCG64(np.random.SeedSequence((_SALT, seed)))
        self.rng = np.random.Generator(self.bits)
        self.health = Health(np.array([arm.expected_seconds for arm in self.arms]))
        self.drift = Drift(len(self.arms))
        self.screen = Screen(settings.screen)
        self.ledger = Ledger(settings.pending)
        self.clock = 0
        self.features: Features | None = None
        self._sheet: Sheet | None = None
        self._vectors = np.zeros((0, embedder.dims))
        self.arms_changed()

    def arms_changed(self) -> None:
        """Bring what is derived from the list of arms up to date."""
        self.all_slots: Slots = np.flatnonzero(np.array(self.active))
        self.all_names = self._names(self.all_slots)
        self._everyone = len(self.all_slots) == len(self.arms)
        self._sheet = None
        self._vectors = np.asarray(self.embedder.embed([arm.words for arm in self.arms]), np.float64)

    def prepare(self, given: int | None) -> Features:
        """Fix what contexts are made of, by the first decision: a text, or so many given features.

        Raises:
            UsageError: the router already learns from the other kind.
        """
        if self.features is None:
            self.features = Features(self.embedder if given is None else None, given or 0)
            settings = self.settings
            self.estimates = Estimates(
                self.arms,
                self.features.dims,
                ridge=settings.ridge,
                gamma=settings.gamma,
                adapt=settings.adapt,
            )
        elif (given is None) != (self.features.embedder is not None):
            kind = "texts" if self.features.embedder is not None else "features that are given"
            raise UsageError(f"this router learns from {kind}: use another router, by another name, for the other")
        return self.features

    def named(self, candidates: Sequence[str] | None, exclude: Sequence[str]) -> Slots | None:
        """Slots of the candidates that may be chosen; None: all active arms.

        Raises:
            UsageError: an unknown name, or none is left.
        """
        if candidates is None and not exclude:
            return None
        checked_names(candidates)
        checked_names(exclude)
        names = self.all_names if candidates is None else candidates
        unknown = [name for name in (*names, *exclude) if name not in self.slots]
        if unknown:
            raise UsageError(f"no arm is called {unknown[0]!r}; there are {', '.join(self.all_names)}")
        dropped = set(exclude)
        slots = [self.slots[name] for name in dict.fromkeys(names) if name not in dropped]
        slots = [slot for slot in slots if self.active[slot]]
        if not slots:
            raise UsageError("there is no arm to choose from: all are excluded or retired, or none was given")
        return np.array(slots, np.intp)

    def judge(
        self,
        slots: Slots | None,
        inner: Array,
        text: bool,
        ask: Ask,
        now: float,
        *,
        look_only: bool = False,
    ) -> Judged:
        """Predict, price and mix the distribution that the arm will be drawn from.

        Args:
            slots: candidates; None: all active arms.
            inner: the contexts' shared block.
            text: whether ``inner`` comes from a text, so that many candidates can be screened by it.
            ask: what this request asks for.
            now: seconds since the epoch.
            look_only: nobody will be drawn: leave the pacer's, the screen's and the generator's state as they are.
        """
        slots, names, everyone = self._candidates(slots, inner, text, now, look_only)
        some = None if everyone else slots
        state = self.health.features(some, ask.remaining)
        sheet = self._filled(some, inner, state)
        rng = copy.deepcopy(self.rng) if look_only else self.rng
        if not look_only:
            self.pacer.look(sheet.upper, sheet.cost, some)
        view = sheet.view(names, self.clock, ask.least, self.optimism)
        scores, bonus, target = self._propose(view, sheet, ask, rng)
        dearest = sheet.cost.item(sheet.cost.argmax())
        if ask.paced and self.pacer.always < dearest:
            if not look_only and self.pacer.dear(sheet.cost.item(target.argmax())):
                self.pacer.solve()
                scores, bonus, target = self._propose(view, sheet, ask, rng)
            most = self.pacer.affordable()
            if dearest > most:
                target, _ = capped(most, sheet.cost, scores, target, target)
        probabilities = self._mixed(sheet, ask, scores, target, dearest)
        if bonus is not sheet.bonus:
            sheet.bonus[:] = bonus
        sheet.score[:] = scores
        return Judged(slots, names, inner, state, sheet.table.copy().T, sheet, probabilities, ask)

    def _filled(self, some: Slots | None, inner: Array, state: Array) -> Sheet:
        """Contexts and predictions of some candidates, or of all."""
        assert self.features is not None
        sheet = self._sheet if some is None else None
        if sheet is None:
            sheet = Sheet(len(state), self.features.dims, self.features.bias)
            if some is None:
                self._sheet = sheet
        sheet.shared[:] = inner
        sheet.state[:] = state * self.features.state_scale  # not in one step: it is a strided block
        self.estimates.predict(sheet, self.clock, some)
        np.multiply(sheet.width, self._optimism, out=sheet.bonus)
        np.add(sheet.mean, sheet.bonus, out=sheet.upper)
        return sheet

    def _mixed(self, sheet: Sheet, ask: Ask, scores: Array, target: Array, dearest: float) -> Array:
        """The distribution to draw from: the policy's target and the exploration floor."""
        settings, pacer = self.settings, self.pacer
        epsilon = settings.exploration
        if ask.most is None and pacer.even(epsilon, settings.exploration_share, dearest):
            mixed = target * self._greedy
            mixed += epsilon / len(target)
            return mixed
        floor = pacer.floor(epsilon, settings.exploration_share, sheet.cost)
        if ask.most is not None:
            target, floor = capped(ask.most, sheet.cost, scores, target, floor)
        return target * (1.0 - float(floor.sum())) + floor

    def _propose(self, view: View, sheet: Sheet, ask: Ask, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Scores, bonus and target of the policy; where λ is a mixture of two, the mixture of their targets."""
        pacer = self.pacer
        if ask.paced and pacer.share:
            self._price(sheet, ask, low=True)
            _, _, freer = self.policy.propose(view, rng)
            self._price(sheet, ask)
            scores, bonus, target = self.policy.propose(view, rng)
            return scores, bonus, (1.0 - pacer.share) * target + pacer.share * freer
        self._price(sheet, ask)
        return self.policy.propose(view, rng)

    def _price(self, sheet: Sheet, ask: Ask, *, low: bool = False) -> None:
        """Write down what cost and latency take off each candidate's score."""
        price = sheet.price
        if ask.weight is not None:
            price[:] = self.pacer.tradeoff(ask.weight, sheet.cost)
        elif ask.least is not None:
            price[:] = 0.0  # the floor says what money is worth
        else:
            np.multiply(sheet.cost, self.pacer.low if low else self.pacer.rate, out=price)
        settings = self.settings
        if settings.latency_weight:
            price += (settings.latency_weight / settings.deadline) * sheet.seconds

    def _candidates(
        self, slots: Slots | None, inner: Array, text: bool, now: float, look_only: bool
    ) -> tuple[Slots, Sequence[str], bool]:
        everyone = slots is None and self._everyone
        names: Sequence[str] | None = None
        if slots is None:
            slots, names = self.all_slots, self.all_names
        usable = self.health.usable(slots, self.clock, now)
        if usable is not None and not usable.all() and usable.any():
            slots, names, everyone = slots[usable], None, False
        if text and len(slots) > self.screen.keep and self._vectors[slots].any(axis=1).all():
            unit = inner[: self.embedder.dims] / max(float(np.linalg.norm(inner[: self.embedder.dims])), 1e-12)
            kept = self.screen.select(slots, unit, self._vectors, self.health, self.clock, look_only)
            slots = slots[kept]
            names, everyone = None, False
        return slots, names or self._names(slots), everyone

    def _names(self, slots: Slots) -> Sequence[str]:
        return tuple(self.arms[slot].name for slot in as_ints(slots))

    def commit(self, judged: Judged, now: float) -> tuple[Decision, Pending]:
        """Draw the arm and note the decision."""
        probabilities: list[float] = judged.probabilities.tolist()
        cumulative = list(accumulate(probabilities))
        draw = self.rng.random() * cumulative[-1]
        index = min(bisect_right(cumulative, draw), len(probabilities) - 1)
        slot, table, sheet = judged.slots.item(index), judged.table, judged.sheet
        # by position, in the order of the fields: their names cost a microsecond
        decision = Decision(
            new_decision_id(),
            judged.names[index],
            probabilities[index],
            judged.names,
            judged.probabilities,
            table,
            self.health.names(judged.slots),
            self.pacer.weight,
            judged.ask,
        )
        context, estimates, width = sheet.contexts[index].copy(), self.estimates, sheet.width.item(index)
        mean, logged_cost, logged_seconds, cost, *_ = table[index].tolist()
        size = float(context.dot(context))
        pending = Pending(
            slot,
            self.clock,
            now,
            context,
            mean,
            logged_cost,
            logged_seconds,
            width,
            estimates.ignorance(slot, context, size),
            estimates.unsure(slot, width, size),
            cost,
            None,
            True,
            decision,
            self.arms[slot].usd_per_mtok,
            estimates.guessed(slot),
        )
        self.note(decision.id, pending, now)
        return decision, pending

    def note(self, decision_id: str, pending: Pending, now: float) -> None:
        """Take in a decision, just made or out of a log: clock, spend, load.

        Args:
            decision_id: its id. pending: what to keep of it.
            now: when it was made, seconds since the epoch.
        """
        self.pacer.charge(pending.charged)
        if pending.flying:
            self.health.chosen(pending.slot, pending.clock, now)
        self.ledger.put(decision_id, pending)
        self.clock = max(self.clock, pending.clock + 1)
        for slot in self.ledger.landed(self.clock, now):
            self.health.settled(slot)

    def teach(self, inner: Array, outcomes: Mapping[int, Outcome], now: float) -> None:
        """Learn a request that nobody decided: one tick of the clock, whatever is known of however many arms.

        Args:
            inner: the contexts' shared block.
            outcomes: by slot. now: seconds since the epoch.
        """
        slots = np.array(list(outcomes), np.intp)
        sheet = self._filled(slots, inner, self.health.features(slots, 1.0))
        for place, (slot, outcome) in enumerate(outcomes.items()):
            context, width = sheet.contexts[place], sheet.width.item(place)
            size = float(context.dot(context))
            pending = Pending(
                slot=slot,
                clock=self.clock,
                created=now,
                context=context,
                mean=sheet.mean.item(place),
                log_cost=sheet.log_cost.item(place),
                log_seconds=sheet.log_seconds.item(place),
                width=width,
                ignorance=self.estimates.ignorance(slot, context, size),
                unsure=self.estimates.unsure(slot, width, size),
                charged=outcome.usd or 0.0,  # nobody's money was spent
                flying=False,
                guessed=self.estimates.guessed(slot),
            )
            self.learn(pending, outcome, now)
        self.clock += 1

    def learn(self, pending: Pending, outcome: Outcome, now: float) -> bool:
        """Take in an outcome. Returns whether it said anything new."""
        return learning.learn(self, pending, outcome, now)

    def add_arm(self, arm: Arm) -> None:
        """Add an arm, its quality inherited from arms of like price and description.

        Raises:
            UsageError: the name is taken, by an arm in use or a retired one.
        """
        if arm.name in self.slots:
            raise UsageError(f"there is already an arm called {arm.name!r} (retired ones keep their names)")
        vector = np.asarray(self.embedder.embed([arm.words])[0], np.float64)
        quality = inherited_quality(arm, vector, self.arms, self._vectors, self.health)
        self.drift.grow()
        self.pacer.grow()
        self.health.grow(arm.expected_seconds, quality)
        if self.features is not None:
            self.estimates.grow(arm, self.clock, quality)
        self.slots[arm.name] = len(self.arms)
        self.arms.append(arm)
        self.active.append(True)
        self.arms_changed()

    def reprice(self, arm: Arm) -> None:
        """Take over new properties of a known arm; predicted costs follow its price and what is expected of it."""
        slot = self.slots[arm.name]
        before, self.arms[slot] = self.arms[slot], arm
        timed = 0.0 if self.features is None else self.estimates.told[slot][1]
        self.health.expect(slot, arm.expected_seconds - before.expected_seconds, timed)
        if self.features is not None:
            self.pacer.reprice(slot, self.estimates.reprice(slot, before, arm, self.features.bias))

    def retire_arm(self, name: str) -> None:
        """Choose this arm no more; its pending outcomes are still learnt.

        Raises:
            UsageError: no arm has this name, or it is the last.
        """
        if name not in self.slots:
            raise UsageError(f"no arm is called {name!r}; there are {', '.join(self.slots)}")
        others = [slot for slot in self.all_slots if slot != self.slots[name]]
        if not others:
            raise UsageError(f"{name!r} is the last arm; add another before it is retired")
        self.active[self.slots[name]] = False
        self.arms_changed()
