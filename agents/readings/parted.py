"""Which of several values in a sentence is meant, where each stands in a part of its own beside what it is of.

"A visit costs £4.80 for adults, £2.60 for children and £3.90 for seniors": what a senior pays says the part that
speaks of seniors, however near another stands to the other words of the question.
"""

import re
from collections.abc import Sequence

from pointwork.agents.readings.spans import Span
from pointwork.text import tokenize

_PARTS = re.compile(r"[,;:]\s+(?:(?:and|but|or)\s+)?|\s+(?:and|but|while|or)\s+")
_MOST_PARTS = 40
# tokenize knows no irregular plurals
_ALIKE = {"children": "child", "kid": "child", "men": "man", "women": "woman"}


def of_its_part(question: str, pieces: Sequence[Span]) -> Span | None:
    """The piece of the best one's sentence whose part alone speaks of what is asked; None: no part does so alone.

    Args:
        question: as it was asked.
        pieces: what may be the answer, all of the kind that is asked for, best first.
    """
    if not pieces:
        return None
    sentence = pieces[0].sentence
    parts = _PARTS.split(sentence.text)[:_MOST_PARTS]
    held: list[tuple[Span, str, str]] = []
    for part in parts:
        inside = [
            (piece, part[: at.start()], part[at.end() :])
            for piece in pieces
            if piece.sentence == sentence
            and (at := re.search(rf"(?<![\w.]){re.escape(piece.text)}(?![\w]|\.\d)", part))
        ]
        held += inside if len(inside) == 1 else []
    if len({piece.text for piece, _, _ in held}) < 2:
        return None
    behind = sum(bool(_stems(after)) for _, _, after in held) > 1
    told = [(piece, _stems(after if behind else before)) for piece, before, after in held]
    asked = _stems(question)
    # of the words of a question those that one part alone has; the verb stands in the first, and is of all
    alone = [
        len((stems & asked) - {stem for other, (_, of) in enumerate(told) if other != number for stem in of})
        for number, (_, stems) in enumerate(told)
    ]
    most = max(alone)
    return told[alone.index(most)][0] if most and alone.count(most) == 1 else None


def _stems(text: str) -> set[str]:
    return {_ALIKE.get(stem, stem) for stem in tokenize(text) if stem.isalpha()}
