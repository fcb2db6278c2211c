"""Steps whose answers were read in the files, where most of several drawings come to the same answer.

"who looks after Cedar = Lorcan Byrne" and "nurse of Cedar = Lorcan Byrne" are unlikely texts, each by itself, and
one answer: how sure a model is of that, only several texts tell (Wang et al., "Self-Consistency Improves Chain of
Thought Reasoning in Language Models", 2023). Drawing ends as soon as it is decided (Aggarwal et al., "Let's Sample
Step by Step: Adaptive-Consistency for Efficient Reasoning and Coding with LLMs", 2023).
"""

from collections import Counter
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

SURE, LIKELY, DOUBTED, LEAST, SECOND = 0.8, 0.3, 0.25, 0.1, 2
"""A calculation (``calculated``) as sure as the first is taken without a text, as sure as the second where texts do
not agree, as sure as the third where only a worse plan is left; else it counts as so many texts as the last says,
where it is not less sure than the fourth."""

KEPT = 0.5
"""No further text is drawn where less of the budget than this share is left: agents may have to be asked."""


async def agreed(
    task: str,
    chat: Chat | None,
    most: int,
    facts: Sequence[Fact],
    left: Callable[[], float] = lambda: 1.0,
    computed: Decomposed | None = None,
) -> Decomposed | None:
    """The likeliest of those steps that most texts come to the answer of; None: nobody is sure of any.

    Args:
        task: the user's words.
        chat: to the model in the role ``reckoner``; None: there is none, and only what is calculated counts.
        most: steps that a plan may have.
        facts: in which the answers of steps stand.
        left: the share of the budget that is left.
        computed: what the task calculates with the facts, read without a model.

    Returns:
        Its ``sure`` is the share of the readings that come to the same, or the calculation's own.

    Raises:
        BudgetExceeded: not even one text can be paid.
    """
    sums = await answer_of(task, computed) if computed and computed.sure >= LEAST else ""
    if computed and sums and computed.sure >= SURE:
        return computed
    likely = computed if computed and sums and computed.sure >= DOUBTED else None
    if chat is None:
        return likely
    found: dict[str, list[Decomposed]] = {}
    votes = Counter({sums: SECOND} if sums else {})
    written = 0
    while (best := max(votes.values(), default=0)) < MOST <= best + DRAWN - written and (
        not written or left() >= KEPT
    ):
        try:
            one = await decompose(task, chat, most, facts=facts, drawing=written)
        except BudgetExceeded:
            if not written:
                raise
            break
        written += 1
        if one is not None and (answer := await answer_of(task, one)):
            found.setdefault(answer, []).append(one)
            votes[answer] += 1
    answer = max(votes, key=lambda one: votes[one], default="")
    if votes[answer] < MOST:
        return likely
    agreeing, readings = len(found[answer]) + (answer == sums), written + bool(sums)
    return replace(max(found[answer], key=lambda one: one.sure), sure=agreeing / readings)


def doubted(found: Decomposed) -> bool:
    """Whether it is a calculation that is only better than the plan of somebody who is less sure."""
    return found.author == "calculation" and found.sure < LIKELY


async def answer_of(task: str, found: Decomposed) -> str:
    """What steps come to, written in one way; empty: to nothing, or to what does not answer the task."""
    answer = (await comes_to(found.steps) or "") if found.read else ""
    read = [step.found for step in found.steps if step.found is not None]
    if len(set(read)) < len(read) and answer in ("0", "1"):
        return ""  # one value less itself, or through itself
    if answer.startswith("0 "):
        return ""  # "0 days": nobody asks how long nothing lasts
    if answer_type_of(task) == "yes-no" and answer not in ("yes", "no"):
        return ""  # "will it go in?" is not answered by how long it is
    return in_one_way(answer)


def in_one_way(answer: str) -> str:
    """An answer so that another of the same value reads the same: 24.0 is 24."""
    try:
        return f"{float(answer):.9g}"
    except ValueError:
        return answer.strip().lower()
