"""What comes again and again, what lasts in parts, the time elsewhere, and whole months: one call each."""

import pytest

from pointwork.agents.readings import moments
from pointwork.agents.readings.beyond import outright
from pointwork.agents.readings.calendars import plainly
from pointwork.agents.readings.finishing import as_asked
from pointwork.tools.calculator import calculate
from pointwork.tools.date_math import date_math


def said(text: str) -> str:
    reading = outright(text)
    assert reading is not None
    tool = {"date_math": date_math, "calculate": calculate}[reading.tool]
    return as_asked(text, str(tool.fn(**tool.validate(reading.arguments)).answer))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The cat gets a pill every 4 days, the first on 3 March 2025. On what date is the sixth?", "2025-03-23"),
        ("We meet fortnightly from 7 January 2026. When is the third meeting?", "2026-02-04"),
        ("Choir is every second Tuesday, first on 9 September 2025. What date is the 4th rehearsal?", "2025-10-21"),
        ("Dentist slots of 20 minutes each, back to back from 08:40. When does the fifth one begin?", "10:00"),
        ("Dentist slots of 20 minutes each, back to back from 08:40. When is the fifth one over?", "10:20"),
        (
            "Four talks of 30 minutes with 10-minute breaks in between, from 13:00. When does the last one end?",
            "15:30",
        ),
        (
            "Three heats of 12 min with a 3 min gap between them, from 10:00. When does the second one start?",
            "10:15",
        ),
    ],
)
def test_what_comes_again_and_again(text: str, answer: str) -> None:
    assert said(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The library is open 09:30-12:30 and 14:00-18:00. How many hours is that in total?", "7"),
        ("The gym runs from 06:00 to 09:15 and from 17:00 to 21:00: how many minutes are that?", "435"),
        ("What time is half way between 09:10 and 12:40?", "10:55"),
        ("How many hours are there from Saturday 14:00 until Monday 06:00?", "40"),
        ("My run took 1:12:45. How many minutes were that?", "72.75"),
        ("From 22:00 on 3 May 2024 to 07:30 on 5 May 2024, how many hours?", "33.5 hours"),
        ("We left at 21:15 on 30 June 2025 and arrived 14 hours later. On which date was that?", "2025-07-01"),
        (
            "I set off at 10:25 and may walk three and a half hours at most before the hut. When must I be there?",
            "13:55",
        ),
        ("The ferry leaves at 09:05 and the harbour is 40 minutes away. When must we leave home?", "08:25"),
        ("It is a quarter past six in the evening and he has slept for 50 minutes. Since when?", "17:25"),
        (
            "On 3 May 2024 the choir meets. It begins at 19:00 and sings 90 minutes. When is it over?",
            "2024-05-03 20:30",
        ),
        ("We left Ghent at 09:10 and drove 140 minutes. When did we arrive?", "11:30"),
        ("The alarm rang at 05:50, and 25 minutes before that the cat. At what time did she?", "05:25"),
        ("She was home at 19:40 after driving 95 minutes. When did she leave?", "18:05"),
        ("The night nurse noted 0215 hours, and the doctor came 40 minutes later. At what time?", "02:55"),
        ("Which date is halfway between 2 May 2025 and 12 May 2025?", "2025-05-07"),
    ],
)
def test_what_lasts(text: str, answer: str) -> None:
    assert said(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Porto is 1 hour behind Vigo. It's 00:30 in Vigo. Time in Porto?", "23:30"),
        (
            "Osaka is 9 hours ahead of Leeds and Leeds 5 hours ahead of Lima. It is 20:00 in Lima. Time in Osaka?",
            "10:00",
        ),
        (
            "Perth is 8 hours ahead of Leeds, and Delhi is 5.5 hours ahead of Leeds. If it is 09:00 in Perth, what "
            "time is it in Delhi?",
            "06:30",
        ),
        ("Delhi is 4.5 hours ahead of us. At 14:00 here, what time do they have?", "18:30"),
        (
            "Home is 2 and a half hours ahead of us. The clock on board says 07:00. What's the time at home?",
            "09:30",
        ),
        ("I leave Lyon at 10:00, fly 8 hours, and Lima is 6 hours behind Lyon. Local arrival time?", "12:00"),
        ("I leave Lyon at 10:00, fly 8 hours, and Lyon is 6 hours ahead of Lima. Local arrival time?", "12:00"),
    ],
)
def test_the_time_elsewhere(text: str, answer: str) -> None:
    assert said(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("How many months are there between March 2021 and January 2024?", "34"),
        ("How many days do July, August and September have?", "92"),
        ("How many hours are there in February 2024?", "696"),
        ("How many days does the first quarter of 2024 have?", "91"),
        ("Which month comes 20 months after November?", "July"),
        ("Which month comes 20 months after November 2023?", "July 2025"),
        ("How many leap years are there from 1896 to 1912, both included?", "4"),
        ("What is the next leap year after 2096?", "2104"),
        ("It is Sunday. Which weekday will it be in 30 days?", "Tuesday"),
        ("It's Friday 21:00. What weekday will it be 30 hours later?", "Sunday"),
        ("It's Friday 21:00. Which weekday was it 30 hours ago?", "Thursday"),
        ("The baby was 500 days old on 1 June 2024. What is her date of birth?", "2023-01-18"),
        ("How many full weeks are there from 1 March 2025 to 20 April 2025?", "7 weeks"),
        ("How many days lie between 3 June 2025 and 10 June 2025, counting neither?", "6 days"),
        ("A pass is valid for 30 days and the first of them is 5 May 2025. Last valid day?", "2025-06-03"),
        (
            "Dated 10 June 2025, due within 20 days, the 11th being the first of them. Until which date?",
            "2025-06-30",
        ),
        (
            "Dated 10 June 2025, due within 20 days, the 10th being the first of them. Until which date?",
            "2025-06-29",
        ),
        ("If 4 July 2024 was a Thursday, which weekday was 4 July 2022?", "Monday"),
    ],
)
def test_months_and_days(text: str, answer: str) -> None:
    assert said(text) == answer


@pytest.mark.parametrize(
    "text",
    [
        "The lamp lasts 1200 hours. When must it be changed?",
        "How many days do January and February have?",  # of which year?
        "The April board sat for long. How many minutes did it last?",
        "How many minutes did the board sit in March?",
        "How many hours is the shop open on a day?",
        "Every 3 weeks since 5 May 2025 somebody complains. When does the second shop open?  Who knows?",
        "Porto is 1 hour behind Vigo and Faro 2 hours ahead of Cork. It is 10:00 in Vigo. Time in Cork?",
    ],
)
def test_what_is_not_told_is_not_read(text: str) -> None:
    assert outright(text) is None


def test_a_time_belongs_to_the_day_beside_it() -> None:
    (read,) = moments.readings("From 3 May 2024 to 6 May 2024 it is open from 09:00 to 17:00. How many days?")
    assert (read.arguments["date"], read.arguments["other"]) == ("2024-05-03", "2024-05-06")


def test_hours_that_something_lasts_are_no_time_of_day() -> None:
    assert plainly("The lamp lasts 1200 hours.") == "The lamp lasts 1200 hours."
    assert plainly("We met at 1430 hours, they at 0915 h.") == "We met at 14:30, they at 09:15."
