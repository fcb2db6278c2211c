"""Measures as people write them: gallons of two countries, rates over a time, pounds per bag, miles a gallon."""

import pytest

from pointwork.agents.readings.beyond import outright
from pointwork.agents.readings.conversions import asked_unit, quantities
from pointwork.agents.readings.converting import conversion
from pointwork.tools.calculator import calculate


def said(text: str) -> float:
    reading = conversion(text)
    assert reading is not None
    assert reading.score == 1.0
    return float(str(calculate.fn(**calculate.validate(reading.arguments)).answer).split()[0])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("How many litres are 3 imperial gallons?", 13.63827),
        ("A tank of 10 US gallons. Litres?", 37.85412),
        ("Two UK pints in ml?", 1136.5225),
        ("How many US fluid ounces are in two US cups?", 16),
        ("The limit is 40 lb per bag. What is that in kg?", 18.1437),
        ("Tyres at 30 psi. How much is that in bar?", 2.06843),
        ("A card of 32 GB (10^9 bytes each). How many GiB is that?", 29.80232),
        ("She gets 50 miles per US gallon. How many litres per 100 km is that?", 4.70429),
        ("The van needs 8 litres per 100 km. What is that in miles per imperial gallon?", 35.31012),
        ("A pump moves 40 ml a second. How many litres is that in an hour?", 144),
        ("It leaks 250 ml an hour. How many litres over 12 hours?", 3),
        # the unit that is wanted, wherever it is said
        ("My wrench shows 100 psi, I need bar.", 6.89476),
        ("The plot is 600 square feet. The form only takes square metres.", 55.74182),
        ("He has 38.5 °C. Fahrenheit please", 101.3),
        ("A photo of 2,500,000 bytes. In decimal megabytes?", 2.5),
        ("How many feet are there in a mile?", 5280),
        ("How many pints are in 3 imperial gallons?", 24),
        # what goes without saying
        ("She weighs 9 stone 4. In kilograms?", 58.9670),
        ("He is 5 foot 11 tall. How many cm is that?", 180.34),
        ("2 1/2 miles in km?", 4.02336),
        ("How many minutes is three eighths of an hour?", 22.5),
        # two measures, that only so come to what is asked for
        ("A lamp of 60 watts is on for 20 hours. How many kilowatt-hours?", 1.2),
        ("Rain of 5 mm on a roof of 60 square metres: how many litres?", 300),
        ("I ran 8 km in 40 minutes. Speed in km/h?", 12),
        ("At 90 km/h, how many metres in one second?", 25),
        ("A lift climbs 300 feet a minute. How many metres per second?", 1.524),
        ("The field is 200 m by 150 m. How many hectares?", 3),
        ("The sack is 4 fathoms long; a fathom is 6 feet. Metres?", 7.3152),
        ("It got warmer by 10 Celsius degrees. How many Fahrenheit degrees is that?", 18),
    ],
)
def test_it_is_converted(text: str, value: float) -> None:
    assert said(text) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "It leaks 250 ml an hour and 3 taps do. How many litres over 12 hours?",
        "The van needs 8 litres per 100 km. How many litres for 240 km?",
        "We eat 2 kg a day. How many days do 10 kg last?",
        "How many hours is the yard open on a day?",
        "How many metres of rope does the boat have?",
        "The top is 860 mm wide and loses 5 percent of it. By how many millimetres does it get narrower?",
        "It rose by 9 degrees Celsius. How many degrees Celsius is that?",
        "12 km in 2 hours, then 3 hours more. How many km?",
    ],
)
def test_what_has_more_numbers_is_no_conversion(text: str) -> None:
    assert outright(text) is None


def test_a_bar_is_a_pressure_only_where_it_is_one() -> None:
    assert asked_unit("How many grams is it in bar form?") is not None
    assert [one[2] for one in quantities("a bar of 100 g per person")] == ["100 g"]
