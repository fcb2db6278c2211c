"""Who or what is described comes first: "the pay of the one who keeps bees" asks who that is, then the pay."""

import itertools
import re

from pointwork.agents.readings import lexicon
from pointwork.agents.spec import asked_words

Steps = list[tuple[str, tuple[int, ...]]]
"""Texts of steps with the numbers (from 1) of the steps they need; ``{s1}`` stands for an answer."""

_FOREMOST = re.compile(
    r"\bthe\s+(?P<noun>[a-z]+(?:\s+[a-z]+)?)\s+(?P<rel>with|(?:that|who)(?:\s+has|\s+had|['’]s)|that|who|which)\s+(?P<x>[^?.;,]{0,120}?"
    r"\b(?:most|fewest|highest|lowest|longest|shortest|largest|smallest|biggest|oldest|youngest|heaviest|earliest|latest|"
    r"least|greatest|cheapest|dearest|best|worst)\b(?:\s+(?!is|was|are|were|has|have|had|does|did|can|cost|weigh|teach|live|take|need)[\w-]+){0,3})",
    re.IGNORECASE,
)


_UNFINISHED = re.compile(r"\b(?:in|on|at|of|for|from|to|the|our|an?)$", re.IGNORECASE)
_OF_WHICH = re.compile(
    r"\b(?:of|among)\s+(?:all\s+)?(?:the\s+|our\s+)?(?P<noun>(?!the\b|our\b|all\b)[a-z]+(?:\s+[a-z]+)?s)\b",
    re.IGNORECASE,
)


def _foremost(text: str) -> Steps | None:
    """``In which room does the teacher with the most pupils teach?``: who that is comes first."""
    match = _FOREMOST.search(text)
    if match is None or not re.search(r"\w", text[: match.start()]) or len(text) - len(match[0]) < 12:
        return None
    if re.match(r"\W*(?:which|who|what)\s+(?:is|was|are|were)\s+$", text[: match.start()], re.IGNORECASE):
        return None  # that is the question itself
    head, tail = match["x"].strip(), text[match.end() :]
    while _UNFINISHED.search(head) and (more := re.match(r"\s+[\w-]+", tail)):  # "… price in the [programme]"
        head, tail = head + more[0], tail[more.end() :]
    noun = match["noun"]
    if noun == "one" and (
        of := _OF_WHICH.search(text[: match.start()])
    ):  # "Of all the boats, who built the one with …"
        noun = of["noun"]
    relation = {"with": "has"}.get(match["rel"].lower(), match["rel"].split()[-1] if " " in match["rel"] else "")
    if match["rel"][-2:-1] in ("'", "’"):
        relation = "has" if re.match(r"(?:been|got|had)\b", head, re.IGNORECASE) else "is"
    asked = f"Which {noun} {relation} {head}?"
    rest = f"{text[: match.start()]}{{s1}}{tail}"
    return [(re.sub(r"\s+", " ", asked), ()), (rest, (1,))]


_ROLES = (
    "teacher|conductor|captain|skipper|owner|author|winner|founder|head|director|builder|designer|"
    "supplier|maker|leader|manager|trainer|coach|chair|chairman|chairwoman|treasurer|secretary|cook|chef|"
    "baker|gardener|keeper|caretaker|driver|pilot|operator|technician|doctor|nurse|surveyor|editor|"
    "painter|carpenter|mechanic|warden|master|guide|librarian|clerk|accountant|president|mayor|deputy|"
    "architect|engineer|waiter|innkeeper|chief|commander|singer|player|composer|inventor|buyer|seller|"
    "tenant|landlord|neighbour|cellarmaster|winemaker|brewer|organist|boss|giver|donor|sponsor|host|lender|borrower|"
    "discoverer|breeder|dealer|tutor|artist|sculptor|photographer|curator|apprentice|assistant|butcher|farmer|shepherd|"
    "beekeeper|printer|publisher|translator|judge|referee|steward|inspector|contractor|plumber|electrician|roofer|"
    "heir|widow|husband|wife|son|daughter|brother|sister|mother|father|nephew|niece|uncle|aunt|cousin|grandmother|"
    "grandfather|mentor|supervisor|predecessor|successor|partner|substitute|stand-in|flatmate|roommate"
)
# "The Ferry at Low Water" is one name.
_PROPER = r"[A-Z][\w'’-]*(?:(?:\s+(?:of|at|under|over))?\s+[A-Z][\w'’-]*){0,6}"
_ROLE = re.compile(
    rf"\b(?:the|our)\s+(?P<a>(?:{_ROLES})\s+of\s+(?:the\s+|our\s+)?(?:[^?.;,]{{0,80}}?{_PROPER}|"
    rf"[a-z-]+(?:\s+[a-z-]+){{0,2}}?(?=\s*(?:[?.;,]|$)|\s+(?:when|on|in|at|is|was|has|had|[a-z]+ed)\b)))|"
    rf"\b(?P<b>(?:{_PROPER})['’]s\s+(?:{_ROLES}))\b|\b(?:the|our)\s+(?P<c>(?!{_ROLES})[a-z-]+\s+(?:{_ROLES}))\b(?!\s+of\b)"
)


def _role(text: str) -> Steps | None:
    """``In what city was the conductor of the Spring Concert born?``: who that is comes first."""
    match = _ROLE.search(text)
    if match is not None and match["a"] and not _asks_more(text[: match.start()]):
        match = _ROLE.search(text, match.start("a") + len(match["a"].split()[0]))  # "the boss of Ann's boss"
    if match is None or _is_problem(text):
        return None
    before = text[: match.start()]
    if re.match(r"\s+[A-Z]", text[match.end() :]) or (
        before.endswith(", ") and text[match.end() :].startswith(",")
    ):
        return None  # "Ann's brother Tom", "Tom, Ann's brother, …": who that is stands there
    if not _asks_more(before):
        return None
    who = match["b"] or f"the {match['a'] or match['c']}"
    rest = text[match.end() :]
    if match["a"]:  # the architect of the mill, on its opening day
        what = re.sub(r"^.*?\bof\s+", "", match["a"])
        rest = re.sub(r"\bits\b", f"{what}'s", re.sub(r"\bit\b", what, rest))
    return [(f"Who is {who}?", ()), (f"{before}{{s1}}{rest}", (1,))]


_ASKS = re.compile(
    r"\b(?:who|whom|what|which|is|was|are|were|does|did|do|name|give|tell|me|the|please|if|for)\b", re.IGNORECASE
)


def _asks_more(before: str) -> bool:
    """Whether what stands before a role asks for more than who has it."""
    return re.search(r"\w{3}", _ASKS.sub("", before)) is not None


# Nouns that stand for a person whoever it is.
_ANYBODY = frozenset(["person", "man", "woman", "one", "someone", "somebody", "boy", "girl", "lady", "gentleman"])
_NUMBERS = re.compile(
    r"(?<![\w-])\d[\d.,]*|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|half|thirds?|twice)\b",
    re.I,
)
_DATED = re.compile(r"\b(?:\d{1,2}\s+[A-Z]\w+\s+)?(?:1[5-9]|20)\d\d\b(?!\s*[a-z]*[%€$])")


def _is_problem(text: str) -> bool:
    """Whether a text says itself what it is about: it gives numbers to compute with."""
    return len(_NUMBERS.findall(_DATED.sub("", text))) > 1


# Where a clause is over: at a mark, and where the sentence goes on with when it was.
_OVER = re.compile(r"\s*(?:[?.;,]|$)|\s+(?:when|on\s+(?:the|its|his|her)\s+[\w-]*day)\b")
_RELATIVE = re.compile(  # "the van on that round" is no van that something is said of
    r"\b(?i:the)\s+(?P<noun>(?!same\b)[a-z]+(?:\s+(?!(?:of|on|in|at|to|by|for|from|with)\b)[a-z]+)?)\s+"
    r"(?P<rel>that|which|who|whom|where)\s+"
    r"(?!(?:are|were|have|do)\b)(?P<x>[^?.;,]+)"
)
# Verbs that a question with "did", "does" or "do" ends in: "When did the man who … begin to work?"
_BASE = frozenset(
    re.findall(
        r"\w+",
        """
    begin start join work live earn pay cost get have weigh take need leave buy sell own come go make give drive
    teach play use keep hold run stand lie open close arrive depart belong measure last serve lead grow eat drink
    speak spend receive owe charge visit rent borrow carry sit stay study bring wear win lose want say write paint
    build
    """,
    )
)
_DONE = frozenset(
    re.findall(
        r"\w+",
        "been paid given sold bought made taken had spent got led done won lost born built kept held sent read",
    )
)
# Behind these a verb belongs to what stands before it, and ends no question: "to work", "has borrowed", "and sold".
_BOUND = frozenset(["to", "and", "or", "has", "have", "had", "is", "are", "was", "were", "be", "been", "being"])
# Where what is said of a thing stands before it, no verb behind it does.
_HOW_SIZED = re.compile(rf"\bhow\s+(?:{lexicon.SIZES}|old)\s+(?:is|was)\s+$", re.IGNORECASE)


def _relative(text: str) -> Steps | None:
    """``How heavy is the instrument that Kim Lee has borrowed?``: which that is comes first."""
    match = _RELATIVE.search(text)
    if match is None or _is_problem(text) or not re.search(r"\w{3}", text[: match.start()]):
        return None
    before = text[: match.start()]
    if re.match(
        r"\W*(?:what|which|who|when|where|how|name|give|tell|find|show|list)\b"
        r"(?:\s+(?:out|is|was|are|were|me|us))?\s*$",
        before,
        re.IGNORECASE,
    ):
        return None
    if re.search(r"\bnames?\s+of\s+$", before):  # who that is is all that is asked
        return None
    clause = _clause(before, match["x"])
    if clause is None or not (re.search(r"[A-Z]", clause) or len(asked_words(clause)) > 1):
        return None  # "the boat that sank" may be one of a table's: that is no question of its own
    noun = match["noun"]
    if noun in _ANYBODY or match["rel"] in ("who", "whom"):
        asked = f"Who is it that {clause}?"
    elif noun.endswith("s") and not noun.endswith("ss"):
        return None  # several things are no step
    else:
        asked = f"Which {noun} is it {'where' if match['rel'] == 'where' else 'that'} {clause}?"
    rest = re.sub(rf"\bthe\s+{noun}\b", "{s1}", f"{match['x'][len(clause) :]}{text[match.end() :]}")
    return [(asked, ()), (f"{before}{{s1}}{rest}", (1,))]


def _clause(before: str, rest: str) -> str | None:
    """How far a relative clause goes; None if that can not be told."""
    over = _OVER.search(rest)
    clause = rest[: over.start()] if over is not None else rest
    helping = re.search(r"\b(?P<do>do|does|did)\s+$|\b(?:has|have|had|is|was)\s+$", before, re.IGNORECASE)
    if helping is None or _HOW_SIZED.search(before):
        return clause
    words = list(re.finditer(r"[\w'’-]+", clause))
    ends = [
        word
        for last, word in itertools.pairwise(words)
        if (word[0].lower() in _BASE if helping["do"] else word[0].lower() in _DONE or word[0].endswith("ed"))
        and last[0].lower() not in _BOUND
    ]
    if ends:
        return clause[: ends[-1].start()].rstrip()
    return None if helping["do"] else clause


# "… a tour. On what date did that tour take place?"
_INTRODUCED = re.compile(
    r"^\s*(?P<said>[A-Z][^.?!]{8,}[^.?!\d])\.\s+(?P<asked>(?:[A-Z][^.?!]*?\b)?(?:that|this|the\s+same)\s+"
    r"(?P<noun>(?!is\b|was\b)[a-z]{3,})\b(?P<rest>[^?]*)\?)\s*$"
)
_THERE = re.compile(
    r"^there\s+(?:is|was)\s+an?\s+(?P<noun>[a-z]+)\s+(?:that|which|who)\s+(?P<x>.+)$", re.IGNORECASE
)


def _introduced(text: str) -> Steps | None:
    """``There is a house that … In what year was that house built?``: which that is comes first."""
    match = _INTRODUCED.match(text)
    if match is None or _is_problem(text):
        return None
    noun, there = match["noun"], _THERE.match(match["said"])
    if not asked_words(noun) & asked_words(match["said"]):  # "does that plant belong", not "what does that cost"
        follows = re.match(r"\s+(\w+)", match["rest"])
        if noun in _BASE or follows is None or not (follows[1] in _BASE | _DONE or follows[1].endswith("ed")):
            return None
    which = "Who" if noun in _ANYBODY else f"Which {noun}"
    told = f"{which} is it that {there['x']}?" if there else f"{which} is it: {match['said']}?"
    asked = re.sub(rf"\b(?:that|this|the\s+same)\s+{noun}\b", "{s1}", match["asked"])
    return [(told, ()), (asked, (1,))]


# "Whoever keeps the folder: which extension do they have?"
_WHO = r"(?:whoever|the\s+(?:person|man|woman|one|colleague|member)\s+(?:who|that))"
_FRONTED = re.compile(
    rf"^\W*(?:{_WHO}|the\s+(?P<noun>[a-z]+)\s+(?:that|which))\s+(?P<x>[^?.:;–—]+?)(?:\s*[:–—,]|\s+-)\s+(?P<asked>[^?]+\?)\W*$",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(?:(?P<own>their|his|her|its)(?=\s+[a-z])|they|them|he|she|him|her|it)\b", re.IGNORECASE)
_ONE = {"do": "does", "have": "has", "are": "is", "were": "was"}  # they are one
_WHOEVER = re.compile(r"^[^?]*\bwhoever\s+(?P<x>[^?.,;:]+)[.;:]\s+(?P<asked>[A-Z][^?.]*)\?\W*$")


def _fronted(text: str) -> Steps | None:
    """``The person who feeds the cat – when did they come?``: who that is comes first."""
    match = _FRONTED.match(text)
    if match is not None and _PRONOUN.search(match["asked"]):
        who = f"Which {match['noun']}" if match["noun"] else "Who"
        rest = _PRONOUN.sub(lambda said: "{s1}'s" if said["own"] else "{s1}", match["asked"], count=1)
        rest = re.sub(
            r"\b(do|have|are|were)(?=\s+\{)", lambda verb: _ONE[verb[1].lower()], rest, flags=re.IGNORECASE
        )
        return [(f"{who} {match['x']}?", ()), (f"{rest[0].upper()}{rest[1:]}", (1,))]
    match = _WHOEVER.match(text)  # "I need whoever keeps the folder. Which extension do I dial?"
    if match is not None:
        return [(f"Who {match['x']}?", ()), (f"{match['asked']} ({{s1}})?", (1,))]
    return None


_REPORTED = re.compile(
    rf"\bthe\s+(?:person|man|woman|one|colleague)\s+(?:that\s+|whom?\s+)?"
    rf"(?P<x>(?:{_PROPER}|(?:the|our|its|that|his|her|their)\s+[a-z]+)\s+[a-z]+s\s+(?:to|with|for|under|from|on))\b"
)


def _reported(text: str) -> Steps | None:
    """``the pay of the person Ann reports to``: whom that is comes first."""
    match = _REPORTED.search(text)
    if match is None or not re.search(r"\w{3}", _ASKS.sub("", text[: match.start()])):
        return None
    asked = f"Who is it that {match['x']}?"
    return [(asked, ()), (f"{text[: match.start()]}{{s1}}{text[match.end() :]}", (1,))]


RULES = (_fronted, _introduced, _foremost, _reported, _relative, _role)
