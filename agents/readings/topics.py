"""Which entry of a page a question describes: "Which house was built in 1926?", where one begins **Lantern.**"""

import re
from collections.abc import Callable, Sequence

from pointwork.agents.readings.names import is_person
from pointwork.agents.readings.question import Question
from pointwork.agents.readings.sentences import ASKING, Sentence, holds, stems_of
from pointwork.agents.readings.wanting import Wanted, asking
from pointwork.text import STOP_WORDS

# Of the weight of a question's words so much has to stand in a sentence of the item.
_HELD = 0.6

_ASKED = re.compile(
    r"\b(?:which|what)\s+(?:of\s+(?:our|the)\s+)?(?P<noun>(?!(?:is|are|was|were|do|does|did|has|have|had|can|will)\b)[a-z]+)|"
    r"\b(?P<who>who|whom|whose)\b",
    re.IGNORECASE,
)


def described(
    question: str, want: Wanted, found: Sequence[Sentence], idf: Callable[[str], float]
) -> Sentence | None:
    """The sentence of the only item that a question describes without naming it; None if there is no such one.

    Args:
        question: as it was asked. want: what it asks for.
        found: sentences, best first.
        idf: of a stem.
    """
    asked = _ASKED.search(asking(question))
    if asked is None or want.kind not in ("phrase", "person", "place") or want.several > 1:
        return None
    words = [w for w in Question(question).words if w.text.lower() not in STOP_WORDS and w.stem not in ASKING]
    kind = {stem for stem in stems_of(asked["noun"] or "")}
    # numbers and names are what an item is known by
    hard = [w.stem for i, w in enumerate(words) if w.text.isdigit() or (i and w.text[:1].isupper())]
    told = {w.stem: idf(w.stem) for w in words if w.stem not in kind}
    fitting: dict[str, tuple[float, Sentence]] = {}
    for sentence in found:
        own, topic = stems_of(sentence.text), stems_of(sentence.topic)
        if not topic or topic & set(told) or any(stem not in own for stem in hard):
            continue
        if (kind & (own - topic)) or (
            asked["who"] and asked["who"].lower() != "whose" and not is_person(sentence.topic)
        ):
            continue  # "Which garage …?", and the sentence speaks of a garage
        share = sum(weight * holds(stem, own) for stem, weight in told.items()) / (sum(told.values()) or 1.0)
        if share >= (_HELD if hard else 0.99):
            fitting.setdefault(sentence.topic, (share, sentence))
    best = max(fitting.values(), key=lambda one: one[0], default=None)
    if best is None or sum(share >= best[0] - 0.1 for share, _ in fitting.values()) > 1:
        return None
    return best[1]
