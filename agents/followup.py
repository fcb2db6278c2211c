"""Questions that lean on what was said before: "and in knots?", "When did she paint it?".

In a thread such a question is first made to stand alone, so that whatever reads it (planner, router, tables,
search) knows what it is about: by a rule where that is certain, else by the planner's model under a check. What
still leans back goes along with the last turns as facts.
"""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from pointwork.errors import ProviderError
from pointwork.models import ChatRequest, Completion, Message
from pointwork.store import Store
from pointwork.store.tables import runs
from pointwork.text import tokenize

# Turns of a thread that a follow-up may lean on.
TURNS = 3

# Characters of one turn's question or answer that are shown.
SHOWN = 300

REWRITE_TOKENS = 120

# A pronoun with more words of content before it has what it stands for in its own sentence.
_BEFORE = 2

# The longest phrase that a rule puts in another's place, in words.
_PHRASE = 3

_PREPOSITIONS = "in|for|on|at|of|to|from|with|by|as|during|after|before|since|until|under|over|into|per"
_BEGINS = re.compile(
    r"^\W*(?:and|or|but|so|then|also|what about|how about|what if|same|again|instead)\b|^\W*(?:why|how so)\W*$",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:(?:which|that|this) ones?|it|its|they|them|their|theirs|he|him|his|she|her|hers|"
    r"those|these|the (?:same|other|former|latter)|"
    r"th(?:is|at)(?: one)?(?=\s*(?:[.,;?!]|$)|\s+(?:in|to|by|from|with|as|and|or|too|again)\b))\b",
    re.IGNORECASE,
)
_BARE = re.compile(rf"^\W*(?:{_PREPOSITIONS})(?:\s+[\w.%/-]+){{1,3}}\W*$", re.IGNORECASE)
_OTHER_PHRASE = re.compile(
    rf"^\W*(?:(?:and|or|but|so|then|what about|how about|and what about|and how about)\b,?\s+)?"
    rf"(?P<preposition>{_PREPOSITIONS})\s+(?P<rest>[^?!;]+?)\s*[.?!]*\s*$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

Chat = Callable[[ChatRequest], Awaitable[Completion]]


@dataclass(frozen=True)
class Turn:
    """An earlier run of the thread.

    Attributes:
        run_id: of the run.
        question: as it was understood; answer: what was said to it.
    """

    run_id: str
    question: str
    answer: str

    @property
    def text(self) -> str:
        """For a prompt."""
        return f"{self.question[:SHOWN]} {self.answer[:SHOWN]}".strip()


def earlier_turns(store: Store, thread: str | None, run_id: str, limit: int = TURNS) -> list[Turn]:
    """The last runs of a thread that came to an answer, oldest first."""
    if thread is None:
        return []
    own = store.row(select(runs.c.created).where(runs.c.id == run_id))
    query = (
        select(runs.c.id, runs.c.task, runs.c.result)
        .where(runs.c.thread == thread, runs.c.id != run_id, runs.c.result.is_not(None))
        .order_by(runs.c.created.desc(), runs.c.id.desc())
        .limit(limit)
    )
    if own is not None:  # a run that goes on later must see the turns that it saw at first
        query = query.where(runs.c.created <= own["created"])
    rows = [row for row in store.rows(query) if row["result"] and row["result"]["text"]]
    return [Turn(row["id"], _understood(row), row["result"]["text"]) for row in reversed(rows)]


def _understood(row: Any) -> str:
    """A turn's question; that of a follow-up as its plan has it, where the plan is one question."""
    steps = row["result"]["plan"]["subtasks"]
    return str(steps[0]["text"] if len(steps) == 1 else row["task"])


def leans_back(text: str) -> bool:
    """Whether a task speaks of something that it does not name."""
    if _BEGINS.search(text) or _BARE.search(text):
        return True
    return any(len(tokenize(text[: match.start()])) <= _BEFORE for match in _PRONOUN.finditer(text))


async def standalone(text: str, turns: Sequence[Turn], chat: Chat) -> str | None:
    """A follow-up as a question that needs no earlier one, or None if that can not be had.

    Raises:
        BudgetExceeded: asking the model can not be paid.
    """
    if not turns:
        return None
    swapped = _swapped(turns[-1].question, text)
    if swapped is not None:
        return swapped
    request = ChatRequest(_prompt(text, turns), max_tokens=REWRITE_TOKENS, schema=_SCHEMA)
    try:
        said = (await chat(request)).text
        rewritten = " ".join(str(json.loads(said)["question"]).split())
    except (ProviderError, ValueError, KeyError, TypeError):
        return None
    return rewritten if _keeps(rewritten, text, turns) else None


def _swapped(previous: str, text: str) -> str | None:
    """ "and in knots?" after "How fast is 30 km/h in m/s?": the last phrase with the same preposition changes.

    Only where the earlier question ends with such a phrase: elsewhere its end can not be told without grammar.
    """
    asked = _OTHER_PHRASE.match(text)
    if asked is None or len(asked["rest"].split()) > _PHRASE:
        return None
    preposition = re.escape(asked["preposition"])
    words = rf"(?:(?!\b(?:{_PREPOSITIONS}|and|or)\b)[^\s?!;]+)"
    last = re.search(rf"^(.*\b{preposition})\s+{words}(?:\s+{words}){{0,{_PHRASE - 1}}}\s*$", _bare(previous), re.I)
    if last is None:
        return None
    return f"{last[1]} {asked['rest']}{'?' if previous.rstrip().endswith('?') else '.'}"


def _bare(text: str) -> str:
    return text.strip().rstrip("?!.").rstrip()


_SCHEMA = {
    "type": "object",
    "properties": {"question": {"type": "string", "minLength": 3, "maxLength": 300}},
    "required": ["question"],
    "additionalProperties": False,
}

_EXAMPLES = (
    ("How tall is the tower? 60 m", "And the bridge?", "How tall is the bridge?"),
    ("Who wrote the letter? Ada Moss", "When was she born?", "When was Ada Moss born?"),
)


def _prompt(text: str, turns: Sequence[Turn]) -> list[Message]:
    system = (
        "You rewrite the last question of a conversation so that it can be understood alone. Keep its words; put "
        "what it stands for in the place of it, she, they."
    )
    messages = [Message(role="system", content=system)]
    for before, last, rewritten in _EXAMPLES:
        messages.append(Message(role="user", content=f"Before: {before}\nLast: {last}"))
        messages.append(Message(role="assistant", content=json.dumps({"question": rewritten})))
    before = "\n".join(turn.text for turn in turns)
    return [*messages, Message(role="user", content=f"Before: {before}\nLast: {text}")]


def _keeps(rewritten: str, text: str, turns: Sequence[Turn]) -> bool:
    """Whether a rewritten question loses nothing of the follow-up, makes nothing up, and says more than it."""
    said = " ".join(turn.text for turn in turns)
    words, own = set(tokenize(rewritten)), set(tokenize(_PRONOUN.sub(" ", _BEGINS.sub(" ", text))))
    numbers = set(_NUMBER.findall(rewritten))
    return (
        own <= words
        and bool(words - set(tokenize(text)))
        and words <= set(tokenize(said)) | set(tokenize(text))
        and numbers <= set(_NUMBER.findall(f"{said} {text}"))
        and all(words != set(tokenize(turn.question)) for turn in turns)
    )
