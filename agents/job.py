"""One subtask for one arm, and what came of it: what ``loop`` and ``programming`` work on."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pointwork.agents.spec import Agent, Mode
from pointwork.errors import ToolDenied, ToolError
from pointwork.models import ChatRequest, Completion
from pointwork.tools import Tool, ToolContext, ToolResult

# A prepared call that accounts for less of the question than this is left to a model that is not small.
SURE = 0.8

Chat = Callable[[ChatRequest], Awaitable[Completion]]
CallTool = Callable[[Tool, dict[str, Any]], Awaitable[ToolResult]]


@dataclass(frozen=True)
class Job:
    """One subtask for one arm.

    Attributes:
        agent, mode: of the arm.
        text: the subtask, references filled in.
        answer_type: as planned.
        facts: answers that it builds on, and recalled memory: (source, text).
        context: for tools.
        chat, call_tool: to the runtime, which meters and logs.
        remaining: says what is left of the budget, for the prompt.
        max_turns: of the agentic loop; ``more_turns`` on top, once, if its last call then worked.
        sure: a prepared call that accounts for less of the subtask than this is left to the model. A prepared
            answer says nothing of that and is taken at 0 only.
        read: to the model in the role ``reader``, where one was trained for it.
        query: to the model in the role ``querier``, as ``read``.
        small: the arm's model is a small one: its prompts stay short, as it makes nothing of descriptions.
        advice: of earlier runs, fenced, for the prompt; gives no evidence.
        news: what other subtasks found since it was last asked: (source, text).
        working_tokens: of the results that a loop is shown.
    """

    agent: Agent
    mode: Mode
    text: str
    answer_type: str
    facts: tuple[tuple[str, str], ...]
    context: ToolContext
    chat: Chat
    call_tool: CallTool
    remaining: Callable[[], str]
    max_turns: int
    small: bool
    more_turns: int = 0
    sure: float = SURE
    read: Chat | None = None
    query: Chat | None = None
    advice: Callable[[], str] = lambda: ""
    news: Callable[[], Sequence[tuple[str, str]]] = lambda: ()
    working_tokens: int = 1500


@dataclass
class Attempt:
    """What came of it.

    Attributes:
        text: the answer.
        evidence: (source, text) pairs of what was looked at.
        calls: (tool, arguments, error or None) of each tool call.
        computed: the answer is a tool's result, not a model's words.
        certainty: mean probability of the tokens of an answer in free words (``knowing.certainty``); 0 of others.
    """

    text: str = ""
    evidence: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    calls: list[tuple[str, dict[str, Any], str | None]] = field(
        default_factory=list[tuple[str, dict[str, Any], str | None]]
    )
    computed: bool = False
    certainty: float = 0.0


async def try_call(job: Job, tool: Tool, arguments: dict[str, Any], attempt: Attempt) -> ToolResult | None:
    """Call a tool and note the call and what it found; None: it failed, and the last call noted says why.

    Raises:
        ToolDenied, BudgetExceeded: passed on.
    """
    try:
        result = await job.call_tool(tool, arguments)
    except ToolDenied:
        raise
    except ToolError as error:
        attempt.calls.append((tool.name, arguments, str(error)))
        return None
    attempt.calls.append((tool.name, arguments, None))
    found_nothing = result.value == []
    attempt.evidence += result.evidence or (() if found_nothing else ((f"tool:{tool.name}", result.text),))
    return result
