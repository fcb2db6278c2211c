"""What a run gives back."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pointwork.agents.plan import Plan
from pointwork.budgets import to_usd
from pointwork.ledger import Amount
from pointwork.tools import Evidence

# ok: every answer passed its checks. failed: there is an answer that did not, or none.
# budget_exhausted: a limit ended it. waiting: a person has to answer. interrupted: stopped from outside.
# The last two go on with ``Team.answer`` and ``Team.resume``.
Status = Literal["running", "ok", "failed", "budget_exhausted", "waiting", "interrupted"]


FINISHED = ("ok", "failed", "budget_exhausted")


@dataclass(frozen=True)
class Cost:
    """What a run has spent.

    Attributes:
        usd: money, in US dollars.
        tokens: prompt and completion together.
        seconds: wall time.
        calls: model calls.
        tool_calls: calls of tools.
    """

    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    calls: int = 0
    tool_calls: int = 0

    @classmethod
    def of(cls, spent: Amount, seconds: float) -> "Cost":
        """From the ledger's amounts."""
        return cls(to_usd(spent.usd_nano), spent.tokens, round(seconds, 3), spent.turns, spent.tool_calls)

    def __float__(self) -> float:
        return self.usd


@dataclass(frozen=True)
class Decided:
    """One routing choice of the run, for a reader.

    Attributes:
        id: of the decision, for ``router explain`` and feedback.
        subtask: which subtask it was for.
        arm: ``agent/model/mode``.
        propensity: probability with which that arm was drawn.
        tiers: memory tier of each module.
        status: what became of it: ``ok``, ``failed``, ``error`` …
        usd, seconds: what it cost.
    """

    id: str
    subtask: str
    arm: str
    propensity: float
    tiers: dict[str, str]
    status: str
    usd: float
    seconds: float


@dataclass(frozen=True)
class Question:
    """What a run waits for a person to say.

    Attributes:
        id: to answer this one of several.
        kind: ``approval`` (a tool that needs it) or ``indeterminate`` (a call that may have taken effect).
        subtask: the attempt that asks.
        tool, arguments, labels: the call, and what the tool can do.
        question: in words.
        answers: what may be said.
    """

    id: str
    kind: str
    subtask: str
    tool: str
    arguments: dict[str, Any]
    labels: tuple[str, ...]
    question: str
    answers: tuple[str, ...]

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Question":
        """From plain JSON types."""
        return cls(
            id=row["id"],
            kind=row["kind"],
            subtask=row["subtask"],
            tool=row["tool"],
            arguments=dict(row["arguments"]),
            labels=tuple(row["labels"]),
            question=row["question"],
            answers=tuple(row["answers"]),
        )


@dataclass(frozen=True)
class Result:
    """The outcome of a run.

    Attributes:
        text: the short answer; partial or empty if the status is not ``ok``.
        status: ``ok``, ``failed``, ``budget_exhausted`` or ``waiting``.
        run_id: for feedback, ``runs show`` and ``runs resume``.
        cost: what it cost.
        plan: what was done, and whose plan it was (``plan.author``).
        decisions: the routing choices.
        evidence: what the answer rests on.
        missing: what a run that is not ``ok`` lacks, in words.
        questions: what a run that is ``waiting`` waits for; answer with ``Team.answer``.
    """

    text: str
    status: Status
    run_id: str
    cost: Cost
    plan: Plan
    decisions: tuple[Decided, ...]
    evidence: tuple[Evidence, ...]
    missing: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types: what ``--json`` prints."""
        value: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        value["plan"] = self.plan.as_json()
        return value

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Result":
        """The inverse of ``as_json``."""
        return cls(
            text=value["text"],
            status=value["status"],
            run_id=value["run_id"],
            cost=Cost(**value["cost"]),
            plan=Plan.from_json(value["plan"]),
            decisions=tuple(Decided(**row) for row in value["decisions"]),
            evidence=tuple(Evidence(**row) for row in value["evidence"]),
            missing=tuple(value["missing"]),
            questions=tuple(Question.from_json(row) for row in value.get("questions", ())),
        )
