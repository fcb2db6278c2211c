"""The words of a row as the search index has them, and the numbers beside them."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pointwork.memory.columns import NONE, Row, name_key
from pointwork.memory.dates import day_words
from pointwork.memory.lexical import DATE
from pointwork.text import tokenize

# What one occurrence counts, in halves. Set on LoCoMo dialogues 0-7, the title's on Hotpot.
_TEXT, _TITLE, _SPEAKER = 2, 4, 2

_WORD = re.compile(r"\w+")
_BRACKETS = re.compile(r"\s*\([^)]*\)\s*$")
_LEAST_TITLE = 4  # letters; shorter ones stand in too many texts by chance


def body(row: Mapping[str, Any]) -> str:
    """The text of a row with its title in it once, whether that was given or is the first line."""
    text, title = row["text"], row["title"]
    if not title:
        return text
    first, newline, _ = text.partition("\n")
    return text if newline and first.strip() == title else f"{title}\n{text}"


def row_words(row: Mapping[str, Any]) -> tuple[dict[str, int], float]:
    """Token -> weight in halves, and the length of a row of ``memory_items``."""
    text = tokenize(body(row))
    title = tokenize(row["title"]) if row["title"] else []
    weights = Counter({token: _TEXT * count for token, count in Counter(text).items()})
    for token in title:
        weights[token] += _TITLE
    if row["speaker"]:
        for token in tokenize(row["speaker"]):
            weights[token] += _SPEAKER
    if row["time"] is not None:
        for token in tokenize(" ".join(day_words(row["time"]))):
            weights[token] += DATE
    # at least one, even of a text without words: 0 is a deleted one
    return dict(weights), max(1.0, len(text) + 2.0 * len(title))


def row_numbers(row: Mapping[str, Any], length: float) -> Row:
    """The row's numbers for the index's columns."""
    sequence = _sequence(row)
    return (
        row["serial"],
        length,
        NONE if sequence is None else name_key(sequence),
        math.nan if row["time"] is None else float(row["time"]),
        title_key(row["title"] or ""),
        thread_key(row["thread"]),
    )


def thread_key(thread: str | None) -> int:
    """A number for a thread's name."""
    return NONE if thread is None else name_key("thread:" + thread)


def title_key(title: str) -> int:
    """A number for a title, the same for what differs in case, accents, punctuation or a last word in brackets."""
    plain = bare_title(title)
    return name_key("title:" + plain) if len(plain) >= _LEAST_TITLE else NONE


def bare_title(title: str) -> str:
    """A title's words in lower case without what is in brackets: "Mercury (planet)" is mentioned as Mercury."""
    return plain_name(_BRACKETS.sub("", title))


def plain_name(name: str) -> str:
    """A name's words in lower case, without accents."""
    return " ".join(_WORD.findall(folded(name).lower()))


def folded(text: str) -> str:
    """A text without accents."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _sequence(row: Mapping[str, Any]) -> str | None:
    """The name of the sequence whose neighbours speak for each other, if the row is in one.

    The chunks of a text are one. So are the turns of a dialogue: entries of one thread that have a speaker or no
    title. What has a title and no speaker is a document of its own.
    """
    if row["parent_id"] is not None:
        return f"parent:{row['parent_id']}"
    if row["speaker"] is not None or (row["thread"] is not None and row["title"] is None):
        return f"thread:{row['thread'] or ''}"
    return None
