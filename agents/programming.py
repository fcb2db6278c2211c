"""How a program for a whole task comes about: the model writes, the sandbox runs; where it fails, anew."""

import re

from pointwork.agents.job import Attempt, Job, try_call
from pointwork.agents.spec import Writing
from pointwork.agents.verify import strange_numbers
from pointwork.errors import AgentError
from pointwork.models import ChatRequest, Message
from pointwork.tools import Tool

PROGRAM_TOKENS = 220

# Programs written at most: the likeliest, and others where it fails.
DRAWN = 3
TEMPERATURE = 0.6

_FENCED = re.compile(r"```(?:python|py)?[ \t]*\n(?P<code>.*?)(?:```|$)", re.DOTALL)


async def write_program(job: Job, writing: Writing, tool: Tool, attempt: Attempt) -> None:
    """Have a program written and run; where one fails, another is drawn.

    Shown what was wrong with its first program, a model of 1.5 billion weights mended 0 of 19; of those drawn anew
    some run. Votes (self-consistency, Wang et al. 2022) gave the same tasks right at three times the price
    (docs/bench.md), so the first that runs is taken.

    Raises:
        AgentError: none ran.
        ToolDenied, BudgetExceeded, ProviderError: passed on.
    """
    messages = [Message(role="system", content=writing.instructions)]
    for request, program in writing.examples:
        messages.append(Message(role="user", content=request))
        messages.append(Message(role="assistant", content=f"```python\n{program}\n```"))
    given = (
        "".join(map(_comment, [*(f"[{source}] {text}" for source, text in job.facts), job.advice()]))
        + writing.asked
    )
    messages.append(Message(role="user", content=given))
    problem = ""
    for number in range(DRAWN):
        temperature = TEMPERATURE if number else 0.0
        request = ChatRequest(messages, max_tokens=PROGRAM_TOKENS, temperature=temperature, seed=number)
        printed, problem = await _run(job, (await job.chat(request)).text, given, tool, attempt)
        if not problem:
            attempt.text, attempt.computed = printed, True
            return
    raise AgentError(f"agent {job.agent.name!r}: no program worked: {problem}")


def _comment(text: str) -> str:
    return "".join(f"# {line}\n" for line in text.splitlines())


async def _run(job: Job, said: str, given: str, tool: Tool, attempt: Attempt) -> tuple[str, str]:
    """What a program prints at last, and what is wrong with it."""
    fenced = _FENCED.search(said)
    code = (fenced["code"] if fenced else said).strip()
    if not code:
        return "", "there is no program"
    if strange := strange_numbers(code, given):
        return "", f"{strange[0]} stands nowhere above"
    result = await try_call(job, tool, {"code": code}, attempt)
    if result is None:
        return "", attempt.calls[-1][2] or ""
    return (result.answer or result.text.splitlines()[-1]).strip(), ""
