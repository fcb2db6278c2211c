"""Mistake notes from the failures that a store has: written by rule, kept only where a replay goes better.

A note says what to do about the check that failed, in words of ours, and names like tasks in the user's: nothing
that a tool or a page said can get into it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from sqlalchemy import select

from pointwork.agents.team import Team
from pointwork.memory.mistakes import SECTION, Failure, Trial, learn
from pointwork.models import ModelClient
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.store.tables import decisions, outcomes, runs, steps

Right = Callable[[str], bool]

_WRONG = "wrong"
_ADVICE = {
    "type": "Answer in the form that is asked for, and with nothing else.",
    "tool": "Give a tool only names, columns and values that the context shows; after an error, change the call.",
    "arguments": "Put into a call only numbers of the question or of what was found, and all that it needs.",
    "grounded": "Answer with words that stand in the context; if it does not hold the answer, look further.",
    "evidence": "Look it up with a tool before you answer.",
    "echo": "Say what was found; do not repeat the question.",
    "judge": "Compare the answer with the evidence before you give it.",
    _WRONG: "Read again what exactly is asked for, and of what, before you answer.",
}
_OTHER = "Make one complete call with the arguments that the tool names, or answer."
_SHORT = 70  # characters of a task in a note
_NAMED = 3  # tasks in a note
_CLUSTER = 6  # failures of one kind that are replayed


def failures(store: Store, limit: int = 200, right: Mapping[str, Right] | None = None) -> list[Failure]:
    """The latest runs that failed, or that feedback calls wrong, with what their last check said; newest first.

    Runs of tasks in ``right`` failed if it says so. Runs whose folder is gone are left out: nobody can repeat them.
    """
    known = right or {}
    bad = (
        select(decisions.c.run_id)
        .join(outcomes, outcomes.c.decision_id == decisions.c.id)
        .where(outcomes.c.source == "feedback", outcomes.c.quality < 0.5)
    )
    judged = runs.c.task.in_(list(known)) & runs.c.finished.is_not(None)
    some = (runs.c.status == "failed") | runs.c.id.in_(bad) | judged
    query = select(runs).where(some)
    found: dict[str, Failure] = {}
    for run in store.rows(query.order_by(runs.c.created.desc()).limit(limit)):
        if (run["root"] and not Path(run["root"]).is_dir()) or _was_right(run, known):
            continue
        if run["task"] not in found:  # once a task: the same question asked ten times is one failure
            found[run["task"]] = Failure(run["task"], _mistake(store, run), f"run:{run['id']}")
    return list(found.values())


def write_note(cluster: Sequence[Failure]) -> str:
    """What to do about the failures of a cluster, with some of their tasks."""
    kinds = Counter(failure.mistake.partition(":")[0] for failure in cluster)
    said = _ADVICE.get(kinds.most_common(1)[0][0], _OTHER)
    named = "; ".join(_short(failure.task) for failure in cluster[:_NAMED])
    return f"{said} In tasks such as: {named}"


def learn_mistakes(
    team: Team,
    *,
    right: Mapping[str, Right] | None = None,
    models: Mapping[str, ModelClient] | None = None,
    limit: int = 200,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Trial]:
    """Cluster the failures of a team's store, replay each cluster with and without a note, keep what helps.

    Args:
        team: its configuration, store and folders are those of the replays; these run in stores of their own.
        right: task → whether an answer is right, of runs and replays. Of other tasks a replay goes well if its
            answer passed all checks.
        models: ready-made model clients by role, instead of the configuration's.
        limit: runs that are looked at.
        tell: what is being replayed, for a progress line.
    """
    found = failures(team.store, limit, right)
    known = team.store.rows(select(runs.c.id, runs.c.root).where(runs.c.id.in_([_id(f) for f in found])))
    roots = {row["id"]: row["root"] for row in known}

    def replay(cluster: Sequence[Failure], note: str | None) -> list[float]:
        with Team(config=_advised(team.settings), store=Store("sqlite://"), models=models) as again:
            if note is not None:
                again.services.playbook.add(SECTION, note, sources=["replay"], trust="user")
            done: list[float] = []
            for failure in cluster:
                tell(f"{'with' if note else 'without'} a note: {_short(failure.task)}")
                result = again.run(failure.task, root=roots.get(_id(failure)))
                done.append(_success(result.text, result.status, failure.task, right or {}))
            return done

    return learn(team.services.playbook, found, write=write_note, replay=replay, most=_CLUSTER)


def _advised(settings: Settings) -> Settings:
    memory = settings.memory.model_copy(update={"advice": "always"})
    return settings.model_copy(update={"memory": memory, "store": None})


def _success(text: str, status: str, task: str, right: Mapping[str, Right]) -> float:
    if task in right:
        return float(bool(text.strip()) and right[task](text))
    return float(status == "ok")


def _was_right(run: Mapping[str, Any], right: Mapping[str, Right]) -> bool:
    """Whether ``right`` knows a run's task and says that it went well."""
    said = cast(dict[str, Any], run["result"] or {})
    return run["task"] in right and _success(said.get("text", ""), run["status"], run["task"], right) > 0


def _mistake(store: Store, run: Mapping[str, Any]) -> str:
    if run["status"] != "failed":
        return f"{_WRONG}: the answer to {_short(run['task'])}"
    checks = select(steps.c.output).where(steps.c.run_id == run["id"], steps.c.kind == "verify")
    said = [cast(dict[str, Any], row["output"]) for row in store.rows(checks.order_by(steps.c.id))]
    why = [output["why"] for output in said if output["status"] in ("failed", "error")]
    return str(why[-1]) if why else str(run["error"] or "no plan came to an answer")


def _short(task: str) -> str:
    flat = " ".join(task.split())
    return flat if len(flat) <= _SHORT else f"{flat[: _SHORT - 1]}…"


def _id(failure: Failure) -> str:
    return failure.source.removeprefix("run:")
