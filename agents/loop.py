"""How an agent works on a subtask.

Instant: at most one tool call. Reasoning: a few free sentences first, then as instant. Agentic: a loop of calls.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from pointwork.agents import knowing
from pointwork.agents.job import Attempt, Job, try_call
from pointwork.agents.opening import open_files
from pointwork.agents.programming import write_program
from pointwork.agents.prompts import (
    FROM_CONTEXT,
    LOOP,
    NOT_SAID,
    ONE_CALL,
    OR_COMPUTE,
    call_text,
    prompt,
    request_text,
    tools_text,
)
from pointwork.agents.querier import queried
from pointwork.agents.reader import read
from pointwork.agents.readings import lexicon
from pointwork.agents.readings.finishing import finishing, in_form
from pointwork.agents.readings.wanting import QUANTITY, asks_fact
from pointwork.agents.spec import FITTING, Example, Prepared
from pointwork.agents.transcript import READ, Transcript
from pointwork.agents.wording import answer_schema, call_schema, read_call
from pointwork.errors import AgentError, NothingFound
from pointwork.models import ChatRequest, Message
from pointwork.tools import Tool, ToolResult, builtin_tools
from pointwork.tools.spec import call_tokens
from pointwork.tools.tables import NOTHING

ANSWER_TOKENS = 160
WRITE_TOKENS = 400
REASONING_TOKENS = 120

# A result up to this long is an answer as it stands; a longer one has to be read for it.
SHORT_RESULT = 120


_ASKS_ONE = re.compile(
    rf"\W*(?:how\s+(?:{lexicon.SIZES}|old|long|much)|what\s+(?:is|was|(?:did|does|will)\s+(?:it|one|an?|the)))\b",
    re.IGNORECASE,
)
_ASKS_TIME = re.compile(r"\W*(?:(?:by|at|until|till|from)\s+)?what\s+time\s+(?:is|was|did|does)\b", re.IGNORECASE)
_ASKS_WHEN = re.compile(
    r"\W*(?:when\s+(?:is|was|did|does)|(?:on|in)\s+(?:which|what)\s+(?:date|day|year))\b", re.IGNORECASE
)


async def work(job: Job) -> Attempt:
    """Do a subtask.

    Raises:
        AgentError: no answer came.
        ToolDenied, BudgetExceeded, ProviderError: passed on.
    """
    prepared = Prepared() if job.agent.prepare is None else await job.agent.prepare(job.text, job.context)
    if prepared.call is not None and prepared.sure < job.sure:
        prepared = replace(prepared, call=None)
    if prepared.call is None and prepared.background is not None and _computes(job):
        prepared = replace(prepared, context=(*prepared.context, *await prepared.background()))
    attempt = Attempt()
    shown = await prepared.tabled() if prepared.tabled and job.query is not None and job.sure <= 0 else None
    if shown is not None:
        prepared = await queried(job, prepared, shown, attempt)
    reader = job.read if prepared.pages and job.sure <= 0 else None
    if job.small and prepared.call is None and prepared.fit < FITTING and not job.facts and reader is None:
        raise AgentError(f"agent {job.agent.name!r}: nothing that was found fits the question")
    await open_files([source for source, _ in (*prepared.context, *prepared.told, *prepared.pages)], job.call_tool)
    attempt.evidence = list(prepared.context if prepared.call is None else prepared.told)
    # a loop may look further than what was prepared
    own = prepared.tools is None or (job.mode == "agentic" and not prepared.tools)
    tools = job.agent.tools if own or prepared.tools is None else prepared.tools
    if prepared.writing is not None:
        await write_program(job, prepared.writing, job.agent.tools[0], attempt)
    elif reader is not None:
        said = await read(job.text, prepared.pages, reader, prepared.answer)
        if said is None:
            raise AgentError(f"agent {job.agent.name!r}: nothing that was found says it for certain")
        attempt.text = said.text
        attempt.evidence = [(said.source, said.page)] if said.source else _holding(prepared)
    elif prepared.answer and job.sure <= 0:  # no mode of a small model finds a better one
        attempt.text, attempt.evidence = prepared.answer, _holding(prepared)
    elif job.mode == "agentic" and tools and prepared.call is None:
        await _agentic(job, prepared, tools, attempt)
    elif job.mode == "reasoning" and prepared.call is None and not _by_heart(job, prepared):
        thought = await _reason(job, [*job.facts, *prepared.context])
        await _instant(replace(job, facts=(*job.facts, ("reasoning", thought))), prepared, tools, attempt)
    else:
        await _instant(job, prepared, tools, attempt)
    if not attempt.text.strip():
        raise AgentError(f"agent {job.agent.name!r} came to no answer")
    await knowing.believe(job, attempt, read=prepared.call is not None)
    await _in_asked_form(job, attempt)
    return attempt


def _holding(prepared: Prepared) -> list[tuple[str, str]]:
    """The pieces that hold a prepared answer, else the first."""
    return [piece for piece in prepared.context if prepared.answer in piece[1]] or list(prepared.context[:1])


def _by_heart(job: Job, prepared: Prepared) -> bool:
    """A fact that a small model knows or not: thinking about it makes it sure of what it then makes up."""
    return job.small and not job.agent.tools and not prepared.context and asks_fact(job.text)


async def _in_asked_form(job: Job, attempt: Attempt) -> None:
    """A quantity found in another unit than the question asks for is converted, a date becomes its weekday.

    What was read is put into the form that is asked for (``in_form``).
    """
    seen = [text for _, text in attempt.evidence]
    call = finishing(job.text, attempt.text, seen)  # which looks for the words as they stand there
    if not attempt.calls and len(attempt.text) <= SHORT_RESULT:
        attempt.text = in_form(job.text, attempt.text, seen)
    call = call or finishing(job.text, attempt.text, seen)
    if call is None:
        return
    tool = builtin_tools()[call.tool]
    result = await try_call(job, tool, call.arguments, attempt)
    if result is not None and (short := short_answer(result)):
        attempt.text = short


async def _instant(job: Job, prepared: Prepared, tools: Sequence[Tool], attempt: Attempt) -> None:
    shown = list(job.facts) + list(prepared.context)
    result: ToolResult | None = None
    if prepared.call is not None:
        name, arguments = prepared.call
        named = next(tool for tool in (*tools, *job.agent.tools, *builtin_tools().values()) if tool.name == name)
        result = await try_call(job, named, arguments, attempt)
        if result is not None:
            # how the question was read: its numbers and dates as the call has them
            attempt.evidence.append(("reading:question", ", ".join(str(v) for v in arguments.values() if v)))
            result = replace(result, answer=read_out(prepared, result))
            _says_one(job, prepared, result)
    if result is None and tools:
        result = await _ask_call(job, prepared, tools, shown, attempt)
        if result is None:  # an answer now would be made up
            problem = attempt.calls[-1][2] if attempt.calls else "no call was complete"
            raise AgentError(f"agent {job.agent.name!r}: no tool call worked: {problem}")
    elif result is None and shown and _computes(job):
        said = await _read_or_compute(job, shown, attempt)
        if isinstance(said, str):
            if _not_said(said):
                raise AgentError(f"agent {job.agent.name!r}: what was found does not say it")
            attempt.text = said
            return
        result = said
    if result is not None and prepared.reads is not None and job.sure <= 0:
        result = prepared.reads(result)
    if result is not None and (short := short_answer(result)):
        attempt.text, attempt.computed = short, prepared.reads is None
        return
    if result is not None:
        shown = [*job.facts, *(result.evidence or ((f"tool:{job.agent.name}", result.text),))]
    attempt.text = await _answer(job, shown, attempt, prepared.choices if result is None else result.choices)


def _says_one(job: Job, prepared: Prepared, result: ToolResult) -> None:
    """Refuse what a row was looked up for and does not say, and several sizes, prices or dates for one asked for.

    Raises:
        AgentError: so it is.
        NothingFound: nor would another agent find it.
    """
    if prepared.call is None or prepared.call[0] not in ("query_table", "sql"):
        return
    if result.answer in (NOTHING, ""):
        why = NothingFound if prepared.absent else AgentError
        raise why(f"agent {job.agent.name!r}: the table has nothing there")
    many = result.answer.split(", ")
    forms = (
        ("number", _ASKS_ONE, r"-?\d[\d.]*"),
        ("date", _ASKS_WHEN, r"\d{4}-\d\d-\d\d.*"),
        ("time", _ASKS_TIME, r"\d{1,2}:\d\d(:\d\d)?"),
    )
    for what, asked, form in forms:
        if len(many) > 1 and asked.match(job.text) and all(re.fullmatch(form, one) for one in many):
            raise AgentError(f"agent {job.agent.name!r}: {len(many)} rows fit, each with a {what} of its own")


def _shown(cell: Any) -> str:
    if cell is None:
        return NOTHING
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def read_out(prepared: Prepared, result: ToolResult) -> str:
    """The short answer of a prepared call, as the preparation says where it stands."""
    given: Any = result.value
    value = cast(dict[str, Any], given) if isinstance(given, dict) else {}
    rows = cast(list[list[Any]], value.get("rows", []))
    answer = result.answer
    if prepared.cell is not None and rows:
        last = (prepared.call[1] if prepared.call else {}).get("limit", 1)  # of the two best the second is meant
        answer = _shown(rows[last - 1][prepared.cell]) if last <= len(rows) else NOTHING
    elif not answer and value.get("value") is not None:
        answer = str(value["value"])
    elif not answer and rows and len(rows[0]) == 1:
        answer = ", ".join(dict.fromkeys(_shown(row[0]) for row in rows[:10] if row[0] is not None)) or NOTHING
    if prepared.yes_no:
        number = re.match(r"-?\d[\d.]*(?=\s|$)", answer)  # of a difference the unit may stand behind it
        return "yes" if number and float(number[0]) > 0 else "no"
    if prepared.unit and re.fullmatch(r"-?[\d.]+", answer):
        return f"{answer} {prepared.unit}"
    return answer


def _computes(job: Job) -> bool:
    """Whether a number may follow from what is read, for a model that can make it follow."""
    return not job.small and QUANTITY.search(job.text) is not None


async def _reason(job: Job, shown: Sequence[tuple[str, str]]) -> str:
    messages = _prompt(job, shown)
    messages[-1]["content"] += "\nThink about how to do it, in at most three sentences. Do not answer yet."
    return (await job.chat(ChatRequest(messages, max_tokens=REASONING_TOKENS))).text.strip()


async def _ask_call(
    job: Job, prepared: Prepared, tools: Sequence[Tool], shown: Sequence[tuple[str, str]], attempt: Attempt
) -> ToolResult | None:
    """One tool call chosen by the model; a call that fails is corrected once."""
    told = "" if job.small else f"{ONE_CALL}\n{tools_text(tools)}"
    messages = _with_examples(_prompt(job, shown, told), prepared.examples, wrapped=len(tools) > 1)
    said = await _turn(job, tools, messages, attempt)
    return said if isinstance(said, ToolResult) else None


async def _read_or_compute(job: Job, shown: Sequence[tuple[str, str]], attempt: Attempt) -> ToolResult | str | None:
    """What the context says, or one calculation with it."""
    tools = [builtin_tools()["calculate"]]
    messages = _prompt(job, shown, f"{FROM_CONTEXT} {OR_COMPUTE}\n{tools_text(tools)}")
    return await _turn(job, tools, messages, attempt, answer=True)


async def _turn(
    job: Job, tools: Sequence[Tool], messages: list[Message], attempt: Attempt, *, answer: bool = False
) -> ToolResult | str | None:
    """A call, or with ``answer`` an answer; what does not work is corrected once."""
    for _ in range(2):
        schema = call_schema(tools, answer=answer)
        completion = await job.chat(ChatRequest(messages, max_tokens=call_tokens(tools), schema=schema))
        tool, arguments, problem = read_call(completion.text, tools)
        if tool is None and problem is None:
            return str(arguments["text"]).strip()
        if tool is not None:
            result = await try_call(job, tool, arguments, attempt)
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
    told = "" if job.small else f"{LOOP}\n{tools_text(tools)}"
    shown = [*job.facts, *prepared.context]
    opening = _with_examples(_prompt(job, shown, told), prepared.examples, wrapped=True)
    transcript = Transcript(opening, job.working_tokens)
    last: ToolResult | None = None
    gave: Tool | None = None
    seen: set[str] = set()
    problem: str | None = None
    for number in range(job.max_turns + job.more_turns):
        if number == job.max_turns and problem:  # more turns are for who is getting on
            break
        offered = transcript.tools(tools)
        schema = call_schema(offered, answer=True, choices=() if last is None else last.choices)
        request = ChatRequest(transcript.messages(), max_tokens=call_tokens(offered), schema=schema)
        said = (await job.chat(request)).text
        tool, arguments, problem = read_call(said, offered)
        if tool is None and problem is None:
            attempt.text = str(arguments["text"]).strip()
            return
        if tool is not None:
            key = f"{tool.name}{json.dumps(arguments, sort_keys=True, default=str)}"
            # going round in circles, or handing the last result in as a call: it knows all that it will know;
            # but what was read may be just what is to be written or sent, or what another tool is to be asked
            back = not tool.has_side_effects and (tool is gave or job.small)
            handed = last is not None and short_answer(last) in {str(v).strip() for v in arguments.values()}
            if key in seen or (back and handed):
                break
            seen.add(key)
            if tool is READ:
                problem = transcript.read(said, arguments, _then(job, attempt))
                continue
            result = await try_call(job, tool, arguments, attempt)
            if result is not None:
                last, gave = result, tool
            problem = attempt.calls[-1][2]
        observation = f"Error: {problem}" if problem else f"Result: {last.text if last else ''}"
        transcript.add(said, observation, _then(job, attempt))
    if last is not None and (short := short_answer(last)):
        attempt.text, attempt.computed = short, True
    else:
        shown = [*job.facts, *attempt.evidence]
        attempt.text = await _answer(job, shown, attempt, () if last is None else last.choices)


def _then(job: Job, attempt: Attempt) -> str:
    """What stands below a result: what others found meanwhile, what is left, what to do."""
    news = list(job.news())
    attempt.evidence += news
    told = "".join(f"[{source}] {text}\n" for source, text in news)
    found = f"Other subtasks found:\n{told}" if told else ""
    return f"{found}{_budget(job)}Go on, or answer."


async def _answer(job: Job, shown: Sequence[tuple[str, str]], attempt: Attempt, choices: Sequence[str] = ()) -> str:
    """Ask for the answer itself: one of the choices, under a schema, or as free text from an agent that writes."""
    free = job.answer_type == "text" and not job.agent.tools
    bound = bool(shown) and not free and not job.small  # a small model says "unknown" of anything
    completion = await job.chat(
        ChatRequest(
            _prompt(job, shown, FROM_CONTEXT if bound else ""),
            max_tokens=WRITE_TOKENS if free else ANSWER_TOKENS,
            schema=None if free else answer_schema(job.answer_type, choices, unknown=bound),
            logprobs=free and job.small,
        )
    )
    if free:
        attempt.certainty = knowing.certainty(completion)
        return completion.text.strip()
    try:
        answer = json.loads(completion.text)["answer"]
    except (ValueError, KeyError, TypeError):
        # cut by the token limit before it was closed: what is there of a text is still an answer
        begun = re.match(r'\s*\{\s*"answer"\s*:\s*"((?:[^"\\]|\\.)*)', completion.text)
        return begun[1].strip() if begun else ""
    if bound and _not_said(str(answer)):
        raise AgentError(f"agent {job.agent.name!r}: what was found does not say it")
    if isinstance(answer, float) and answer.is_integer():
        return str(int(answer))
    if isinstance(answer, list):
        return ", ".join(map(str, cast(list[Any], answer)))
    return str(answer).strip()


def _not_said(answer: str) -> bool:
    return answer.strip(" .").lower() == NOT_SAID


def _prompt(job: Job, shown: Sequence[tuple[str, str]], told: str = "") -> list[Message]:
    instructions = f"{job.agent.instructions}\n{told}" if told else job.agent.instructions
    return prompt(instructions, job.text, shown, job.advice() + _budget(job))


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
