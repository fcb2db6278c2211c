"""A router's versions as the store keeps them: reading one, and the way back to an earlier one."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pointwork.errors import StoreError, UsageError
from pointwork.router import persistence
from pointwork.router.log import Log, promotion_of
from pointwork.router.persistence import Arrays


@dataclass(frozen=True)
class Back:
    """Where the way back leads.

    Attributes:
        row: the version to return to, which can be read.
        damage: what is wrong with the live one; empty: nothing.
        live: number of that.
    """

    row: dict[str, Any]
    damage: str
    live: int


def opened(row: Mapping[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """The JSON part and the arrays of a version.

    Raises:
        StoreError: it is damaged (says what to do) or of another format.
    """
    try:
        return persistence.read(row["state"], called(row))
    except persistence.OtherFormatError:
        raise
    except StoreError as error:
        command = f"pointwork router rollback --router {shlex.quote(row['router'])}"
        advice = f"to go back to an earlier one: {command} (in Python: Router.rollback_of)"
        raise StoreError(f"{error}; {advice}") from error


def listed(log: Log) -> list[dict[str, Any]]:
    """Versions but their state, newest first, each with its ``damage``: what is wrong with it, or None."""
    rows: list[dict[str, Any]] = []
    for row in log.versions():
        whole = log.version(row["version"])  # one at a time: they may have many megabytes
        if whole is not None:  # else it was pruned meanwhile
            rows.append({**row, "damage": _damage(whole) or None})
    return rows


def way_back(log: Log) -> Back:
    """The newest version from before the present promotion, or from before a live one that is damaged.

    Nothing is changed: ``Log.make_live`` does that.

    Raises:
        UsageError: nothing was promoted, and the live version is in order; or none from before is kept.
        StoreError: the one to go back to can not be read.
    """
    live = log.live()
    damage = "" if live is None else _damage(live)
    promotion = 0 if live is None else promotion_of(live)
    if live is None or not (promotion or damage):
        raise UsageError(f"nothing was promoted for router {log.router!r}: there is nothing to roll back")
    end = promotion or int(live["version"])
    # where nothing was promoted, not to what was, and was then undone
    earlier = (row for row in log.versions() if row["version"] < end and (promotion or not promotion_of(row)))
    found = next((log.version(row["version"]) for row in earlier), None)
    if found is None and not damage:
        raise UsageError(f"the version from before the promotion of router {log.router!r} is no longer kept")
    if found is None:
        anew = "without its row in router_versions the router learns anew from the log"
        raise StoreError(f"{damage}; no earlier one is kept: {anew}")
    try:
        persistence.read(found["state"], called(found))
    except StoreError as error:
        further = "without its row in router_versions an earlier one is gone back to"
        raise StoreError(f"{error}; it is the one to go back to, so nothing was changed ({further})") from error
    return Back(found, damage, int(live["version"]))


def go_back(log: Log) -> Back:
    """Make the version live that ``way_back`` finds.

    Raises:
        UsageError, StoreError: as ``way_back``, or another version was made live meanwhile; nothing was changed.
    """
    back = way_back(log)
    log.make_live(int(back.row["version"]), back.live)
    return back


def called(row: Mapping[str, Any]) -> str:
    """What a version is called in messages."""
    return f"version {row['version']} of router {row['router']!r}"


def _damage(row: Mapping[str, Any]) -> str:
    try:
        persistence.read(row["state"], called(row))
    except persistence.OtherFormatError:
        return ""  # written by another package: who opens it learns from the log
    except StoreError as error:
        return str(error)
    return ""
