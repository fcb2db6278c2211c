"""What a user asks for outright: which acts, which addresses and things, which sources.

The user's task is the one text that may give orders. It is read narrowly: a verb counts where an order stands
("..., then delete report.txt", not "does it ask me to delete report.txt"), a thing counts where it is not
excepted ("not plan.md"), and an address inside a longer quotation is somebody else's.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from pointwork.text import tokenize

SENDS = (
    "send|mail|e-?mail|post|share|upload|forward|reply|respond|answer|publish|notify|message|tell|ask|submit|push|"
    "text|invite|pay|transfer|order|book|call|report|deliver|write to|let|inform|remind"
)
_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|```.*?```|(?<![\w'])'[^']*'(?!\w)|^>.*?$", re.DOTALL | re.MULTILINE)
_PASTED_WORDS = 8  # a quotation of so many words is a text, not a name
_ORDERED = (
    r"(?:^|[.;:,!?\n(]\s*|\b(?:and|then|please|also|you|must|should|next|finally|afterwards|but|so|or|else|first|now)\s+"
    r"|\b(?:want|need|like|have|has|want you|need you|like you)\s+to\s+)"
    r"(?:please\s+|then\s+|also\s+)?"
)
_REFUSED = re.compile(
    r"(?:\b(?:not|never|ignor\w*|except|avoid\w*|without|instead of|rather than|nor|block\w*)\b|n['’]t\b)"
    r"(?:\W+\w+){0,4}\W*$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;!?\n]\s|,\s*but\b")
# Words of tools and tasks that say nothing of what is read.
_GENERIC = frozenset(
    tokenize(
        "read get fetch list show find search look open see file text tool data http https www com example send "
        "mail post say tell summary summarise summarize sum gist write note page content call make use new all one "
        "today my the public channel user what"
    )
)
_SAME = (
    frozenset(tokenize("inbox mail email message letter")),
    frozenset(tokenize("calendar day agenda appointment schedule meeting diary")),
    frozenset(tokenize("memory remember recall remembered fact")),
    frozenset(tokenize("salary salaries pay wage wages")),
)


@lru_cache(maxsize=64)
def own_words(task: str) -> str:
    """A task without the texts that the user pasted into it: quotations of many words."""

    def short(match: re.Match[str]) -> str:
        return match[0] if len(match[0].split()) < _PASTED_WORDS else " "

    return _QUOTED.sub(short, task)


def pasted(task: str) -> str:
    """The texts that the user pasted into a task."""
    return "\n".join(m[0] for m in _QUOTED.finditer(task) if len(m[0].split()) >= _PASTED_WORDS)


def ordered(verbs: str, task: str) -> bool:
    """Whether the user orders one of some acts (an alternation of verbs), and does not forbid it."""
    words = own_words(task)
    found = re.finditer(rf"{_ORDERED}(?P<verb>(?:{verbs})\b)", words, re.IGNORECASE)
    return any(not _REFUSED.search(words[: match.start("verb")]) for match in found)


def sends(task: str) -> bool:
    """Whether the user asks to send something to somebody."""
    return ordered(SENDS, task)


def names(task: str, thing: str) -> bool:
    """Whether the user names a thing or an address as it stands (a web address also without its scheme)."""
    words = own_words(task).lower()
    plain = thing.strip().lower()
    spellings = {plain, re.sub(r"^https?://(?:www\.)?", "", plain)}
    return any(spelling and _stands(words, spelling) for spelling in spellings)


def _stands(words: str, thing: str) -> bool:
    for match in re.finditer(rf"(?<![\w@]){re.escape(thing)}(?![\w@]|[./?&=]\w)", words):
        clauses = _CLAUSE.split(words[: match.start()])
        if not _REFUSED.search(clauses[-1]):
            return True
    return False


def holds_all(task: str, texts: Iterable[str]) -> bool:
    """Whether each word of some texts is the user's own: such a call tells nobody anything."""
    words = set(tokenize(own_words(task), stop=False, stem=False))
    return all(
        names(task, text) if "://" in text or "@" in text else words >= set(tokenize(text, stop=False, stem=False))
        for text in texts
    )


def acts(tool: str, task: str) -> bool:
    """Whether the user orders what a tool's name says that it does (``delete_file``: "delete report.txt")."""
    verbs = [re.escape(word) for word in re.split(r"[^a-zA-Z]+", tool) if len(word) > 2]
    return bool(verbs) and ordered("|".join(verbs), task)


def source(task: str, tool: str, arguments: Iterable[str]) -> bool:
    """Whether the user speaks of a private source: by what the tool is called, or by what it was asked for."""
    about = set(tokenize(tool)) - _GENERIC
    for text in arguments:
        if text.strip() and names(task, text):
            return True
        about |= set(tokenize(text.rpartition("/")[2].rpartition(".")[0] or text)) - _GENERIC
    for same in _SAME:
        if about & same:
            about |= same
    # "mail it to ann" speaks of no mail that was read
    rest = re.sub(rf"{_ORDERED}(?:{SENDS})\b", " ", own_words(task), flags=re.IGNORECASE)
    return bool(about & set(tokenize(rest)))


def not_asked_for(task: str, text: str) -> str:
    """The sentences of a private text that have no word in common with the task."""
    words = set(tokenize(own_words(task))) - _GENERIC
    sentences = re.split(r"(?<=[.!?])\s+|\n", text)
    return "\n".join(sentence for sentence in sentences if not words & set(tokenize(sentence)))
