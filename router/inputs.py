"""Checks of what callers hand in, so that the wrong kind of thing is a UsageError and changes nothing."""

import math
import operator
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, SupportsFloat, cast

from pointwork.errors import UsageError
from pointwork.router.arms import Arm
from pointwork.router.decisions import Outcome
from pointwork.router.settings import Settings


def checked_arms(arms: object) -> None:
    """Raise a UsageError for what is no list of arms, or an empty one."""
    if isinstance(arms, str) or not isinstance(arms, Collection) or not arms:
        raise UsageError(f"a router needs at least one arm, in a list; not {arms!r}")
    for arm in cast(Collection[object], arms):
        checked_arm(arm)


def checked_arm(arm: object) -> None:
    """Raise a UsageError for what is no arm."""
    if not isinstance(arm, Arm):
        raise UsageError(f"{arm!r} is no Arm: Arm('name', usd_per_mtok=(0.1, 0.4))")


def checked_outcome(outcome: object) -> None:
    """Raise a UsageError for what is no outcome."""
    if not isinstance(outcome, Outcome):
        raise UsageError(f"{outcome!r} is no Outcome: Outcome(quality=0.8, usd=1.2e-4, seconds=1.3)")


def checked_names(names: object) -> None:
    """Raise a UsageError for what is no list of names; a text alone is not one of its letters."""
    if names is None:
        return
    if isinstance(names, str) or not isinstance(names, Collection):
        raise UsageError(f"names of arms belong in a list: {names!r}")
    for name in cast(Collection[object], names):
        if not isinstance(name, str):
            raise UsageError(f"the name of an arm is a text, not {name!r}")


def checked_name(what: str, name: object) -> None:
    """Raise a UsageError for a name or an id that is no text."""
    if not isinstance(name, str):
        raise UsageError(f"{what} is a text, not {repr(name)[:80]}")


def checked_path(path: object) -> Path:
    """A path; a UsageError for what is none."""
    if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(cast(str, path)):
        raise UsageError(f"a router is saved in a file: {path!r} is no path of one")
    return Path(cast(str, path))


def checked_start(name: object, seed: Any, budget: object, settings: object) -> None:
    """Raise a UsageError for what a router is made with, of the wrong kind; ranges are checked elsewhere."""
    if settings is not None and not isinstance(settings, Settings):
        raise UsageError(f"settings are Settings(…), not {settings!r}")
    if not isinstance(name, str):
        raise UsageError(f"a router's name is a text, not {name!r}")
    try:
        operator.index(seed)
    except TypeError as error:
        raise UsageError(f"a seed is a whole number from 0, not {seed!r}") from error
    try:
        known = budget is None or (isinstance(budget, SupportsFloat) and math.isfinite(budget))
    except (TypeError, ValueError, OverflowError):
        known = False
    if not known:
        raise UsageError(f"budget_per_request is US dollars, or None, not {repr(budget)[:80]}")
