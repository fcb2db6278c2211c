"""Times of day in words become figures, and what only sounds like one stays."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.agents.facts.figures import in_one_form
from pointwork.agents.facts.hours import hours_in_figures
from pointwork.agents.readings import clocks


@pytest.mark.parametrize(
    ("said", "form"),
    [
        ("half past eight to five, with 45 minutes off", "08:30 to 17:00, with 45 minutes off"),
        ("open from eight to half past four in summer", "open from 08:00 to 16:30 in summer"),
        ("open from half past 6 to 6.", "open from 06:30 to 18:00."),
        ("half past two to a quarter to five", "14:30 to 16:45"),
        ("the last climb is at a quarter to four", "the last climb is at 15:45"),
        ("pack up by quarter past one", "pack up by 13:15"),
        ("ten past four; ten minutes to nine in the evening", "16:10; 20:50"),
        ("from a quarter to noon to half past noon, and", "from 11:45 to 12:30, and"),
        ("leaves at twenty to nine, back by ten to four.", "leaves at 08:40, back by 15:50."),
        ("quarter to one on Sundays", "12:45 on Sundays"),
        ("at 7 in the evening, from five in the afternoon", "at 19:00, from 17:00"),
        ("two o'clock, twelve o'clock at night", "14:00, 00:00"),
        ("cancel by noon or until midnight", "cancel by 12:00 or until 24:00"),
        ("half past five to five", "05:30 to 17:00"),
        ("Opens at half past five, closes at half past eight.", "Opens at 05:30, closes at 20:30."),
        (
            "opens at nine and closes at half past six; opens at 3",
            "opens at 09:00 and closes at 18:30; opens at 15:00",
        ),
        ("Closed from noon. Breakfast is at half past five", "Closed from 12:00. Breakfast is at 05:30"),
        ("locks up on Fridays at quarter to eleven", "locks up on Fridays at 22:45"),
        ("from half past five to nine", "from 17:30 to 21:00"),
        ("opens from half past five to nine", "opens from 05:30 to 09:00"),
        ("twenty past nine; open until noon", "09:20; open until 12:00"),
        ("from a quarter to 6, and from 8 to 16:30", "from 17:45, and from 08:00 to 16:30"),
        ("The shop closes. Lunch is at half past nine", "The shop closes. Lunch is at 09:30"),
        ("half past six in the evening", "18:30"),
        ("half past five in the morning", "05:30"),
    ],
)
def test_a_spoken_time_is_one_in_figures(said: str, form: str) -> None:
    assert in_one_form(said) == form


@pytest.mark.parametrize(
    "said",
    [
        "a quarter to the food bank",
        "a quarter to five people",
        "20 minutes to 4 people, 5 past the post",
        "from ten to four",
        "by ten to four people",
        "31 in the afternoon, an eight in the evening",
        "half past 10.30",
        "22:00 to 06:00, and 14:00 to 5 people",
        "between midnight and six",
        "from 7 to 19 o'clock",
        "it starts at 3 euros, opens at nine places",
        "midday hay at 12:15, the noon bell",
    ],
)
def test_what_is_no_spoken_time_stays(said: str) -> None:
    assert hours_in_figures(said) == said


def test_a_night_that_is_told_in_figures_stays_beside_a_spoken_time() -> None:
    assert hours_in_figures("half past nine; closed 22:00 to 06:00") == "09:30; closed 22:00 to 06:00"


@given(
    st.sampled_from(sorted(clocks.HOURS)), st.sampled_from(sorted(clocks.HOURS)), st.sampled_from(["half", "ten"])
)
def test_what_ends_ends_after_it_began(first: str, last: str, minutes: str) -> None:
    found = re.findall(r"\d\d:\d\d", hours_in_figures(f"{minutes} past {first} to {last}"))
    assert len(found) == 2
    began, ended = (int(one[:2]) * 60 + int(one[3:]) for one in found)
    assert began < ended <= began + 720


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert "\x01" in text or "\x01" not in hours_in_figures(text)


@pytest.mark.parametrize(
    ("said", "form"),
    [
        ("won in 1 hour 52 minutes", "won in 112 minutes"),
        ("it takes seven hours and thirty minutes", "it takes 7.5 hours"),
        ("an hour and twenty minutes; one hour 10 minutes", "80 minutes; 70 minutes"),
        ("1 h 5 min, 9 minutes 45 seconds, 3 min 20 sec", "65 minutes, 9.75 minutes, 200 seconds"),
        ("2 hours and 0 minutes", "120 minutes"),
    ],
)
def test_a_duration_of_two_units_is_one_amount(said: str, form: str) -> None:
    assert in_one_form(said) == form


@pytest.mark.parametrize(
    "said",
    [
        "2 hours, 30 minutes",
        "2 hours 30 seconds",
        "2 hours and 10 minutes of rest",
        "40 minutes and 30 minutes",
        "1.5 hours 90 minutes",
    ],
)
def test_two_durations_stay_two(said: str) -> None:
    assert in_one_form(said) == said
