"""What a call carries: its texts, addresses and names among them, and private data in them, coded or not."""

import base64
import binascii
import json
import re
import unicodedata
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from pointwork.store.writes import folders, spelled
from pointwork.text import tokenize

_LONGEST = 300  # characters of a name
_SHORTEST = 6  # characters of a private piece that is looked for
_DIGITS = 7  # of a telephone number
_WORDS = 3  # words in a row that are a piece of a text

_TARGET = re.compile(
    r"[a-z][a-z0-9+.-]*://[^\s\"'<>)\]]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:\+|00)\d[\d ()/-]{6,}\d"
    r"|\b[A-Z]{2}\d{2}[A-Z0-9]{8,30}\b|(?:~|\.{0,2})/[\w./-]+|\b(?:\d{1,3}\.){3}\d{1,3}\b"
    r"|\b[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\b",
    re.IGNORECASE,
)
TARGET_NAMES = frozenset(
    tokenize(
        "to recipient address url uri host path file target destination account iban webhook channel user email "
        "phone command cmd sql query repo repository branch server domain name folder table id role owner "
        "group script collaborator attendees member bucket remote endpoint room queue chat mailbox workspace "
        "contact person project",
        stop=False,
    )
)
_PHONE = re.compile(r"(?:\+|\b00)\d(?:[ ()/.-]{0,2}\d){6,14}\b")
_NUMBER_NAMES = frozenset(tokenize("number mobile tel telephone dial", stop=False))
_RECEIVER_NAMES = frozenset(
    tokenize("to recipient user member collaborator attendees owner role group audience visibility", stop=False)
)
_HIDDEN_PLACE = re.compile(r"(?:^|/)\.(?!\.?(?:/|$))[\w.-]+|^/+(?:etc|usr|s?bin|boot|lib\w*|root|var/spool)/")
_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]*://[^\s\"'<>)\]]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b[A-Z]{2}\d{2}[A-Z0-9]{10,30}\b",
    re.IGNORECASE,
)
# Whatever stands between words: "Ida Holm,58200" of a table is "Ida Holm 58200", too; "it's" is one word.
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_TOKEN = re.compile(r"[\w@.:/+=-]{6,}")
# What is not seen: invisible signs, private ones, those that nobody has given a meaning; and what Unicode counts
# among marks and letters though nobody sees it (but U+FE0F, which stands behind many a picture).
_HIDDEN = frozenset({"Cf", "Co", "Cn", "Cs"})
_UNSEEN = re.compile(r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0e\uffa0\U000e0100-\U000e01ef]")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")
_SIGNS = re.compile(r"(?!([.*#=_-])\1+(?:\s|$))[^\w\s]{4,}")
_ROT13 = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM"
)


def strings(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """(argument's name, text) of every text and number in a call."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in cast(Mapping[Any, Any], value).items():
            yield from strings(inner, str(key))
    elif isinstance(value, list | tuple):
        for inner in cast(Iterable[Any], value):
            yield from strings(inner, name)
    elif value is not None and not isinstance(value, bool):
        yield name, json.dumps(value, default=str)


def names(arguments: Mapping[str, Any]) -> set[str]:
    """What a call names, spelled alike: its short texts."""
    return {spelled(piece) for _, piece in strings(arguments) if len(piece) <= _LONGEST}


def places(arguments: Mapping[str, Any]) -> set[str]:
    """What a call names, and the folders that it lies in."""
    return {place for name in names(arguments) for place in (name, *folders(name))}


def targets(pieces: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Addresses, paths, and whatever stands in an argument that says where to or what to do."""
    for name, text in pieces:
        if set(tokenize(name, stop=False)) & TARGET_NAMES and len(text) <= _LONGEST:
            yield from split(text)
            found = _TARGET.finditer(text)
        elif phone(text, name):  # a text may tell a number; a number alone is one to call or write to
            yield text.strip()
            continue
        else:  # a text may speak of a file; an address in it is one to write to
            found = _ADDRESS.finditer(text)
        yield from (match[0].rstrip(".,;:!?)") for match in found)


def phone(text: str, name: str = "") -> str:
    """The digits of a telephone number that stands alone, however it is spaced; of a plain number only if what it
    is given as says so.
    """
    text = text.strip()
    digits = re.sub(r"\D", "", text)
    plain = bool(set(tokenize(name, stop=False)) & _NUMBER_NAMES) and re.fullmatch(r"[\d ()/.-]{7,24}", text)
    return digits.removeprefix("00") if _PHONE.fullmatch(text) or (plain and len(digits) >= _DIGITS) else ""


def phones(text: str) -> set[str]:
    """The digits of the telephone numbers of a text."""
    return {re.sub(r"\D", "", match[0]).removeprefix("00") for match in _PHONE.finditer(text)}


def split(text: str) -> list[str]:
    """The addresses of a list of them; else the text as it is."""
    parts = [part.strip() for part in re.split(r"[,;\s]\s*", text) if part.strip()]
    return parts if len(parts) > 1 and all(_ADDRESS.fullmatch(part) for part in parts) else [text.strip()]


def hidden_places(pieces: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Paths where what is written is run or believed without being looked at: the system's, and hidden ones."""
    for name, text in pieces:
        if set(tokenize(name, stop=False)) & TARGET_NAMES and len(text) <= _LONGEST and _HIDDEN_PLACE.search(text):
            yield text


def receivers(pieces: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Whom a call lets have something, by name: "anyone", say."""
    for name, text in pieces:
        if set(tokenize(name, stop=False)) & _RECEIVER_NAMES and len(text) <= _LONGEST:
            yield from filter(None, split(text))


def addresses(pieces: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Mail and web addresses and account numbers alone: what looks like nothing else."""
    for _, text in pieces:
        for match in _ADDRESS.finditer(text):
            yield match[0].rstrip(".,;:!?)")


def private_pieces(pieces: list[tuple[str, str]], text: str, task: str) -> Iterator[str]:
    """What of a private text a call carries, in the clear or in a common encoding."""
    private = text.lower()
    known = set(_TOKEN.findall(task.lower())) | set(tokenize(task, stem=False))
    grams = _grams(private)
    asked = _grams(task.lower())
    for carried in decoded(" ".join(text for _, text in pieces)):
        low = carried.lower()
        for token in _TOKEN.findall(low):
            if token not in known and token in private and (any(c.isdigit() for c in token) or len(token) >= 10):
                yield token
        yield from (gram for gram in _grams(low) & grams - asked)


def sentences(text: str) -> list[str]:
    """The sentences of a text, or its lines."""
    return _SENTENCE.split(text)


def without(text: str, some: str) -> str:
    """A text less some of its sentences."""
    dropped = {sentence.strip() for sentence in sentences(some.lower())}
    return "\n".join(sentence for sentence in sentences(text.lower()) if sentence.strip() not in dropped)


def strange_piece(pieces: list[tuple[str, str]], known: str) -> str:
    """The first of what a call carries that does not stand in a text: a word, a number, odd signs."""
    words = set(tokenize(known, stop=False))
    for _, text in pieces:
        strange = strange_signs(text, known)
        strange = strange or next((word for word in tokenize(text, stop=True) if word not in words), "")
        if strange:
            return strange
    return ""


def strange_signs(text: str, known: str) -> str:
    """The first of what a text says without words and that does not stand in another: unseen or odd signs."""
    unseen = (c for c in text if unicodedata.category(c) in _HIDDEN or _UNSEEN.match(c))
    hidden = next((c for c in unseen if c not in known), "")
    if hidden:
        return f"U+{ord(hidden):04X}"
    return next((signs[0] for signs in _SIGNS.finditer(text) if signs[0] not in known), "")


def _grams(text: str) -> set[str]:
    words = _WORD.findall(text)
    return {" ".join(words[n : n + _WORDS]) for n in range(len(words) - _WORDS + 1)}


def decoded(text: str) -> Iterator[str]:
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
