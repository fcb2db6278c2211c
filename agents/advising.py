"""Experience that goes into a run, and what a run's outcome says of it: the playbook's advice, skills, votes."""

import time
from typing import Any, cast

from sqlalchemy import select

from pointwork.agents.result import Result
from pointwork.agents.runs import credited_decisions
from pointwork.agents.services import Services
from pointwork.memory.playbook import LIVE
from pointwork.router import Outcome
from pointwork.store.tables import steps

TOKENS = 150  # of advice in one prompt
_MOST, _NEAR = 3, 0.35  # bullets, and the cosine of question and bullet from which one fits
_GOOD = 0.5  # reward from which a run went well


def advice(services: Services, role: str, run_id: str, attempt: str, question: str) -> str:
    """What earlier runs advise on a subtask, fenced, with where it comes from; empty if nothing fits.

    What is shown is kept as a step of the run, so that its outcome can be a vote.
    """
    wanted = services.settings.memory.advice
    if wanted == "never" or (wanted == "auto" and services.is_small(role)):
        return ""
    text, bullets = services.playbook.advice(question, k=_MOST, budget_tokens=TOKENS, near=_NEAR)
    if not bullets:
        return ""
    _note(services, run_id, attempt, "playbook", {"bullets": [bullet.id for bullet in bullets]})
    defused = text.replace("<", "‹")  # no text may end the fence
    return f"<advice>\n{defused}\n</advice>\n"


def learn_skill(services: Services, result: Result) -> None:
    """A run has ended: if it went well and had several steps, its plan may serve others."""
    if services.settings.memory.skills and result.status == "ok" and len(result.plan.subtasks) > 1:
        services.skills.learn_from(result.run_id)


def take_feedback(services: Services, run_id: str, reward: float) -> int:
    """Tell router, playbook and skills how good a run's answer was; of how many decisions.

    A vote for or against the bullets that were shown counts once a run; a later reward corrects it.
    """
    credited = credited_decisions(services.store, run_id)
    for decision in credited:
        services.router.learn(decision, Outcome(quality=float(reward)), source="feedback")
    _vote(services, run_id, helpful=reward >= _GOOD)
    if reward >= _GOOD:
        if services.settings.memory.skills:
            services.skills.learn_from(run_id)
    else:
        services.skills.forget(f"run:{run_id}")
    services.store.flush()
    return len(credited)


def _vote(services: Services, run_id: str, *, helpful: bool) -> None:
    query = select(steps.c.agent, steps.c.output).where(steps.c.run_id == run_id, steps.c.kind == "note")
    shown: dict[str, None] = {}
    earlier: bool | None = None
    for row in services.store.rows(query.order_by(steps.c.id)):
        output = cast(dict[str, Any], row["output"] or {})
        if row["agent"] == "playbook":
            shown |= dict.fromkeys(output["bullets"])
        elif row["agent"] == "feedback":
            earlier = output["helpful"]
    there = {bullet.id for bullet in services.playbook.bullets() if bullet.state == LIVE} & set(shown)
    if not shown or earlier == helpful:
        return
    for bullet in there:
        if earlier is not None:
            services.playbook.vote(bullet, helpful=earlier, undo=True)
        services.playbook.vote(bullet, helpful=helpful)
    _note(services, run_id, None, "feedback", {"helpful": helpful})


def _note(services: Services, run_id: str, subtask: str | None, agent: str, output: dict[str, Any]) -> None:
    row = {"run_id": run_id, "subtask": subtask, "kind": "note", "agent": agent, "output": output}
    services.store.append(steps, {**row, "started": time.time()})
