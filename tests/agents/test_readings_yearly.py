"""Where a day stands in its year, what kind of day it is, and the time at another place, as one call."""

import pytest

from pointwork.agents.readings import moments
from pointwork.agents.readings.beyond import outright
from pointwork.agents.readings.yearly import asked
from pointwork.tools.calculator import calculate
from pointwork.tools.date_math import date_math


def said(text: str) -> str:
    reading = outright(text)
    assert reading is not None
    tool = {"date_math": date_math, "calculate": calculate}[reading.tool]
    return str(tool.fn(**tool.validate(reading.arguments)).answer)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("What day number is 1 March 2024?", "61"),
        ("The 5th of April 2025 is day what of the year, if 1 January is day 1?", "95"),
        ("Which ISO week is 30 December 2024 in?", "1"),
        ("How many ISO weeks does 2020 have?", "53"),
        ("When is the Monday of week 7 of 2025?", "2025-02-10"),
        ("Stocktaking is in week 23 of 2024. Which date is its Thursday?", "2024-06-06"),
        ("In what quarter is 30 September?", "3"),
        ("What is the last day of the first quarter of 2024?", "2024-03-31"),
        ("What's the last day of the second quarter of 2026, calendar year?", "2026-06-30"),
        ("It comes in week 37 of 2025. On which date does that week's Monday fall?", "2025-09-08"),
        ("Which date is the first day of Q4 2026?", "2026-10-01"),
        ("first day of the 3rd quarter of 2025", "2025-07-01"),
        ("How many days are left in 2024 after 30 November?", "31 days"),
        ("Was 5 June 2024 a Wednesday?", "yes"),
        ("Is 6 July 2025 a working day?", "no"),
        ("was 12 October 2024 a weekend day, yes or no?", "yes"),
        ("Does February 1900 have 29 days?", "no"),
        ("Is there a 29 February in 2032?", "yes"),
        ("Tokyo is 8 hours ahead of us. It is 09:30 here; what time is it there?", "17:30"),
        ("Tokyo is 8 hours ahead of us. When our call is at 17:30 in Tokyo, what time is it here?", "09:30"),
        ("Chicago is six hours behind London. It is 20:15 in London. What time is it in Chicago?", "14:15"),
    ],
)  # fmt: skip
def test_a_day_in_its_year(text: str, answer: str) -> None:
    assert said(text) == answer


@pytest.mark.parametrize(
    "text",
    [
        "In which quarter did we sell most after 18 August 2024?",
        "How many days of my holiday are left in 2025 after 15 October?",
        "We came on 5 June 2025. Is it cheaper on a weekday?",
        "When is the Monday of week 54 of 2025?",
        "What did we sell on the last day of the first quarter of 2024?",
        "Which dish was on the menu on the Monday of week 7 of 2025, and on which date?",
        "Did the February 2028 guests pay for 29 beds?",
        "How many calendar weeks of hay did we feed in 2024?",
        "Did the boat that arrived on 5 June 2024 leave on a Wednesday?",
        "Tokyo is 8 hours ahead of us. What time is it there?",
    ],
)
def test_what_asks_for_more_is_left(text: str) -> None:
    assert outright(text) is None


def test_another_time_is_not_told_by_the_zone() -> None:
    assert asked("Tokyo is 8 hours ahead of us and it is 09:30 there. What time does the shop open?", ()) is None


def test_sept_is_september() -> None:
    (reading,) = moments.readings("What date is 90 days before Sept 30th, 2026?")
    assert reading.arguments == {"operation": "subtract", "date": "2026-09-30", "other": "90 days"}
