"""From a subtask and the arm that was drawn for it to the job that the arm does."""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from pointwork.agents import sharing
from pointwork.agents.advising import advice
from pointwork.agents.calling import ToolCaller, Work
from pointwork.agents.job import Chat, Job
from pointwork.agents.plan import Subtask
from pointwork.agents.querier import QUERIER
from pointwork.agents.reader import READER, once
from pointwork.agents.replay import Replay
from pointwork.agents.services import ArmSpec, Services
from pointwork.agents.turns import TurnLimits
from pointwork.ledger import Account
from pointwork.models import ChatRequest, Completion
from pointwork.models.gateway import Caller


def job_for(
    services: Services,
    limits: TurnLimits,
    payload: dict[str, Any],
    subtask: Subtask,
    question: str,
    arm: ArmSpec,
    facts: Sequence[Sequence[str]],
    account: Account,
    replay: Replay | None,
    spent: list[int],
) -> Job:
    """A subtask for the arm that was drawn for it.

    Args:
        services, limits: of the team.
        payload: of the node, as ``graph`` sends it.
        subtask, question: the step, and its text with the answers that it builds on.
        arm: that was drawn.
        facts: what is known: (source, text).
        account: that pays.
        replay: what an earlier process has of it; None: nothing.
        spent: gets the price of each call, nano-USD.
    """
    run_id = payload["run_id"]
    name = f"{payload['key']}#{payload['attempt']}"
    caller = Caller(account, f"agent:{arm.agent.name}", run_id, name, arm.agent.name)
    context = services.tool_context(payload["root"], payload["thread"])
    hand = services.in_hand(run_id)
    shaped = services.settings.run
    learned = shaped.turn_limits == "learned" and arm.mode == "agentic"
    most = shaped.max_turns
    turns, more = limits.limit(arm.agent.name, most) if learned else (most, 0)

    async def ask(role: str, request: ChatRequest) -> Completion:
        known = None if replay is None else replay.take(role, request)
        answer = known or await services.models.chat(role, request, caller)
        price = services.models.client(role).price
        spent.append(price.nano(answer.prompt_tokens, answer.completion_tokens))
        return answer

    def remaining() -> str:
        if not hand.limited:
            return ""
        left = account.remaining().describe()
        own = max(1, (turns if len(spent) < turns else turns + more) - len(spent))
        return f"{left}, {own} turn{'s' if own != 1 else ''}" if arm.mode == "agentic" else left

    def trained(role: str) -> Chat | None:
        return once(hand.read, partial(ask, role)) if services.models.trained(role, run_id) else None

    return Job(
        agent=arm.agent,
        mode=arm.mode,
        text=question,
        answer_type=subtask.answer_type,
        facts=tuple((source, text) for source, text in facts),
        context=context,
        chat=partial(ask, arm.role),
        read=trained(READER),
        query=trained(QUERIER),
        call_tool=ToolCaller(services.store, Work(run_id, name, account), context).call,
        remaining=remaining if shaped.show_budget else (lambda: ""),
        sure=services.sure(arm.role),
        small=services.is_small(arm.role),
        max_turns=turns,
        more_turns=more,
        advice=cache(partial(advice, services, arm.role, run_id, name, question)),
        working_tokens=services.settings.memory.working_tokens,
        news=lambda: sharing.read(hand, payload["key"], question, needed(payload["key"], subtask), fresh=True),
    )


def needed(key: str, subtask: Subtask) -> list[str]:
    """The keys of the subtasks whose answers a subtask builds on."""
    return [f"{key.partition('.')[0]}.{need}" for need in subtask.needs]
