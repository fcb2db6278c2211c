"""Queries by a model that was trained to write them, in the role ``querier``.

``training/recipes/querying.py`` says from what.
"""

import math
import re
from dataclasses import dataclass, replace
from typing import Any, cast

from pointwork.agents.job import Attempt, Chat, Job, try_call
from pointwork.agents.prompts import UNANSWERED, querier_prompt
from pointwork.agents.readings import measured
from pointwork.agents.spec import Prepared, Tabled
from pointwork.errors import ProviderError
from pointwork.models import ChatRequest
from pointwork.tools import ToolResult, builtin_tools
from pointwork.tools.tables import cell_text

QUERIER = "querier"
"""The model role."""

QUERY_TOKENS = 160

# Beside a reading of the words that accounts for less of a question than the first (than the second), a query
# counts that is so sure; beside one that accounts for more, none.
READ, FIRM = 0.5, 0.95
LEAST, SURER = 0.3, 0.6
# That the tables do not say it counts from here on.
DENIED = 0.9
CELLS = 12  # more are no short answer


@dataclass(frozen=True)
class Written:
    """What a model wrote.

    Attributes:
        query: one SELECT; empty: the tables do not say it.
        sure: probability of the whole text.
    """

    query: str
    sure: float


async def write_query(question: str, tabled: Tabled, chat: Chat) -> Written:
    """The query that answers a question.

    Raises:
        ProviderError, BudgetExceeded: of the call.
    """
    request = ChatRequest(
        querier_prompt(question, tabled.text, tabled.named), max_tokens=QUERY_TOKENS, logprobs=True
    )
    said = await chat(request)
    sure = math.exp(sum(said.logprobs)) if said.logprobs else 0.0
    text = said.text.strip()
    if said.finish != "stop" or not re.match(r"SELECT\b", text, re.IGNORECASE):
        return Written("", sure if text.lower() == UNANSWERED else 0.0)
    return Written(text, sure)


async def queried(job: Job, prepared: Prepared, tabled: Tabled, attempt: Attempt) -> Prepared:
    """What an agent has at hand, with the answer of a query that was written where that is likelier to be right.

    Args:
        job: whose ``query`` is there.
        prepared: what is at hand.
        tabled: the tables that are shown.
        attempt: gets the call.
    """
    assert job.query is not None
    read = prepared.sure if prepared.call is not None else 0.0
    try:
        written = await write_query(job.text, tabled, job.query)
    except ProviderError:  # more tables than it has room for, say: what the words say is still there
        return prepared
    if not written.query:
        return replace(prepared, call=None) if written.sure >= DENIED and read < FIRM else prepared
    if written.sure < _least(read):
        return prepared
    tool = builtin_tools()["sql"]
    result = await try_call(job, tool, {"query": written.query}, attempt)
    if result is None or not (answer := _answer(result)):
        return prepared
    unit = _unit(result)
    return replace(
        prepared,
        call=None,
        answer=f"{answer} {unit}" if unit and re.fullmatch(r"-?[\d.]+", answer) else answer,
        context=result.evidence,
        fit=1.0,
    )


def _least(read: float) -> float:
    """How sure a written query has to be, beside a reading of the question that accounts for so much of it."""
    return LEAST if read < READ else SURER if read < FIRM else 1.01


def _answer(result: ToolResult) -> str:
    """What a query found as a short text; empty: nothing."""
    value = cast(dict[str, Any], result.value)
    cells = [row[0] for row in value["rows"] if row[0] is not None]
    return ", ".join(dict.fromkeys(map(cell_text, cells))) if len(cells) <= CELLS else ""


def _unit(result: ToolResult) -> str:
    """The unit that the name of the query's only column says, as in ``sum(length_m)``."""
    columns = cast(dict[str, Any], result.value)["columns"]
    named = re.fullmatch(r"(?:(?:sum|avg|min|max|median)\()?\"?(\w+)\"?\)?", columns[0])
    return measured.unit_named(named[1]) if named else ""
