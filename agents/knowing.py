"""What an answer may rest on: what was found must speak of whom the question names, and a small model may say a
fact out of its own head only where its probabilities say that it knows it.
"""

import asyncio
import calendar
import math
import re
from collections.abc import Sequence
from pathlib import Path

from pointwork.agents.job import Attempt, Job
from pointwork.agents.preparing import readable_tables
from pointwork.agents.readings.wanting import asking, wanted
from pointwork.agents.verify import GROUNDED
from pointwork.errors import AgentError, NothingFound
from pointwork.models import Completion
from pointwork.text import STOP_WORDS, sentences, tokenize
from pointwork.tools import passages
from pointwork.tools.catalog import MAX_TEXTS, TableInfo, texts_of

# Mean probability of an answer's tokens (geometric) from which on a small model is taken to know it (the measure:
# Guerreiro et al., "Looking for a Needle in a Haystack", 2023, Seq-Logprob; figures in docs/readings.md).
KNOWN = 0.6

_FACT = re.compile(
    r"^\W*(?:(?:hello|hi|and|so|please|tell\s+me|do\s+you\s+know|(?:can|could|would|will)\s+you\s+(?:please\s+)?"
    r"tell\s+me)\W+)*(?:"
    r"(?:who|whom|whose|when|where|which|how\s+(?:far|tall|high|deep|wide|heavy|fast|hot|cold|warm|big|large|long|old|"
    r"many|much|often))\b|"
    r"what\b(?!\s+(?:is|are)\s+(?!(?:the|our|my|this|that|these|those|his|her|its|their)\b)[^?’']*\?*$)|"
    r"(?:is|are|was|were|does|do|did|has|have|had|can|may|must|will)\b)",
    re.IGNORECASE,
)
# Advice and talk: nothing that could be looked up.
_TALK = re.compile(r"\b(?:you|your|should|could|would|shall)\b", re.IGNORECASE)

# An agent's instructions may hold what it knows, but the day is no fact about anything.
_TODAY = re.compile(r"Today is [^.]*\.")
_ABOUT_TODAY = re.compile(
    r"\b(?:today|now|tomorrow|yesterday|current|this\s+(?:week|month|year)|(?:day|date|year)\s+is\s+it)\b",
    re.IGNORECASE,
)

_NAME = re.compile(r"[^\W\d_][\w’'-]*")
# Capitalised in the middle of a sentence without naming anything that a file would have to speak of.
_NO_NAMES = frozenset(
    [
        *(name.lower() for names in (calendar.month_name, calendar.day_name) for name in names if name),
        *(name.lower() for names in (calendar.month_abbr, calendar.day_abbr) for name in names if name),
        *("arabic", "chinese", "dutch", "english", "french", "german", "greek", "hindi", "italian", "japanese"),
        *("korean", "latin", "polish", "portuguese", "russian", "spanish", "swedish", "turkish"),
        *("celsius", "fahrenheit", "kelvin", "mr", "mrs", "ms", "dr"),
        *STOP_WORDS,
    ]
)  # fmt: skip
# Sources of what was looked up, in contrast to what was computed.
_LOOKED_UP = ("table:", "file:", "memory:")
# Sources of what says nothing about the world: how a question was read, what a model thought.
_OWN = frozenset(["reading:question", "reasoning"])
# Tokens by whose probabilities an answer is judged: a loop of the same words is sure of itself for ever.
_JUDGED = 24


def asks_fact(question: str) -> bool:
    """Whether a question has an answer that somebody could have written down; no explanation, advice or talk."""
    asked = asking(question)
    return bool(_FACT.match(asked)) and not _TALK.search(
        re.sub(r"^.*?\byou (?:know|(?:please )?tell me)\b", "", asked)
    )


def certainty(completion: Completion) -> float:
    """The mean probability of an answer's first tokens; 1 where the back end does not say."""
    logprobs = (completion.logprobs or ())[:_JUDGED]
    return math.exp(sum(logprobs) / len(logprobs)) if logprobs else 1.0


async def believe(job: Job, attempt: Attempt, *, read: bool) -> None:
    """Refuse an answer that rests on nothing, or on what speaks of something else.

    Args:
        job, attempt: who was asked what, and what came of it.
        read: the answer is that of a reading, which no model looked at.

    Raises:
        AgentError: it is not to be believed.
        NothingFound: nor would that of another agent be.
    """
    who = f"agent {job.agent.name!r}"
    known = [(source, text) for source, text in (*job.facts, *attempt.evidence) if source not in _OWN]
    said = " ".join(f"{source} {text}" for source, text in known)
    looked_up = any(source.startswith(_LOOKED_UP) for source, _ in attempt.evidence)
    if looked_up and (job.small or read) and (unknown := await strangers(job, said)):
        why = NothingFound if attempt.computed else AgentError  # of a fact in words the model itself may know
        raise why(f"{who}: nothing that can be read speaks of {', '.join(unknown)}")
    if not job.small or attempt.computed or attempt.calls or attempt.evidence or not asks_fact(job.text):
        return
    told, today = job.agent.instructions, ""
    if not _ABOUT_TODAY.search(job.text):
        told, today = _TODAY.sub("", told), " ".join(_TODAY.findall(told))
    if _says(attempt.text, job.text, f"{told} {said}"):
        return
    copied = (set(tokenize(attempt.text)) - set(tokenize(job.text))) & set(tokenize(today))
    if attempt.certainty < KNOWN or copied or wanted(job.text).kind == "id":
        if unknown := await strangers(job, said):
            raise NothingFound(f"{who}: nothing that can be read speaks of {', '.join(unknown)}")
        raise AgentError(f"{who}: nothing was found that says it, and it is not sure of it itself")


def _says(answer: str, question: str, told: str) -> bool:
    """Whether most of what an answer adds to the question stands in a text."""
    added = set(tokenize(answer)) - set(tokenize(question))
    return len(added & set(tokenize(told))) >= max(1.0, GROUNDED * len(added))


async def strangers(job: Job, said: str) -> list[str]:
    """Names in a question that neither what was found nor anything that can be read mentions."""
    found = set(tokenize(said))
    names = [name for name in names_in(job.text) if not found & set(tokenize(name))]
    if names and (memory := job.context.memory) is not None:
        recalled = await asyncio.to_thread(memory.recall, " ".join(names), k=5, thread=job.context.thread)
        found = set(tokenize(" ".join(item.text for item in recalled.items)))
        names = [name for name in names if not found & set(tokenize(name))]
    root = job.context.root
    if not names or root is None:
        return names
    tables = await readable_tables(job.context)
    return await asyncio.to_thread(_nowhere, names, root.resolve(), tables)


def names_in(question: str) -> list[str]:
    """Proper names in the sentence that asks: capitalised words that begin no sentence."""
    words = list(_NAME.finditer((sentences(asking(question)) or [""])[-1]))
    if len(words) > 4 and sum(word[0][0].isupper() for word in words) > 0.75 * len(words):
        return []  # Written Like A Title
    names: list[str] = []
    end = -2
    for word in words[1:]:
        text = re.sub(r"['’]s?$", "", word[0])
        named = text[0].isupper() and not text.isupper() and text.lower() not in _NO_NAMES
        if named and word.start() == end + 1 and names:
            names[-1] += f" {text}"
        elif named:
            names.append(text)
        end = word.end() if named else -2
    return names


def _nowhere(names: Sequence[str], root: Path, tables: Sequence[TableInfo]) -> list[str]:
    """Those of the names that no text and no table below the root holds; none if not all of it was read."""
    left = [name for name in names if not any(passages.holds(root, token) for token in tokenize(name))]
    for table in tables if left else ():
        described = [table.name, *(column.name for column in table.columns)]
        for column in table.columns:
            texts = texts_of(root, table, column)
            if len(texts) >= MAX_TEXTS:
                return []
            described += texts
        words = set(tokenize(" ".join(described)))
        left = [name for name in left if not words & set(tokenize(name))]
    return left if not left or passages.complete(root) else []
