"""What an answer may rest on: what was found must speak of whom the question names, and a small model may say a
fact out of its own head only where its probabilities say that it knows it.
"""

import asyncio
import math
import re
from collections.abc import Sequence
from itertools import dropwhile
from pathlib import Path

from pointwork.agents.job import Attempt, Job
from pointwork.agents.preparing import readable_tables
from pointwork.agents.reader import formed
from pointwork.agents.readings.names import names
from pointwork.agents.readings.wanting import asking, asks_fact, wanted
from pointwork.agents.verify import GROUNDED
from pointwork.errors import AgentError, NothingFound
from pointwork.models import Completion
from pointwork.text import STOP_WORDS, tokenize
from pointwork.tools import passages
from pointwork.tools.catalog import MAX_TEXTS, TableInfo, texts_of

# Mean probability of an answer's tokens (geometric) from which on a small model is taken to know it (the measure:
# Guerreiro et al., "Looking for a Needle in a Haystack", 2023, Seq-Logprob; figures in docs/readings.md).
KNOWN = 0.6

# An agent's instructions may hold what it knows, but the day is no fact about anything.
_TODAY = re.compile(r"Today is [^.]*\.")
_ABOUT_TODAY = re.compile(
    r"\b(?:today|now|tomorrow|yesterday|current|this\s+(?:week|month|year)|(?:day|date|year)\s+is\s+it)\b",
    re.IGNORECASE,
)

# Written with a capital without naming anything that a file would have to speak of.
_NO_NAMES = {
    *(
        "arabic",
        "chinese",
        "dutch",
        "english",
        "french",
        "german",
        "greek",
        "hindi",
        "italian",
        "japanese",
        "korean",
    ),
    *("latin", "polish", "portuguese", "russian", "spanish", "swedish", "turkish"),
    *("celsius", "fahrenheit", "kelvin"),
}
# Sources of what was looked up, in contrast to what was computed.
_LOOKED_UP = ("table:", "file:", "memory:")
# Sources of what says nothing about the world: how a question was read, what a model thought.
_OWN = frozenset(["reading:question", "reasoning"])
# Tokens by whose probabilities an answer is judged: a loop of the same words is sure of itself for ever.
_JUDGED = 24


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
    read_out = [f"{source} {text}" for source, text in attempt.evidence if source.startswith("file:")]
    if job.small and read_out and not attempt.computed and (other := await _other_things(job, " ".join(read_out))):
        raise AgentError(f"{who}: what was found does not speak of {', '.join(other)}")
    if not job.small or attempt.computed or attempt.calls or attempt.evidence or not asks_fact(job.text):
        return
    told, today = job.agent.instructions, ""
    if not _ABOUT_TODAY.search(job.text):
        told, today = _TODAY.sub("", told), " ".join(_TODAY.findall(told))
    if _says(attempt.text, job.text, f"{told} {said}"):
        return
    if not formed(job.text, attempt.text):
        raise AgentError(f"{who}: what is asked for has another form than {attempt.text[:60]!r}")
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
    left = [name for name in names_in(job.text) if not found & _forms(name)]
    if left and (memory := job.context.memory) is not None:
        recalled = await asyncio.to_thread(memory.recall, " ".join(left), k=5, thread=job.context.thread)
        found = set(tokenize(" ".join(item.text for item in recalled.items)))
        left = [name for name in left if not found & _forms(name)]
    root = job.context.root
    if not left or root is None:
        return left
    tables = await readable_tables(job.context)
    return await asyncio.to_thread(_nowhere, left, root.resolve(), tables)


async def _other_things(job: Job, said: str) -> list[str]:
    """Things that a table lists and the question speaks of, and of which what was found says nothing.

    The price of the ladder is not that of the drill. What is written with a capital is for ``strangers``.
    """
    root = job.context.root
    if root is None:
        return []
    tables, found = await readable_tables(job.context), set(tokenize(said))

    def spoken() -> set[str]:
        columns = [(table, column) for table in tables for column in table.columns if column.kind == "text"]
        values = {text.lower() for table, column in columns for text in texts_of(root.resolve(), table, column)}
        words = (value for value in values if len(value) > 2 and value in job.text and value not in STOP_WORDS)
        return {value for value in words if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", job.text)}

    stems = {value: set(tokenize(value)) for value in await asyncio.to_thread(spoken) if value[0].isalpha()}
    return sorted(value for value, parts in stems.items() if parts and not parts & found)


def names_in(question: str) -> list[str]:
    """Proper names in the sentence that asks."""
    asked = asking(question)
    words = asked.split()
    if len(words) > 4 and sum(word[0].isupper() for word in words) > 0.75 * len(words):
        return []  # Written Like A Title
    parts = (dropwhile(lambda word: word.lower() in STOP_WORDS, match[0].split()) for match in names(asked))
    found = [re.sub(r"['’]s?$", "", " ".join(part)) for part in parts]  # of "Does Peter Quint's" the name
    return [name for name in found if name and name.lower() not in _NO_NAMES]


def _nowhere(strange: Sequence[str], root: Path, tables: Sequence[TableInfo]) -> list[str]:
    """Those of the names that no text and no table below the root holds; none if not all of it was read."""
    there = passages.held(root, {token for name in strange for token in _forms(name)})
    left = [name for name in strange if not there & _forms(name)]
    for table in tables if left else ():
        described = [table.name, *(column.name for column in table.columns)]
        for column in table.columns:
            texts = texts_of(root, table, column)
            if len(texts) >= MAX_TEXTS:
                return []
            described += texts
        there = set(tokenize(" ".join(described)))
        left = [name for name in left if not there & _forms(name)]
    return left


_OF_A_COUNTRY = re.compile(r"[A-Z][a-z]+(?:an|ese|ish|i|ic)\b")


def _forms(name: str) -> set[str]:
    """The stems of a name, and what one that ends as Peruvian does may be derived from: Peru, Kenya, Japan."""
    derived = {word[:end] for word in _OF_A_COUNTRY.findall(name) for end in range(-4, 0) if len(word[:end]) > 3}
    return {stem for word in (name, *derived) for stem in tokenize(word)}
