"""Text as memory and tools see it: tokens for lexical search, sentences, chunks, a token estimate.

Databases' own full-text search is not used: FTS5 neither stems nor splits camelCase, PostgreSQL's ranking has no
IDF. What is done here is the same on both. Nothing in this module raises on odd input (control characters, lone
surrogates, megabytes without a space).
"""

import re
import threading
import unicodedata
from typing import Protocol, cast

from pointwork.errors import UsageError

Span = tuple[int, int]

_STOP = """
    a about above after again against all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn did didn do does doesn doing don done down during each else etc ever
    few for from further get gets getting got had hadn has hasn have haven having he her here hers herself him
    himself his how i if in into is isn it its itself just let like ll may me might more most much must my myself no
    nor not of off on once only or other ought our ours ourselves out over own please re same shall she should
    shouldn so some such than that the their theirs them themselves then there these they this those through to
    too under until up upon us ve very was wasn we were weren what when where which while who whom whose why will
    with would wouldn yes you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_STOP.split())

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS = {word: n for n, word in enumerate(f"{_UNITS} seventeen eighteen nineteen".split())} | {
    word: 10 * n for n, word in enumerate(_TENS.split(), 2)
}
"""English numbers that are one word, below a hundred."""

_MAX_WORD = 64  # characters of a word that count; longer ones are hashes, base64, minified code
_MAX_CACHE = 200_000  # words remembered; about 40 MB when full

_WORD = re.compile(r"[^\W_]+")
_CLITIC = re.compile(r"(?:(?<=n)['’]t|['’](?:s|ll|ve|re|d|m))\b", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
_MIXED = re.compile(r"[a-z\d][A-Z]|[A-Z][A-Z][a-z]")
# scripts written without spaces: kana, ideographs, Thai, Lao, Khmer, Burmese
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")
_PIECE = re.compile(r"[A-Za-z]+|\d{1,3}|[^\sA-Za-z\d]|\n+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[.!?…][\"'”’)\]])\s+|(?<=[。！？])\s*|\n\s*")
_SPACE = re.compile(r"\s+")


class _Stemmer(Protocol):
    maxCacheSize: int

    def stemWord(self, word: str) -> str: ...


_local = threading.local()  # the library's stemmer keeps state while it works: one per thread
_tokens_of: dict[tuple[bool, bool], dict[str, tuple[str, ...]]] = {}


def _stem(word: str) -> str:
    stemmer = cast("_Stemmer | None", getattr(_local, "stemmer", None))
    if stemmer is None:
        # uses PyStemmer, which is there, for the same stems 17 times as fast
        import snowballstemmer  # pyright: ignore[reportMissingTypeStubs]

        stemmer = cast(_Stemmer, snowballstemmer.stemmer("english"))  # pyright: ignore[reportUnknownMemberType]
        stemmer.maxCacheSize = 0  # stems are kept here, by word and kind: not twice
        _local.stemmer = stemmer
    return stemmer.stemWord(word)


def _parts(word: str) -> list[str]:
    """A run of letters and digits as lower-case words: camelCase split, unspaced scripts as character pairs."""
    if word.isascii():
        if _MIXED.search(word):
            return [part.lower() for part in _CAMEL.findall(word)]
        return [word.lower()]
    if _UNSPACED.search(word):
        return [word[i : i + 2] for i in range(len(word) - 1)] or [word]
    return [word.lower()]


def _analyse(word: str, stop: bool, stem: bool) -> tuple[str, ...]:
    lower = word.lower()
    if word[1:] == lower[1:] and len(word) <= _MAX_WORD and word.isascii():
        # nearly all words: nothing in them to split
        return () if stop and lower in STOP_WORDS else (_stem(lower) if stem else lower,)
    words = (part[:_MAX_WORD] for part in _parts(word))
    kept = [part for part in words if not (stop and part in STOP_WORDS)]
    return tuple(_stem(part) if stem and part.isascii() else part for part in kept)


def tokenize(text: str, *, stop: bool = True, stem: bool = True) -> list[str]:
    """The tokens of a text, in order, for lexical search.

    Unicode NFKC, lower case; camelCase and snake_case are split, digits kept (``1,000`` is ``1000``); English
    words are stemmed (Snowball); scripts without spaces become overlapping pairs of characters.

    Args:
        text: any text.
        stop: leave out ``STOP_WORDS``.
        stem: reduce words to their stems; else only lower case.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if "'" in text or "’" in text:
        text = _CLITIC.sub("", text)
    if "," in text:
        text = _THOUSANDS.sub("", text)
    cache = _tokens_of.setdefault((stop, stem), {})
    tokens: list[str] = []
    for word in _WORD.findall(text):
        known = cache.get(word)
        if known is None:
            known = _analyse(word, stop, stem)
            if len(cache) >= _MAX_CACHE:
                cache.clear()
            if len(word) <= _MAX_WORD:
                cache[word] = known
        tokens.extend(known)
    return tokens


def content_words(text: str) -> list[str]:
    """The distinct words of a text that are not stop words, lower case, unstemmed, in order of appearance."""
    return list(dict.fromkeys(tokenize(text, stop=True, stem=False)))


def count_tokens_estimate(text: str) -> int:
    """About how many tokens a language model would count, without its tokeniser.

    Modelled on how byte-pair tokenisers pre-split: a word is one token per six letters begun, three digits are one,
    every other visible character is one, a run of line breaks is one. English prose comes out some 5 % high, so
    that a budget counted with it holds.
    """
    total = 0
    for piece in _PIECE.findall(text):
        total += 1 + (len(piece) - 1) // 6 if piece[0] != "\n" else 1
    return total


def sentence_spans(text: str) -> list[Span]:
    """Sentences as (start, end) offsets; trailing space belongs to its sentence, so that the spans cover the text.

    A line break ends a sentence too. Abbreviations are not known: "Dr. Who" is two.
    """
    spans: list[Span] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if match.start() > start or spans:
            spans.append((start, match.end()))
            start = match.end()
    if start < len(text):
        spans.append((start, len(text)))
    return [span for span in spans if span[1] > span[0]]


def sentences(text: str) -> list[str]:
    """The sentences of a text, without the space around them."""
    return [found for start, end in sentence_spans(text) if (found := text[start:end].strip())]


def chunks(text: str, *, max_chars: int = 1200, max_tokens: int | None = None) -> list[Span]:
    """Cut a text into consecutive pieces, (start, end) offsets that cover it exactly.

    A cut falls between paragraphs if one ends in the second half of a piece, else between sentences, else (a
    sentence longer than a piece) at a space, else anywhere. No piece is longer than ``max_chars`` characters, nor,
    if given, than ``max_tokens`` by ``count_tokens_estimate``.

    Raises:
        UsageError: a limit is less than 1.
    """
    if max_chars < 1 or (max_tokens is not None and max_tokens < 1):
        raise UsageError(f"chunks need room: max_chars={max_chars}, max_tokens={max_tokens}; give at least 1")
    units: list[tuple[int, int, float]] = []  # start, end, share of a piece that it fills
    for start, end in sentence_spans(text):
        for left, right in _split(text, start, end, max_chars, max_tokens):
            units.append((left, right, _size(text, left, right, max_chars, max_tokens)))
    return _pack(text, units)


def _size(text: str, start: int, end: int, max_chars: int, max_tokens: int | None) -> float:
    size = (end - start) / max_chars
    if max_tokens is not None:
        size = max(size, count_tokens_estimate(text[start:end]) / max_tokens)
    return size


def _split(text: str, start: int, end: int, max_chars: int, max_tokens: int | None) -> list[Span]:
    """One sentence as spans of which each fits a piece."""
    found: list[Span] = []
    while start < end:
        stop = min(end, start + max_chars)
        while stop - start > 1 and _size(text, start, stop, max_chars, max_tokens) > 1:
            stop = start + (stop - start) // 2
        if stop < end:
            spaces = [match.end() for match in _SPACE.finditer(text, start + (stop - start) // 2, stop)]
            stop = spaces[-1] if spaces else stop
        found.append((start, stop))
        start = stop
    return found


def _pack(text: str, units: list[tuple[int, int, float]]) -> list[Span]:
    """Join neighbouring units into pieces, as full as they get."""
    pieces: list[Span] = []
    begin, filled = 0, 0.0
    cut, cut_filled = -1, 0.0  # where the last paragraph in this piece ends, and how full the piece was there
    for start, end, size in units:
        # sizes are shares: their sum may pass 1 by rounding only
        if filled and filled + size > 1 + 1e-9:
            at = cut if cut_filled >= 0.5 else start
            pieces.append((begin, at))
            begin, filled = at, filled - cut_filled if at == cut else 0.0
            cut, cut_filled = -1, 0.0
            if filled + size > 1 + 1e-9:
                pieces.append((begin, start))
                begin, filled = start, 0.0
        filled += size
        if text.count("\n", start, end) >= 2:
            cut, cut_filled = end, filled
    if units:
        pieces.append((begin, units[-1][1]))
    return pieces
