"""A calculation that is not sure is taken where only a plan is left that is less sure, and nowhere else."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from pointwork.agents.agreeing import DOUBTED, LIKELY
from pointwork.agents.decomposer import Decomposed
from pointwork.agents.learned import Learned
from pointwork.agents.plan import Found, Plan, Subtask
from pointwork.agents.planner import OUTRIGHT, Planner
from pointwork.models import ChatRequest, Completion
from pointwork.settings import PlannerSettings
from pointwork.tools import ToolContext

TASK = "What do we pay for three whole nights on the meadow?"
ABLE = {"table": "rows of tables", "lookup": "facts in documents", "math": "calculates"}


@dataclass(frozen=True)
class Known(Learned):
    """What trained models would say."""

    calculation: Decomposed | None = None
    others: tuple[Decomposed, ...] = ()
    asked: list[str] = field(default_factory=list[str])

    async def queried(self, task: str) -> float:
        return 0.0

    async def read(self, task: str, most: int) -> Decomposed | None:
        return self.calculation

    async def decomposed(self, task: str, most: int) -> list[Decomposed]:
        self.asked.append(task)
        return list(self.others)


def steps(value: str, last: str) -> tuple[Subtask, ...]:
    first = Subtask(
        "s1", "price of a night", "", (), "number", Found(value, "file:a.md:1", f"A night costs {value}.")
    )
    return first, Subtask("s2", last, "", ("s1",), "number")


CALCULATED = Decomposed(steps("12", "{s1} * 3"), (LIKELY + DOUBTED) / 2, author="calculation")
WRITTEN = Decomposed(
    (Subtask("s1", "price of a night", "", (), "number"), Subtask("s2", "{s1} + 3", "", ("s1",), "number")), 0.1
)


def plan(root: Path, task: str, known: Known, whole: float) -> Plan:
    async def fits(text: str) -> Mapping[str, float]:
        return {
            "math": 0.9 if "+" in text or "*" in text else 0.0,
            "table": 0.1,
            "lookup": whole if "?" in text else 0.6,
        }

    async def never(request: ChatRequest) -> Completion:
        raise AssertionError(request)

    settings = PlannerSettings()
    planner = Planner(
        ABLE, fits, never, settings, small=True, learned=replace(known, context=ToolContext(root=root))
    )
    return asyncio.run(planner.plan(task))


def last(found: Plan) -> tuple[str, str]:
    return found.author, found.subtasks[-1].text


@pytest.fixture
def known(tmp_path: Path) -> Known:
    return Known(ToolContext(root=tmp_path), "table")


def test_before_steps_that_a_model_wrote(tmp_path: Path, known: Known) -> None:
    written = replace(known, others=(WRITTEN,))
    assert last(plan(tmp_path, TASK, written, 0.45)) == ("decomposer", "{s1} + 3")
    both = replace(written, calculation=CALCULATED, asked=[])
    assert last(plan(tmp_path, TASK, both, 0.45)) == ("calculation", "{s1} * 3")
    assert both.asked == []  # nothing is paid for that is not taken


def test_before_one_agent_that_does_not_fit_well(tmp_path: Path, known: Known) -> None:
    alone = replace(known, calculation=CALCULATED)
    assert last(plan(tmp_path, TASK, alone, OUTRIGHT - 0.01)) == ("calculation", "{s1} * 3")
    assert plan(tmp_path, TASK, alone, OUTRIGHT).author == "instant"
    likely = replace(known, calculation=replace(CALCULATED, sure=LIKELY))
    assert last(plan(tmp_path, TASK, likely, OUTRIGHT)) == ("calculation", "{s1} * 3")


def test_not_before_parts_that_rules_found(tmp_path: Path, known: Known) -> None:
    task = "What does a night on the meadow cost? Then take that times three."
    alone = replace(known, calculation=CALCULATED)
    found = plan(tmp_path, task, alone, 0.45)
    assert (found.author, len(found.subtasks)) == ("splitter", 2)
    likely = replace(known, calculation=replace(CALCULATED, sure=LIKELY))
    assert plan(tmp_path, task, likely, 0.45).author == "calculation"
