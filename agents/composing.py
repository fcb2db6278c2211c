"""Nested questions as steps: what is computed with something that has first to be found.

``a quarter of what the north line took in`` is a question within a calculation. The rules here know how people
speak of a part, a distance, a sum or a price, and leave the phrase inside as a step of its own. They look at words
only; what a phrase means is for the agent that gets it. (``describing``: who or what is described.)
"""

import re

from pointwork.agents import describing
from pointwork.agents.describing import Steps
from pointwork.text import NUMBER_WORDS

_FRACTIONS = {
    "half": "1/2", "a half": "1/2", "one half": "1/2", "a third": "1/3", "one third": "1/3", "two thirds": "2/3",
    "a quarter": "1/4", "one quarter": "1/4", "three quarters": "3/4", "a fifth": "1/5", "one fifth": "1/5",
    "a tenth": "1/10", "one tenth": "1/10", "twice": "2 *", "double": "2 *", "three times": "3 *",
    "four times": "4 *",
}  # fmt: skip
_NUMBER = r"\d[\d,]*(?:\.\d+)?"
# A phrase that has to be looked up: it names something and holds no sum of its own.
_PHRASE = r"(?P<x>(?:what|the|all|our|its|her|his|their|how|everything|(?-i:[A-Z]))[^?.;]*?)"
_END = r"(?=\s*(?:[?.;,]|$|\s(?:goes|go|is|are|was|were|will|belongs?|to the)\b))"

_FRACTION = "|".join(sorted(_FRACTIONS, key=len, reverse=True))
_PART = re.compile(
    rf"\b(?P<f>(?<!^)(?:twice|double|three times|four times)|(?:{_FRACTION}|{_NUMBER}\s?(?:%|"
    rf"percent|per\s?cent))\s+of)"
    rf"\s+{_PHRASE}{_END}",
    re.IGNORECASE,
)
_DISTANCE = re.compile(
    r"\b(?:difference|gap|time|days|distance)\s+(?:\w+\s+)?between\s+(?P<a>[^?.;]+?)\s+and\s+(?P<b>[^?.;]+?)\s*(?:[?.;]|$)",
    re.IGNORECASE,
)
_APART = re.compile(
    r"\bhow\s+(?:far|many\s+\w+)\s+apart\s+(?:are|were|is|was)\s+(?:the\s+)?(?P<a>[^?.;]+?)\s+and\s+(?:the\s+)?(?P<b>\w+)\s+(?P<rest>[^?.;]+?)\s*[?.]",
    re.IGNORECASE,
)
_THAN = re.compile(
    r"\b(?:how\s+much|by\s+how\s+much|how\s+many\s+(?P<unit>[\w-]+))\s+(?P<way>more|less|longer|shorter|higher|lower|older|younger|heavier|"
    r"lighter|cheaper|dearer|warmer|colder|faster|slower|bigger|larger|smaller|fewer|further|earlier|later|wider|taller|deeper)"
    r"(?:\s+(?P<noun>[\w-]+))?\s+(?P<verb>is|was|are|were|does|did|do|has|have|had|costs?|takes?)\s+(?P<a>[^?.;]+?)\s+than\s+(?P<b>[^?.;]+?)\s*[?.]",
    re.IGNORECASE,
)
_PERCENT_ABOVE = re.compile(
    r"\b(?:by\s+)?(?:what|how\s+many)\s+(?:percentage|percent|per\s?cent)\s+(?:is|was|are|were|does|did|do)\s+(?P<a>[^?.;]+?)\s+"
    r"(?:above|over|below|under|higher\s+than|lower\s+than|more\s+than|less\s+than|exceed|dearer\s+than|cheaper\s+than|larger\s+than|smaller\s+than)\s+"
    r"(?P<b>[^?.;]+?)\s*[?.]",
    re.IGNORECASE,
)
_PERCENT_OF = re.compile(
    r"\b(?:what|how\s+many)\s+(?:percentage|percent|per\s?cent|share)\s+of\s+(?P<b>[^?.;]+?)\s+(?:is|was|are|were|does|did)\s+(?P<a>[^?.;]+?)\s*[?.]",
    re.IGNORECASE,
)
_SHIFT = re.compile(
    r"\b(?P<p>(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)(?:\s+and\s+a\s+half)?\s+(?:days?|weeks?|fortnights?|months?|years?|hours?|minutes?))\s+"
    r"(?P<way>after|before|(?:counted|reckoned|counting|running)\s+from)\s+(?P<x>(?!that\b|this\b|it\b|\{)[^?.;,\d]+?)\s*(?:[?.;,]|$)",
    re.IGNORECASE,
)
_RATE = re.compile(
    rf"\bat\s+(?P<n>{_NUMBER})\s+(?P<a>[a-z]+)\s+(?:an?|per|each|every)\s+(?P<b>[a-z]+)\b,?", re.IGNORECASE
)


def compose(text: str, depth: int = 0) -> Steps | None:
    """The steps of a nested question, or None if it is not nested in a way that is known here."""
    text = _foremost_of_all(text)
    for rule in (
        _raised,
        _compared,
        _lasting,
        _turning,
        _percent,
        _than,
        _more_than,
        _age,
        _until,
        _between,
        _part,
        _shift,
        _rate,
        *describing.RULES,
    ):
        steps = rule(text)
        if steps is not None:
            return _further(steps, len(text), depth) if rule in describing.RULES else steps
    return None


# "more loaves than any other" are the most loaves.
_THAN_ALL = re.compile(
    r"\b(?P<way>more|less|fewer|(?!rather|other|either)[a-z]{3,}er)\s+(?P<what>(?:[a-z]+\s+){0,2})than\s+"
    r"(?:any(?:\s+of\s+the)?\s+others?(?:\s+[a-z]+)?|all\s+(?:of\s+)?(?:the\s+)?(?:others|rest)|any(?:one|body|thing)\s+else|every(?:one|body)\s+else)\b",
    re.IGNORECASE,
)
_MOST = {"more": "most", "less": "least", "fewer": "fewest", "better": "best"}


def _foremost_of_all(text: str) -> str:
    """A comparison with all others as the superlative that it is."""

    def most(match: re.Match[str]) -> str:
        way = match["way"].lower()
        return f"the {_MOST.get(way, f'{way[:-1]}st')} {match['what']}".rstrip()

    return _THAN_ALL.sub(most, text)


_NAME = r"[A-Z][\w'’-]+(?:\s+[A-Z][\w'’-]+)*"
_COUNT = rf"(?:{_NUMBER}|{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
_RAISED = re.compile(
    rf"\b(?P<verb>put|add|take|knock|deduct)\s+(?:[\w]+\s+(?:at|of)\s+)?(?P<n>{_COUNT})\s?(?:%|percent|per\s?cent)\s+(?:\w+\s+)?"
    rf"(?:on\s?to|on|to|off|from)\s+(?P<x>[^?.;]+?)\s*(?:[?.;]|$|,?\s+and\s+(?:tell|give|say|let|what|then)\b)",
    re.IGNORECASE,
)


def _raised(text: str) -> Steps | None:
    """``Put four per cent on Ann's fee``, ``take 10 % off what the skis cost``."""
    match = _RAISED.search(text)
    if match is None or _counts_inside(match["x"]) or _counts_inside(text[: match.start()] + text[match.end() :]):
        return None
    count = NUMBER_WORDS.get(match["n"].lower(), match["n"].replace(",", ""))
    sign = "+" if match["verb"].lower() in ("put", "add") else "-"
    return [(_found(match["x"]), ()), (f"{{s1}} * (1 {sign} {count}/100)", (1,))]


_TURNING = re.compile(rf"\bwhen\s+(?P<x>(?:the|our)\s+[a-z]+|{_NAME})\s+(?:turns|reaches)\s+(?P<n>{_COUNT})\b")


def _turning(text: str) -> Steps | None:
    """``In what year does the club turn forty?``, said as ``when the club turns forty``."""
    match = _TURNING.search(text)
    if match is None or not re.search(r"\b(?:what|which)\s+year\b", text, re.IGNORECASE):
        return None
    if _counts_inside(text[: match.start()] + text[match.end() :]):
        return None
    born = "born" if match["x"][0].isupper() else "founded"
    count = NUMBER_WORDS.get(match["n"].lower(), match["n"])
    return [(f"In what year was {match['x']} {born}?", ()), (f"{{s1}} + {count}", (1,))]


_COMPARED = re.compile(
    rf"(?<![\d,.])(?P<n>{_NUMBER})[^?]*?[.;,–—]\s+(?:so\s+)?(?:is|are|does|would|will)\s+(?:that|this|it|they)\s+(?:be\s+)?"
    r"(?P<way>over|above|more\s+than|higher\s+than|exceed|beyond|under|below|less\s+than|lower\s+than)\s+(?P<x>[^?.;]+)\?",
    re.IGNORECASE,
)
_OVER = ("over", "above", "more", "higher", "exceed", "beyond")


def _compared(text: str) -> Steps | None:
    """``It all comes to 925 kg. Is that over the payload?``"""
    match = _COMPARED.search(text)
    if match is None or _counts_inside(match["x"]) or _counts_inside(text[: match.start()]):
        return None
    way = "more" if match["way"].lower().split()[0] in _OVER else "less"
    return [(_found(match["x"]), ()), (f"Is {match['n']} {way} than {{s1}}?", (1,))]


_LASTING = re.compile(
    rf"\b(?i:when|(?:on|in)\s+(?:what|which)\s+(?:day|date|year))\s+(?:will|would)\s+(?P<x>{_NAME})\s+have\s+been\s+"
    rf"(?:with\s+us|here|with\s+the\s+[a-z]+|in\s+the\s+[a-z]+)\s+(?:for\s+)?(?:exactly\s+)?(?P<n>{_COUNT})\s+years\b"
)


def _lasting(text: str) -> Steps | None:
    """``On what day will Ann have been with us ten years?``"""
    match = _LASTING.search(text)
    if match is None or _counts_inside(text[: match.start()] + text[match.end() :]):
        return None
    return [(f"When did {match['x']} join?", ()), (f"{match['n']} years after {{s1}}", (1,))]


def _further(steps: Steps, length: int, depth: int) -> Steps:
    """Steps whose last, with the answer before it in place, may be a nested question too (but a shorter one)."""
    *before, (text, _) = steps
    known = len(before)
    # a name stands for it, as the answer will mostly be one: a short one, as "Ann's son" is no longer than "{s1}"
    name = f"Zq{chr(ord('a') + depth)}"
    text = text.replace(f"{{s{known}}}", name)
    inner = compose(text, depth + 1) if len(text) < length else None
    if inner is None:
        return steps
    for asked, of in inner:
        shifted = re.sub(r"\{s(\d+)\}", lambda m: f"{{s{int(m[1]) + known}}}", asked)
        told = (known,) if name in shifted else ()
        before.append((shifted.replace(name, f"{{s{known}}}"), (*told, *(place + known for place in of))))
    return before


def _found(phrase: str) -> str:
    """A phrase as a question of its own."""
    phrase = phrase.strip(" ,.;?")
    if re.match(r"(?:what|which|who|how|when|where)\b", phrase, re.IGNORECASE):
        return f"{phrase[0].upper()}{phrase[1:]}?"
    if re.match(r"(?:all|everything)\b", phrase, re.IGNORECASE):  # one number is wanted, not a list
        return f"What is the total of {phrase}?"
    return f"What is {phrase}?"


def _part(text: str) -> Steps | None:
    match = _PART.search(text)
    if match is None or _counts_inside(match["x"]) or _counts_inside(text[: match.start()] + text[match.end() :]):
        return None
    written = re.sub(r"\s+", " ", match["f"].lower()).removesuffix(" of")
    fraction = _FRACTIONS.get(written) or re.sub(r"\s?(?:percent|per\s?cent)", "%", written)
    joint = " " if fraction.endswith("*") else " of "
    return [(_found(match["x"]), ()), (f"{fraction}{joint}{{s1}}", (1,))]


def _counts_inside(phrase: str) -> bool:
    """Whether a phrase is a sum itself: a number of things that the question gives."""
    return bool(
        re.search(
            rf"(?<![\w-]){_NUMBER}(?![\w-])", re.sub(r"\b(?:1[5-9]|20)\d\d\b|\d+\s+[A-Z]\w+\s+\d{4}", "", phrase)
        )
    )


def _than(text: str) -> Steps | None:
    match = _THAN.search(text)
    if match is None or _counts_inside(match["a"] + match["b"]):
        return None
    what = _MEASURES.get(match["way"].lower(), "")
    noun = match["noun"] or match["unit"] or ""
    ask = (
        f"How {what} {match['verb']}"
        if what
        else f"How many {noun} {match['verb']}"
        if noun
        else f"What {match['verb']}"
    )
    return [
        (f"{ask} {match['a'].strip()}?", ()),
        (f"{ask} {match['b'].strip()}?", ()),
        ("abs({s1} - {s2})", (1, 2)),
    ]


_MEASURES = {
    "longer": "long", "shorter": "long", "higher": "high", "lower": "high", "older": "old", "younger": "old",
    "heavier": "heavy", "lighter": "heavy", "warmer": "warm", "colder": "warm", "faster": "fast", "slower": "fast",
    "bigger": "big", "larger": "large", "smaller": "large", "further": "far", "wider": "wide", "taller": "tall",
    "deeper": "deep", "cheaper": "much", "dearer": "much",
}  # fmt: skip


def _between(text: str) -> Steps | None:
    match = _APART.search(text)
    if match is not None:
        first, second, rest = match["a"].strip(), match["b"].strip(), match["rest"].strip()
        return [
            (f"What was the {first} {rest}?", ()),
            (f"What was the {second} {rest}?", ()),
            ("abs({s2} - {s1})", (1, 2)),
        ]
    match = _DISTANCE.search(text)
    if match is None or re.search(r"\d", match["a"] + match["b"]):
        return None
    kind = match[0].split()[0].lower()
    if kind == "days":
        return [
            (f"On what date was {match['a']}?", ()),
            (f"On what date was {match['b']}?", ()),
            ("days between {s1} and {s2}", (1, 2)),
        ]
    return [(_found(match["a"]), ()), (_found(match["b"]), ()), ("abs({s1} - {s2})", (1, 2))]


# "Blue skis – by what percentage is …": both prices are theirs.
_TOPIC = re.compile(r"^\W*(?P<x>[A-Z][^?.;:–—,]{2,40}?)\s*(?:[:–—]|\s-\s)")


def _percent(text: str) -> Steps | None:
    match, topic = _PERCENT_ABOVE.search(text), _TOPIC.match(text)
    if match is not None and not _counts_inside(match["a"] + match["b"]):
        of = f" of {topic['x']}" if topic is not None and topic.end() <= match.start() else ""
        return [
            (_found(match["a"] + of), ()),
            (_found(match["b"] + of), ()),
            ("abs({s1} - {s2}) / {s2} * 100", (1, 2)),
        ]
    match = _PERCENT_OF.search(text)
    if match is not None and not _counts_inside(match["a"] + match["b"]):
        return [(_found(match["a"]), ()), (_found(match["b"]), ()), ("{s1} / {s2} * 100", (1, 2))]
    return None


def _shift(text: str) -> Steps | None:
    match = _SHIFT.search(text)
    if match is None or re.match(r"(?:the\s+)?(?:sub|begin|start|end)\w*$", match["x"]):
        return None
    way = "before" if match["way"].lower() == "before" else "after"
    asked = "At what time" if re.search(r"\b(?:hour|minute)s?$", match["p"], re.IGNORECASE) else "On what date"
    return [(f"{asked} is {match['x'].strip()}?", ()), (f"{match['p']} {way} {{s1}}", (1,))]


_MORE = re.compile(
    r"\bby\s+how\s+(?:much|many\s+(?P<unit>[\w-]+))\s+(?P<aux>did|does|do|was|is|were|are|has|have)\s+(?P<a>[^?.;]+?)\s+"
    r"(?P<verb>[a-z]+(?:\s+in)?\s+)?(?:more|less)\s+than\s+(?P<b>[^?.;]+?)\s*[?.]",
    re.IGNORECASE,
)


def _more_than(text: str) -> Steps | None:
    """``By how many pounds did the fair bring in more than the walk?``"""
    match = _MORE.search(text)
    if match is None or _counts_inside(match["a"] + match["b"]):
        return None
    asked = f"How many {match['unit']}" if match["unit"] else "How much"
    verb = (match["verb"] or "").strip()
    ask = f"{asked} {match['aux']} {{}} {verb}".rstrip()
    return [(f"{ask.format(match['a'])}?", ()), (f"{ask.format(match['b'])}?", ()), ("abs({s1} - {s2})", (1, 2))]


_AGE = re.compile(
    r"\b[Hh]ow\s+(?:many\s+(?:full\s+)?years\s+)?old\s+(?:will|was|is|were)\s+(?P<x>[A-Z][\w'’-]+(?:\s+[A-Z][\w'’-]+)*|(?!the\b|an?\b|our\b|his\b|her\b|my\b|its\b|their\b)[a-z]+\s+[a-z]+)(?:\s+be)?,?\s+"
    r"(?:when|on\s+the\s+day(?:\s+(?:that|when|of))?|on(?=\s+(?:its|the|his|her)\b)|at\s+the\s+time\s+of|at)\s+(?P<y>[^?.;]+?)(?:,?\s+in\s+(?:full|whole|completed?)\s+years)?\s*(?:[?.]|$)",
)


def _age(text: str) -> Steps | None:
    """``How old was Ann when the mill burned?``"""
    match = _AGE.search(text)
    if match is None or re.search(r"\d", match["y"]):
        return None
    event = re.sub(r"\b(?:s?he|they)\b", match["x"], match["y"])
    return [
        (f"When was {match['x']} born?", ()),
        (f"On what date was it: {event}?", ()),
        ("born {s1}, how old on {s2}?", (1, 2)),
    ]


_UNTIL = re.compile(
    r"\b(?:from|since|after)\s+(?:the\s+(?:date|day)\s+of\s+)?(?P<a>(?:the|our|her|his|its|their)\s[^?.;,\d]+?),?\s+(?:how\s+many\s+(?P<unit>days|weeks|months|years))"
    r"\s+(?:were\s+there|was\s+it|is\s+it|are\s+there|went\s+by|passed|lie|did\s+it\s+take|are)\s+(?:until|till|to|before)\s+(?P<b>[^?.;\d]+?)\s*[?.]|"
    r"\bhow\s+many\s+(?P<unit2>days|weeks|months|years)\s+after\s+(?P<a2>[^?.;,\d]+?)\s+(?:was|were|is|(?P<did>did))\s+(?P<b2>[^?.;\d]+?)\s*[?.]|"
    r"\bhow\s+many\s+(?P<unit4>days|weeks|months|years)\s+(?:after|from|since)\s+(?P<a4>[^?.;,\d]+?)\s+(?:was|were|is|did|until|to)\s+(?P<b4>[^?.;\d]+?)\s*[?.]|"
    r"\bhow\s+many\s+(?P<unit3>days|weeks|months|years)\s+(?:were\s+there|went\s+by|passed|lie|are\s+there|was\s+it|is\s+it)\s+(?:between|from)\s+(?P<a3>[^?.;,\d]+?)\s+(?:and|to|until)\s+(?P<b3>[^?.;\d]+?)\s*[?.]",
    re.IGNORECASE,
)


def _until(text: str) -> Steps | None:
    """``How many days passed from the flood to the payment?``"""
    match = _UNTIL.search(text)
    if match is None:
        return None
    first, second, unit = (
        next(match[f"{name}{form}"] for form in ("", "2", "3", "4") if match[f"{name}{form}"])
        for name in ("a", "b", "unit")
    )
    return [
        (f"On what date was {first.strip()}?", ()),
        (f"On what date {'did' if match['did'] else 'was'} {second.strip()}?", ()),
        (f"how many {unit} between {{s1}} and {{s2}}", (1, 2)),
    ]


def _rate(text: str) -> Steps | None:
    """``At 40 pages an hour, how many hours …``: what is there, divided by the rate; with a price, multiplied."""
    match = _RATE.search(text)
    if match is not None:
        rest = (text[: match.start()] + text[match.end() :]).strip(" ,")
        if re.search(rf"\bhow\s+(?:many\s+{match['b']}s?|long)\b", rest, re.IGNORECASE):
            inner = re.sub(
                rf"\bhow\s+(?:many\s+{match['b']}s?|long)\b", f"how many {match['a']}", rest, flags=re.IGNORECASE
            )
            return [(inner[0].upper() + inner[1:], ()), (f"{{s1}} / {match['n']}", (1,))]
    return None
