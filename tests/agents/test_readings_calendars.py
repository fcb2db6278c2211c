"""What calendars and timetables say is one call, and it comes to the right day, time or number."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.agents.readings import calendars, moments
from pointwork.agents.readings.calendars import plainly
from pointwork.agents.readings.question import Question
from pointwork.errors import ToolError
from pointwork.tools.calculator import calculate
from pointwork.tools.date_math import date_math
from pointwork.tools.dates import days_of, days_to


def said(text: str) -> str:
    (reading,) = moments.readings(text)
    assert reading.score == 1.0
    tool = {"date_math": date_math, "calculate": calculate}[reading.tool]
    return str(tool.fn(**tool.validate(reading.arguments)).answer)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("How many Mondays are there in September 2025? We close every Monday.", "5"),
        ("number of working days in February 2028 (Mon-Fri)", "21"),
        ("Count the working days from 2 June 2025 to 20 June 2025, both included.", "15"),
        ("Saturdays and Sundays together: how many weekend days are in August 2026?", "10"),
        ("Delivery on the Thursday after 6 June 2025 (a Friday). What date is that?", "2025-06-12"),
        ("We close on the Monday before 1 May 2026. Which date is it?", "2026-04-27"),
        ("We fly on 1 November 2026 and bring the car on the Saturday before that. Date?", "2026-10-31"),
        ("Which date comes right before the first of March 2024?", "2024-02-29"),
        ("What day comes right after 31.12.2024?", "2025-01-01"),
        ("Mother's Day is the second Sunday in May. Which date is that in 2027?", "2027-05-09"),
        ("Which date was the 60th day of the year 2024?", "2024-02-29"),
        ("If the 1st of a month is a Sunday, what weekday is the 24th?", "Tuesday"),
        ("If 31 October is a Friday, what day of the week is 1 October?", "Wednesday"),
        ("Suppose it is a Tuesday. Which weekday will it be 100 days later?", "Thursday"),
        ("It is a Monday. What weekday was it two weeks ago?", "Monday"),
        ("He was born on 2007-11-05. On what date does he turn 18?", "2025-11-05"),
        ("Born 14 January 1966. When is the 67th birthday?", "2033-01-14"),
        ("You must be 21 to drive. Jonas was born on April 18, 2005. From which date may he?", "2026-04-18"),
        ("She celebrates 25 years with us on the third of June 2026. On what date did she start?", "2001-06-03"),
        ("When was somebody born who turned forty on 3 May 2025?", "1985-05-03"),
        ("The cat turned 9 on 2 April 2024. In which year was she born?", "2015"),
        ("They married on 7 July 1984. In which year is their 50th anniversary?", "2034"),
        ("On which date is someone born on 14 March 1998 exactly 10,000 days old?", "2025-07-30"),
        ("A bus runs every 25 minutes from 06:40, the first at 06:40. When does the fourth leave?", "07:55"),
        ("Trams go at 05:12 and then every 18 minutes. What is the first departure after 06:30?", "06:42"),
        ("Trams leave at 07:08 and every 12 minutes. It is 08:01. When is the next?", "08:08"),
        ("Trams leave at 07:08 and every 12 minutes. It is 07:20. When is the next?", "07:20"),
        ("It leaves at 09:05, 09:50, 10:35 and so on. When is the seventh departure?", "13:35"),
        ("Tablets every 8 hours, the first at 06:30. When is the third one?", "22:30"),
        (
            "Lessons last forty minutes each with five minutes between; the first at 14:00. When is the sixth?",
            "17:45",
        ),
        ("Shift 07:00 to 15:45 with a break of 30 minutes and one of 15 minutes. How many hours are paid?", "8"),
        ("in 08:07, out 16:52, lunch 40 min not counted. worked minutes?", "485"),
        ("From 22:00 to 06:30 with a break of one hour. How many hours are that?", "7.5"),
    ],
)
def test_what_a_calendar_or_timetable_says(text: str, answer: str) -> None:
    assert said(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Payable within 30 days of 17 January 2025: which is the date thirty days after?", "2025-02-16"),
        ("2 weeks after 3 May 2025, and then another 2 weeks: which date is that?", "2025-05-31"),
        ("In on 28.01.2025, out on 04.03.2025. Number of days?", "35 days"),
        ("Arrival 2/27/2024, departure 5 March 2024. Number of nights?", "7 days"),
        ("From the first of July 2022 to 31 December 2024, both included. How many whole months?", "30 months"),
        ("What date comes 100 days after New Year's Day 2025?", "2025-04-11"),
        ("On what weekday did the leap day in 2024 fall?", "Thursday"),
        ("1 May 2025 plus one hundred days, please.", "2025-08-09"),
        ("go back 30 days from 15 january 2026", "2025-12-16"),
        (
            "I began at a quarter past six in the morning and ended at ten to two in the afternoon. How long?",
            "7 h 35 min",
        ),
        ("plane was due 18:25 but is one hour fifty late. arrival time now?", "20:15"),
        ("arrival 16:52, connection at 17:09. Minutes to change?", "17 min"),
        ("Which birthday is it on 11 October 2027 if he was born on 11 October 1965?", "62"),
    ],
)
def test_dates_and_periods_as_people_write_them(text: str, answer: str) -> None:
    assert said(text).startswith(answer)


@pytest.mark.parametrize(
    "text",
    [
        "How many Mondays are there?",  # of which month
        "Do we open on Mondays in September 2025?",  # not counted
        "How many tickets did we sell on Mondays in May 2025?",  # something else is
        "How many Mondays of May 2025 were rainy?",
        "How many working days did Tom miss in May 2025?",
        "What did we sell on the Monday before 1 May 2026?",  # no day is asked for
        "What were our takings on the second Sunday in May in 2027?",
        "A bus runs every 25 minutes from 06:40. What does the second ticket cost?",
        "Is the Thursday free?",
        "If 1 October is a Wednesday, what weekday is 3 November?",  # of another month
        "If 1 October 2025 is a Wednesday, what weekday is 1 October 2026?",  # of another year
        "He turns 18 in May.",
        "The bus runs every 25 minutes.",
        "From 08:00 to 10:00 it costs 30 minutes of work.",
    ],
)
def test_nothing_is_read_where_something_lacks(text: str) -> None:
    assert calendars.asked(text) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("28.01.2025", ["2025-01-28"]),
        ("on 7.9.2023.", ["2023-09-07"]),
        ("28/01/2025 and 1/28/2025", ["2025-01-28", "2025-01-28"]),
        ("03/05/2025", ["2025"]),  # which is the day is not clear
        ("version 1.2.2025.7", ["2025"]),
        ("32.01.2025", ["2025"]),
    ],
)
def test_dates_in_figures(text: str, found: list[str]) -> None:
    assert [one.value() for one in Question(text).dates] == found


def test_days_with_a_name_are_dates_and_other_words_stay() -> None:
    assert plainly("from Christmas Eve, 2024 to New Year’s Day 2025") == "from 24 December 2024 to 1 January 2025"
    assert plainly("one hour fifty late") == "one hours fifty minutes late"
    assert (
        plainly("New Year's Day is quiet; one hour, fifty people")
        == "New Year's Day is quiet; one hour, fifty people"
    )


@given(st.dates(date(1900, 1, 1), date(2100, 1, 1)), st.integers(0, 800), st.integers(0, 6))
def test_days_of_a_kind_are_counted_one_by_one(first: date, apart: int, weekday: int) -> None:
    days = [first + timedelta(days=number) for number in range(apart + 1)]
    name = f"{date(2024, 1, 1 + weekday):%A}"
    assert days_of(first, days[-1], f"{name}s") == sum(day.weekday() == weekday for day in days)
    assert days_of(first, days[-1], "working days") == sum(day.weekday() < 5 for day in days)
    assert days_of(first, days[-1], "weekend days") == sum(day.weekday() > 4 for day in days)


@given(st.dates(date(1900, 1, 1), date(2100, 1, 1)), st.sampled_from([1, -1]), st.integers(0, 6))
def test_a_weekday_beside_a_day_is_the_nearest_one(day: date, step: int, weekday: int) -> None:
    apart = days_to(day, f"{date(2024, 1, 1 + weekday):%A}", step)
    assert (day + timedelta(days=apart)).weekday() == weekday
    assert 1 <= apart * step <= 7


@pytest.mark.parametrize(
    ("operation", "day", "other", "says"),
    [
        ("count_days", "14:00", "Mondays", "time of day"),
        ("count_days", "2025-09-01", "Mondays until 14:00", "time of day"),
        ("count_days", "2025-09-02", "Mondays until 2025-09-01", "is before"),
        ("count_days", "2025-09", "Foodays", "no kind of day"),
        ("weekday_after", "14:00", "Monday", "time of day"),
        ("weekday_after", "2025-09-02", "Fooday", "no weekday"),
        ("weekday_after", "9999-12-31", "Monday", "years 1 to 9999"),
        ("weekday_before", "0001-01-01", "Monday", "years 1 to 9999"),
        ("difference_inclusive", "08:00", "10:00 in hours", "time of day"),
        ("difference_inclusive", "2024-01-01", "9999-12-31 in months", "years 1 to 9999"),
        ("add", "Tuesday", "2 months", "only days and weeks"),
    ],
)
def test_what_no_calendar_has_is_said(operation: str, day: str, other: str, says: str) -> None:
    arguments = {"operation": operation, "date": day, "other": other}
    with pytest.raises(ToolError, match=says):
        date_math.fn(**date_math.validate(arguments))


def test_both_ends_count_in_either_direction() -> None:
    for first, last, months in (("2022-07-01", "2024-12-31", "30"), ("2024-12-31", "2022-07-01", "-30")):
        arguments = {"operation": "difference_inclusive", "date": first, "other": f"{last} in months"}
        assert date_math.fn(**date_math.validate(arguments)).answer == f"{months} months"
