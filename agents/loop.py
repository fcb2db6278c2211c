"""How an agent works on a subtask.

Instant: at most one tool call. Reasoning: a few free sentences first, then as instant. Agentic: a loop of calls.
"""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pointwork.agents.prompts import SHOWN, call_text, prompt, request_text
from pointwork.agents.readings.finishing import finishing
from pointwork.agents.spec import Agent, Example, Mode, Prepared
from pointwork.errors import AgentError, ToolDenied, ToolError
from pointwork.models import ChatRequest, Completion, Message
from pointwork.tools import Tool, ToolContext, ToolResult, builtin_tools
from pointwork.tools.spec import call_tokens

ANSWER_TOKENS = 160
WRITE_TOKENS = 400
REASONING_TOKENS = 120

# A prepared call that accounts for less of the question than this is left to a model that is not small.
SURE = 0.8

# A result up to this long is an answer as it stands; a longer one has to be read for it.
SHORT_RESULT = 120

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
    more_turns: int = 0
    sure: float = SURE


@dataclass
class Attempt:
    """What came of it.

    Attributes:
        text: the answer.
        evidence: (source, text) pairs of what was looked at.
        calls: (tool, arguments, error or None) of each tool call.
        computed: the answer is a tool's result, not a model's words.
    """

    text: str = ""
    evidence: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    calls: list[tuple[str, dict[str, Any], str | None]] = field(
        default_factory=list[tuple[str, dict[str, Any], str | None]]
    )
    computed: bool = False


async def work(job: Job) -> Attempt:
    """Do a subtask.

    Raises:
        AgentError: no answer came.
        ToolDenied, BudgetExceeded, ProviderError: passed on.
    """
    prepared = Prepared() if job.agent.prepare is None else await job.agent.prepare(job.text, job.context)
    if prepared.call is not None and prepared.sure < job.sure:
        prepared = replace(prepared, call=None)
    attempt = Attempt(evidence=list(prepared.context) if prepared.call is None else [])
    # a loop may look further than what was prepared
    own = prepared.tools is None or (job.mode == "agentic" and not prepared.tools)
    tools = job.agent.tools if own or prepared.tools is None else prepared.tools
    if prepared.answer and job.mode == "instant" and job.sure <= 0:
        attempt.text = prepared.answer
        holding = [piece for piece in prepared.context if prepared.answer in piece[1]]
        attempt.evidence = holding or attempt.evidence[:1]
    elif job.mode == "agentic" and tools and prepared.call is None:
        await _agentic(job, prepared, tools, attempt)
    elif job.mode == "reasoning" and prepared.call is None:
        thought = await _reason(job, [*job.facts, *prepared.context])
        await _instant(replace(job, facts=(*job.facts, ("reasoning", thought))), prepared, tools, attempt)
    else:
        await _instant(job, prepared, tools, attempt)
    if not attempt.text.strip():
        raise AgentError(f"agent {job.agent.name!r} came to no answer")
    await _in_asked_form(job, attempt)
    return attempt


async def _in_asked_form(job: Job, attempt: Attempt) -> None:
    """A quantity found in another unit than the question asks for is converted, a date becomes its weekday."""
    call = finishing(job.text, attempt.text, [text for _, text in attempt.evidence])
    if call is None:
        return
    tool = builtin_tools()[call.tool]
    result = await _try_call(job, tool, call.arguments, attempt)
    if result is not None and (short := short_answer(result)):
        attempt.text = short


async def _instant(job: Job, prepared: Prepared, tools: Sequence[Tool], attempt: Attempt) -> None:
    shown = list(job.facts) + list(prepared.context)
    result: ToolResult | None = None
    if prepared.call is not None:
        name, arguments = prepared.call
        named = next(tool for tool in (*tools, *job.agent.tools, *builtin_tools().values()) if tool.name == name)
        result = await _try_call(job, named, arguments, attempt)
        if result is not None:
            # how the question was read: its numbers and dates as the call has them
            attempt.evidence.append(("reading:question", ", ".join(str(v) for v in arguments.values() if v)))
            result = replace(result, answer=_read_out(prepared, result))
    if result is None and tools:
        result = await _ask_call(job, prepared, tools, shown, attempt)
        if result is None:  # an answer now would be made up
            problem = attempt.calls[-1][2] if attempt.calls else "no call was complete"
            raise AgentError(f"agent {job.agent.name!r}: no tool call worked: {problem}")
    if result is not None and prepared.reads is not None and job.sure <= 0:
        result = prepared.reads(result)
    if result is not None and (short := short_answer(result)):
        attempt.text, attempt.computed = short, prepared.reads is None
        return
    if result is not None:
        shown = [*job.facts, *(result.evidence or ((f"tool:{job.agent.name}", result.text),))]
    attempt.text = await _answer(job, shown, prepared.choices if result is None else result.choices)


def _read_out(prepared: Prepared, result: ToolResult) -> str:
    """The short answer of a prepared call, as the preparation says where it stands."""
    given: Any = result.value
    value = cast(dict[str, Any], given) if isinstance(given, dict) else {}
    rows = cast(list[list[Any]], value.get("rows", []))
    answer = result.answer
    if prepared.cell is not None and rows:
        cell = rows[0][prepared.cell]
        answer = str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
    elif not answer and value.get("value") is not None:
        answer = str(value["value"])
    elif not answer and rows and len(rows[0]) == 1:
        answer = ", ".join(dict.fromkeys(str(row[0]) for row in rows[:10]))
    if prepared.yes_no:
        number = re.match(r"-?\d[\d.]*(?=\s|$)", answer)  # of a difference the unit may stand behind it
        return "yes" if number and float(number[0]) > 0 else "no"
    if prepared.unit and re.fullmatch(r"-?[\d.]+", answer):
        return f"{answer} {prepared.unit}"
    return answer


async def _reason(job: Job, shown: Sequence[tuple[str, str]]) -> str:
    messages = _prompt(job, shown)
    messages[-1]["content"] += "\nThink about how to do it, in at most three sentences. Do not answer yet."
    return (await job.chat(ChatRequest(messages, max_tokens=REASONING_TOKENS))).text.strip()


async def _ask_call(
    job: Job, prepared: Prepared, tools: Sequence[Tool], shown: Sequence[tuple[str, str]], attempt: Attempt
) -> ToolResult | None:
    """One tool call chosen by the model; a call that fails is corrected once."""
    messages = _with_examples(_prompt(job, shown), prepared.examples, wrapped=len(tools) > 1)
    for _ in range(2):
        schema = call_schema(tools)
        completion = await job.chat(ChatRequest(messages, max_tokens=call_tokens(tools), schema=schema))
        tool, arguments, problem = read_call(completion.text, tools)
        if tool is not None:
            result = await _try_call(job, tool, arguments, attempt)
            if result is not None:
                return result
            problem = attempt.calls[-1][2]
        messages = [
            *messages,
            Message(role="assistant", content=completion.text),
            Message(role="user", content=f"That did not work: {(problem or '')[:300]} Call again, corrected."),
        ]
    return None


async def _agentic(job: Job, prepared: Prepared, tools: Sequence[Tool], attempt: Attempt) -> None:
    messages = _with_examples(_prompt(job, [*job.facts, *prepared.context]), prepared.examples, wrapped=True)
    last: ToolResult | None = None
    seen: set[str] = set()
    problem: str | None = None
    for number in range(job.max_turns + job.more_turns):
        if number == job.max_turns and problem:  # more turns are for who is getting on
            break
        schema = call_schema(tools, answer=True, choices=() if last is None else last.choices)
        completion = await job.chat(ChatRequest(messages, max_tokens=call_tokens(tools), schema=schema))
        tool, arguments, problem = read_call(completion.text, tools)
        if tool is None and problem is None:
            attempt.text = str(arguments["text"]).strip()
            return
        if tool is not None:
            key = f"{tool.name}{json.dumps(arguments, sort_keys=True, default=str)}"
            if key in seen:  # going round in circles: it knows all that it will know
                break
            seen.add(key)
            last = await _try_call(job, tool, arguments, attempt) or last
            problem = attempt.calls[-1][2]
        observation = f"Error: {problem}" if problem else f"Result: {last.text if last else ''}"
        messages = [
            *messages,
            Message(role="assistant", content=completion.text),
            Message(role="user", content=f"{observation[:SHOWN]}\n{_budget(job)}Go on, or answer."),
        ]
    if last is not None and (short := short_answer(last)):
        attempt.text, attempt.computed = short, True
    else:
        attempt.text = await _answer(job, [*job.facts, *attempt.evidence], () if last is None else last.choices)


async def _try_call(job: Job, tool: Tool, arguments: dict[str, Any], attempt: Attempt) -> ToolResult | None:
    try:
        result = await job.call_tool(tool, arguments)
    except ToolDenied:
        raise
    except ToolError as error:
        attempt.calls.append((tool.name, arguments, str(error)))
        return None
    attempt.calls.append((tool.name, arguments, None))
    attempt.evidence += result.evidence or ((f"tool:{tool.name}", result.text),)
    return result


async def _answer(job: Job, shown: Sequence[tuple[str, str]], choices: Sequence[str] = ()) -> str:
    """Ask for the answer itself: one of the choices, under a schema, or as free text from an agent that writes."""
    free = job.answer_type == "text" and not job.agent.tools
    completion = await job.chat(
        ChatRequest(
            _prompt(job, shown),
            max_tokens=WRITE_TOKENS if free else ANSWER_TOKENS,
            schema=None if free else answer_schema(job.answer_type, choices),
        )
    )
    if free:
        return completion.text.strip()
    try:
        answer = json.loads(completion.text)["answer"]
    except (ValueError, KeyError, TypeError):
        # cut by the token limit before it was closed: what is there of a text is still an answer
        begun = re.match(r'\s*\{\s*"answer"\s*:\s*"((?:[^"\\]|\\.)*)', completion.text)
        return begun[1].strip() if begun else ""
    if isinstance(answer, float) and answer.is_integer():
        return str(int(answer))
    if isinstance(answer, list):
        return ", ".join(map(str, cast(list[Any], answer)))
    return str(answer).strip()


def _prompt(job: Job, shown: Sequence[tuple[str, str]]) -> list[Message]:
    return prompt(job.agent.instructions, job.text, shown, _budget(job))


def _with_examples(messages: list[Message], examples: Sequence[Example], *, wrapped: bool) -> list[Message]:
    """Examples as turns of the conversation, in the form that the schema asks for."""
    turns: list[Message] = []
    for example in examples:
        turns.append(Message(role="user", content=request_text(example.request, example.context)))
        said = call_text(example.tool, example.arguments, wrapped=wrapped)
        turns.append(Message(role="assistant", content=said))
    return [messages[0], *turns, *messages[1:]]


def _budget(job: Job) -> str:
    left = job.remaining()
    return f"Remaining budget: {left}.\n" if left else ""


def short_answer(result: ToolResult) -> str:
    """A tool's result as an answer, if it is short enough to be one; else empty."""
    text = result.answer or (result.text if not isinstance(result.value, dict | list) else "")
    return text.strip() if len(text) <= SHORT_RESULT and "\n" not in text.strip() else ""


def answer_schema(answer_type: str, choices: Sequence[str] = ()) -> dict[str, Any]:
    """JSON schema of an answer of a planned type, or of one of some choices."""
    kinds: dict[str, dict[str, Any]] = {
        "number": {"type": "number"},
        "yes-no": {"enum": ["yes", "no"]},
        "list": {"type": "array", "items": {"type": "string", "maxLength": 80}, "maxItems": 20},
    }
    if choices and answer_type not in ("yes-no", "list"):
        kinds[answer_type] = {"enum": list(choices)}
    answer = kinds.get(answer_type, {"type": "string", "minLength": 1, "maxLength": 200})
    return {
        "type": "object",
        "properties": {"answer": answer},
        "required": ["answer"],
        "additionalProperties": False,
    }


def call_schema(tools: Sequence[Tool], *, answer: bool = False, choices: Sequence[str] = ()) -> dict[str, Any]:
    """JSON schema of one turn: a call of one of the tools, or (with ``answer``) the answer, one of the choices.

    Tools of one name may stand in it with several schemas.
    """
    turns = [
        {
            "type": "object",
            "properties": {"tool": {"const": tool.name}, "arguments": _inlined(tool.input_schema)},
            "required": ["tool", "arguments"],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    if answer:
        text = {"enum": list(choices)} if choices else {"type": "string", "minLength": 1, "maxLength": 200}
        said = {"type": "object", "properties": {"text": text}, "required": ["text"], "additionalProperties": False}
        turns.append(
            {
                "type": "object",
                "properties": {"tool": {"const": "answer"}, "arguments": said},
                "required": ["tool", "arguments"],
                "additionalProperties": False,
            }
        )
    if len(turns) == 1:
        return turns[0]
    # wrapped: several providers refuse a schema whose root is anyOf
    return {
        "type": "object",
        "properties": {"call": {"anyOf": turns}},
        "required": ["call"],
        "additionalProperties": False,
    }


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema with its local references resolved: inside another schema they would point nowhere."""
    definitions = cast(dict[str, Any], schema.get("$defs", {}))

    def resolve(node: Any) -> Any:
        if isinstance(node, dict):
            node = cast(dict[str, Any], node)
            reference = node.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/$defs/"):
                return resolve(definitions[reference.removeprefix("#/$defs/")])
            return {key: resolve(value) for key, value in node.items() if key != "$defs"}
        if isinstance(node, list):
            return [resolve(value) for value in cast(list[Any], node)]
        return node

    return resolve(schema)


def read_call(text: str, tools: Sequence[Tool]) -> tuple[Tool | None, dict[str, Any], str | None]:
    """A turn as a model wrote it: (tool, arguments, problem). An answer has neither tool nor problem."""
    try:
        value = json.loads(text)
        call = cast(dict[str, Any], value.get("call", value))
        name, arguments = str(call["tool"]), call["arguments"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None, {}, "the call is not complete JSON."
    if not isinstance(arguments, dict):
        return None, {}, "the arguments are not a JSON object."
    arguments = cast(dict[str, Any], arguments)
    if name == "answer" and "text" in arguments:
        return None, arguments, None
    for tool in tools:
        if tool.name == name:
            return tool, arguments, None
    return None, arguments, f"there is no tool {name!r}; there are {', '.join(tool.name for tool in tools)}."
