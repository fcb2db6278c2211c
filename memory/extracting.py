"""Facts that a text states outright, by patterns: the Low tier, no model and no guess.

Known forms: "the gate code is 4711", "the code of the gate is …", "Ada's office is …", "my name is …", "we moved
the meeting (from 9:00) to 10:30", "the office opens at 8", "Ada lives in Ghent", "the key is in the drawer", each
with "since 1 March", "until Friday" and the like. What asks, doubts, denies or supposes states nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pointwork.memory.dates import Period, periods
from pointwork.memory.items import UNTRUSTED
from pointwork.memory.suspicion import gives_orders
from pointwork.text import sentences, tokenize

MOST = 200  # facts of one text
_SENTENCE = 1000  # characters; what is longer is no sentence, and the forms take the square of its length
SELF = "user"  # whose "my" it is, where no speaker is named
TIME, PLACE, STATE = "time", "place", "is"
IMPLIED = frozenset({TIME, PLACE, STATE})  # relations that a question asks for without naming them


@dataclass(frozen=True, slots=True)
class Stated:
    """A fact as a text states it.

    Attributes:
        subject, relation, value: in the text's words.
        valid_from, valid_to: seconds since the epoch; None: the text does not say.
    """

    subject: str
    relation: str
    value: str
    valid_from: float | None = None
    valid_to: float | None = None


# The last word of "the gate code": what is had, and not what has it.
_HAD = """
    address age amount balance birthday boss budget capacity captain chair code colour color combination contact
    cost count date deadline deposit director duration email extension fare fee frequency head height host hours
    id leader length limit location manager name nickname number owner passcode password phone pin plate position
    price quota rate rent rule salary schedule score secretary serial size speed status supplier temperature time
    title total url version wage weight width
"""
_ATTRIBUTES = frozenset(_HAD.split())
_NOUN = r"(?:[\w&-]+(?:['’][\w-]+)?)(?:\s+[\w&'’-]+){0,4}?"
_VALUE = r"(?P<value>\S.{0,99}?)"
_IS = r"\s+(?P<be>is|are|was|were|used\s+to\s+be)(?:\s+(?:now|currently))?\s+"
_START = r"(?:^|[,:;]\s*|\b(?:that|so|and|but|remember|note)\s+)"
_THE = r"(?:(?:the|our|this)\s+)"
_CHANGED = r"(?:moved|rescheduled|postponed|shifted|changed|pushed|switched|updated|delayed|raised|lowered|set)"
_TO = rf"(?:\s+(?:forward|back|up|down|over))?(?:\s+from\s+(?P<old>.{{1,50}}?))?\s+to\s+{_VALUE}$"

_BE, _TOLD, _AT = r"\b(?:is|are|was|were|used to be)\b", rf"\b{_CHANGED}\b.* to\b", r"\b(?:at|in|for|to)\b"
# name, what a sentence must hold to be worth the search, form
_FORMS: tuple[tuple[str, "re.Pattern[str]", "re.Pattern[str]"], ...] = tuple(
    (name, re.compile(sign, re.IGNORECASE), re.compile(form, re.IGNORECASE))
    for name, sign, form in (
        (
            "of",
            rf"\b(?:of|for)\b.*{_BE}",
            rf"{_START}(?:the|our|my)\s+(?P<relation>{_NOUN})\s+(?:of|for)\s+(?P<subject>{_NOUN}){_IS}{_VALUE}$",
        ),
        ("own", rf"\bmy\b.*{_BE}", rf"{_START}my\s+(?P<relation>{_NOUN}){_IS}{_VALUE}$"),
        ("changed", _TOLD, rf"\b{_CHANGED}\s+(?P<subject>{_THE}?{_NOUN}){_TO}"),
        (
            "changed",
            _TOLD,
            rf"{_START}{_THE}?(?P<subject>{_NOUN})\s+(?:(?:was|were|is|are|got|has|have)\s+)?(?:now\s+)?(?:been\s+)?"
            rf"{_CHANGED}{_TO}",
        ),
        (
            "lives",
            rf"\b(?:live|work)s?\b.*{_AT}",
            rf"{_START}(?P<subject>{_NOUN})\s+(?:now\s+)?(?P<relation>lives?|works?)\s+(?:now\s+)?(?:in|at|for)\s+"
            rf"{_VALUE}$",
        ),
        (
            "hours",
            r"\b(?:opens?|closes?|starts?|begins?|ends?|leaves?|departs?|arrives?)\b.* at\b",
            rf"{_START}{_THE}?(?P<subject>{_NOUN})\s+(?:now\s+)?(?P<relation>opens?|closes?|starts?|begins?|ends?|"
            rf"leaves?|departs?|arrives?)\s+(?:now\s+)?at\s+{_VALUE}$",
        ),
        ("whose", rf"['’].*{_BE}", rf"{_START}(?P<subject>{_NOUN})['’]s?\s+(?P<relation>{_NOUN}){_IS}{_VALUE}$"),
        (
            "at",
            rf"{_BE}\s.*{_AT}|{_BE} .*\bon\b",
            rf"{_START}{_THE}?(?P<subject>{_NOUN}){_IS}(?:at|on|in)\s+{_VALUE}$",
        ),
        ("is", _BE, rf"{_START}(?P<the>{_THE})?(?P<subject>{_NOUN}){_IS}{_VALUE}$"),
    )
)

_MAYBE = re.compile(
    r"\b(?:if|would|could|should|might|(?-i:may)|maybe|perhaps|probably|suppose|imagine|unless|whether|not|never|"
    r"no longer|cannot|wish|hope|think|guess|as if|will)\b|n['’]t\b",
    re.IGNORECASE,
)
_WORTH = re.compile(r"\b(?:is|are|was|were|lives?|works?|at|to)\b", re.IGNORECASE)
_CUT = re.compile(
    r"\s*(?:,\s*(?:and|but|so|because|which|who|as|while|since\s+(?:we|it|he|she|they|I))\b|\s(?:because|but|"
    r"so that|although|though|and\s+(?:the|my|our|we|I|it|he|she|they))\b|\s[-–—]\s|\s\().*$",
    re.IGNORECASE,
)
_SINCE = re.compile(r"[,\s]+(?:since|as\s+of|as\s+from|from|starting|effective)\s+(?P<when>.+)$", re.IGNORECASE)
_UNTIL = re.compile(r"[,\s]+(?:until|till|through)\s+(?P<when>.+)$", re.IGNORECASE)
_IN = re.compile(r"[,\s]+(?:in|on|during)\s+(?P<when>.+)$", re.IGNORECASE)
_DONE = re.compile(
    r"[,\s]+(?P<when>on\s+.+|in\s+.+|(?:last|this)\s+\w+|yesterday|today|tonight|\w+\s+\w+\s+ago)$", re.IGNORECASE
)
_LEADING = re.compile(
    r"^(?P<word>since|as\s+of|from|starting|effective|until|till|in)\s+(?P<when>[^,]{2,30}?)(?:,\s*|\s+(?=(?:the|our|my)\b))",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(r"^(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE)
_NOW = re.compile(
    r"[,\s]+(?:now|currently|at present|from now on|these days|again|instead|today|too|already)$", re.IGNORECASE
)
_CLOCK = re.compile(
    r"^(?:[^,]{0,20}\s)?(?:\d{1,2}[:.]\d\d|\d{1,2}(?=\s?(?:am|pm|a\.m|p\.m|o['’]clock)\b)|noon|midnight|half past|"
    r"(?:\d{1,2}(?:st|nd|rd|th)?\s+)?(?:january|february|march|april|may(?=\s+\d|$)|june|july|august|september|"
    r"october|november|december)\b|(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\d{4}-\d\d-\d\d)",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"^(?:a|an|the|being|going|getting|very|so|too|really|just|about|there|that|what|how|why|when|one)\b|^\w+ing\b",
    re.IGNORECASE,
)
_PRONOUNS = """
    it that this there here he she they you i we me him her them what which who where when how why let one all
    everything something nothing someone everyone these those
"""
_NOBODY = frozenset(_PRONOUNS.split())
_LEAD = re.compile(
    r"^(?:the|our|my|your|his|her|their|a|an|this|that|now|and|but|so|new|current|latest|updated)\s+", re.IGNORECASE
)
_FORMER = re.compile(r"^(?:old|former|previous|earlier|original)\s+", re.IGNORECASE)
_LONGEST_NAME, _LONGEST_VALUE = 60, 80


def extract(text: str, *, seen: float, speaker: str | None = None, trust: str = "user") -> list[Stated]:
    """What a text states, in its order; each fact once.

    Args:
        text: any.
        seen: when it was said, seconds since the epoch: where "since Monday last week" is seen from.
        speaker: whose "my" it is; None: the user's.
        trust: who wrote it. What outsiders wrote as an order states nothing.
    """
    if not _WORTH.search(text) or (trust in UNTRUSTED and gives_orders(text)):
        return []
    found: dict[Stated, None] = {}
    for sentence in sentences(text):
        if len(sentence) > _SENTENCE or sentence.endswith("?"):
            continue
        if _WORTH.search(sentence) and not _MAYBE.search(sentence):
            found |= dict.fromkeys(_stated(sentence.rstrip(".!… "), seen, speaker or SELF))
            if len(found) >= MOST:
                break
    return list(found)[:MOST]


def _stated(sentence: str, seen: float, me: str) -> Iterator[Stated]:
    """The facts of one sentence: one, or with "from … to …" two."""
    since = until = None
    if leading := _LEADING.match(sentence):
        since, until = _stretch(leading["word"].lower(), leading["when"], seen)
        if since is not None or until is not None:
            sentence = sentence[leading.end() :]
    for name, sign, form in _FORMS:
        match = form.search(sentence) if sign.search(sentence) else None
        if match is None:
            continue
        parts = match.groupdict()
        past = (parts.get("be") or "").lower()[:2] in ("wa", "we", "us")
        value, begins, ends = _value(match["value"], seen, past=past, done=name in ("changed", "lives"))
        subject, relation, former = _keyed(name, parts, value, me, match[0])
        if not _usable(subject, relation, value, name):
            continue
        begins, ends = begins if begins is not None else since, ends if ends is not None else until
        if former or (past and match["be"][0] in "uU"):
            ends = seen if ends is None else ends
        if past and ends is None:  # what was may be still
            return
        old = (parts.get("old") or "").strip()
        if old and old.lower() != value.lower():
            yield Stated(subject, relation, old, None, begins if begins is not None else seen)
        yield Stated(subject, relation, value, begins, ends)
        return


def _keyed(name: str, parts: dict[str, str | None], value: str, me: str, whole: str) -> tuple[str, str, bool]:
    """Subject and relation of a form, empty if it has none; and whether they are said to be of the past."""
    given = {part: _bare(parts.get(part) or "") for part in ("subject", "relation")}
    bare = {part: _FORMER.sub("", text) for part, text in given.items()}
    subject, relation = bare["subject"], bare["relation"]
    former = given != bare
    head, _, last = subject.rpartition(" ")
    if name == "own":
        subject = me
    elif name == "lives" or (name == "changed" and _settles(parts, subject, value, whole)):
        subject, relation = me if subject.lower() == "i" else subject, _LIVES.get(relation.lower(), "lives")
    elif name == "hours":
        relation = relation if relation.endswith("s") else f"{relation}s"
    elif name not in ("of", "whose"):
        if head and last.lower() in _ATTRIBUTES:
            subject, relation = head, last
        elif name != "is":
            moved = name == "at" or re.search(r"\bmoved\b", whole, re.IGNORECASE)
            relation = TIME if _CLOCK.match(value) else PLACE if moved else STATE
        elif parts.get("the") is not None and not _BARE.match(value) and len(value.split()) <= 4:
            relation = STATE
    return subject, relation, former


def _settles(parts: dict[str, str | None], subject: str, value: str, whole: str) -> bool:
    """Whether who moved is somebody, and where to a place of a name: "Ada moved to Ghent"."""
    someone = subject == "I" or (
        subject.istitle() and " " not in subject and whole.lstrip(" ,:;").startswith(subject)
    )
    return someone and value[:1].isupper() and re.search(r"\bmoved\s+to\b", whole) is not None


_LIVES = {"work": "works", "works": "works"}


def _value(text: str, seen: float, *, past: bool, done: bool) -> tuple[str, float | None, float | None]:
    """A value without what follows it, and from when to when it holds, if that is said.

    Args:
        text: all that follows the verb.
        seen: when it was said.
        past: "was 4711 in March" holds in March.
        done: "changed to 4711 in March" holds from then on.
    """
    text = _CUT.sub("", text)
    begins = ends = None
    for _ in range(3):
        text = _NOW.sub("", text)
        for word, form in (("until", _UNTIL), ("since", _SINCE), ("in", _IN if past else None)):
            found = None if form is None else form.search(text)
            first, last = (None, None) if found is None else _stretch(word, found["when"], seen)
            if found is not None and (first is not None or last is not None):
                text = text[: found.start()]
                begins, ends = begins if first is None else first, ends if last is None else last
    found = _DONE.search(text) if done and begins is None else None
    if found is not None and not _CLOCK.match(text[: found.start()]):  # "to 10:30 on 3 May" says when it will be
        begins = _stretch("since", found["when"], seen)[0]
        text = text if begins is None else text[: found.start()]
    return text.strip(" \t,.:;\"“”‘’'"), begins, ends


def _stretch(word: str, when: str, seen: float) -> tuple[float | None, float | None]:
    """From when to when "since …", "until …" or "in …" holds, as far as it says.

    Of a month of no year, the nearest to ``seen`` is meant; of a weekday the one to come, after "since" the last.
    """
    word, when = " ".join(word.split()), when.strip()
    if _WEEKDAY.match(when):
        when = f"{'last' if word == 'since' else 'next'} {when}"
    found: list[Period] = periods(when, seen)
    if not found:
        return None, None
    begins, ends = min(found, key=lambda period: min(abs(period[0] - seen), abs(period[1] - seen)))
    if word in ("until", "till"):
        return None, ends
    return begins, ends if word == "in" else None


def _bare(text: str) -> str:
    text = " ".join(text.split())
    while (shorter := _LEAD.sub("", text)) != text:
        text = shorter
    return text


def _usable(subject: str, relation: str, value: str, name: str) -> bool:
    if not (
        0 < len(value) <= _LONGEST_VALUE
        and 0 < len(subject) <= _LONGEST_NAME
        and 0 < len(relation) <= _LONGEST_NAME
    ):
        return False
    if set(subject.lower().split()) & _NOBODY or not tokenize(subject) or not tokenize(relation, stop=False):
        return False
    if (
        name in ("of", "own", "whose")
        and _BARE.match(value)
        and not re.match(r"(?:a|an|the|one)\b", value, re.IGNORECASE)
    ):
        return False
    return bool(tokenize(value, stop=False))
