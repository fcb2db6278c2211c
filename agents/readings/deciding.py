"""Whether a text asks for yes or no: "I want to sign on 2025-06-05. Am I still inside it?", "Still in time?"."""

import re

from pointwork.agents.readings import lexicon
from pointwork.agents.readings.wanting import asking

_WHAT = r"(?:what|which|who|whom|whose|how|why|when|where)"
_BE = (
    r"(?:is|are|am|was|were|does|do|did|has|have|had|can|could|may|might|must|shall|should|will|would|ought|need)"
    r"(?:n['’]?t)?"
)
_NOT_YOU = r"\s+(?!you\b|i\s+(?:ask|know)\b)"  # "Can you tell me …"
# what surely is a subject: "the brake test, is due on?" asks for a day
_SUBJECT = (
    r"(?:i|we|he|she|it|they|that|this|these|those|there|the|an?|my|our|his|her|its|their|any\w*|every\w*|each|some\w*|"
    r"both|one|\d[\d.,]*|(?-i:[A-Z][\w'’-]*))\b"
)
_LEAD = r"(?:(?:and|so|but|then|now|well|just\s+curious|please|still|say)\b[\s,:–—-]*)*"
# "Need six sacks", "May takings", "Could I have the number of …"
_NO_VERB = (
    rf"(?!have\s+to\b|had\s+(?:an?|to)\b|need\s+(?!(?:i|we|he|she|it|they)\b)|may\s+(?!{_SUBJECT})|"
    r"(?:can|could|may)\s+(?:i|we)\s+(?:have|get)\s+the\b)"
)
_FIRST = re.compile(rf"\W*{_LEAD}{_NO_VERB}{_BE}{_NOT_YOU}", re.IGNORECASE)
_LATER = re.compile(rf"(?:[,;:–—]|\s-)\s+{_LEAD}{_BE}{_NOT_YOU}{_SUBJECT}(?=\s)", re.IGNORECASE)
_SHORT = re.compile(
    r"(?:^\W*|[,;:–—-]\s+)(?:is that |still |soon |also |even )*"
    r"(?:enough|allowed|all right|okay|ok|in (?:good )?time|too \w+|possible(?=\?|\s+to\b)|permitted|legal|good on)"
    r"\b[^?]*\?\s*$",
    re.IGNORECASE,
)
_OPEN = re.compile(rf"\b{_WHAT}(?:['’]?s)?\b", re.IGNORECASE)
# ... and behind the verb, where it asks: "Is it known when …", "is due again when?"; not ", when Ruth comes in?"
_OPEN_LATER = re.compile(
    r"\b(?:know|known|say|said|tell(?:\s+\w+)?|told|ask|see|remember|on|from|until|till|since|by|at|in)\s+"
    rf"{_WHAT}\b|(?:,|\band)\s+(?:(?:what|how|why)\b|{_WHAT}\s+(?:\w+\s+)?{_BE}\b)|\b(?:when|where|what|who)\s*\?",
    re.IGNORECASE,
)
_OR = re.compile(r"\bor\b(?!\s+(?:more|less|so|later|earlier)\b)", re.IGNORECASE)
_EITHER = re.compile(
    r"\byes or no\b|\b(?:in time|too \w+|late|enough|allowed) or not\b|\bsay yes if\b|\byes (?:=|means)",
    re.IGNORECASE,
)
_WHETHER = re.compile(
    r"\W*(?:(?:and|so|please)\W+)*(?!(?:and|so|please)\b)"
    rf"(?:{lexicon.POLITE}|see|say|let\s+me\s+know)\s+(?:if|whether)\b",
    re.IGNORECASE,
)
# "Is it really under sixty pounds? Well, tell me the amount."
_INSTEAD = re.compile(
    r"\b(?:give|tell|name|show|work|total|amount|sum|date|day|percentage|number|figure)\b", re.IGNORECASE
)


def asks_yes_no(text: str) -> bool:
    """Whether yes or no answers a text: by the sentence that asks, and what is said behind it."""
    if _EITHER.search(text):
        return True
    asked = asking(text).strip()
    if not asked or _INSTEAD.search(text[text.rfind(asked) + len(asked) :]):
        return False
    if _WHETHER.match(asked):
        return not _OPEN_LATER.search(asked)
    first = _FIRST.match(asked)
    if not asked.endswith("?"):  # written in a hurry
        surely = first and re.match(_SUBJECT, asked[first.end() :], re.IGNORECASE)
        return bool(surely) and not _OPEN.search(asked) and not _OR.search(asked)
    found = first or _LATER.search(asked)
    if found is None:
        return bool(_SHORT.search(asked)) and not _OPEN.search(asked)
    opened = _OPEN.search(asked[: found.start()]) or _OPEN_LATER.search(asked, found.start())
    return not opened and not _OR.search(asked, found.end())
