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
    subject = re.match(_NAME, text)
    if subject is None or subject[0].split()[0].lower() in _NOBODY:
        return ""
    doing, wanted = set(tokenize(verb, stop=False)), set(tokenize(what))
    rest = text[subject.end() :]
    for place, word in enumerate(re.finditer(r"[\w'’-]+", rest)):
        if place >= _BETWEEN or _STOPS.search(rest[: word.start()]):
            return ""
        if set(tokenize(word[0], stop=False)) == doing:
            clause = re.split(r"[;:(]|,\s+(?:who|which|but|and\s+[A-Z])\b", rest[word.end() :])[0]
            return subject[0] if wanted and wanted <= set(tokenize(clause)) else ""
    return ""
