"""Two numbers, quantities, dates or times against each other, and sums that carry words of what is counted."""

import pytest

from pointwork.agents.readings import moments
from pointwork.agents.readings.expressions import expression_of
from pointwork.agents.readings.weighing import comparison_of
from pointwork.errors import ToolError
from pointwork.tools import ToolResult, builtin_tools
from pointwork.tools.calculator import calculate


def _answer(text: str) -> str:
    call = comparison_of(text)
    assert call is not None, text
    tool, arguments = call
    result = builtin_tools()[tool].fn(**arguments)
    assert isinstance(result, ToolResult)
    return result.answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("the larger of 34 and 28", "34"),
        ("The smaller of 34 and 28?", "28"),
        ("the larger of 34 and 28 kg", "34"),
        ("the smaller of 4 kg and 3000 g", "3 kg"),
        ("the later of 2024-03-05 and 1 May 2024", "2024-05-01"),
        ("the earlier of 14:30 and 2 pm", "14:00"),
        ("is 34 at least 34", "yes"),
        ("Is 34 more than 34?", "no"),
        ("is 34 at most 33.5", "no"),
        ("Is 3 over 4 more than 0.5?", "yes"),
        ("3 kg < 2999 g", "no"),
        ("Are 12 * 3 fewer than 40?", "yes"),
        ("does 40 exceed 39.5 kg", "yes"),
        ("is 12 kg over 11,900 g", "yes"),
        ("is €45 more than 44.50 euros", "yes"),
        ("is 2024-05-01 before 5 March 2024", "no"),
        ("is 14:30 after 2 pm", "yes"),
        ("is 2024-05-01 at least 1 May 2024", "yes"),
        ("is 2024-05-02 at most 1 May 2024", "no"),
        ("Was 1987 earlier than 1990?", "yes"),
    ],
)
def test_two_are_weighed(text: str, answer: str) -> None:
    assert _answer(text) == answer


@pytest.mark.parametrize(
    "text", ["Is Ann older than 30?", "the larger of the two boats", "Is the mast higher than 12 m?", "34 and 28"]
)
def test_what_is_no_two_numbers_is_not(text: str) -> None:
    assert comparison_of(text) is None


def test_a_calculation_compares() -> None:
    result = calculate.fn("2 * 3 >= 6")
    assert isinstance(result, ToolResult)
    assert result.answer == "yes"
    assert result.value == {"value": True, "text": "yes"}
    for text, so in (
        ("20 degC < 70 degF", True),
        ("2024-05-01 <= 1 May 2024", True),
        ("2024-05-01 >= 2024-05-02", False),
    ):
        weighed = calculate.fn(text)
        assert isinstance(weighed, ToolResult)
        assert weighed.answer == ("yes" if so else "no")
    with pytest.raises(ToolError, match="kg"):
        calculate.fn("3 kg < 4 m")


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("45 euros per night * 3", "45 * 3"),
        ("€12 per person * 4", "€12 * 4"),
        ("90 km a day * 3", "90 km * 3"),
        ("3.50 per kg * 12", "3.50 * 12"),
        ("120 km/h * 2 h", "120 km/h * 2 h"),
        ("(22 - 15 km) * 90 pence / 100", "(22 - 15) * 90 / 100"),
        ("(16 + 4 hours) * £11.60", "(16 + 4) * 11.60"),
        ("6 * £62 a box", "6 * 62"),
        ("3 kg - 2 m", ""),
        ("1987 + 25 years", "1987 + 25"),
        ("18,400 euros * (1 - 40 % / 100)", "18400 * (1 - 40 / 100)"),
        ("5% / 100", "5% / 100"),
        ("years from 1987 to 2024", "2024 - 1987"),
    ],
)
def test_a_rate_times_how_many(text: str, expression: str) -> None:
    assert expression_of(text) == expression


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("2024-05-01 - 2024-03-05", "57 days"),
        ("16:45 - 09:30", "7 h 15 min"),
        ("01:30 - 22:00", "3 h 30 min"),
        ("abs(09:30 - 16:45)", "7 h 15 min"),
        ("abs(2024-03-05 - 2024-05-01)", "57 days"),
        ("weeks from 2024-03-05 to 2024-03-26", "3 weeks"),
        ("full years from 1961-12-06 to 2026-07-01", "64 years"),
        ("whole years from 1961-12-06 to 2026-07-01", "64 years"),
        ("14.30 + 1 hour 20 minutes", "15:50"),
        ("minutes from 08:20:00 to 09:18:00", "58 minutes"),
    ],
)
def test_moments_as_they_are_noted(text: str, answer: str) -> None:
    reading = moments.readings(text)[0]
    assert reading.score == 1.0
    result = builtin_tools()[reading.tool].fn(**reading.arguments)
    assert isinstance(result, ToolResult)
    assert result.answer == answer


def test_what_is_very_long_is_no_sum_and_no_comparison() -> None:
    assert comparison_of(f"is {'1 + ' * 300}1 more than 3") is None
    assert expression_of(f"{'1 + ' * 300}1") == ""


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Is a load of 2,500 pounds heavier than 1.1 tonnes (metric)? yes or no", "yes"),
        ("is a 9 ft plank longer than 2.7 m", "yes"),
        ("Is a 10-mile run longer than a 16 km run?", "yes"),
        ("Is 200 °C warmer than 400 °F?", "no"),
        ("Is 60 mph slower than 27 m/s? Answer yes/no.", "yes"),
        ("Is an acre bigger than half a hectare?", "no"),
        ("Is 03.05.2025 (day first) before 2025-04-30?", "no"),
        ("1 lb 12 oz of flour or 800 g - is the first one heavier?", "no"),
        ("5 acres against 20,000 square metres: is the second one bigger?", "no"),
    ],
)
def test_measures_are_weighed_as_people_write_them(text: str, answer: str) -> None:
    assert _answer(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Convert 5 ft 11 in to centimetres.", "180.34 centimetres"),
        ("Give 2 h 35 min as minutes.", "155 minutes"),
        ("The gauge reads 8 bar. In kilopascals, please.", "800 kilopascals"),
        ("Express 3/8 inch in millimetres.", "9.525 millimetres"),
        ("How many millilitres are in three quarters of a litre?", "750 millilitres"),
        ("The freezer stands at -80 °C. How much is that in Fahrenheit?", "-112 Fahrenheit"),
        ("A yacht sails at 9 knots. How many km/h are nine knots?", "16.668 km/h"),
        ("Half marathon = 21.0975 km. Miles? Round to 3 decimals.", "13.10937"),
    ],
)
def test_measures_are_converted_as_people_write_them(text: str, answer: str) -> None:
    (reading,) = moments.readings(text)
    result = calculate.fn(**reading.arguments)
    assert isinstance(result, ToolResult)
    assert result.answer.startswith(answer)
    assert reading.score == 1.0
