"""The last step from what was found to the form that was asked for: another unit, or the weekday of a date."""

import calendar
import re
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal

from pointwork.agents.readings import Reading, clocks, conversions, lexicon, moments
from pointwork.agents.readings.converting import conversion
from pointwork.agents.readings.question import Question, year_of
from pointwork.agents.readings.wanting import COUNTED, wanted
from pointwork.errors import ToolError
from pointwork.numerals import in_figures
from pointwork.tools import dates


def finishing(question: str, answer: str, seen: Sequence[str] = ()) -> Reading | None:
    """The call that brings an answer into the form that the question asks for; None if it is in it.

    Args:
        question: what was asked.
        answer: what was found.
        seen: texts that it was found in.
    """
    if len(answer) > 120:
        return None
    for rule in (_rated, _each, _range):
        for text in seen:
            if (call := rule(question, answer, text)) is not None:
                return call
    factor = conversions.stated_factor(question)
    if factor is not None:  # "take 3.785 litres to the gallon"
        return conversions.by_factor(*factor[:3], answer)
    if _asks_weekday(question) and (day := _date_in(answer)):
        return Reading("date_math", {"operation": "weekday", "date": day, "other": ""}, 1.0)
    asked = conversions.asked_unit(question)
    if asked is None:
        return None
    found = [
        quantity for quantity in conversions.quantities(answer) if conversions.compatible(quantity[3], asked[1])
    ]
    if not found and re.fullmatch(r"-?\d[\d,.]*", answer.strip()):  # its unit stands where it was found
        stands = [quantity for text in seen for quantity in conversions.quantities(text)]
        found = [
            quantity
            for quantity in stands
            if quantity[2].split()[0] == answer.strip() and conversions.compatible(quantity[3], asked[1])
        ][:1]
    if len(found) != 1 or found[0][3] == asked[1]:
        return None
    return Reading("calculate", {"expression": f"{found[0][2]} to {conversions.in_parts(question, asked[0])}"}, 1.0)


def _asks_weekday(question: str) -> bool:
    """Of a date its weekday; "On which day did we sell the most?" asks which of the days it was."""
    if not moments.WEEKDAY.search(question):
        return False
    picked = any(word.stem in lexicon.UP | lexicon.DOWN for word in Question(question).words)
    return not picked or lexicon.WEEKDAY.search(question) is not None


_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4}
_ROUNDING = re.compile(
    r"\b(?:(?P<n>one|two|three|four|[1-9])\s+(?:decimals?|digits\s+after\s+the\s+(?:decimal\s+)?point)|"
    r"(?P<whole>(?:in|as\s+a|to\s+a|to\s+the\s+next)\s+whole\s+(?:number|[a-z]+)s?|to\s+an\s+integer)|"
    r"(?:to|round(?:ed)?(?:\s+to)?)\s+the\s+nearest\s+(?:whole\s+)?(?P<nearest>ten|hundred|thousand|[a-z]+))\b",
    re.IGNORECASE,
)


_AMOUNT = re.compile(r"(?P<n>-?\d[\d,]*(?:\.\d+)?)(?P<rest>\s*[^\d\s].*)?")
_HOW_MUCH = r"\b(?:how\s+(?:much|many|far)|what\s+percent\w*)\b"
_LESS = re.compile(
    rf"{_HOW_MUCH}[^?]*\b(?:down|f[ae]ll\w*|dropp?\w*|less|lower\w*|cheaper|los[te]\w*|decreas\w*|reduc\w*|shr[aiu]nk\w*|"
    r"below|younger|fewer|shorter|lighter|difference|apart|between|differ)\b",
    re.IGNORECASE,
)
_NEEDED = re.compile(
    r"\bhow\s+many\s+(?P<thing>[a-z]+)\b[^?]*\b(?:must|need\w*|requires?d?|necessary|ha(?:s|ve)\s+to|at\s+least)\b",
    re.IGNORECASE,
)


# "How many full weeks are that?", not "how many full boxes do I need?"
_FULL = re.compile(
    r"\bhow\s+many\s+(?:full|whole|complete)\s+(?!.*\b(?:need\w*|must|have\s+to|buy)\b)", re.IGNORECASE | re.DOTALL
)
_ASKS_DATE = re.compile(r"\b(?:what|which)\s+(?:date|day)\b(?!.*\btime\b)", re.IGNORECASE | re.DOTALL)
_ASKS_MONTH = re.compile(r"\b(?:what|which)\s+(?:calendar\s+)?month\b", re.IGNORECASE)


def as_asked(question: str, answer: str) -> str:
    """An answer that is a number, with or without a unit, or a date, as the question asks for it.

    Of a day that was calculated the month, where that is asked for. ``By how many percent has it come down?`` asks
    for a size and not for a sign. Of things that must be bought whole, the next whole number is enough, of
    "how many full weeks" the one before. Last, it is rounded as the question says.
    """
    if _ASKS_MONTH.search(question) and (day := re.fullmatch(r"(\d{4})-(\d\d)-\d\d(?: .*)?", answer.strip())):
        said = calendar.month_name[int(day[2])]
        return f"{said} {day[1]}" if re.search(r"\d{4}", question) else said
    if _ASKS_DATE.search(question) and (day := re.fullmatch(r"(\d{4}-\d\d-\d\d) \d\d:\d\d", answer.strip())):
        return day[1]
    number = _AMOUNT.fullmatch(answer.strip())
    if number is None:
        return answer
    if _FULL.search(question) and "." in number["n"]:
        down = Decimal(number["n"].replace(",", "")).quantize(Decimal(1), ROUND_FLOOR)
        return f"{down:f}{number['rest'] or ''}"
    if number["n"].startswith("-") and _LESS.search(question):
        answer = answer.strip()[1:]
    needed = None if _ROUNDING.search(question) else _NEEDED.search(question)
    if needed is not None and not number["rest"] and "." in number["n"] and not _divisible(needed["thing"]):
        up = Decimal(number["n"].replace(",", "")).quantize(Decimal(1), ROUND_CEILING)
        return f"{up:f}"
    return rounded(question, answer)


def _divisible(thing: str) -> bool:
    """Whether there can be half of it: of a measure, and of money."""
    return conversions.unit_of(thing) is not None or bool(_MONEY.fullmatch(thing))


_MONEY = re.compile(r"(?:dollar|euro|pound|crown|franc|cent|yen|rupee|percent|mark|peso|krone)s?", re.IGNORECASE)


def rounded(question: str, answer: str) -> str:
    """An answer that is a number, with or without a unit, rounded as the question asks (half away from zero)."""
    asked = _ROUNDING.search(question)
    number = _AMOUNT.fullmatch(answer.strip())
    if asked is None or number is None:
        return answer
    places = 0
    if asked["n"]:
        places = _WORDS.get(asked["n"].lower(), 0) or int(asked["n"])
    elif asked["nearest"]:
        if asked["nearest"].lower() in ("tenth", "hundredth", "cent", "penny"):
            places = 1 if asked["nearest"].lower() == "tenth" else 2
        else:
            places = {"ten": -1, "hundred": -2, "thousand": -3}.get(asked["nearest"].lower(), 0)
    way = re.search(r"\bround(?:ed)?\s+(up|down)\b", question, re.IGNORECASE)
    mode = ROUND_HALF_UP if way is None else ROUND_CEILING if way[1].lower() == "up" else ROUND_FLOOR
    value = Decimal(number["n"].replace(",", ""))
    if places > 0 and -int(value.as_tuple().exponent) <= places:
        return answer
    return f"{value.quantize(Decimal(1).scaleb(-places), mode):f}{number['rest'] or ''}"


_RATE = r"\s+(?:for\s+)?(?:each|every|per|an?)\s+(?P<n>\d[\d,.]*\s+)?(?P<unit>[^\W\d_]+)"


def _rated(question: str, answer: str, text: str) -> Reading | None:
    """``one hour for each 25 millimetres``, asked of 60 mm: the rule applied to the question's own quantity."""
    place = re.search(re.escape(answer) + _RATE, text, re.IGNORECASE)
    amount = re.match(r"(?P<n>\d[\d,]*(?:\.\d+)?|one|an?|half\s+an?)\s*(?P<rest>.*)", answer, re.IGNORECASE)
    if place is None or amount is None:
        return None
    unit = conversions.unit_of(place["unit"])
    asked = [q for q in conversions.quantities(question) if unit is not None and conversions.compatible(q[3], unit)]
    if len(asked) != 1 or (not place["n"] and asked[0][3] == unit and asked[0][2].split()[0] == "1"):
        return None
    words = {"one": "1", "a": "1", "an": "1"}
    number = words.get(
        amount["n"].lower(), "0.5" if amount["n"].lower().startswith("half") else amount["n"].replace(",", "")
    )
    per = (place["n"] or "1").strip().replace(",", "")
    named = amount["rest"].split()
    suffix = f" {named[0]}" if named and conversions.unit_of(named[0]) is not None else ""
    return Reading(
        "calculate", {"expression": f"{number}{suffix} * (({asked[0][2]}) / ({per} {place['unit']}))"}, 1.0
    )


def _each(question: str, answer: str, text: str) -> Reading | None:
    """``42 panels of 410 watts each``, asked of all together."""
    place = re.search(
        rf"(?P<n>\d[\d,]*)\s+(?:[\w-]+\s+){{1,3}}(?:of|at|with|for)\s+{re.escape(answer)}\s+(?:each|apiece)\b", text
    )
    if place is None or not re.search(
        r"\b(?:all|together|total|altogether|in all|combined|whole)\b", question, re.IGNORECASE
    ):
        return None
    asked = conversions.asked_unit(question)
    to = f" to {asked[0]}" if asked is not None and conversion(f"{answer} in {asked[0]}") is not None else ""
    return Reading("calculate", {"expression": f"{place['n'].replace(',', '')} * {answer}{to}"}, 1.0)


def _range(question: str, answer: str, text: str) -> Reading | None:
    """``from 29 March to 27 October``, asked how many days it lasts; a missing year is the question's."""
    unit = re.search(r"\bhow\s+many\s+(days|weeks|months)\b|\bhow\s+(long)\b", question, re.IGNORECASE)
    found = [date for date in Question(text).dates if date.day and date.month]
    years = [date.year for date in Question(question).dates if date.year] or [
        date.year for date in found if date.year
    ]
    if unit is None or len(found) != 2 or not years or not _LASTS.search(question):
        return None
    if not re.fullmatch(r"\W*(?:to|until|till|and|through|-|–)\W*", text[found[0].end : found[1].start].strip()):
        return None
    first, last = (f"{date.year or years[0]:04}-{date.month:02}-{date.day:02}" for date in found)
    both = moments.BOTH.search(question)
    other = last if both or not unit[1] else f"{last} in {unit[1].lower()}"
    return Reading(
        "date_math",
        {"operation": "difference_inclusive" if both else "difference", "date": first, "other": other},
        1.0,
    )


_LASTS = re.compile(r"\b(?:lasts?|long|runs?|takes?|open|season|days|weeks|months)\b", re.IGNORECASE)


def _date_in(answer: str) -> str:
    """The one full date of an answer, as it is written there."""
    full = [date for date in Question(answer).dates if date.year and date.month and date.day]
    if len(full) != 1:
        return ""
    written = answer[full[0].start : full[0].end]
    try:
        dates.parse_moment(written)
    except ToolError:
        return ""
    return written


def with_year(question: str, answer: str, page: str) -> tuple[str, str] | None:
    """A day said without a year with that of its page (``year_of``), and the date there.

    None where no day is asked for, or it has a year, or its page does not tell which.
    """
    said = Question(answer).dates if len(answer) <= 40 and wanted(question).kind in ("date", "when") else ()
    if len(said) != 1 or said[0].year or not (said[0].day and said[0].month):
        return None
    borne = [date for date in Question(page).dates if date.year]
    if not (year := year_of(said[0], borne)):
        return None
    end = said[0].end  # a time of day may stand behind it
    return f"{answer[:end]} {year}{answer[end:]}", page[borne[0].start : borne[0].end]


_BOUND = re.compile(r"\b(?:since|from|until|till|by|before|after)\s+(?:the\s+)?$", re.IGNORECASE)
_AT = re.compile(r",?\s*(?:at|from)?\s*", re.IGNORECASE)
_DAY_NAMED = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun|week)days?|weekends?|today|tonight|tomorrow|daily|every|each|"
    r"winter|summer|spring|autumn|season)\b",
    re.IGNORECASE,
)


def with_its_day(question: str, answer: str, sentence: str) -> str:
    """Of when something is, the day too where its sentence says it right before the time: "11 June 2026 at 18:30".

    Who names the day asks for the time, and so does who asks at what time.
    """
    if wanted(question).kind != "when" or not clocks.IN_FIGURES.fullmatch(answer) or _DAY_NAMED.search(question):
        return answer
    if any(date.day for date in Question(question).dates):
        return answer
    if sentence.count(answer) != 1:
        return answer  # which of them is meant is not known here
    for date in Question(sentence).dates:
        behind = None if _BOUND.search(sentence[: date.start]) else _AT.match(sentence, date.end)
        if date.day and date.month and behind and sentence.startswith(answer, behind.end()):
            return sentence[date.start : behind.end() + len(answer)]
    return answer


_WEEKDAYS = re.compile(r"(?:on\s+)?((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)s", re.IGNORECASE)


def in_form(question: str, answer: str, seen: Sequence[str]) -> str:
    """An answer as it was read, in the form that is asked for: figures, a weekday, a day with its year.

    Args:
        question: what was asked.
        answer: words of a page.
        seen: what was read.
    """
    kind = wanted(question).kind
    if kind in COUNTED:
        return in_figures(answer)
    if kind == "weekday" and (days := _WEEKDAYS.fullmatch(answer.strip())):
        return days[1]
    dated = with_year(question, answer, " . ".join(seen))
    return answer if dated is None else dated[0]
