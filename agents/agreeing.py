"""Steps whose answers were read in the files, where most of several drawings come to the same answer.

"who looks after Cedar = Lorcan Byrne" and "nurse of Cedar = Lorcan Byrne" are unlikely texts, each by itself, and
one answer: how sure a model is of that, only several texts tell (Wang et al., "Self-Consistency Improves Chain of
Thought Reasoning in Language Models", 2023). Drawing ends as soon as it is decided (Aggarwal et al., "Let's Sample
Step by Step: Adaptive-Consistency for Efficient Reasoning and Coding with LLMs", 2023).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pointwork.agents.decomposer import Decomposed, decompose
from pointwork.agents.facts.gathered import Fact
from pointwork.agents.job import Chat
from pointwork.agents.reading_ahead import comes_to
from pointwork.agents.splitter import answer_type_of
from pointwork.errors import BudgetExceeded

DRAWN, MOST = 5, 3
"""Texts that are written at most, the likeliest among them, and how many of them must come to the same."""

KEPT = 0.5
"""No further text is drawn where less of the budget than this share is left: agents may have to be asked."""


async def agreed(
    task: str, chat: Chat, most: int, facts: Sequence[Fact], left: Callable[[], float] = lambda: 1.0
) -> Decomposed | None:
    """The likeliest of those steps that most texts come to the answer of; None: they do not agree.

    Args:
        task: the user's words.
        chat: to the model in the role ``reckoner``.
        most: steps that a plan may have.
        facts: in which the answers of steps stand.
        left: the share of the budget that is left.

    Returns:
        Its ``sure`` is the share of the texts that were written which come to the same.

    Raises:
        BudgetExceeded: not even one text can be paid.
    """
    found: dict[str, list[Decomposed]] = {}
    best: list[Decomposed] = []
    written = 0
    while len(best) < MOST <= len(best) + DRAWN - written and (not written or left() >= KEPT):
        try:
            one = await decompose(task, chat, most, facts=facts, drawing=written)
        except BudgetExceeded:
            if not written:
                raise
            break
        written += 1
        if one is not None and (answer := await answer_of(task, one)):
            found.setdefault(answer, []).append(one)
        best = max(found.values(), key=len, default=best)
    if len(best) < MOST:
        return None
    return replace(max(best, key=lambda one: one.sure), sure=len(best) / written)


async def answer_of(task: str, found: Decomposed) -> str:
    """What steps come to, written in one way; empty: to nothing, or to what does not answer the task."""
    answer = (await comes_to(found.steps) or "") if found.read else ""
    if answer_type_of(task) == "yes-no" and answer not in ("yes", "no"):
        return ""  # "will it go in?" is not answered by how long it is
    return in_one_way(answer)


def in_one_way(answer: str) -> str:
    """An answer so that another of the same value reads the same: 24.0 is 24."""
    try:
        return f"{float(answer):.9g}"
    except ValueError:
        return answer.strip().lower()
