"""Who somebody is, or who does something, where a sentence says it in so many words.

"The bar manager is Callum Reyes", "Agnes Thwaite plays and tunes the piano": nothing has to be weighed there.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from pointwork.agents.readings.sentences import Sentence
from pointwork.text import NUMBER_WORDS, STOP_WORDS, tokenize

_TITLE = r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Prof|Sir|Lady|Captain|Father|Sister|Brother)\.?\s+)"
_WORD = r"\b[A-Z][\w'’-]{1,40}(?<!['’]s)"
_NO_NAME = r"(?!(?:Ask|Call|Ring|See|Contact|Tell|Phone|Mail|Email|Thank|Dear|Meet)\b)"
_NAME = rf"{_NO_NAME}{_TITLE}?{_WORD}(?:\s+(?:(?:de|van|von|der|den|la|le|af|of)\s+)?{_WORD}){{0,3}}"
_IS = re.compile(
    r"^\W*who(?:\s+(?:is|was)|['’]s)\s+(?:(?:the|our|your|their|its|my)\s+)?(?P<role>[a-z][^?.,;:]*?)\W*$",
    re.IGNORECASE,
)
_DOES = re.compile(
    r"^\W*who\s+(?:(?:is|was)\s+(?:it|the\s+(?:person|one|man|woman))\s+(?:that|who)\s+)?(?P<verb>[a-z]+)\s+"
    r"(?P<what>[^?.,;:]+?)\W*$",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(r"is|are|was|were|ha[sd]|have|do|does|did|can|could|may|might|must|will|would|sh\w+|else")
# At the beginning of a sentence, behind a lead ("Staff: ") or in a clause of its own.
_SUBJECT = re.compile(rf"(?:^[^\W\d_][^.:;]{{0,60}}:\s+|^|[,;]\s+(?:(?:and|but|while)\s+)?)(?P<n>{_NAME})")
_THERE = re.compile(r"\b(?:there|it|them)\b", re.IGNORECASE)
_ROLE_WORDS = 6
MAX_CHARACTERS = 1000  # of a question: longer ones ask for more than a name
_BETWEEN = 6  # words from a name to its verb
_STOPS = re.compile(
    r"[,;:(]|\b(?:who|which|that|whose|but|not|never|no|nor|if|until|would|could|should)\b", re.IGNORECASE
)
# Written with a capital at the beginning of a sentence, and nobody's name.
_NOBODY = frozenset({*STOP_WORDS, *NUMBER_WORDS, "nobody", "everyone", "everybody", "someone", "whoever", "please"})


class Told(NamedTuple):
    """Who it is, and the sentence that says so."""

    name: str
    sentence: Sentence


def told(question: str, found: Sequence[Sentence]) -> Told | None:
    """Who a question asks for, as a sentence says outright; None if none does, or two say different things.

    Args:
        question: as it was asked. found: sentences, best first.
    """
    if len(question) > MAX_CHARACTERS:
        return None
    does = _DOES.match(question)
    if does is not None and not _AUXILIARY.fullmatch(does["verb"].lower()):
        named = [(_who_does(does["verb"], does["what"], one.text), one) for one in found]
    elif match := _IS.match(question):
        role = match["role"].split()
        named = [(_of_role(role, one.text), one) for one in found] if len(role) <= _ROLE_WORDS else []
    else:
        return None
    said = [Told(name, one) for name, one in named if name]
    return said[0] if len({one.name for one in said}) == 1 else None


def named(question: str, best: Sentence) -> str:
    """The thing that is asked for by its kind, where the sentence that fits best says it, or its number, outright.

    "Which batch was lost?", of "Of batch G-106 forty litres were lost": G-106. "Which instrument does he play?", of
    "His instrument is the cello, which he plays in an orchestra": cello. Empty if none is named, or several.
    """
    asked = _WHICH.search(question[:MAX_CHARACTERS])
    if asked is None:
        return ""
    noun = re.escape(asked["noun"])
    does = re.match(r"\s+(?:do|does|did|has|have|had|can|will|would)\b", question[asked.end() :], re.I)
    stated = (
        []
        if does is None
        else re.findall(rf"\b{_WHOSE}\s+{noun}\s+(?:is|was)\s+(?:the\s+|an?\s+)?({_PLAIN})", best.text, re.I)
    )
    if len(stated) == 1 and not set(tokenize(stated[0])) <= set(tokenize(question)):
        return stated[0]
    number = rf"\b{noun}\s+((?:no\.?\s+)?(?=[\w-]{{0,8}}\d)[A-Z]{{0,4}}[\w-]{{1,12}})\b"
    found = re.findall(number, best.text, re.I)
    if len(set(found)) != 1 or found[0] in question:
        return ""
    return found[0] if re.search(r"[A-Za-z]", found[0]) else f"{asked['noun']} {found[0]}"


_WHOSE = r"(?:his|her|its|their|our|my)"
_LINKS = r"(?:which|who|that|and|but|for|in|on|at)\b"
# A few words up to the end of their clause.
_PLAIN = rf"[\w'’-]+(?:\s+(?!{_LINKS})[\w'’-]+){{0,3}}(?=\s*(?:[,.;:(]|$)|\s+{_LINKS})"
_WHICH = re.compile(r"\b(?:which|what)\s+(?P<noun>[a-z]{3,20})\b", re.IGNORECASE)


def _of_role(role: Sequence[str], text: str) -> str:
    said = r"\s+".join(map(re.escape, role)) + r"\b(?!['’]s)"
    patterns = (
        rf"\b(?:[Tt]he|[Oo]ur|[Ii]ts|[Aa]s)\s+(?i:{said})(?:\s+(?:here|now|this\s+year))?\s*(?:is|:)\s+(?:now\s+|still\s+)?(?P<n>{_NAME})",
        rf"(?P<n>{_NAME})\s+(?:is|acts\s+as|serves\s+as|works\s+as)\s+(?:now\s+|also\s+)?(?:the\s+|our\s+|its\s+|their\s+)?(?i:{said})",
        rf"(?P<n>{_NAME}),\s+(?:who\s+is\s+)?(?:the|our|its|their)\s+(?i:{said})",
        rf"\b(?:[Tt]he|[Oo]ur|[Ii]ts)\s+(?i:{said}),?\s+(?P<n>{_NAME})",
    )
    for pattern in patterns:
        for match in re.finditer(pattern, text):
            if match["n"].split()[0].lower() not in _NOBODY:
                return match["n"]
    return ""


def _who_does(verb: str, what: str, text: str) -> str:
    doing, wanted = set(tokenize(verb, stop=False)), set(tokenize(what))
    for subject in _SUBJECT.finditer(text):
        if wanted and subject["n"].split()[0].lower() not in _NOBODY:
            clause = _does(doing, text[subject.end() :])
            held = set(tokenize(clause))
            if _THERE.search(clause):  # "The hall is large, and Ann Bell cleans everything there"
                held |= set(tokenize(text[: subject.start()]))
            if clause and wanted <= held:
                return subject["n"]
    return ""


def _does(doing: set[str], rest: str) -> str:
    """What stands behind a verb, up to the end of its clause; empty if it is not what a subject before it does."""
    for place, word in enumerate(re.finditer(r"[\w'’-]+", rest)):
        before = rest[: word.start()]
        if place >= _BETWEEN or _STOPS.search(before) or re.search(r"\band\s+[A-Z]", before):
            return ""
        if set(tokenize(word[0], stop=False)) == doing:
            return re.split(r"[;:(]|,\s+(?:who|which|but|and\s+[A-Z])\b", rest[word.end() :])[0]
    return ""
