"""From the store to what is trained on: runs become rollouts, rollouts of one task a group.

    data = collect(store, roles=["worker-small"])
    data.groups, data.report.as_json()

Nothing is left out in silence: the report says of every run and turn that was dropped why it was.
"""

import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from sqlalchemy import func, select

from pointwork.store import Store
from pointwork.store.tables import decisions, outcomes, runs, steps, tool_calls
from pointwork.training.reading import MARK, OTHER_ROLE, Logged, Tokenizer, facts_of, task_of, trouble, turns_of
from pointwork.training.rewards import Reward
from pointwork.training.samples import Group, Rollout, grouped

# Runs read at a time.
BATCH = 64


@dataclass
class Report:
    """What was found, and what was left out.

    Attributes:
        runs: looked at. rollouts: with a reward. correct: of these. reward: their mean.
        groups: tasks. mixed: with at least two rewards: only these teach. constant: with two or more rollouts, all
            of the same reward. single: with one rollout.
        without_turns: rollouts in which no trained role wrote anything that is known in tokens.
        turns: by role. versions: turns by the model version that wrote them.
        prompt_tokens: of all prompts. distinct_tokens: of these, what has to be computed if prefixes that prompts
            and answers of a group share are computed once. completion_tokens: what is trained.
        without_logprobs: turns for which the server gave none: the ratio starts at the trainer's own.
        rendered: turns whose tokens the trainer's tokenizer made. greedy: turns drawn at temperature 0.
        dropped_runs, dropped_turns: reason -> how many.
    """

    runs: int = 0
    rollouts: int = 0
    correct: int = 0
    reward: float = 0.0
    groups: int = 0
    mixed: int = 0
    constant: int = 0
    single: int = 0
    without_turns: int = 0
    turns: Counter[str] = field(default_factory=Counter[str])
    versions: Counter[str] = field(default_factory=Counter[str])
    prompt_tokens: int = 0
    distinct_tokens: int = 0
    completion_tokens: int = 0
    without_logprobs: int = 0
    rendered: int = 0
    greedy: int = 0
    dropped_runs: Counter[str] = field(default_factory=Counter[str])
    dropped_turns: Counter[str] = field(default_factory=Counter[str])

    def useless(self, role: str) -> str:
        """Why there is nothing in it for a role to learn from; empty if there is."""
        if not self.rollouts:
            return f"no rollout can be used ({_listed(self.dropped_runs) or 'there are none'})"
        if self.turns.get(role):
            return ""
        lost = Counter({why: count for why, count in self.dropped_turns.items() if why != OTHER_ROLE})
        why = _listed(lost) or "it was not asked"
        return f"role {role!r} wrote nothing in {self.rollouts} rollouts that can be used ({why})"

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        plain: dict[str, Any] = dict(vars(self))
        counted = ("turns", "versions", "dropped_runs", "dropped_turns")
        return {**plain, **{name: dict(plain[name]) for name in counted}}


@dataclass(frozen=True)
class Data:
    """Groups of rollouts, in the order in which their tasks were first tried, and what the report says of them."""

    groups: tuple[Group, ...]
    report: Report


def collect(
    store: Store,
    *,
    roles: Sequence[str] | None = None,
    run_ids: Sequence[str] | None = None,
    since: float | None = None,
    reward: Reward | None = None,
    tokenizer: Tokenizer | None = None,
    imported_as: str = "",
    models: Mapping[str, Collection[str]] | None = None,
) -> Data:
    """Read runs as groups of rollouts.

    Args:
        store: the record.
        roles: whose turns are trained; None: all but the judge's.
        run_ids: only these runs. since: only those begun then or later (seconds since the epoch).
        reward: what a run was worth; None: checker, else feedback, else an imported reward, else the judge.
        tokenizer: the trainer's, for turns without token ids; None drops those.
        imported_as: the role of turns in imported logs, which know none.
        models: role -> names under which its present model stands in the log (``origins.own_models``): what another
            model wrote in that role, before the role was given this one, is dropped. None, or a role that is not
            there: whoever wrote it.
    """
    report, found, valued = Report(), list[Rollout](), reward or Reward()
    for logged in _logged(store, run_ids, since):
        report.runs += 1
        why = "drawn for an evaluation" if logged.mark().get("purpose") == "evaluation" else trouble(logged)
        scored = None if why else valued.of(facts_of(logged))
        if scored is None:
            report.dropped_runs[why or "no reward: no checker, no feedback, no judge"] += 1
            continue
        read = turns_of(logged, roles, tokenizer, imported_as, models)
        report.dropped_turns += read.dropped
        if read.foreign:
            # what another model earned is no measure of this one's trials either
            report.dropped_runs["the work of another model"] += 1
            continue
        report.rendered += read.rendered
        report.greedy += read.greedy
        run_id = str(logged.run["id"])
        turns = tuple(read.turns)
        found.append(Rollout(task_of(logged), turns, scored.reward, scored.correct, logged.calls, run_id))
    groups = tuple(grouped(found))
    _count(report, groups)
    return Data(groups, report)


def mark(
    store: Store,
    run_id: str,
    task: str,
    *,
    trial: int = 0,
    checked: bool | None = None,
    purpose: Literal["training", "evaluation"] = "training",
) -> None:
    """Say which task a run is a trial of, and what a checker said of it; a later word replaces an earlier one.

    Args:
        purpose: ``evaluation`` keeps the run out of all training.
    """
    note = {MARK: {"task": task, "trial": trial, "checked": checked, "purpose": purpose}}
    store.append(steps, {"run_id": run_id, "kind": "note", "input": note, "started": time.time()})


def fault(store: Store, run_id: str) -> str:
    """Why a run says nothing of the models that were at work in it; empty if it does."""
    return next((trouble(logged) or "" for logged in _logged(store, [run_id], None)), "there is no such run")


def roles_in(store: Store) -> dict[str, int]:
    """How many answers of each role the store holds; imported ones know no role and are under ``""``."""
    rows = store.rows(
        select(steps.c.role, func.count().label("n"))
        .where(steps.c.kind == "model", steps.c.error.is_(None))
        .group_by(steps.c.role)
    )
    return {str(row["role"] or ""): int(row["n"]) for row in rows}


def _logged(store: Store, run_ids: Sequence[str] | None, since: float | None) -> Iterator[Logged]:
    query = select(runs).order_by(runs.c.created, runs.c.id)
    if since is not None:
        query = query.where(runs.c.created >= since)
    wanted = None if run_ids is None else set(run_ids)
    found = [row for row in store.rows(query) if wanted is None or row["id"] in wanted]
    for start in range(0, len(found), BATCH):
        batch = found[start : start + BATCH]
        ids = [row["id"] for row in batch]
        kept = store.rows(
            select(steps)
            .where(steps.c.run_id.in_(ids), steps.c.kind.in_(("model", "note")))
            .order_by(steps.c.run_id, steps.c.id)
        )
        drawn = store.rows(select(decisions).where(decisions.c.run_id.in_(ids)).order_by(decisions.c.created))
        said = store.rows(
            select(outcomes, decisions.c.run_id)
            .join(decisions, decisions.c.id == outcomes.c.decision_id)
            .where(decisions.c.run_id.in_(ids))
            .order_by(outcomes.c.id)
        )
        counted = store.rows(
            select(tool_calls.c.run_id, func.count().label("n"))
            .where(tool_calls.c.run_id.in_(ids))
            .group_by(tool_calls.c.run_id)
        )
        calls = {row["run_id"]: int(row["n"]) for row in counted}
        for run in batch:
            own, choices, words = (
                [row for row in rows if row["run_id"] == run["id"]] for rows in (kept, drawn, said)
            )
            yield Logged(run, own, choices, words, calls.get(run["id"], 0))


def _count(report: Report, groups: Sequence[Group]) -> None:
    rollouts = [rollout for group in groups for rollout in group.rollouts]
    report.rollouts, report.groups = len(rollouts), len(groups)
    report.correct = sum(rollout.correct for rollout in rollouts)
    report.reward = sum(rollout.reward for rollout in rollouts) / len(rollouts) if rollouts else 0.0
    report.single = sum(len(group.rollouts) == 1 for group in groups)
    report.constant = sum(group.constant and len(group.rollouts) > 1 for group in groups)
    report.mixed = sum(not group.constant for group in groups)
    report.without_turns = sum(not rollout.turns for rollout in rollouts)
    for group in groups:
        turns = [turn for rollout in group.rollouts for turn in rollout.turns]
        report.turns.update(turn.role for turn in turns)
        report.versions.update(turn.version or "" for turn in turns)
        report.prompt_tokens += sum(len(turn.prompt_ids) for turn in turns)
        report.completion_tokens += sum(len(turn.completion_ids) for turn in turns)
        report.without_logprobs += sum(turn.logprobs is None for turn in turns)
        report.distinct_tokens += distinct([(*turn.prompt_ids, *turn.completion_ids) for turn in turns])


def distinct(sequences: Sequence[tuple[int, ...]]) -> int:
    """Tokens that must be computed if every prefix that sequences share is computed once: the nodes of their trie.

    In sorted order, what a sequence shares with all before it is what it shares with the one just before it.
    """
    ordered = sorted(sequences)
    shared = sum(_common(before, after) for before, after in pairwise(ordered))
    return sum(map(len, ordered)) - shared


def _listed(reasons: Counter[str]) -> str:
    return ", ".join(f"{why}: {count}" for why, count in reasons.items())


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
