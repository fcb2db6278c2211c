"""One run of the store as a rollout: what is known of it, and the tokens of its turns."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from pointwork.portable import messages_of
from pointwork.training.rewards import Facts
from pointwork.training.samples import Turn

Row = Mapping[str, Any]

# The key under which a note step says what a run is a trial of: ``{"training": {"task", "trial", "checked"}}``.
MARK = "training"

# Errors for which no model is to blame.
BACK_END = ("ProviderError", "ProviderTimeout", "RateLimited", "StoreError")
# … but a prompt that outgrew the context is the work of who wrote it.
_TOO_LONG = "its context holds"


OTHER_ROLE, NO_IDS = "of another role", "no token ids from the server"
"""Why turns are dropped: the first need not be said, the second is mended by a tokenizer."""


class Tokenizer(Protocol):
    """The trainer's own, for logs that hold no tokens."""

    def prompt(self, messages: Sequence[Mapping[str, Any]]) -> Sequence[int]:
        """Token ids of a conversation, chat template and the opening of the answer included."""
        ...

    def completion(self, text: str) -> Sequence[int]:
        """Token ids of an answer."""
        ...


@dataclass(frozen=True)
class Logged:
    """The rows of one run, each list in its order."""

    run: Row
    steps: Sequence[Row]
    decisions: Sequence[Row]
    outcomes: Sequence[Row]
    calls: int

    def mark(self) -> Row:
        """What a note says that the run is a trial of; empty if none does."""
        found: Row = {}
        for step in self.steps:
            if step["kind"] == "note" and isinstance(step["input"], dict):
                found = cast(Row, step["input"]).get(MARK, found)
        return found


@dataclass
class Turns:
    """What became of a run's model calls.

    Attributes:
        turns: that can be trained.
        dropped: reason -> how many can not.
        foreign: whether another model than theirs wrote all that these roles wrote.
        rendered: turns whose tokens the trainer's tokenizer made, as the server gave none.
        greedy: turns drawn at temperature 0.
    """

    turns: list[Turn] = field(default_factory=list[Turn])
    dropped: Counter[str] = field(default_factory=Counter[str])
    foreign: bool = False
    rendered: int = 0
    greedy: int = 0


def task_of(logged: Logged) -> str:
    """What the run is a trial of.

    A note's ``task``, else the dataset, task and arm of an imported log, else the task's text with its folder and
    its conversation: the same text in another folder is another task.
    """
    named = logged.mark().get("task")
    if named:
        return str(named)
    for decision in logged.decisions:
        group = cast(Row, decision["context"]).get("import")
        if group is not None:
            return f"{group['dataset']}/{group['task']}/{decision['arm']}"
    run = logged.run
    parts = (str(run["task"]), str(run["root"] or ""), str(run["thread"] or ""))
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:12]
    return f"{' '.join(parts[0].split())[:48]} #{digest}"


def trouble(logged: Logged) -> str | None:
    """Why a run says nothing of the models that were at work in it, or None."""
    run = logged.run
    if run["status"] not in ("ok", "failed", "budget_exhausted"):
        return f"not finished ({run['status']})"
    for error in (run["error"], *(step["error"] for step in logged.steps)):
        kind = str(error or "").partition(":")[0]
        if kind in BACK_END and _TOO_LONG not in str(error):
            return f"the back end failed ({kind})"
    if run["error"]:
        return "the run broke off with an error"
    missing = cast(Row, run["result"] or {}).get("missing", ())
    if run["status"] == "budget_exhausted" and any("out of time" in str(what) for what in missing):
        return "out of time"  # says more of the machine's load than of the model
    return None


def facts_of(logged: Logged) -> Facts:
    """What is known of how good a run was."""
    said = {source: [o for o in logged.outcomes if o["source"] == source] for source in ("feedback", "import")}
    latest = {source: rows[-1]["quality"] if rows else None for source, rows in said.items()}
    checked = logged.mark().get("checked")
    tokens = sum((step["prompt_tokens"] or 0) + (step["completion_tokens"] or 0) for step in logged.steps)
    return Facts(
        checked=None if checked is None else bool(checked),
        feedback=latest["feedback"],
        imported=latest["import"],
        judged=_judged(logged.steps),
        calls=logged.calls,
        tokens=tokens,
    )


def _judged(steps: Sequence[Row]) -> float | None:
    """1.0 if a judge's last word on every subtask was yes, 0.0 if not; None: it was not asked."""
    words: dict[str, bool] = {}
    for step in steps:
        if step["kind"] == "model" and step["role"] == "judge" and step["output"]:
            try:
                words[str(step["subtask"])] = bool(json.loads(step["output"]["text"])["correct"])
            except (ValueError, KeyError, TypeError):
                continue
    return float(all(words.values())) if words else None


def turns_of(
    logged: Logged,
    roles: Sequence[str] | None,
    tokenizer: Tokenizer | None,
    imported_as: str = "",
    models: Mapping[str, Collection[str]] | None = None,
) -> Turns:
    """The turns of a run.

    Args:
        logged: the run.
        roles: only these; None: all but the judge's, whose word is a reward and no deed.
        tokenizer: for turns without token ids; None drops them.
        imported_as: the role of turns that have none.
        models: role -> names of its own model; what others wrote in that role is dropped. Imported turns, which
            have no role, are whose they are said to be.
    """
    found = Turns()
    answered = [step for step in logged.steps if step["kind"] == "model" and step["output"] is not None]
    found.dropped["the call failed"] = sum(
        step["kind"] == "model" and step["output"] is None for step in logged.steps
    )
    whose = Counter[bool]()
    for step, (shown, answer) in zip(answered, messages_of(logged.steps), strict=True):
        role = str(step["role"] or imported_as)
        if role not in roles if roles is not None else role == "judge":
            found.dropped[OTHER_ROLE] += 1
            continue
        known = (models or {}).get(str(step["role"] or ""))
        own = not known or not step["model"] or step["model"] in known
        whose[own] += 1
        if not own:  # other tokens, other chances: they say nothing of what this model would have written
            found.dropped[f"of another model ({step['model']})"] += 1
            continue
        turn = _turn(step, role, shown, answer, tokenizer, found)
        if turn is not None:
            found.turns.append(turn)
            found.greedy += cast(Row, step["input"] or {}).get("temperature", 1.0) == 0
    found.dropped = +found.dropped
    found.foreign = bool(whose[False]) and not whose[True]
    return found


def _turn(
    step: Row, role: str, shown: Sequence[Row], answer: Row, tokenizer: Tokenizer | None, found: Turns
) -> Turn | None:
    given = cast(Row, step["input"] or {})
    prompt, written = given.get("prompt_ids"), step["token_ids"]
    logprobs = step["logprobs"]
    if not prompt or not written:
        if tokenizer is None:
            found.dropped[NO_IDS] += 1
            return None
        text = _written(answer)
        found.rendered += 1
        prompt = prompt or tokenizer.prompt(shown)
        if not written:
            written, logprobs = tokenizer.completion(text), None
    if not written:
        found.dropped["an empty answer"] += 1
        return None
    if logprobs is not None and len(logprobs) != len(written):
        found.dropped["log-probabilities that do not fit the tokens"] += 1
        return None
    return Turn(
        role=role,
        prompt_ids=tuple(map(int, prompt)),
        completion_ids=tuple(map(int, written)),
        logprobs=None if logprobs is None else tuple(map(float, logprobs)),
        agent=str(step["agent"] or ""),
        version=step["model_version"] or None,
        state=_anchor(role, step, shown),
    )


def _written(answer: Row) -> str:
    """What a model wrote, as one text: its words, and calls as JSON."""
    calls = [call.get("function", call) for call in answer.get("tool_calls", [])]
    parts = [str(answer.get("content") or ""), *(json.dumps(call, ensure_ascii=False) for call in calls)]
    return "\n".join(part for part in parts if part)


def _anchor(role: str, step: Row, shown: Sequence[Row]) -> str:
    """What was to be answered: equal where role, agent and the whole prompt are."""
    whole = json.dumps([role, step["agent"], list(shown)], sort_keys=True, default=str)
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:16]
