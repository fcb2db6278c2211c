"""Pieces of sentences that can be the answer: of the kind that is asked for, and always words of the text."""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pointwork.agents.readings import clocks, conversions, lexicon
from pointwork.agents.readings.names import as_person, names
from pointwork.agents.readings.question import MONTHS_PATTERN, Question
from pointwork.agents.readings.sentences import Sentence, holds, stems_of
from pointwork.agents.readings.wanting import MONEY, Wanted
from pointwork.text import STOP_WORDS, tokenize

_WORDED = (
    r"(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|"
    r"seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|dozen|half|twice|once)"
)
_NUMBER = re.compile(
    rf"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:\s*%)?(?!\w)|\b{_WORDED}(?:[\s-]+(?:and\s+a\s+half|{_WORDED}))*\b", re.I
)
_MONEY = re.compile(rf"[$€£]\s?\d[\d,]*(?:\.\d+)?|\b\d[\d,]*(?:\.\d+)?\s*{MONEY}\b|\b{_WORDED}\s+{MONEY}\b", re.I)
_PERCENT = re.compile(
    rf"(?:\d+(?:\.\d+)?|\b{_WORDED}(?:[\s-]{_WORDED})?)\s*(?:%|per\s?cent)|"
    r"\b(?:half|a third|a quarter|two thirds)\b",
    re.I,
)
_BARE = re.compile(r"(?<![\w.,:])\d[\d,]*(?:\.\d+)?(?=\s*(?:[,;.]\s|[,;.]?$|and\b|or\b))")
_WEEKDAY = re.compile(r"\b((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)s?\b")
_DATE_RANGE = re.compile(
    rf"\b\d{{1,2}}\s+(?:{MONTHS_PATTERN})\b(?:\s+\d{{4}})?\s+(?:to|until|till|and|through|-|–)\s+\d{{1,2}}\s+"
    rf"(?:{MONTHS_PATTERN})\b(?:\s+\d{{4}})?",
    re.IGNORECASE,
)
_DEGREES = re.compile(
    r"(?P<sign>\bminus\s+|[-−–](?=\d))?(?P<n>\d+(?:\.\d+)?)\s*(?:°|degrees?)\s*(?P<scale>Celsius|Fahrenheit|[CF]\b)?"
    r"(?P<below>\s+(?:below|of\s+frost))?",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"\b(?:in|on|at|under|behind|beside|above|below|near|inside|outside|between|opposite|next to|"
    r"in front of|from|by|to)\s+"
    r"(?:the\s+|a\s+|an\s+|our\s+|her\s+|his\s+|its\s+)?[\w’'-]+(?:\s+(?!(?:and|is|are|was|were|which|that|who|by|for|when|so|but|until|since)\b)[\w’'-]+){0,4}",
    re.I,
)
_ID = re.compile(r"\b(?=[\w/-]*\d)(?:[A-Z]{1,6}[-/ ]?\d[\w/-]*|\d[\d-]*-\d+|\+?\d{2,4}(?:[ /-]\d{2,})+|\d{3,})\b")
_PRONOUN = re.compile(r"\b(?:he|she|his|her|they|their|him|them)\b", re.I)
_AGED = re.compile(r"\b(?:old|older|aged?|born|turn(?:s|ed)?|birthday)\b", re.IGNORECASE)
# A date is not what "which colour" asks for; it is what "which evening" does.
_DATE_ALONE = re.compile(
    rf"(?:\d{{1,2}}\s+)?(?:{MONTHS_PATTERN})(?:\s+\d{{4}})?|(?:1[5-9]|20)\d\d(?:-\d\d){{0,2}}", re.IGNORECASE
)
_DATED = lexicon.stems("date day month year time when season week weekend night evening morning edition model")
# Kinds of answers that have a form of their own: where no sentence holds one, none says it.
STRICT = frozenset(
    ["person", "weekday", "date", "year", "when", "time", "money", "percent", "quantity", "duration", "age"]
)


Piece = tuple[str, int, int, float]
"""Text, start and end in the sentence, and how well it fits the kind."""


@dataclass(frozen=True)
class Span:
    """A piece of a sentence that can be the answer: text and score."""

    text: str
    score: float
    sentence: Sentence = field(repr=False)


def candidates(question: str, want: Wanted, found: Sequence[Sentence], k: int = 8) -> list[Span]:
    """Pieces of the sentences that can be the answer, best first, each text once."""
    asked = stems_of(question)
    best: dict[str, Span] = {}
    if not found:
        return []
    top = found[0].score
    rare = rarity(asked, found)
    for sentence in found:
        if sentence.score < 0.45 * top:
            break
        pieces = pieces_of(want, sentence.text)
        if want.kind == "person" and not pieces and _PRONOUN.search(sentence.text):  # whom the sentence speaks of
            found_before = [
                (text, 0, 0, 0.95 * fit)
                for text, _, _, fit in pieces_of(want, sentence.subject or sentence.before)[:1]
            ]
            pieces = found_before
        bounds = sorted((start, end) for _, start, end, _ in pieces)
        named = bool(want.noun & stems_of(sentence.text))  # it speaks of what is asked for
        speaks = (1.25 if want.kind == "phrase" else 1.1) if named else 1.0
        for text, start, end, fit in pieces:
            said = tokenize(text, stop=False)
            own = [word for word in said if word not in asked]
            if not own or not text.strip():
                continue
            if want.kind == "phrase" and want.noun & set(said):  # "Mirror Room", asked for a room
                fit *= 1.3
            if want.kind == "person" and len(own) < len(said):  # part of the name stands in the question
                fit *= 0.6
            score = (
                sentence.score
                * speaks
                * fit
                * (0.75 + 0.5 * nearness(sentence.text, (start, end), bounds, rare, want.noun))
            )
            tidy = clean(text)
            if tidy and (tidy not in best or best[tidy].score < score):
                best[tidy] = Span(tidy, score, sentence)
    ranked = sorted(best.values(), key=lambda span: -span.score)[:k]
    return _extreme(question, want, ranked)


def _extreme(question: str, want: Wanted, ranked: list[Span]) -> list[Span]:
    """``the cheapest of the three``: of several amounts in the best sentence the least comes first, or the most."""
    words = stems_of(question) & (lexicon.UP | lexicon.DOWN)
    record = re.search(r"\b(?:record|all-time)\s+(low|high)\b", question, re.IGNORECASE)
    words |= lexicon.stems({"low": "lowest", "high": "highest"}[record[1].lower()]) if record else frozenset()
    if not words or want.kind not in ("money", "number", "quantity", "duration"):
        return ranked
    same = [span for span in ranked if ranked and span.sentence.text == ranked[0].sentence.text]
    sized = [
        (float(number[0].replace(",", "")), span)
        for span in same
        if (number := re.search(r"-?\d[\d,]*(?:\.\d+)?", span.text))
    ]
    if len(sized) < 2:
        return ranked
    pick = (min if words & lexicon.DOWN else max)(sized, key=lambda pair: pair[0])[1]
    return [pick, *(span for span in ranked if span is not pick)]


def clean(text: str) -> str:
    text = re.sub(r"[’']s$", "", text.strip(" ,.;:()\"“”'")).strip()
    return re.sub(r"^(?:called|named|titled|entitled|painted|raise|raises|return|returns)\s+(?=\S)", "", text)


def rarity(asked: frozenset[str], found: Sequence[Sentence]) -> dict[str, float]:
    """Of each asked word one over the number of found sentences that hold it: what all say tells nothing apart."""
    texts = [stems_of(sentence.text) for sentence in found]
    return {word: 1.0 / max(1, sum(holds(word, stems) > 0 for stems in texts)) ** 0.5 for word in asked}


def nearness(
    sentence: str,
    place: tuple[int, int],
    bounds: Sequence[tuple[int, int]],
    rare: Mapping[str, float],
    noun: frozenset[str],
) -> float:
    """How much of the question stands beside a piece, up to the pieces before and behind it, near words first."""
    start, end = place
    asked = frozenset(rare)
    first = min((a for a, _ in bounds), default=start)
    best = total = 0.0
    for match in re.finditer(r"[\w’'-]+", sentence):
        if start <= match.start() < end or match[0].lower() in STOP_WORDS:
            continue
        stems = tokenize(match[0], stop=False)
        if not stems or not any(holds(stem, asked) for stem in stems):
            continue
        if match.start() < first:  # what stands before all pieces is said of each: "tickets cost 6 for adults, 3 …"
            weight = 1.0 / (1.0 + (first - match.end()) / 25)
        else:
            weight = _beside(match, start, end)
            if any(_beside(match, a, b) > weight for a, b in bounds):
                weight *= 0.35
        weight *= max((rare[word] for word in asked if holds(word, frozenset(stems)) > 0), default=1.0)
        total += weight
        best = max(best, weight * (1.5 if stems[0] in noun else 1.0))
    return min(1.5, 0.4 * best + 0.4 * total)


def _beside(word: re.Match[str], start: int, end: int) -> float:
    """How close a word stands to a piece; behind it less than before it, unless right there (46 metres *long*)."""
    after = word.start() >= end
    gap = word.start() - end if after else start - word.end()
    return (0.6 if after and gap > 8 else 1.0) / (1.0 + max(gap, 0) / 25)


def pieces_of(want: Wanted, text: str) -> list[Piece]:
    """The pieces of a kind in a sentence."""
    constant = _CONSTANT.match(text)
    if constant and want.kind not in ("person", "yes-no"):
        return _constant(constant, want)
    if want.kind in ("date", "year", "when"):
        return _dates(text, want.kind)
    if want.kind in ("quantity", "duration"):
        return quantities_of(text, want)
    if want.kind == "age":  # "three months" of notice are nobody's age
        return quantities_of(text, replace(want, kind="duration")) if _AGED.search(text) else []
    if want.kind == "phrase" and not want.noun & _DATED:
        pieces = [piece for piece in _phrases(text) if not _DATE_ALONE.fullmatch(clean(piece[0]))]
        return [piece for piece in pieces if not clocks.IN_FIGURES.fullmatch(clean(piece[0]))]
    if want.kind == "number":
        return numbers_of(text, want.noun)
    return _KINDS.get(want.kind, _phrases)(text)


def forms(text: str) -> list[tuple[str, list[Piece]]]:
    """The pieces of a sentence that have a form of their own, whatever is asked."""
    return [
        ("person", _persons(text)),
        ("date", _dates(text, "when")),
        ("time", _all(clocks.IN_FIGURES, text)),
        ("money", _amounts(text)),
        ("percent", _all(_PERCENT, text)),
        ("id", _ids(text)),
        ("weekday", _weekdays(text)),
    ]


def _all(pattern: re.Pattern[str], text: str, fit: float = 1.0) -> list[Piece]:
    return [(m[0], m.start(), m.end(), fit) for m in pattern.finditer(text)]


def _persons(text: str) -> list[Piece]:
    return [(m[0], m.start(), m.end(), as_person(text, m)) for m in names(text)]


def _weekdays(text: str) -> list[Piece]:
    named = [(m[1], m.start(), m.end(), 0.95) for m in _WEEKDAY.finditer(text)]
    dated = [(day, a, b, 0.9) for day, a, b, fit in _dates(text, "date") if fit == 1.0]
    return named + dated


def _amounts(text: str) -> list[Piece]:
    """Money; in a list the currency is said once: ``2,840 crowns, Callow 3,150``."""
    found = _all(_MONEY, text)
    taken = [(a, b) for _, a, b, _ in found] + [(date.start, date.end) for date in Question(text).dates]
    if not found:
        if not lexicon.PRICED.search(text):
            return []
        taken += [(start, end) for start, end, _, _ in conversions.quantities(text)]  # 640 kg are no money
        return [p for p in _all(_NUMBER, text, 0.75) if not any(a <= p[1] < b for a, b in taken)]
    return found + [p for p in _all(_BARE, text, 0.95) if not any(a <= p[1] < b for a, b in taken)]


def _ids(text: str) -> list[Piece]:
    dates = [(date.start, date.end) for date in Question(text).dates]
    found = _all(_ID, text) or _all(_NUMBER, text, 0.6)
    return [piece for piece in found if not any(a <= piece[1] < b for a, b in dates)]


_CONSTANT = re.compile(
    r"\s*(?:(?:const|let|var|final|static|public|export)\s+)*(?P<name>[A-Za-z_][\w.-]*)\s*(?::[^=:]+=|[=:])\s*"
    # "Lantern: 42 metres long" tells more
    r"(?P<value>\"[^\"]*\"|'[^']*'|-?\d[\d_]*(?:\.\d+)?|true|false|True|False)\s*(?:[,;.)}\]]?\s*$|[,;]?\s*(?:#|//))"
)


def is_constant(line: str) -> bool:
    """Whether a line is one like ``NAME = value``."""
    return _CONSTANT.match(line) is not None


def _constant(match: re.Match[str], want: Wanted) -> list[Piece]:
    """The value of a line ``NAME = value``, with the unit that the end of the name says."""
    value = match["value"].strip("\"'")
    unit = conversions.unit_of(_spelled_unit(match["name"]))
    number = bool(re.fullmatch(r"-?\d[\d_.]*", value))
    fit = 1.0
    if want.kind in ("quantity", "duration", "number", "money", "percent", "year", "id") and not number:
        return []
    if want.kind == "weekday" and not _WEEKDAY.search(value):
        return []
    if want.unit is not None and unit is not None and not conversions.compatible(unit, want.unit):
        fit = 0.3
    shown = f"{value} {_spelled_unit(match['name'])}" if number and unit is not None else value
    return [(shown, match.start("value"), match.end("value"), fit)]


_PERIODS = ("seconds", "minutes", "hours", "days", "weeks", "months", "years")


def _spelled_unit(name: str) -> str:
    parts = re.split(r"[_.-]", name.lower())
    last = next((part for part in parts if part in _PERIODS), parts[-1]) if "per" not in parts else ""
    return {"kmh": "km/h", "s": "seconds", "ms": "milliseconds", "min": "minutes", "m": "metres", "c": "degC"}.get(
        last, last
    )


def _dates(text: str, kind: str) -> list[Piece]:
    found: list[Piece] = []
    for date in Question(text).dates:
        if kind == "year" and date.year:
            found.append((str(date.year), date.start, date.end, 1.0))
        elif kind != "year":
            fit = (
                1.0
                if date.day and date.year
                else 0.7
                if date.day or date.month
                else 0.5
                if kind == "when"
                else 0.25
            )
            found.append((text[date.start : date.end], date.start, date.end, fit))
    if kind == "when":
        found += [(m[0], m.start(), m.end(), 0.9) for m in clocks.IN_FIGURES.finditer(text)]
        found += [
            (m[0], m.start(), m.end(), 0.8)
            for m in re.finditer(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b", text)
        ]
    return found


def quantities_of(text: str, want: Wanted) -> list[Piece]:
    found: list[Piece] = []
    spelled = re.compile(rf"\b(?P<n>{_WORDED}(?:[\s-]+(?:and\s+a\s+half|{_WORDED}))*)\s+(?P<unit>[^\W\d_]+)", re.I)
    pieces = conversions.quantities(text)
    if want.unit is not None and conversions.compatible(want.unit, conversions.unit_of("celsius")):
        for match in _DEGREES.finditer(text):
            sign = "-" if match["sign"] else ""
            scale = "degF" if (match["scale"] or "").lower().startswith("f") else "degC"
            found.append((f"{sign}{match['n']} {scale}", match.start(), match.end(), 1.0))
        return found
    for match in spelled.finditer(text):
        unit = conversions.unit_of(match["unit"])
        if unit is not None:
            pieces.append((match.start(), match.end(), match[0], unit))
    hour = conversions.unit_of("hour")
    if want.kind == "duration" or (want.unit is not None and conversions.compatible(want.unit, hour)):
        found += [(m[0], m.start(), m.end(), 0.9) for m in _DATE_RANGE.finditer(text)]
    for start, end, _, unit in pieces:
        if want.kind == "duration":
            fit = (
                1.0
                if conversions.compatible(unit, hour)
                else 0.3
                if conversions.compatible(unit, conversions.unit_of("metre"))
                else 0.0
            )
        else:
            fit = 0.9 if want.unit is None else 1.0 if conversions.compatible(unit, want.unit) else 0.0
        if fit:
            found.append((text[start:end], start, end, fit))
    return found


def numbers_of(text: str, noun: frozenset[str]) -> list[Piece]:
    found: list[Piece] = []
    dates = [(date.start, date.end) for date in Question(text).dates]
    for match in _NUMBER.finditer(text):
        behind = lexicon.stems(" ".join(re.findall(r"[\w’'-]+", text[match.end() : match.end() + 40])[:3]))
        counted = any(holds(word, behind) for word in noun)
        dated = any(a <= match.start() < b for a, b in dates)
        found.append((match[0], match.start(), match.end(), 1.0 if counted else 0.35 if dated else 0.8))
    return found


def _phrases(text: str) -> list[Piece]:
    """Runs of words between function words and marks: what a name, a colour or a thing can be."""
    found: list[Piece] = []
    run: list[re.Match[str]] = []
    words = list(re.finditer(r"\d[\d,]*\.?\d*(?![\w])|[A-Za-z0-9][\w’'./&+-]*[\w]|[A-Za-z0-9]", text))
    for number, match in enumerate(words):
        gap = text[words[number - 1].end() : match.start()] if number else " "
        if run and (gap.strip() or match[0].lower() in STOP_WORDS):
            found += _run(text, run)
            run = []
        if match[0].lower() not in STOP_WORDS:
            run.append(match)
    return found + _run(text, run)


def _run(text: str, run: list[re.Match[str]]) -> list[Piece]:
    if not run:
        return []
    start, end = run[0].start(), run[-1].end()
    piece = text[start:end]
    fit = 0.8 + 0.15 * bool(re.search(r"[A-Z\d]", piece[1:] if start == 0 else piece))
    return [(piece, start, end, fit if len(run) <= 5 else 0.5)]


_KINDS: dict[str, Callable[[str], list[Piece]]] = {
    "person": _persons,
    "weekday": _weekdays,
    "time": functools.partial(_all, clocks.IN_FIGURES),
    "money": _amounts,
    "percent": functools.partial(_all, _PERCENT),
    "id": _ids,
    "place": functools.partial(_all, _PLACE),
}
