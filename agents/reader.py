"""Pages read by a model that was trained to: words of a passage that answer a question, or that it does not say it.

The role ``reader`` has a small model with an adapter of its own (``training/recipes/pages.py`` says from what).
Without an adapter nobody reads, and the learned choice of a piece (``readings/extracting.py``) stands alone.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pointwork.agents.job import Chat
from pointwork.agents.prompts import UNSAID, reader_prompt
from pointwork.agents.readings import spans
from pointwork.agents.readings.wanting import wanted
from pointwork.models import ChatRequest, Completion
from pointwork.text import STOP_WORDS

READER = "reader"
"""The model role."""

ANSWER_TOKENS = 48
# An answer less probable than the first is not given; than the second, where the learned choice says the same.
# Where the reader is less sure than the third that nothing says it, the learned choice stands.
LEAST, AGREED, DENIED = 0.5, 0.1, 0.6

# Where it is less sure of that than DOUBTED, so many further answers are DRAWN for the page of which it is least
# sure: the learned choice stands if one is the same. (Without one they are too seldom right: docs/readings.md.)
DOUBTED, DRAWN = 0.75, 8


@dataclass(frozen=True)
class Read:
    """What pages say.

    Attributes:
        text: the answer.
        source, page: where it stands; empty if it is what was expected and the reader did not find it.
    """

    text: str
    source: str = ""
    page: str = ""


async def read(question: str, pages: Sequence[tuple[str, str]], chat: Chat, expected: str = "") -> Read | None:
    """What the first page says that says something, if it is sure enough; None: nothing does.

    Args:
        question: as it was asked.
        pages: (source, text), the likeliest first.
        chat: to the model in the role ``reader``.
        expected: what was taken for the answer without reading.
    """
    denied, doubted = 1.0, ""
    for source, page in pages:
        completion = await chat(_asking(question, page))
        sure = math.exp(sum(completion.logprobs)) if completion.logprobs else 1.0
        if (said := in_page(completion.text, page)) and formed(question, said):
            return Read(said, source, page) if sure >= (AGREED if alike(said, expected) else LEAST) else None
        if not said and sure < denied:
            denied, doubted = sure, page
    if not expected or denied >= DOUBTED:
        return None
    return Read(expected) if denied < DENIED or await _says_too(question, doubted, chat, expected) else None


async def _says_too(question: str, page: str, chat: Chat, expected: str) -> bool:
    """Whether one of some further answers to a page is what is expected."""
    for number in range(1, DRAWN + 1):
        completion = await chat(replace(_asking(question, page), temperature=1.0, seed=number))
        if alike(in_page(completion.text, page), expected):
            return True
    return False


def _asking(question: str, page: str) -> ChatRequest:
    return ChatRequest(reader_prompt(question, page), max_tokens=ANSWER_TOKENS, logprobs=True)


# Where one of these is asked for, what holds none is no answer. Money and persons often stand as a bare number or a
# role, which the rules do not take for them.
_TIMED = frozenset(["weekday", "date", "year", "when", "time", "duration", "age"])


def formed(question: str, said: str) -> bool:
    """Whether an answer holds a date, a time or a length of time where one is asked for."""
    want = wanted(question)
    return want.kind not in _TIMED or bool(spans.pieces_of(want, said))


def once(said: dict[str, Completion], ask: Chat) -> Chat:
    """Ask nothing twice, but for further drawings: another arm of an agent is given the same pages."""

    async def chat(request: ChatRequest) -> Completion:
        asked = request.messages[-1]["content"]
        if request.seed is not None:
            asked = f"{request.seed} {asked}"
        if asked not in said:
            said[asked] = await ask(request)
        return said[asked]

    return chat


def alike(one: str, other: str) -> bool:
    """Whether one of two answers holds the words of the other."""
    first, second = (
        [word for word in re.findall(r"\w+", text.lower()) if word not in STOP_WORDS] for text in (one, other)
    )
    return bool(first and second) and (set(first) <= set(second) or set(second) <= set(first))


def in_page(said: str, page: str) -> str:
    """An answer as it stands in the page; empty where it does not, or says that nothing does."""
    words = re.findall(r"\w+|[^\w\s]", said.strip().rstrip("."))
    if not words or said.strip().lower().rstrip(".") == UNSAID:
        return ""
    # marks of emphasis and line ends may stand between its words
    spaced = r"[\s*_`]*".join(map(re.escape, words))
    found = re.search(rf"(?<!\w){spaced}(?!\w)", page, re.IGNORECASE)  # "four" does not stand in "fourteen"
    return " ".join(re.sub(r"(?<!\w)[*_`]+|[*_`]+(?!\w)", "", found[0]).split()) if found else ""
