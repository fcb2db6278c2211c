"""What may be called after what: single calls that are fine alone must not add up to harm.

Tools are labelled with what they can do; a run carries what it has seen. Nothing here reads intentions: a page that
says "please" and one that says "ignore your instructions" are both untrusted text.

Rules; each asks a person:

- ``leak``: the run has seen private data and untrusted text, and the tool sends something out.
- ``carries-private``: the run has seen private data, and what the tool sends out holds some of it, encoded or not,
  or goes to an address that the user did not name; or, after untrusted text, it holds private data that the user
  did not speak of, or is a file that he did not name, even where he named the address.
- ``steered``: the tool writes, sends or destroys, and an address, path, name or command that it is given stands in
  untrusted text (also text that the user pasted) and not in what the user asked for.
- ``unnamed``: the tool sends something to an address that stands nowhere: not in the task, nor in what was read.
- ``destroys``: the run has seen untrusted text, the tool is destructive, and the user did not ask for this call.
- ``flood``: there were more calls, or more calls with effects, than a run may make.

A person may agree to a call that is asked about. What the user asks for outright, "mail the report to
ann@example.org", needs no second word: see ``_named`` and ``asked.py``. Nor does a call all of whose words are the
user's own: it tells nobody anything.
"""

import base64
import binascii
import json
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pointwork.text import tokenize
from pointwork.tools import asked
from pointwork.tools.spec import Tool

# Calls with effects, and calls in all, of one run before a person is asked.
MOST_EFFECTS, MOST_CALLS = 25, 100
_SHORTEST = 6  # characters of a private piece that is looked for
_WORDS = 3  # words in a row that are a piece of a text
_KEPT = 400_000  # characters of untrusted, and of private text that are kept

_TARGET = re.compile(
    r"[a-z][a-z0-9+.-]*://[^\s\"'<>)\]]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:\+|00)\d[\d ()/-]{6,}\d"
    r"|\b[A-Z]{2}\d{2}[A-Z0-9]{8,30}\b|(?:~|\.{0,2})/[\w./-]+|\b(?:\d{1,3}\.){3}\d{1,3}\b"
    r"|\b[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\b",
    re.IGNORECASE,
)
_TARGET_NAMES = frozenset(
    tokenize(
        "to recipient address url uri host path file target destination account iban webhook channel user email "
        "phone command cmd sql query repo repository branch server domain name folder table id role owner "
        "group script collaborator attendees member",
        stop=False,
    )
)
_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]*://[^\s\"'<>)\]]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b[A-Z]{2}\d{2}[A-Z0-9]{10,30}\b",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[\w@.:/+=-]{6,}")
_FILE_NAMES = frozenset(tokenize("path file attachment attach filename document", stop=False))
# letters and digits mixed, or a long run: what no sentence holds
_OPAQUE = re.compile(r"\b(?=[\w+/=-]*\d)(?=[\w+/=-]*[a-zA-Z])[\w+/=-]{8,}|\b[A-Za-z0-9+/=]{24,}")
_NUMBER = re.compile(r"\d{4,}")
_ROT13 = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM"
)


@dataclass(frozen=True)
class Verdict:
    """Whether a call may go on.

    Attributes:
        allowed: without asking.
        rule: that asks.
        why: in words, and how to allow it.
    """

    allowed: bool
    rule: str = ""
    why: str = ""


ALLOWED = Verdict(True)


@dataclass
class Taint:
    """What a run has seen and done.

    Attributes:
        task: the user's own words.
        private, untrusted: sources of each kind, in order.
        private_text, untrusted_text: what they said; other_text: what all other tools said, in lower case.
        unasked: of the private text, what the user did not speak of.
        written: paths and names that this run itself wrote to.
        effects, calls: how many there were.
    """

    task: str = ""
    private: list[str] = field(default_factory=list[str])
    untrusted: list[str] = field(default_factory=list[str])
    private_text: str = ""
    untrusted_text: str = ""
    other_text: str = ""
    unasked: str = ""
    written: set[str] = field(default_factory=set[str])
    effects: int = 0
    calls: int = 0

    def see(self, tool: Tool, text: str, arguments: Mapping[str, Any] | None = None) -> None:
        """A tool of this kind, called so, said something."""
        if "reads-private" in tool.labels:
            self.saw_private(tool.name, text, arguments)
        if "writes" in tool.labels:
            self.written |= {piece.strip().lower() for _, piece in _strings(arguments or {}) if len(piece) <= 300}
        if "untrusted-source" in tool.labels:
            self.saw_untrusted(tool.name, text)
        if not tool.labels & {"reads-private", "untrusted-source"}:
            self.other_text = (self.other_text + "\n" + text.lower())[-_KEPT:]

    def saw_private(self, source: str, text: str, arguments: Mapping[str, Any] | None = None) -> None:
        """Private data came in, from a tool that was called so."""
        self.private.append(source)
        self.private_text = (self.private_text + "\n" + text)[-_KEPT:]
        if not asked.source(self.task, source, [piece for _, piece in _strings(arguments or {})]):
            self.unasked = (self.unasked + "\n" + asked.not_asked_for(self.task, text))[-_KEPT:]

    def saw_untrusted(self, source: str, text: str) -> None:
        """Text came in that anybody may have written."""
        self.untrusted.append(source)
        self.untrusted_text = (self.untrusted_text + "\n" + text)[-_KEPT:]

    def as_json(self) -> dict[str, Any]:
        """What the store keeps beside a call."""
        return {"private": self.private[-20:], "untrusted": self.untrusted[-20:]}


def check(tool: Tool, arguments: Mapping[str, Any], taint: Taint) -> Verdict:
    """Whether a call may go on, by what the run has seen so far."""
    labels = tool.labels
    acts = bool(labels & {"writes", "egress", "destructive"})
    if taint.calls >= MOST_CALLS or (acts and taint.effects >= MOST_EFFECTS):
        return _ask(tool, "flood", f"the run has made {taint.calls} calls, {taint.effects} of them with effects")
    if not acts:
        return ALLOWED
    pieces = list(_strings(arguments))
    quoted = _pasted_target(pieces, taint)
    if quoted:
        return _ask(tool, "steered", f"{quoted!r} comes from a text that the user quotes")
    if taint.untrusted:
        steered = _steered(pieces, taint)
        if steered:
            source = taint.untrusted[-1]
            return _ask(tool, "steered", f"{steered!r} comes from untrusted text ({source}), not from the task")
        if "destructive" in labels and not _ordered(tool, pieces, taint):
            return _ask(tool, "destroys", f"the run has read untrusted text ({taint.untrusted[-1]})")
    return _sending(tool, pieces, taint) if "egress" in labels else ALLOWED


def _sending(tool: Tool, pieces: list[tuple[str, str]], taint: Taint) -> Verdict:
    if "untrusted-source" not in tool.labels:
        invented = next((t for t in _addresses(pieces) if not _in_task(t, taint) and not _was_read(t, taint)), "")
        if invented:
            return _ask(tool, "unnamed", f"nobody named {invented!r}")
    if taint.untrusted:
        strange = _strange_file(pieces, taint)
        if strange:
            return _ask(tool, "carries-private", f"the user did not name the file {strange!r}")
    if not taint.private or asked.holds_all(taint.task, (text for _, text in pieces)):
        return ALLOWED
    named = _named(tool, pieces, taint)
    if taint.untrusted and not named:
        seen = f"private data ({taint.private[-1]}) and untrusted text ({taint.untrusted[-1]})"
        return _ask(tool, "leak", f"the run has seen {seen}")
    if named:
        held = _unasked_piece(pieces, taint) if taint.untrusted else ""
        why = f"the user did not speak of {held[:40]!r}, which it sends, of {taint.private[-1]}"
        return _ask(tool, "carries-private", why) if held else ALLOWED
    held = next(_private_pieces(pieces, taint.private_text, taint), "")
    if held:
        return _ask(tool, "carries-private", f"what it sends holds {held[:40]!r} of {taint.private[-1]}")
    strange = next((target for target in _targets(pieces) if not _in_task(target, taint)), "")
    if strange:
        return _ask(tool, "carries-private", f"the run has seen private data, and nobody named {strange!r}")
    return ALLOWED


def _ordered(tool: Tool, pieces: list[tuple[str, str]], taint: Taint) -> bool:
    """The user asks for this very call: what the tool does, and each thing that it is given."""
    return asked.acts(tool.name, taint.task) and all(_in_task(text, taint) for _, text in pieces)


def _pasted_target(pieces: list[tuple[str, str]], taint: Taint) -> str:
    """A target that stands in what the user pasted into the task alone; one may answer whose mail it is."""
    quoted = asked.pasted(taint.task).lower()
    if not quoted:
        return ""
    answers = asked.ordered("answer|reply|respond", taint.task) and not taint.private
    for name, text in pieces:
        if not set(tokenize(name, stop=False)) & _TARGET_NAMES:
            continue
        for target in _split(text):
            if target.lower() in quoted and not _in_task(target, taint) and not (answers and "@" in target):
                return target[:120]
    return ""


def _strange_file(pieces: list[tuple[str, str]], taint: Taint) -> str:
    """A file that is to be sent, and that neither the user named nor this run wrote."""
    for name, text in pieces:
        is_file = bool(set(tokenize(name, stop=False)) & _FILE_NAMES) and bool(text.strip())
        if is_file and not _in_task(text, taint) and text.strip().lower() not in taint.written:
            return text[:120]
    return ""


def _unasked_piece(pieces: list[tuple[str, str]], taint: Taint) -> str:
    """Something of the private data that the user did not speak of, or what may be such in a code."""
    if not taint.unasked.strip():
        return ""
    held = next(_private_pieces(pieces, taint.unasked, taint), "")
    if held:
        return held
    elsewhere = f"{taint.task}\n{taint.untrusted_text}\n{taint.other_text}".lower()
    for carried in _decoded(" ".join(text for _, text in pieces)):
        for match in _NUMBER.finditer(carried):
            if match[0] in taint.unasked and match[0] not in elsewhere:
                return match[0]
    for _, text in pieces:
        for match in _OPAQUE.finditer(text):
            if not _in_task(match[0], taint) and not _was_read(match[0], taint):
                return match[0]
    return ""


def _ask(tool: Tool, rule: str, why: str) -> Verdict:
    labels = ", ".join(sorted(tool.labels))
    return Verdict(
        False,
        rule,
        f"rule {rule!r}: {why}, and {tool.name!r} is labelled {labels}. To allow this call, approve it when asked "
        f"('pointwork runs answer RUN approve'); to allow such calls, name the address in the task, or correct the "
        f"tool's labels",
    )


def _strings(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """(argument's name, text) of every text and number in a call."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in cast(Mapping[Any, Any], value).items():
            yield from _strings(inner, str(key))
    elif isinstance(value, list | tuple):
        for inner in cast(Iterable[Any], value):
            yield from _strings(inner, name)
    elif value is not None and not isinstance(value, bool):
        yield name, json.dumps(value, default=str)


def _targets(pieces: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Addresses, paths, and whatever stands in an argument that says where to or what to do."""
    for name, text in pieces:
        if set(tokenize(name, stop=False)) & _TARGET_NAMES and len(text) <= 300:
            yield from _split(text)
            found = _TARGET.finditer(text)
        else:  # a text may speak of a file; an address in it is one to write to
            found = _ADDRESS.finditer(text)
        yield from (match[0].rstrip(".,;:!?)") for match in found)


def _split(text: str) -> list[str]:
    """The addresses of a list of them; else the text as it is."""
    parts = [part.strip() for part in re.split(r"[,;\s]\s*", text) if part.strip()]
    return parts if len(parts) > 1 and all(_ADDRESS.fullmatch(part) for part in parts) else [text.strip()]


def _addresses(pieces: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Mail and web addresses and account numbers alone: what looks like nothing else."""
    for _, text in pieces:
        for match in _ADDRESS.finditer(text):
            yield match[0].rstrip(".,;:!?)")


def _was_read(text: str, taint: Taint) -> bool:
    plain = text.lower()
    return plain in taint.private_text.lower() or plain in taint.untrusted_text.lower() or plain in taint.other_text


def _in_task(text: str, taint: Taint) -> bool:
    return asked.names(taint.task, text)


def _steered(pieces: list[tuple[str, str]], taint: Taint) -> str:
    """A target that stands in untrusted text and not in the task; the whole of it, or the host that it goes to."""
    low = taint.untrusted_text.lower()
    for target in _targets(pieces):
        if len(target) < 3 or _in_task(target, taint):
            continue
        host = urllib.parse.urlsplit(target).hostname if "://" in target else target.rpartition("@")[2]
        whole = target.lower()
        if whole in low or (("://" in target or "@" in target) and host and host.lower() in low):
            return target[:120]
    return ""


def _named(tool: Tool, pieces: list[tuple[str, str]], taint: Taint) -> bool:
    """The user asked to send something, and said where to: every address of the call stands in the task.

    A tool that also brings text in is none that one sends with: a page's address in the task is there to be read.
    """
    if "untrusted-source" in tool.labels:
        return False
    targets = list(_targets(pieces))
    if targets and asked.sends(taint.task):
        return all(_in_task(target, taint) for target in targets)
    # a service that needs no address: "translate report.txt", of which the user speaks
    served = asked.acts(tool.name, taint.task) and not taint.unasked.strip()
    return served and all(_in_task(target, taint) for target in targets)


def _private_pieces(pieces: list[tuple[str, str]], text: str, taint: Taint) -> Iterator[str]:
    """What of a private text a call carries, in the clear or in a common encoding."""
    private = text.lower()
    known = set(_TOKEN.findall(taint.task.lower())) | set(tokenize(taint.task, stem=False))
    grams = _grams(private)
    task = " ".join(taint.task.lower().split())
    for carried in _decoded(" ".join(text for _, text in pieces)):
        low = carried.lower()
        for token in _TOKEN.findall(low):
            if token not in known and token in private and (any(c.isdigit() for c in token) or len(token) >= 10):
                yield token
        yield from (gram for gram in _grams(low) & grams if gram not in task)


def _grams(text: str) -> set[str]:
    words = text.split()
    return {" ".join(words[n : n + _WORDS]) for n in range(len(words) - _WORDS + 1)}


def _decoded(text: str) -> Iterator[str]:
    """A text as it stands, and as it may be meant: unquoted, from base64 and hex, backwards, spaced out."""
    unquoted = urllib.parse.unquote_plus(text)
    yield text
    yield unquoted
    yield unquoted[::-1]
    yield unquoted.translate(_ROT13)
    if len(re.findall(r"\b\w\b", unquoted)) >= _SHORTEST:
        yield re.sub(r"(?<=\b\w)[\s._-](?=\w\b)", "", unquoted)
    for token in re.findall(r"[A-Za-z0-9+/_=-]{8,}", unquoted):
        in_64 = token.replace("-", "+").replace("_", "/")
        for decode, coded in (
            (base64.b64decode, in_64 + "=" * (-len(in_64) % 4)),
            (base64.b32decode, token.upper().rstrip("=") + "=" * (-len(token.rstrip("=")) % 8)),
            (bytes.fromhex, token),
        ):
            try:
                raw = decode(coded)
            except (binascii.Error, ValueError):
                continue
            plain = raw.decode("utf-8", "ignore")
            if len(plain) >= 4 and sum(c.isprintable() for c in plain) > 0.9 * len(plain):
                yield plain
