from datetime import UTC, datetime

import pytest

from pointwork.errors import UsageError
from pointwork.memory.dates import DAY, closeness, mentions_time, periods, to_epoch

NOW = datetime(2024, 3, 15, 12, tzinfo=UTC).timestamp()  # a Friday


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("on 7 May 2023", "2023-05-07", "2023-05-08"),
        ("on May 7th, 2023", "2023-05-07", "2023-05-08"),
        ("the 7th of May 2023", "2023-05-07", "2023-05-08"),
        ("2023-05-07", "2023-05-07", "2023-05-08"),
        ("in May 2023", "2023-05-01", "2023-06-01"),
        ("in 2022", "2022-01-01", "2023-01-01"),
        ("in February", "2024-02-01", "2024-03-01"),
        ("yesterday", "2024-03-14", "2024-03-15"),
        ("today", "2024-03-15", "2024-03-16"),
        ("last week", "2024-03-04", "2024-03-11"),
        ("last weekend", "2024-03-09", "2024-03-11"),
        ("this month", "2024-03-01", "2024-04-01"),
        ("next year", "2025-01-01", "2026-01-01"),
        ("last Monday", "2024-03-11", "2024-03-12"),
        ("two days ago", "2024-03-13", "2024-03-14"),
        ("3 weeks ago", "2024-02-20", "2024-02-27"),
        ("a year ago", "2023-01-01", "2024-01-01"),
        ("one year ago", "2023-01-01", "2024-01-01"),
        ("eleven days ago", "2024-03-04", "2024-03-05"),
        ("in 2023-05", "2023-05-01", "2023-06-01"),
        ("2023-05-07T10:00", "2023-05-07", "2023-05-08"),
        ("in 2023-24", "2023-01-01", "2024-01-01"),
        ("the day before yesterday", "2024-03-13", "2024-03-14"),
        ("day before yesterday", "2024-03-13", "2024-03-14"),
        ("the day after tomorrow", "2024-03-17", "2024-03-18"),
        ("this Wednesday", "2024-03-13", "2024-03-14"),
        ("this Sunday", "2024-03-17", "2024-03-18"),
        ("next Monday", "2024-03-18", "2024-03-19"),
    ],
)
def test_periods(text: str, start: str, end: str) -> None:
    assert periods(f"What happened {text}?", NOW)[0] == (to_epoch(start), to_epoch(end))


@pytest.mark.parametrize(
    "text", ["I may go", "30 February 2023", "99999999 years ago", "99999999 days ago", "", "12"]
)
def test_what_is_no_date(text: str) -> None:
    assert periods(text, NOW) == []


def test_closeness_falls_with_distance() -> None:
    day = [(NOW, NOW + DAY)]
    assert closeness(NOW + 5, day) == 1
    assert closeness(NOW + 2 * DAY, day) == pytest.approx(0.5)
    assert closeness(NOW - 9 * DAY, day) == pytest.approx(0.1)


def test_time_words() -> None:
    assert mentions_time("I saw her last Tuesday")
    assert not mentions_time("I may march on")


def test_points_in_time() -> None:
    assert to_epoch(None) is None
    assert to_epoch(5) == 5.0
    assert (
        to_epoch("2023-05-08T13:56:00Z")
        == to_epoch("1:56 pm on 8 May, 2023")
        == to_epoch(datetime(2023, 5, 8, 13, 56))
    )


@pytest.mark.parametrize("time", ["", "10:30", "monday", "garbage", float("nan"), float("inf"), 1e300])
def test_no_point_in_time(time: float | str) -> None:
    with pytest.raises(UsageError, match="no point in time"):
        to_epoch(time)


@pytest.mark.parametrize("now", [-62135596800.0, 253402300799.0])
@pytest.mark.parametrize("text", ["yesterday", "tomorrow", "last year", "next month", "this weekend"])
def test_the_calendar_ends(text: str, now: float) -> None:
    """An item may be of its first or last day; what lies beyond is no date, and nothing fails for it."""
    assert all(start < end for start, end in periods(text, now))


def test_a_number_that_python_does_not_read_is_no_date() -> None:
    assert periods(f"{'9' * 5000} days ago", 0.0) == []


def test_a_day_whose_end_is_beyond_the_calendar_is_none() -> None:
    last = datetime(9999, 12, 31, 12, tzinfo=UTC).timestamp()
    assert all(end <= last for _, end in periods("on 31 December", last))
