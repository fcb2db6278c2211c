"""How a program for a whole task comes about: the model writes, the sandbox runs, what fails is mended."""

import re
from collections import Counter

from pointwork.agents.job import Attempt, Job
from pointwork.agents.spec import Writing
from pointwork.agents.verify import strange_numbers
from pointwork.errors import AgentError, ToolDenied, ToolError
from pointwork.models import ChatRequest, Message
from pointwork.tools import Tool

PROGRAM_TOKENS = 220

# The first program is the likeliest one; others are drawn until two agree, this many in all.
DRAWN = 5
TEMPERATURE = 0.6

_FENCED = re.compile(r"```(?:python|py)?[ \t]*\n(?P<code>.*?)(?:```|$)", re.DOTALL)


async def write_program(job: Job, writing: Writing, tool: Tool, attempt: Attempt) -> None:
    """Have a program written and run.

    *Instant*: one program, corrected once if it fails. *Reasoning*: programs are drawn until two print the same
    (self-consistency, Wang et al. 2022, ended at the first agreement).

    Raises:
        AgentError: none ran, or no two agreed.
        ToolDenied, BudgetExceeded, ProviderError: passed on.
    """
    messages = [Message(role="system", content=writing.instructions)]
    for request, program in writing.examples:
        messages.append(Message(role="user", content=request))
        messages.append(Message(role="assistant", content=f"```python\n{program}\n```"))
    given = "".join(f"# [{source}] {text}\n" for source, text in job.facts) + writing.asked
    messages.append(Message(role="user", content=given))
    drawn = _corrected if job.mode == "instant" else _agreed
    attempt.text, attempt.computed = await drawn(job, messages, given, tool, attempt), True


async def _corrected(job: Job, messages: list[Message], given: str, tool: Tool, attempt: Attempt) -> str:
    problem = ""
    for _ in range(2):
        said = (await job.chat(ChatRequest(messages, max_tokens=PROGRAM_TOKENS))).text
        printed, problem = await _run(job, said, given, tool, attempt)
        if not problem:
            return printed
        messages = [
            *messages,
            Message(role="assistant", content=said),
            Message(role="user", content=f"That failed: {problem[:300]}. Write it again, mended."),
        ]
    raise AgentError(f"agent {job.agent.name!r}: no program worked: {problem}")


async def _agreed(job: Job, messages: list[Message], given: str, tool: Tool, attempt: Attempt) -> str:
    printed: Counter[str] = Counter()
    problem = ""
    for number in range(DRAWN):
        request = ChatRequest(
            messages, max_tokens=PROGRAM_TOKENS, temperature=TEMPERATURE if number else 0.0, seed=number
        )
        answer, failed = await _run(job, (await job.chat(request)).text, given, tool, attempt)
        problem = failed or problem
        if answer:
            printed[answer] += 1
            if printed[answer] == 2:
                return answer
    if not printed:
        raise AgentError(f"agent {job.agent.name!r}: no program worked: {problem}")
    raise AgentError(f"agent {job.agent.name!r}: no two programs agree: they print {', '.join(printed)[:200]}")


async def _run(job: Job, said: str, given: str, tool: Tool, attempt: Attempt) -> tuple[str, str]:
    """What a program prints at last, and what is wrong with it."""
    fenced = _FENCED.search(said)
    code = (fenced["code"] if fenced else said).strip()
    if not code:
        return "", "there is no program"
    if strange := strange_numbers(code, given):
        return "", f"{strange[0]} stands nowhere above"
    try:
        result = await job.call_tool(tool, {"code": code})
    except ToolDenied:
        raise
    except ToolError as error:
        attempt.calls.append((tool.name, {"code": code}, str(error)))
        return "", str(error)
    attempt.calls.append((tool.name, {"code": code}, None))
    attempt.evidence += [piece for piece in result.evidence if piece not in attempt.evidence]
    answer = result.answer or result.text.splitlines()[-1]
    return answer.strip(), ""
