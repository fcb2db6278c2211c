"""What a user asks for outright: which acts, which addresses and things, which sources.

The user's task is the one text that may give orders. It is read narrowly: a verb counts where an order stands
("..., then delete report.txt", not "does it ask me to delete report.txt"), a thing counts where it is not
excepted ("not plan.md"), and an address inside a longer quotation is somebody else's.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pointwork.text import tokenize
from pointwork.tools.carried import sentences, strange_signs

SENDS = (
    "send|mail|e-?mail|post|share|upload|forward|reply|respond|answer|publish|notify|message|tell|ask|submit|push|"
    "text|invite|pay|transfer|order|book|call|report|deliver|write to|let|inform|remind|back|copy|export|comment|"
    "broadcast|announce|pass|hand|dispatch|wire|refund|ping|write(?= back\\b| [\\w.+-]+@)"
)
_READS = (
    "read|fetch|get|load|download|open|look|see|check|compare|sum|summari[sz]e|find|search|list|show|review|describe|"
    "explain|use|take|note|save|write|what|which|who|when|where|why|how|does|is|are"
)
# What a tool's name may be called in a task; the first line's words are not read the other way round.
_SYNONYMS = (
    (frozenset({"pay", "transfer", "wire", "refund", "payment"}), "pay|transfer|wire|refund|reimburse|remit|send"),
    (
        frozenset({"delete", "remove", "erase", "drop", "purge", "clear"}),
        "delete|remove|erase|drop|purge|clear|wipe",
    ),
    (frozenset({"merge", "land"}), "merge|land"),
    (frozenset({"run", "execute", "start", "launch", "shell"}), "run|execute|start|launch"),
    (frozenset({"cancel", "revoke", "abort", "stop"}), "cancel|revoke|abort|stop|call off"),
    (frozenset({"upload"}), "upload|store|put|place"),
    (frozenset({"publish", "release", "deploy"}), "publish|release|deploy"),
    (frozenset({"order", "buy", "purchase", "book"}), "order|buy|purchase|book"),
)
# What is opened and never closed goes on to the end: so nobody can make the search for its end take for ever.
_QUOTED = re.compile(
    r"“[^”]*(?:”|\Z)|„[^“”]*(?:[“”]|\Z)|«[^»]*(?:»|\Z)|‘[^’]*(?:’\w[^’]*)*(?:’|\Z)|\"[^\"]*\"|(?<![\w'])'[^']*'(?!\w)"
    r"|(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)|(?:^[ \t]*>[^\n]*(?:\n|\Z))+"
    r"|<(?P<tag>mail|e-?mail|message|letter|document|text|page|article|(?:block)?quote|content|data|input)\b[^<>]*>"
    r".*?(?:</(?P=tag)>|\Z)"
    # a letter with its head; and what stands below "what does this mail want:" or "Bo wrote:"
    r"|\bfrom:[^\n]*\n(?:[\w-]{1,40}:[^\n]*\n){0,12}subject:.*\Z"
    r"|(?P<above>^(?![^\n]{0,300}\b(?:send|post|publish|mail)\s+(?:this|the|that|my)\b)[^\n]{0,300}\b"
    r"(?:(?:wrote|writes|said|summari[sz]e|sum up|translate|proofread)\b"
    r"|(?:this|that|the|my|his|her|their)\s+(?:\w+\s+)?(?:mail|e-?mail|message|letter|text|article)\b)"
    r"[^\n]{0,300}:[ \t]*\n)(?P<below>.+\Z)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_PASTED_WORDS = 8  # a quotation of so many words is a text, not a name
_ORDERED = (
    r"(?:^|[.;:,!?\n(]\s*(?:[-*•]\s+)?|\b(?:and|then|please|also|you|must|should|next|finally|afterwards|but|so|or|else|first|now)\s+"
    r"|\b(?:I|we|you)(?:['’]d|\s+\w+)?\s+(?:want|need|like|have)(?:\s+you)?\s+to\s+)"
    r"(?:please\s+|then\s+|also\s+)?"
)
_REFUSED = re.compile(
    r"(?:\b(?:not|never|no longer|hold off|ignor\w*|except|avoid\w*|without|instead of|rather than|nor|block\w*)\b"
    r"|n['’]t\b)(?:\W+\w+){0,4}\W*$"
    # to be done later, if at all; or what somebody else wants
    r"|\bwait\b[^.;\n]{0,40}\bbefore (?:you )?$"
    r"|\b(?:wants|asks|asked|demands|suggests|tells)(?: (?:me|us|you))?:?\s*$",
    re.IGNORECASE,
)
# The end of an order, and where one may begin: "report.txt" is none to report.
_SENTENCE = re.compile(r"[.;!?](?=\s|$)|\n")
_NO_NAME = r"(?![.@/-]?\w)"
_OBJECT = re.compile(
    r"[a-z][a-z0-9+.-]*://\S+|\b[\w-]+\.[a-z]{2,5}\b|'[^']+'|\"[^\"]+\"|“[^”]+”"
    r"|\b(?:issue|ticket|page|request|chapter)\s+#?\d+",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"\b(?:it|its|them|these|those|this|that|both|all|everything|there|differences?|comparison|results?|findings?)\b",
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
        above = own_words(match["above"]) if match["above"] else ""
        return match[0] if len(_quoted(match).split()) < _PASTED_WORDS else f"{above} "

    return _QUOTED.sub(short, task)


def pasted(task: str) -> str:
    """The texts that the user pasted into a task."""
    found = map(_quoted, _QUOTED.finditer(task))
    return "\n".join(text for text in found if len(text.split()) >= _PASTED_WORDS)


def _quoted(match: re.Match[str]) -> str:
    return match["below"] or match[0]


def ordered(verbs: str, task: str) -> bool:
    """Whether the user orders one of some acts (an alternation of verbs), and does not forbid it."""
    words = own_words(task)
    found = re.finditer(rf"{_ORDERED}(?P<verb>(?:{verbs})\b{_NO_NAME})", words, re.IGNORECASE)
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
    """Whether each word of some texts is the user's own, and each sign: such a call tells nobody anything."""
    own = own_words(task)
    words = set(tokenize(own, stop=False, stem=False))
    return all(
        names(task, text)
        if "://" in text or "@" in text
        else not strange_signs(text, own) and words >= set(tokenize(text, stop=False, stem=False))
        for text in texts
    )


def acts(tool: str, task: str) -> bool:
    """Whether the user orders what a tool's name says that it does (``delete_file``: "remove report.txt")."""
    words = {word.lower() for word in re.split(r"[^a-zA-Z]+", tool) if len(word) > 2}
    verbs = [re.escape(word) for word in words]
    verbs += [spelled for known, spelled in _SYNONYMS if known & words]
    return bool(verbs) and ordered("|".join(verbs), task)


@dataclass(frozen=True)
class Order:
    """A stretch of a task that one verb rules: ``post a summary of it to the channel team``.

    Attributes:
        text: the user's words.
        sends: whether the verb sends something to somebody; else it reads.
    """

    text: str
    sends: bool


@lru_cache(maxsize=64)
def orders(task: str) -> tuple[Order, ...]:
    """The orders of a task, to send and to read."""
    words = own_words(task)
    verbs = f"(?P<send>(?:{SENDS})\\b{_NO_NAME})|(?P<read>(?:{_READS})\\b{_NO_NAME})"
    found = list(re.finditer(f"{_ORDERED}(?:{verbs})", words, re.IGNORECASE))
    made: list[Order] = []
    for n, match in enumerate(found):
        sends = match["send"] is not None
        begin = match.start("send" if sends else "read")
        end = _SENTENCE.search(words, begin)
        ends = [len(words), end.start() if end else len(words), *(later.start() for later in found[n + 1 : n + 2])]
        if not _REFUSED.search(words[:begin]):
            made.append(Order(words[begin : min(ends)], sends))
    return tuple(made)


def aimed_at(task: str, url: str) -> bool:
    """Whether a web address of the task is one to send to, not merely one to read: "compare x with URL"."""
    read = [order.text for order in orders(task) if not order.sends]
    rest = own_words(task)
    for text in read:
        rest = rest.replace(text, " ")
    back = any(order.sends and re.search(r"\b(?:there|to it|to them|back)\b", order.text) for order in orders(task))
    return back or names(rest, url)


def meant_for(task: str, targets: Sequence[str], tool: str, arguments: Sequence[str]) -> bool:
    """Whether a private source that the user speaks of may be what is to be sent to some targets.

    "Read notes.txt, and post a summary of https://a.example to the channel team": the notes are not for the team,
    as the order that names the team says what to send. One that does not ("mail ann a summary"), or that points
    back ("mail it to ann"), may mean all that was read.

    Args:
        task: the user's words.
        targets: of the call that sends.
        tool, arguments: of the call that read.
    """
    sending = [order.text for order in orders(task) if order.sends]
    mine = [
        text for text in sending if any(target.strip() and names(text, target) for target in targets)
    ] or sending
    return not mine or any(source(text, tool, arguments) or not _says_what(text, targets) for text in mine)


def _says_what(order: str, targets: Sequence[str]) -> bool:
    for target in targets:
        order = re.sub(re.escape(target.strip()), " ", order, flags=re.IGNORECASE) if target.strip() else order
    return bool(_OBJECT.search(order)) and not _POINTS_BACK.search(order)


def person(task: str, address: str, known: str) -> bool:
    """Whether an address belongs to somebody whom the user names ("mail it to Ann"), by his own records."""
    people = re.findall(r"\b(?:to|tell|ask|invite|and|for|mail|inform|let)\s+([A-Z][\w'-]+)", own_words(task))
    place = rf"[^@\n]{{0,60}}?(?<![\w.+-]){re.escape(address)}(?![\w.-]*\w)"
    return any(re.search(rf"(?i:\b{re.escape(name)}\b){place}", known, re.IGNORECASE) for name in people)


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
    """The sentences of a private text that have no word in common with the task; "4" in both says nothing."""
    words = {word for word in tokenize(own_words(task)) if len(word) > 2 or not word.isdigit()} - _GENERIC
    return "\n".join(sentence for sentence in sentences(text) if not words & set(tokenize(sentence)))
