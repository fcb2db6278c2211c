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

import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pointwork.store.writes import names, spelled
from pointwork.text import tokenize
from pointwork.tools import asked, carried
from pointwork.tools.spec import Tool

# Calls with effects, and calls in all, of one run before a person is asked.
MOST_EFFECTS, MOST_CALLS = 25, 100
_KEPT = 400_000  # characters of untrusted, and of private text that are kept
_HEARD = 40  # private sources that are told apart

_FILE_NAMES = frozenset(tokenize("path file attachment attach filename document", stop=False))


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
        heard: of the private sources that the user spoke of, the last: (tool, what it was asked for, what it said).
        written: paths and names that this run itself wrote to.
        foreign: paths and names that this run, or an earlier one, wrote to after it had read untrusted text.
        spoilt: those that hold private data which nobody asked to be written there.
        shown: sources that were shown without a tool, and looked up: ``memory:ID``, ``run:ID``.
        effects, calls: how many there were.
    """

    task: str = ""
    private: list[str] = field(default_factory=list[str])
    untrusted: list[str] = field(default_factory=list[str])
    private_text: str = ""
    untrusted_text: str = ""
    other_text: str = ""
    unasked: str = ""
    heard: list[tuple[str, list[str], str]] = field(default_factory=list[tuple[str, list[str], str]])
    written: set[str] = field(default_factory=set[str])
    foreign: set[str] = field(default_factory=set[str])
    spoilt: set[str] = field(default_factory=set[str])
    shown: set[str] = field(default_factory=set[str])
    effects: int = 0
    calls: int = 0

    def see(self, tool: Tool, text: str, arguments: Mapping[str, Any] | None = None) -> None:
        """A tool of this kind, called so, said something."""
        if "reads-private" in tool.labels:
            self.saw_private(tool.name, text, arguments)
        if "writes" in tool.labels:
            self.written |= carried.names(arguments or {})
            self.spoilt |= carried.places(arguments or {}) if spoils(tool, arguments or {}, self) else set()
        if "untrusted-source" in tool.labels or self.reads_foreign(tool, arguments or {}):
            self.saw_untrusted(tool.name, text)
        if "writes" in tool.labels and self.untrusted:
            self.foreign |= carried.places(arguments or {})
        if not tool.labels & {"reads-private", "untrusted-source"}:
            self.saw_other(text, arguments)

    def reads_foreign(self, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        """Whether a call reads what was written after untrusted text: that text may stand there."""
        return "reads-private" in tool.labels and not self.foreign.isdisjoint(names(arguments))

    def saw_other(self, text: str, arguments: Mapping[str, Any] | None = None) -> None:
        """A tool that reads nothing private and nothing of outsiders said something."""
        # what is computed of a secret is one too
        if _unasked_piece(list(carried.strings(arguments or {})), self, self.unasked):
            self.unasked = (self.unasked + "\n" + text)[-_KEPT:]
        else:
            self.other_text = (self.other_text + "\n" + text.lower())[-_KEPT:]

    def saw_private(self, source: str, text: str, arguments: Mapping[str, Any] | None = None) -> None:
        """Private data came in, from a tool that was called so."""
        self.private.append(source)
        self.private_text = (self.private_text + "\n" + text)[-_KEPT:]
        pieces = [piece for _, piece in carried.strings(arguments or {})]
        if asked.source(self.task, source, pieces):
            self.heard = [*self.heard, (source, pieces, text[-_KEPT:])][-_HEARD:]
        else:
            self.unasked = (self.unasked + "\n" + asked.not_asked_for(self.task, text))[-_KEPT:]

    def saw_spoilt(self, text: str, arguments: Mapping[str, Any]) -> None:
        """What is named here holds private data that nobody asked to be written there."""
        self.unasked = (self.unasked + "\n" + text)[-_KEPT:]
        self.spoilt |= carried.places(arguments)

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
    pieces = list(carried.strings(arguments))
    quoted = _pasted_target(pieces, taint)
    if quoted:
        return _ask(tool, "steered", f"{quoted!r} comes from a text that the user quotes")
    if taint.untrusted:
        steered = _steered(pieces, taint)
        if steered:
            source = taint.untrusted[-1]
            return _ask(tool, "steered", f"{steered!r} comes from untrusted text ({source}), not from the task")
        hidden = next((text for text in carried.hidden_places(pieces) if not _in_task(text, taint)), "")
        if hidden:
            return _ask(tool, "steered", f"the run has read untrusted text, and nobody named {hidden!r}")
        if "destructive" in labels and not _ordered(tool, pieces, taint):
            return _ask(tool, "destroys", f"the run has read untrusted text ({taint.untrusted[-1]})")
    return _sending(tool, pieces, taint) if "egress" in labels else ALLOWED


def _sending(tool: Tool, pieces: list[tuple[str, str]], taint: Taint) -> Verdict:
    if "untrusted-source" not in tool.labels:
        given = [*carried.addresses(pieces), *(carried.receivers(pieces) if taint.untrusted else ())]
        invented = next((t for t in given if not _in_task(t, taint) and not _was_read(t, taint)), "")
        if invented:
            return _ask(tool, "unnamed", f"nobody named {invented!r}")
    if taint.untrusted:
        strange = _strange_file(pieces, taint)
        if strange:
            return _ask(tool, "carries-private", f"the user did not ask to send what is in the file {strange!r}")
    if not taint.private or asked.holds_all(taint.task, (text for _, text in pieces)):
        return ALLOWED
    named = _named(tool, pieces, taint)
    if taint.untrusted and not named:
        seen = f"private data ({taint.private[-1]}) and untrusted text ({taint.untrusted[-1]})"
        return _ask(tool, "leak", f"the run has seen {seen}")
    if named:
        unasked = f"{taint.unasked}\n{_meant_elsewhere(pieces, taint)}" if taint.untrusted else ""
        held = _unasked_piece(pieces, taint, unasked)
        why = f"the user did not speak of {held[:40]!r}, which it sends, of {taint.private[-1]}"
        return _ask(tool, "carries-private", why) if held else ALLOWED
    held = next(carried.private_pieces(pieces, taint.private_text, taint.task), "")
    if held:
        return _ask(tool, "carries-private", f"what it sends holds {held[:40]!r} of {taint.private[-1]}")
    strange = next((target for target in carried.targets(pieces) if not _in_task(target, taint)), "")
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
        if not set(tokenize(name, stop=False)) & carried.TARGET_NAMES:
            continue
        for target in carried.split(text):
            if target.lower() in quoted and not _in_task(target, taint) and not (answers and "@" in target):
                return target[:120]
    return ""


def _strange_file(pieces: list[tuple[str, str]], taint: Taint) -> str:
    """A file that is to be sent, and that the user did not name, or for somebody else, and this run did not write;
    or that was written with private data which nobody asked for.
    """
    targets = list(carried.targets(pieces))
    for name, text in pieces:
        if not set(tokenize(name, stop=False)) & _FILE_NAMES or not text.strip():
            continue
        plain = spelled(text)
        if plain in taint.spoilt:
            return text[:120]
        others = [target for target in targets if spelled(target) != plain]
        meant = _in_task(text, taint) and asked.meant_for(taint.task, others, "", [text])
        if not meant and plain not in taint.written:
            return text[:120]
    return ""


def spoils(tool: Tool, arguments: Mapping[str, Any], taint: Taint) -> bool:
    """Whether what a call writes holds private data that the user did not speak of, after untrusted text.

    It is let through, as it stays in the house; what is written there is not to be sent on without a word.
    """
    if not taint.untrusted or "writes" not in tool.labels:
        return False
    pieces = list(carried.strings(arguments))
    copies = "reads-private" in tool.labels and not all(_in_task(text, taint) for _, text in pieces)
    again = any(spelled(text) in taint.spoilt for _, text in pieces)  # a copy of such a copy
    return copies or again or bool(_unasked_piece(pieces, taint, taint.unasked))


def _meant_elsewhere(pieces: list[tuple[str, str]], taint: Taint) -> str:
    """Of the private data that the user spoke of, what he did not mean for where this call goes."""
    targets = list(carried.targets(pieces))
    return "\n".join(
        text for tool, given, text in taint.heard if not asked.meant_for(taint.task, targets, tool, given)
    )


def _unasked_piece(pieces: list[tuple[str, str]], taint: Taint, unasked: str) -> str:
    """Something that a call carries and that may be private data which the user did not speak of, coded or told.

    A secret can be spelled, split or paraphrased in more ways than anybody can look for. So, where there is one to
    tell, each word must stand in the task or in what was read beside it.
    """
    if not unasked.strip():
        return ""
    held = next(carried.private_pieces(pieces, unasked, taint.task), "")
    return held or carried.strange_piece(
        pieces,
        carried.without(f"{taint.private_text}\n{taint.untrusted_text}\n{taint.other_text}", unasked)
        + f"\n{taint.task}",
    )


def _ask(tool: Tool, rule: str, why: str) -> Verdict:
    labels = ", ".join(sorted(tool.labels))
    return Verdict(
        False,
        rule,
        f"rule {rule!r}: {why}, and {tool.name!r} is labelled {labels}. To allow this call, approve it when asked "
        f"('pointwork runs answer RUN approve'); to allow such calls, name the address in the task, or correct the "
        f"tool's labels",
    )


def _was_read(text: str, taint: Taint) -> bool:
    plain = text.lower()
    return plain in taint.private_text.lower() or plain in taint.untrusted_text.lower() or plain in taint.other_text


def _in_task(text: str, taint: Taint) -> bool:
    if asked.names(taint.task, text):
        return True
    digits = carried.phone(text)
    return bool(digits) and digits in carried.phones(asked.own_words(taint.task))


def _steered(pieces: list[tuple[str, str]], taint: Taint) -> str:
    """A target that stands in untrusted text and not in the task; the whole of it, or the host that it goes to."""
    low = taint.untrusted_text.lower()
    for target in (*carried.targets(pieces), *carried.receivers(pieces)):
        if len(target) < 3 or _in_task(target, taint):
            continue
        host = urllib.parse.urlsplit(target).hostname if "://" in target else target.rpartition("@")[2]
        whole = target.lower()
        if carried.phone(target) and carried.phone(target) in carried.phones(low):
            return target[:120]
        if whole in low or (("://" in target or "@" in target) and host and host.lower() in low):
            return target[:120]
    return ""


def _named(tool: Tool, pieces: list[tuple[str, str]], taint: Taint) -> bool:
    """The user asked to send something, and said where to: every address of the call stands in the task.

    A tool that also brings text in is none that one sends with: a page's address in the task is there to be read.
    """
    if "untrusted-source" in tool.labels:
        return False
    targets = list(carried.targets(pieces))
    if targets and asked.sends(taint.task):
        return all(_is_destination(target, taint) for target in targets)
    # a service that needs no address: "translate report.txt", of which the user speaks
    served = asked.acts(tool.name, taint.task) and not taint.unasked.strip()
    return served and all(_in_task(target, taint) for target in targets)


def _is_destination(target: str, taint: Taint) -> bool:
    """The user named it as a place to send to; or the person whose address it is, by the user's own records."""
    if _in_task(target, taint):
        return "://" not in target or asked.aimed_at(taint.task, target)
    return "@" in target and not taint.untrusted and asked.person(taint.task, target, taint.private_text)
