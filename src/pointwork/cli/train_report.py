"""How the report of what there is to train on is shown."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pointwork.cli.output import err, out, table
from pointwork.errors import UsageError
from pointwork.roles import ROLES

if TYPE_CHECKING:
    from pointwork.store import Store
    from pointwork.training.data import Data
    from pointwork.training.samples import Kind


def check_roles(store: "Store", roles: Sequence[str], imported_as: str = "") -> None:
    """Say which of these roles wrote nothing that the store holds, and which did.

    Args:
        store: whose runs. roles: that are asked for. imported_as: the role of turns in imported logs.

    Raises:
        UsageError: a role that there is not: neither in configurations nor in this store.
    """
    from pointwork.training.data import roles_in

    there = Counter[str]()
    for role, count in roles_in(store).items():
        there[role or imported_as] += count
    known = [*ROLES, *sorted(role for role in there if role and role not in ROLES)]
    for role in roles:
        if role not in (*known, imported_as) or not role:
            raise UsageError(f"no role {role!r}; there are {', '.join(known)}")
    silent = [role for role in roles if role not in there]
    if silent and there:
        wrote = ", ".join(f"{role or 'imported ones, which know none'} ({count})" for role, count in there.items())
        err.print(
            f"{', '.join(silent)} wrote nothing that is in the store; roles with answers: {wrote}", markup=False
        )


def outlook(data: "Data", role: str, kind: "Kind") -> str:
    """What there is to say of data, read without a tokenizer, before a role is trained on it; empty if nothing."""
    from pointwork.training.advantages import advantages
    from pointwork.training.reading import NO_IDS

    unread = data.report.dropped_turns[NO_IDS]
    if unread:
        return f"{unread} turns without token ids are not counted: training reads them with the weights' tokenizer"
    why = data.report.useless(role)
    if not why and not advantages(data.groups, kind).kept:
        why = f"no task has trials that {kind!r} can tell apart"
    return f"as it is, there would be nothing to learn from: {why}" if why else ""


def show_report(report: dict[str, Any]) -> None:
    """The report of the data, for people."""
    r = report
    out.print(
        f"{r['runs']} runs, {r['rollouts']} with a reward (mean {r['reward']:.2f}, {r['correct']} correct); "
        f"{r['groups']} tasks: {r['mixed']} with mixed outcomes, {r['constant']} always alike, {r['single']} tried "
        "once"
    )
    out.print(
        f"{sum(r['turns'].values())} turns; tokens: {r['prompt_tokens']:,} of prompts, {r['completion_tokens']:,} "
        f"written, {r['distinct_tokens']:,} to compute with shared prefixes once"
    )
    rows = [("turns", role or "(no role)", count) for role, count in r["turns"].items()]
    rows += [("version", version or "(base)", count) for version, count in r["versions"].items()]
    notes = {
        "rollouts without turns": r["without_turns"],
        "turns without log-probabilities": r["without_logprobs"],
        "turns whose tokens the trainer made": r["rendered"],
        "turns drawn greedily": r["greedy"],
    }
    rows += [("note", name, count) for name, count in notes.items() if count]
    rows += [("dropped runs", why, count) for why, count in r["dropped_runs"].items()]
    rows += [("dropped turns", why, count) for why, count in r["dropped_turns"].items()]
    table(("", "", "count"), rows, "nothing to train on")
