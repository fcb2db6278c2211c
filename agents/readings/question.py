"""A question taken apart: its words, and the numbers, dates and comparisons in it."""

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pointwork.agents.readings import lexicon
from pointwork.text import STOP_WORDS, tokenize

_SHORT = re.compile(r"(who|what|where|when|how|which)['’](?:s|re|d|ll|ve)", re.I)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_GREETING = re.compile(
    rf"\W*(?:{lexicon.GREETING}\s*[,.!:;–-]|(?:(?:{lexicon.GREETING}|{lexicon.POLITE})[\s,.!:;–-]+)+(?:whether\b|if\b|"
    r"(?=(?:who|whose|whom|what|which|when|where|how|can|could|is|are|do|does|did|please)\b)))",
    re.I,
)
_MONTHS = {
    name.lower(): number
    for names in (calendar.month_name, calendar.month_abbr)
    for number, name in enumerate(names)
    if name
} | {"sept": 9}
MONTHS_PATTERN = "|".join(sorted(_MONTHS, key=len, reverse=True))
_MONTH = rf"(?P<month>{MONTHS_PATTERN})\.?"
_DAYS_OF_MONTH = re.compile(
    rf"\b(?P<first>[12]?\d|3[01])(?:st|nd|rd|th)?\s*(?:to|and|until|till|-|–)\s*(?:the\s+)?(?P<last>[12]?\d|3[01])"
    rf"(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+(?P<year>\d{{4}}))?\b",
    re.I,
)
ORDINALS = re.findall(
    r"\S+",
    """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third
    twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first
    """,
)
_SPELT = "|".join(sorted(ORDINALS, key=len, reverse=True))
_DATES = [
    re.compile(r"\b(?P<year>\d{4})-(?P<number>\d{2})(?:-(?P<day>\d{2}))?\b"),
    # 28.01.2025, and 28/01/2025 or 1/28/2025, where it is clear which is the day
    re.compile(r"(?<![\d.])(?P<day>0?[1-9]|[12]\d|3[01])\.(?P<number>0?[1-9]|1[0-2])\.(?P<year>\d{4})(?!\.?\d)"),
    re.compile(r"(?<![\d/])(?P<day>1[3-9]|2\d|3[01])/(?P<number>0?[1-9]|1[0-2])/(?P<year>\d{4})(?![\d/])"),
    re.compile(r"(?<![\d/])(?P<number>0?[1-9]|1[0-2])/(?P<day>1[3-9]|2\d|3[01])/(?P<year>\d{4})(?![\d/])"),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+{_MONTH}(?:,?\s+(?P<year>\d{{4}}))?\b", re.I),
    re.compile(
        rf"\b{_MONTH}\s+(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?\s+(?P<year>\d{{4}}))?\b", re.I
    ),
    re.compile(rf"\b(?P<day>{_SPELT})\s+of\s+{_MONTH}(?:,?\s+(?P<year>\d{{4}}))?\b", re.I),
    re.compile(rf"\b{_MONTH}\s+the\s+(?P<day>{_SPELT})\b(?:,?\s+(?P<year>\d{{4}})\b)?", re.I),
    re.compile(rf"\b{_MONTH}(?:\s+(?:of\s+)?(?P<year>\d{{4}}))?\b", re.I),
    re.compile(r"\b(?P<year>(?:1[5-9]|20)\d\d)\b"),
]


_COMPARES = re.compile(
    r"\b(?:over|above|under|below|(?:more|less|fewer|higher|lower|greater)\s+than|at\s+(?:least|most))\s+$", re.I
)
DIGITS = dict(
    zip(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty"],
        ["2", "3", "4", "5", "6", "7", "8", "9", "10", "12", "20"],
        strict=True,
    )
)


@dataclass(frozen=True)
class Word:
    """A word of a question: as written, its stem, and where it stands."""

    text: str
    stem: str
    start: int
    end: int

    @property
    def content(self) -> bool:
        """Whether it says what the question is about."""
        low = self.text.lower()
        return low not in STOP_WORDS and self.stem not in lexicon.FILLER and not low.isdigit()


@dataclass(frozen=True)
class DateMention:
    """A day, month or year as far as it is written; ``year`` 0 and ``day`` 0 where it is not."""

    year: int
    month: int
    day: int
    start: int
    end: int

    def value(self, year: int = 0) -> str:
        """As queries write it: 2024, 2024-03 or 2024-03-14; empty if the year is not known."""
        year = self.year or year
        if not year:
            return ""
        parts = [
            f"{year:04}",
            *([f"{self.month:02}"] if self.month else []),
            *([f"{self.day:02}"] if self.day else []),
        ]
        return "-".join(parts)


_HALF_A_YEAR = 6  # months


def year_of(day: DateMention, borne: Sequence[DateMention]) -> int:
    """The year of a day that is said without one, by the dates of its page: 6 July, in minutes of March 2024.

    What would lie more than half a year back is of the next year. 0 where the page bears no year, or two, or where
    there is no such day in it.
    """
    dated = [date for date in borne if date.year]
    if len({date.year for date in dated}) != 1:
        return 0
    month = next((date.month for date in dated if date.month), day.month)
    year = dated[0].year + (day.month < month - _HALF_A_YEAR)
    return year if day.day <= calendar.monthrange(year, day.month)[1] else 0


@dataclass(frozen=True)
class Comparison:
    """``more than 10``: an operator of ``query_table``, a number, and where it stands."""

    op: str
    value: str
    start: int
    end: int


@dataclass(frozen=True)
class Question:
    """A question with what its form says."""

    text: str

    @cached_property
    def words(self) -> list[Word]:
        """Its words in order; ``km/h`` is one."""
        text = re.sub(r"\bkm/h\b", "kmh ", self.text)
        found: list[Word] = []
        greeting = _GREETING.match(text)
        for match in _WORD.finditer(text, greeting.end() if greeting else 0):
            stem = tokenize(match[0], stop=False)
            short = _SHORT.fullmatch(match[0])  # "who's" is who
            said = short[1] if short else match[0]
            found.append(Word(said, stem[0] if stem else match[0].lower(), match.start(), match.end()))
        return found

    @cached_property
    def content(self) -> list[Word]:
        """Words that say what it is about, numbers and dates left out."""
        spans = [(date.start, date.end) for date in self.dates]
        return [word for word in self.words if word.content and not _inside(word, spans)]

    @cached_property
    def dates(self) -> list[DateMention]:
        """Dates, months and years in it, longest reading first found."""
        found: list[DateMention] = []
        for match in _DAYS_OF_MONTH.finditer(self.text):  # "from 16 to 30 April 2024"
            month, year = _MONTHS[match["month"].lower()], int(match["year"] or 0)
            found.append(DateMention(year, month, int(match["first"]), match.start("first"), match.end("first")))
            found.append(DateMention(year, month, int(match["last"]), match.start("last"), match.end()))
        for pattern in _DATES:
            for match in pattern.finditer(self.text):
                if any(match.start() < d.end and d.start < match.end() for d in found):
                    continue
                if (
                    not match.groupdict().get("month")
                    and len(match[0]) == 4
                    and _COMPARES.search(self.text[: match.start()])
                ):
                    continue  # "rated over 2000" is no year
                if match[0].lower() in ("may", "march", "mar", "sun", "second") and match[0][0].islower():
                    continue
                parts = match.groupdict()
                month = _MONTHS[parts["month"].lower()] if parts.get("month") else int(parts.get("number") or 0)
                written = (parts.get("day") or "0").lower()
                day = int(written) if written.isdigit() else ORDINALS.index(written) + 1
                if month > 12 or day > 31:
                    continue
                found.append(DateMention(int(parts.get("year") or 0), month, day, match.start(), match.end()))
        return sorted(found, key=lambda date: date.start)

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Comparisons with numbers (dates left out), in order."""
        spans = [(date.start, date.end) for date in self.dates]
        found: list[Comparison] = []
        for match in lexicon.COMPARED.finditer(self.text):
            if any(a <= match.start("value") < b for a, b in spans):
                continue
            value = re.sub(r"[$€£,\s%]", "", match["value"]).lower()
            value = DIGITS.get(value, value)
            op = _operator(match["op"].lower(), (match["or"] or "").lower())
            if op:
                found.append(Comparison(op, value, match.start(), match.end()))
        for match in lexicon.OR_MORE.finditer(self.text):
            if not any(c.start <= match.start() < c.end for c in found):
                op = "<=" if lexicon.BELOW.search(match["way"]) else ">="
                found.append(Comparison(op, match["value"].replace(",", ""), match.start(), match.end()))
        return found

    @cached_property
    def numbers(self) -> list[tuple[str, int, int]]:
        """Plain numbers that stand in no date and no comparison."""
        spans = [(d.start, d.end) for d in self.dates] + [(c.start, c.end) for c in self.comparisons]
        return [
            (m[0].replace(",", ""), m.start(), m.end())
            for m in re.finditer(r"(?<![\w.])(?<![A-Za-z]-)\d[\d,]*(?:\.\d+)?(?!\w)", self.text)
            if not any(a <= m.start() < b for a, b in spans)
        ]

    def date_operator(self, date: DateMention) -> str:
        """How a date compares, by the words right before it."""
        before = self.text[: date.start].rstrip().lower()
        if re.search(r"\b(?:after|later than|following)(?: the(?: year)?| year)?$", before):
            return ">"
        if re.search(
            # ("in the week starting 3 March" it is that one)
            r"\b(?:since|from|(?<!week )(?<!month )(?<!term )starting(?: from)?)(?: the)?"
            r"(?: (?:start|beginning) of)?(?: the)?(?: year)?$",
            before,
        ):
            return ">="
        if re.search(r"\b(?:before|earlier than|prior to)(?: the(?: year)?| year)?$", before):
            return "<"
        return "<=" if re.search(r"\b(?:until|till|up to|by)(?: the)?(?: end of)?$", before) else "="


def _operator(word: str, tail: str) -> str:
    if word in ("exactly", "equal to", "priced at"):
        return "="
    if word in ("at least", "a minimum of", "since"):
        return ">="
    if word in ("at most", "up to", "a maximum of", "until", "till", "by the end of"):
        return "<="
    if word.startswith("no"):  # "no longer than"
        return ">=" if lexicon.BELOW.search(word) else "<="
    if word in ("from", "of"):
        return ">=" if re.search(r"more|over|above|older|later", tail) else "<=" if tail else ""
    return "<" if lexicon.BELOW.search(word) else ">"


def _inside(word: Word, spans: list[tuple[int, int]]) -> bool:
    return any(start <= word.start < end for start, end in spans)
