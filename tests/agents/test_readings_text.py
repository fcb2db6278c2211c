"""Dates, units, pieces of text and nested questions, read without a model."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.agents.composing import compose
from pointwork.agents.readings import moments, sentences, spans
from pointwork.agents.readings.finishing import as_asked, finishing, rounded
from pointwork.agents.readings.wanting import wanted
from pointwork.agents.splitter import split
from pointwork.tools import passages

GUIDE = """# The hill railway

The railway was opened on 4 June 1932. It is 7.4 kilometres long and climbs 612 metres. The engine shed was designed
by Greta Molnar. She also drew the station clock.

Tickets cost 6.20 francs for adults and 3.10 francs for children. Dogs ride free. The summer season runs from 3 May
to 28 September. A carriage seats 46 people; the spare brake shoes are kept in the red locker behind the shed.

Sand is spread on wet rails: two litres for every 50 metres of track. In winter it was once minus 23.5 degrees.
"""


@pytest.mark.parametrize(
    ("text", "operation", "other"),
    [
        ("What is the date 45 days after 3 March 2025?", "add", "45 days"),
        ("Which day was three weeks before 8 November 2024?", "subtract", "3 weeks"),
        ("How many days are there between 1 May 2025 and 9 June 2025?", "difference", "2025-06-09"),
        (
            "The play begins at 19:30 and lasts 2 hours and 10 minutes. When is it over?",
            "add",
            "2 hours 10 minutes",
        ),
        ("What weekday was 14 July 1989?", "weekday", ""),
        ("Was 1900 a leap year?", "leap_year", ""),
        ("Which date is the last Friday of August 2025?", "in_month", "last Friday"),
        ("She was born on 2 May 1990; how old is she on 1 May 2020?", "age", "2020-05-01"),
    ],
)
def test_dates_and_times(text: str, operation: str, other: str) -> None:
    (reading,) = moments.readings(text)
    assert (reading.arguments["operation"], reading.arguments["other"]) == (operation, other)
    assert reading.score == 1.0


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("How many km are 12 miles?", "(12 miles) to km"),
        ("The box weighs 3 lb 4 oz. In grams?", "(3 lb + 4 oz) to grams"),
        ("Express 9 knots in kilometres per hour", "(9 knots) to kilometres per hour"),
    ],
)
def test_units(text: str, expression: str) -> None:
    assert moments.readings(text)[0].arguments == {"expression": expression}


@pytest.mark.parametrize("text", ["What is the capital of France?", "Sing a song", "How old is the mayor?"])
def test_what_is_no_date_or_unit_has_no_reading(text: str) -> None:
    assert moments.readings(text) == []


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guide").resolve()
    (folder / "railway.md").write_text(GUIDE)
    (folder / "limits.py").write_text("MAX_SPEED_KMH = 18\nWARN_AFTER_S = 40\n")
    return folder


def best(question: str, root: Path) -> str:
    found = [passage for passage, _ in passages.search(root, question, 10)]
    ranked = sentences.ranked(question, found, lambda token: passages.idf(root, token))
    return spans.candidates(question, wanted(question), ranked)[0].text


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When was the railway opened?", "4 June 1932"),
        ("In which year was the railway opened?", "1932"),
        ("How many kilometres long is the railway?", "7.4 kilometres"),
        ("Who designed the engine shed?", "Greta Molnar"),
        ("Who drew the station clock?", "Greta Molnar"),
        ("What does a ticket cost for a child?", "3.10 francs"),
        ("How many people does a carriage seat?", "46"),
        ("Where are the spare brake shoes?", "in the red locker behind the shed"),
        ("What is the maximal speed in the limits, in km/h?", "18 km/h"),
        ("How cold was it once, in degrees Fahrenheit?", "-23.5 degC"),
    ],
)
def test_the_piece_that_answers(question: str, expected: str, root: Path) -> None:
    assert best(question, root) == expected


@pytest.mark.parametrize(
    ("question", "answer", "seen", "arguments"),
    [
        ("How many metres long is the line?", "7.4 kilometres", "", {"expression": "7.4 kilometres to metres"}),
        (
            "On which weekday was it opened?",
            "4 June 1932",
            "",
            {"operation": "weekday", "date": "4 June 1932", "other": ""},
        ),
        (
            "How much sand for 400 metres?",
            "two litres",
            "",
            None,
        ),
        (
            "How many hours for a plank of 60 mm?",
            "1 hour",
            "It needs 1 hour for each 25 millimetres.",
            {"expression": "1 hour * ((60 mm) / (25 millimetres))"},
        ),
        (
            "All lamps together, how many kW?",
            "40 watts",
            "There are 30 lamps of 40 watts each.",
            {"expression": "30 * 40 watts to kW"},
        ),
        (
            "How many days does the season of 2025 last?",
            "3 May to 28 September",
            "It runs from 3 May to 28 September.",
            {"operation": "difference", "date": "2025-05-03", "other": "2025-09-28 in days"},
        ),
        ("How many metres long is the line?", "612 metres", "", None),
    ],
)
def test_the_last_step_to_what_was_asked(question: str, answer: str, seen: str, arguments: object) -> None:
    call = finishing(question, answer, [seen] if seen else [])
    assert (None if call is None else call.arguments) == arguments


@pytest.mark.parametrize(
    ("task", "texts"),
    [
        (
            "A quarter of what the north line took in goes to the town.",
            ["What the north line took in?", "1/4 of {s1}"],
        ),
        (
            "By what percentage was the final price above the first offer?",
            ["What is the final price?", "What is the first offer?", "abs({s1} - {s2}) / {s2} * 100"],
        ),
        (
            "Which date is two weeks after the summer fair?",
            ["On what date is the summer fair?", "two weeks after {s1}"],
        ),
        (
            "How much longer is the north tunnel than the south tunnel?",
            ["How long is the north tunnel?", "How long is the south tunnel?", "abs({s1} - {s2})"],
        ),
        ("Which boat is the oldest? Who built it?", ["Which boat is the oldest?", "Who built {s1}?"]),
        ("Three friends add a 10% tip to a bill of 86. What does each pay?", None),
        (
            "When does the Swallow sail, and where does she land?",
            ["When does the Swallow sail", "where does the Swallow land?"],
        ),
    ],
)
def test_nested_questions_become_steps(task: str, texts: list[str] | None) -> None:
    found = split(task)
    assert [subtask.text for subtask in found] == (texts or [task])


@given(st.text(max_size=120))
def test_steps_refer_only_backwards(task: str) -> None:
    for number, (text, needs) in enumerate(compose(task) or [], 1):
        assert all(1 <= need < number for need in needs)
        assert {int(n) for n in re.findall(r"\{s(\d+)\}", text)} <= set(needs)


@given(st.text(max_size=200))
def test_reading_a_text_never_fails(text: str) -> None:
    moments.readings(text)
    finishing(text, text, [text])
    wanted(text)


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        ("What is that in Celsius, to the nearest whole degree?", "176.666666667 Celsius", "177 Celsius"),
        ("How many? Give two decimals.", "-3.14159", "-3.14"),
        ("How long is it, to one decimal?", "2.25 m", "2.3 m"),
        ("Rounded up to the nearest hundred, please", "1201", "1300"),
        ("How much is it to the nearest cent?", "2.345 euros", "2.35 euros"),
        # nothing to round, or nothing asked
        ("How many? Give two decimals.", "3.1", "3.1"),
        ("How many decimals are there?", "3.55", "3.55"),
        ("Who is it, to the nearest degree?", "Ann Reed", "Ann Reed"),
        ("On which day, to the nearest week?", "2024-03-06", "2024-03-06"),
    ],
)
def test_an_answer_is_rounded_as_the_question_asks(question: str, answer: str, text: str) -> None:
    assert rounded(question, answer) == text


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        ("By how many percent has it come down?", "-25", "25"),
        ("How much cheaper is the second one?", "-12.5 euros", "12.5 euros"),
        ("What is -3 + 1?", "-2", "-2"),
        ("What was the lowest temperature?", "-4", "-4"),
        ("How many boxes must it buy?", "14.25", "15"),
        ("How many boxes must it buy?", "14", "14"),
        ("How many litres do I need?", "14.25", "14.25"),
        ("How many crowns must I pay?", "2.5", "2.5"),
        ("How many boxes are left?", "14.25", "14.25"),
        ("How many do I need, to the nearest ten?", "14.25", "10"),
        ("Who must come?", "Ann Reed", "Ann Reed"),
    ],
)
def test_an_answer_has_the_form_that_was_asked_for(question: str, answer: str, text: str) -> None:
    assert as_asked(question, answer) == text
