"""What an outcome changes: regressions, noise, drift, the account of money, breakers and load."""

import math
from typing import TYPE_CHECKING

from pointwork.router.decisions import Outcome
from pointwork.router.drift import KEEP, LEAST
from pointwork.router.estimates import Logs, log_cost
from pointwork.router.pending import Pending, logs_of

if TYPE_CHECKING:
    from pointwork.router.core import Core

_NOTHING = Outcome()


def learn(core: "Core", pending: Pending, outcome: Outcome, now: float) -> bool:
    """Take in an outcome. Returns whether it said anything new."""
    old = pending.outcome
    if old is None:
        new = outcome
        if new == _NOTHING:  # neither success nor failure: a breaker must not close on it
            return False
    else:
        new = old.merged(outcome)
        if new == old:
            return False
    pending.outcome = new
    before, after = None if old is None else old.target, new.target
    priced = old is not None and not (old.usd is None and old.seconds is None)
    quality = after if before is None else None
    logs = None if priced or (new.usd is None and new.seconds is None) else _logs(core, pending, new)
    if quality is not None or logs is not None:
        core.estimates.learn(pending.slot, pending.context, pending.clock, quality, logs)
    if quality is not None:
        _graded(core, pending, quality)
    elif before is not None and after is not None and after != before:
        core.estimates.correct_quality(pending.slot, pending.context, pending.clock, after, before)
    if old is not None and priced and (new.usd, new.seconds) != (old.usd, old.seconds):
        logs_before, logs_now = _logs(core, pending, old), _logs(core, pending, new)
        core.estimates.correct_costs(pending.slot, pending.context, pending.clock, logs_now, logs_before)
    if new.usd is not None:
        _paid(core, pending, None if old is None else old.usd, new.usd)
    _landed(core, pending, old, new, now)
    core.estimates.tidy(core.clock)
    return True


def _logs(core: "Core", pending: Pending, outcome: Outcome) -> Logs:
    """Log cost and log seconds; what was paid at another price as if it had been paid at the arm's price of now."""
    cost, seconds = logs_of(pending, outcome)
    then, arm = pending.prices, core.arms[pending.slot]
    if cost is not None and then is not None and then != arm.usd_per_mtok:
        cost += log_cost(arm.expected_usd) - log_cost(arm.usd_at(then))
    return cost, seconds


def _graded(core: "Core", pending: Pending, quality: float) -> None:
    """A decision's quality became known."""
    slot, residual = pending.slot, quality - pending.mean
    core.estimates.learn_noise(residual, pending.width)
    if core.settings.adapt:
        core.estimates.hope(quality)
    core.health.grade(slot, quality)
    unit = max(LEAST, math.sqrt(core.estimates.noise[0]))
    moved = core.drift.changed(slot, 0, residual, 1.0 - pending.unsure, unit)
    if moved is not None:
        core.estimates.shift(slot, 0, core.clock, moved, KEEP)


def _paid(core: "Core", pending: Pending, old: float | None, new: float) -> None:
    """A decision's cost became known, or another."""
    if new == old:
        return
    slot, residual = pending.slot, log_cost(new) - pending.log_cost
    replaced = None if old is None else log_cost(old) - pending.log_cost
    core.estimates.learn_smear(slot, pending.clock, residual, (1.0 - pending.ignorance) ** 2, replaced)
    core.pacer.settle(new - pending.charged)
    pending.charged = new
    if old is None:
        core.estimates.told[slot][0] += 1.0
        unit = math.sqrt(core.estimates.regression.noise.item(1)) + LEAST
        moved = core.drift.changed(slot, 1, residual, 1.0 - pending.ignorance, unit)
        if moved is not None:
            core.estimates.shift(slot, 1, core.clock, moved, KEEP)


def _landed(core: "Core", pending: Pending, old: Outcome | None, new: Outcome, now: float) -> None:
    slot = pending.slot
    if pending.flying:
        pending.flying = False
        core.health.settled(slot)
    failed = new.error is not None and (old is None or old.error is None)
    if old is None or failed:
        core.health.record(slot, failed=failed, made=pending.clock, clock=core.clock, now=now)
    if new.seconds is not None and (old is None or old.seconds is None):
        core.estimates.told[slot][1] += 1.0
        core.health.timed(slot, new.seconds)
