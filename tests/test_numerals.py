"""Numbers in words as figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.numerals import in_figures
from pointwork.text import NUMBER_WORDS


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("six boxes", "6 boxes"),
        ("Forty-five litres", "45 litres"),
        ("two and a half hours", "2.5 hours"),
        ("two and three quarters", "2.75"),
        ("a dozen eggs", "12 eggs"),
        ("half a dozen", "6"),
        ("three dozen", "36"),
        ("a hundred", "100"),
        ("three hundred and twenty", "320"),
        ("one thousand two hundred and five", "1205"),
        ("two hundred thousand", "200000"),
        ("eleven hundred", "1100"),
        ("2 dozen", "24"),
        ("a dozen and a half eggs", "18 eggs"),
        ("two dozen and a quarter", "27"),
        ("a million and a half", "1500000"),
        ("three hundred and a half", "300.5"),
        ("one and three quarter hours", "1.75 hours"),
        ("three and three-quarter miles", "3.75 miles"),
        ("nine ten", "9 10"),
        ("two million three thousand", "2003000"),
        ("forty-five and a half", "45.5"),
        ("between six and seven", "between 6 and 7"),
        ("sixteen-year-old", "sixteen-year-old"),
        ("twenty-first", "twenty-first"),
        ("someone often", "someone often"),
        ("quarter past", "quarter past"),
        ("12 apples", "12 apples"),
        ("an hour and a half on site", "1.5 hours on site"),
        ("Four hours and a quarter.", "4.25 hours."),
        ("It lasts an hour and a quarter, and", "It lasts 1.25 hours, and"),
        ("a litre and a half of it", "a litre and a half of it"),
        ("a litre and a half of oil", "1.5 litres of oil"),
        ("3 and a half hours", "3.5 hours"),
        ("3½ hours, ¾ of it, 12 ½", "3.5 hours, 0.75 of it, 12.5"),
        ("a day and half the fee", "a day and half the fee"),
        ("a week and a third", "a week and a third"),
        ("", ""),
    ],
)
def test_in_figures(text: str, figures: str) -> None:
    assert in_figures(text) == figures


_WORDS = {number: word for word, number in NUMBER_WORDS.items()}


def _spelled(number: int) -> str:
    if number >= 1000:
        rest = number % 1000
        return f"{_spelled(number // 1000)} thousand{' ' + _spelled(rest) if rest else ''}"
    if number >= 100:
        rest = number % 100
        return f"{_spelled(number // 100)} hundred{' and ' + _spelled(rest) if rest else ''}"
    if number >= 20:
        rest = number % 10
        return f"{_WORDS[number - rest]}{'-' + _WORDS[rest] if rest else ''}"
    return _WORDS[number]


@given(st.integers(0, 999_999))
def test_every_number_is_read(number: int) -> None:
    assert in_figures(f"{_spelled(number)} crates") == f"{number} crates"


@pytest.mark.parametrize("word", ["hundred ", "one hundred ", "a ", "forty ", "twenty-", "thousand and ", "dozen "])
def test_a_long_text_is_read(word: str) -> None:
    assert in_figures(word * 3_000)  # no number grows without an end


@given(st.text(alphabet="aont hudrewxyi-", max_size=2_000))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(in_figures(text), str)
