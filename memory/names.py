"""Names in a text: what it may be about, and the titles of other texts that it mentions."""

import re

from pointwork.memory.columns import name_key
from pointwork.text import STOP_WORDS

# Capitalised words, numbers among them, joined by small words: "University of Ghent", "7 May 2023".
_SPAN = re.compile(
    r"\b[A-Z0-9][\w'’&.-]*(?:(?:\s+(?:of|the|and|de|la|von|van|di|du|for|in|on|at|to|a|&))*\s+[A-Z0-9][\w'’&.-]*)*"
)
_SMALL = re.compile(r"\s+(?:of|the|and|in|on|at|to|a|for|&)\s+")
_WORD = re.compile(r"\w+")
_LONGEST = 7  # words of a mentioned title
_LEAST = 4  # letters of one


def names(text: str) -> frozenset[str]:
    """The names in a ``folded`` text, in lower case; of a compound its parts too."""
    found: set[str] = set()
    for match in _SPAN.finditer(text):
        parts = _SMALL.split(match[0])
        for part in [match[0], *parts] if len(parts) > 1 else parts:
            words = _WORD.findall(part.lower())
            while words and words[0] in STOP_WORDS:
                words.pop(0)
            name = " ".join(words)
            if len(name) > 2:
                found.add(name)
    return frozenset(found)


def title_keys(text: str, *, cased: bool = True) -> frozenset[int]:
    """Keys (see ``words.title_key``) of all titles that a ``folded`` text could mention: its runs of a few words.

    Args:
        text: any.
        cased: only runs that begin and end with a capital or a digit; False for questions, which may be written
            without.
    """
    words = _WORD.findall(text)
    lower = [word.lower() for word in words]
    bold = [not cased or not word[0].islower() for word in words]
    found: set[str] = set()
    for start, begins in enumerate(bold):
        if begins:
            run = ""
            for end in range(start, min(len(words), start + _LONGEST)):
                run = f"{run} {lower[end]}" if run else lower[end]
                if bold[end]:
                    found.add(run)
    return frozenset(name_key("title:" + name) for name in found if len(name) >= _LEAST)
