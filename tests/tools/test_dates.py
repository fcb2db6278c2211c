"""Dates and periods: exact on the calendar, and never guessed."""

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork.errors import ToolError
from pointwork.tools import ToolResult
from pointwork.tools.date_math import date_math
from pointwork.tools.dates import Moment, Period, business_days, parse_moment, parse_period, shift


def run(operation: str, day: str, other: str = "") -> ToolResult:
    return date_math.fn(**date_math.validate({"operation": operation, "date": day, "other": other}))


@pytest.mark.parametrize(
    "written",
    [
        "2025-04-03",
        "3 April 2025",
        "April 3, 2025",
        "3rd of April 2025",
        "Apr 3 2025",
        "Thu, 3 April 2025",
        "20250403",
    ],
)
def test_written_forms(written: str) -> None:
    assert parse_moment(written).text() == "2025-04-03"


@pytest.mark.parametrize(
    ("written", "read", "noted"),
    [
        ("03/04/2025", "2025-03-04", "read as month/day: 4 March 2025"),
        ("3.4.2025", "2025-04-03", "read as day.month: 3 April 2025"),
        ("25/12/2024", "2024-12-25", ""),
        ("12/25/2024", "2024-12-25", ""),
        ("05/05/2025", "2025-05-05", ""),
    ],
)
def test_ambiguous_forms_say_how_they_were_read(written: str, read: str, noted: str) -> None:
    moment = parse_moment(written)
    assert moment.text() == read
    assert noted in moment.note
    assert bool(noted) == bool(moment.note)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("03/04/25", "the year of '03/04/25' is not clear"),
        ("July 4", "the year is missing"),
        ("March 2024", "the day is missing"),
        ("5", "is missing"),
        ("banana", "not a date I can read"),
        ("2023-02-30", "not a date I can read"),
        ("31/02/2024", "there is no date"),
        ("25:00", "there is no time"),
        ("13 pm", "there is no time"),
        ("2024-06-03 10:00 XYZ", "not a date I can read"),
        ("", "not a date I can read|missing"),
        ("9" * 100, "too long"),
    ],
)
def test_what_would_be_a_guess_is_refused(written: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        parse_moment(written)


@pytest.mark.parametrize(
    ("operation", "day", "other", "name", "value"),
    [
        ("difference", "2024-01-01", "2025-03-04", "days", 428),
        ("difference", "2024-03-01", "2024-01-01", "days", -60),
        ("between", "2024-01-01", "2025-03-04", "months", 2),
        ("difference", "9:15", "17:40", "text", "8 h 25 min"),
        ("difference", "22:00", "06:30", "text", "8 h 30 min"),
        ("difference", "2024-06-03 10:00", "2024-06-04 09:00", "seconds", 23 * 3600),
        ("difference", "2024-06-03", "2024-06-10", "business_days", 5),
        ("add", "2024-01-31", "1 month", "result", "2024-02-29"),
        ("add", "2024-02-29", "1 year", "result", "2025-02-28"),
        ("add", "14:50", "3h 25min", "result", "18:15"),
        ("add", "2:50 pm", "3 hours and 25 minutes", "result", "18:15"),
        ("add", "22:50", "3h 25min", "days_over", 1),
        ("add", "2024-06-07", "10 business days", "result", "2024-06-21"),
        ("add", "2024-06-08", "1 business day", "result", "2024-06-10"),
        ("add", "2024-06-03", "two weeks", "weekday", "Monday"),
        ("add", "2024-06-03 10:00", "1.5 days", "result", "2024-06-04 22:00"),
        ("Subtract", "2023-03-31", "1 month and 2 days", "result", "2023-02-26"),
        ("subtract", "2024-06-09", "1 business day", "result", "2024-06-07"),
        ("day of week", "2024-12-25", "", "weekday", "Wednesday"),
        ("iso_week", "2024-12-30", "", "iso_week", "2025-W01"),
        ("iso_week", "2024-12-30", "", "week", 1),
        ("is_a", "2024-06-07", "Friday", "is_a", True),
        ("is_a", "2024-06-07", "weekend day", "is_a", False),
        ("day_of_year", "2024-12-31", "", "day_of_year", 366),
        ("days_in_month", "Feb 2024", "", "days", 29),
        ("leap_year", "1900", "", "leap_year", False),
        ("leap_year", "2000-01-01", "", "leap_year", True),
    ],
)
def test_date_math(operation: str, day: str, other: str, name: str, value: object) -> None:
    result = run(operation, day, other)
    assert result.value[name] == value
    assert result.evidence == (("tool:date_math", result.text),)


@pytest.mark.parametrize(
    ("operation", "day", "other", "message"),
    [
        ("add", "2024-06-03", "", "other is missing"),
        ("add", "2024-06-03", "soon", "not a length of time"),
        ("add", "2024-06-03", "1.5 months", "no fixed length"),
        ("add", "9999-12-31", "1 day", "outside the years"),
        ("add", "2024-06-03", "99999999999 days", "too long a time"),
        ("add", "14:50", "1 month", "has no date"),
        ("difference", "14:50", "2024-06-03", "time of day only"),
        ("difference", "2024-06-03T10:00Z", "2024-06-03", "time zone"),
        ("is_before", "2024-06-03T10:00Z", "2024-06-03 09:00", "time zone"),
        ("later", "2024-06-03T10:00Z", "2024-06-03 09:00", "time zone"),
        ("weekday", "14:50", "", "write a date"),
        ("is_a", "14:50", "Friday", "write a date"),
        ("is_a", "2024-06-07", "feast", "no kind of day"),
        ("sideways", "2024-06-03", "", "operation"),
    ],
)
def test_date_math_errors(operation: str, day: str, other: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        run(operation, day, other)


@pytest.mark.parametrize(
    ("operation", "day", "other", "answer"),
    [
        ("difference", "2024-01-01", "2024-01-02", "1 day"),
        ("difference", "9:15", "17:40", "8 h 25 min"),
        ("add", "14:50", "3h 25min", "18:15"),
        ("leap_year", "2024", "", "yes"),
        ("days_in_month", "Feb 2024", "", "29 days"),
    ],
)
def test_short_answers(operation: str, day: str, other: str, answer: str) -> None:
    assert run(operation, day, other).answer == answer


def test_today_is_said() -> None:
    result = run("add", "today", "1 day")
    assert result.value["result"] == (date.today() + timedelta(days=1)).isoformat()
    assert f"today is {date.today()}" in result.text


days = st.dates(date(1950, 1, 1), date(2090, 1, 1))


@given(days, st.integers(-400, 400))
@settings(max_examples=100, deadline=None)
def test_adding_and_counting_business_days_agree(start: date, count: int) -> None:
    moment = Moment(datetime.combine(start, datetime.min.time()), has_date=True, has_time=False)
    end = shift(moment, Period(business_days=count)).at.date()
    plain = start
    for _ in range(abs(count)):
        plain += timedelta(days=1 if count > 0 else -1)
        while plain.weekday() > 4:
            plain += timedelta(days=1 if count > 0 else -1)
    assert end == plain
    if start.weekday() < 5:
        assert business_days(start, end) == count


@given(days, days)
@settings(max_examples=100, deadline=None)
def test_difference_is_what_must_be_added(first: date, second: date) -> None:
    assert business_days(first, second) == -business_days(second, first)
    found = run("difference", first.isoformat(), second.isoformat()).value["days"]
    assert first + timedelta(days=found) == second


@given(st.integers(0, 500), st.integers(0, 23), st.integers(0, 59))
@settings(max_examples=60, deadline=None)
def test_periods_read_back(days: int, hours: int, minutes: int) -> None:
    expected = Period(days=days, seconds=hours * 3600 + minutes * 60)
    assert parse_period(f"{days} days, {hours}h {minutes} min") == expected
