"""Answers that planning a task brought already: they pass the checks of any other, and no agent is asked."""

from collections.abc import Mapping, Sequence

from pointwork.agents.calling import ToolCaller
from pointwork.agents.job import Attempt
from pointwork.agents.opening import open_files
from pointwork.agents.plan import Plan, Subtask, fill_references
from pointwork.agents.preparing import prepare_calculator
from pointwork.agents.state import Try
from pointwork.agents.verify import check_answer
from pointwork.errors import BudgetExceeded, ToolDenied, ToolError
from pointwork.tools import ToolContext, builtin_tools


async def comes_to(steps: Sequence[Subtask]) -> str | None:
    """What steps come to that are answered or only calculate with the answers of others; None: to nothing."""
    answers: dict[str, str] = {}
    for step in steps:
        found = step.found.answer if step.found else await _calculated(fill_references(step.text, answers))
        if found is None:
            return None
        answers[step.id] = found
    return answers[steps[-1].id] if steps else None


async def _calculated(text: str) -> str | None:
    nowhere = ToolContext()
    prepared = await prepare_calculator(text, nowhere)
    # a word problem has something to be looked up besides; what only calculates has not
    if prepared.call is None or prepared.background is not None:
        return None
    tool, arguments = prepared.call
    try:
        result = await builtin_tools()[tool].call(arguments, nowhere)
    except ToolError:
        return None
    return result.answer or result.text


def read_ahead(plan: Plan, number: int) -> dict[str, Try]:
    """The steps of a run's n-th plan that are answered, by key; one that fails a check is left to the agents."""
    answered: dict[str, Try] = {}
    answers: dict[str, str] = {}
    for subtask in plan.subtasks:
        if subtask.found is None or any(need not in answers for need in subtask.needs):
            continue
        question, found = fill_references(subtask.text, answers), subtask.found
        attempt = Attempt(found.answer, [(found.source, found.text)])
        checks = check_answer(
            attempt, question=question, answer_type=subtask.answer_type, facts=[], needs_evidence=True
        )
        if not all(check.passed for check in checks):
            continue
        answers[subtask.id] = found.answer
        key = f"p{number}.{subtask.id}"
        answered[key] = {
            "key": key,
            "subtask": subtask.id,
            "attempt": 0,
            "arm": "",
            "decision": "",
            "propensity": 1.0,
            "tiers": {},
            "text": found.answer,
            "evidence": [[found.source, found.text]],
            "calls": [],
            "computed": False,
            "facts": [],
            "question": question,
            "status": "ok",
            "checked": True,
            "why": "",
            "usd": 0.0,
            "seconds": 0.0,
            "excluded": [],
        }
    return answered


async def read_through(answered: Mapping[str, Try], caller: ToolCaller) -> bool:
    """Open the files that answers stand in (``open_files``). False: it may not, or can not pay for it."""
    sources = [source for tried in answered.values() for source, _ in tried["evidence"]]
    try:
        await open_files(sources, caller.call)
    except (BudgetExceeded, ToolDenied):
        return False
    return True
