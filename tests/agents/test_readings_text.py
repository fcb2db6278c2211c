"""Dates, units, pieces of text and nested questions, read without a model."""

import asyncio
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.agents.composing import compose
from pointwork.agents.quoting import prepare_files
from pointwork.agents.readings import moments, sentences, spans
from pointwork.agents.readings.finishing import as_asked, finishing, rounded, with_its_day, with_year
from pointwork.agents.readings.question import Question
from pointwork.agents.readings.wanting import wanted
from pointwork.agents.splitter import split
from pointwork.tools import ToolContext, passages

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
        ("2024-05-03 - 3 weeks", "subtract", "3 weeks"),  # as a step of a plan has it
        ("14:05 + 45 minutes", "add", "45 minutes"),
        ("How many days are there between 1 May 2025 and 9 June 2025?", "difference", "2025-06-09"),
        (
            "The play begins at 19:30 and lasts 2 hours and 10 minutes. When is it over?",
            "add",
            "2 hours 10 minutes",
        ),
        ("What weekday was 14 July 1989?", "weekday", ""),
        ("Was 1900 a leap year?", "leap_year", ""),
        ("What day of the week was the first of August 2019?", "weekday", ""),
        ("How many days lie between the third of May and June the twenty-first, 2024?", "difference", "2024-06-21"),
        ("Which date is the first Monday of May 2024?", "in_month", "first Monday"),
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
        ("My flight takes 485 minutes. Put that in hours and minutes.", "(485 minutes) to hours and minutes"),
        ("How many feet and inches are 180 cm?", "(180 cm) to feet and inches"),
        ("Tell me how many miles and if you can why 3 km are", "(3 km) to miles"),
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
        # a bare number has the unit with which it was found
        ("What is that in Fahrenheit?", "24", "Hold it at 24 degrees.", None),
        (
            "How warm is it, in Fahrenheit?",
            "24",
            "It lost 24 grams. Hold it at 24 degrees Celsius, not at 26.",
            {"expression": "24 degrees Celsius to Fahrenheit"},
        ),
        ("On which day did we sell the most?", "2024-03-06", "", None),
        (
            "On which day of the week did we sell most?",
            "2024-03-06",
            "",
            {"operation": "weekday", "date": "2024-03-06", "other": ""},
        ),
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
        (
            "What is the pay, in EUR, of the one who keeps the bees?",
            ["Who is it that keeps the bees?", "What is the pay, in EUR, of {s1}?"],
        ),
        (
            "When did the man who told the police about the theft begin to work here?",
            ["Who is it that told the police about the theft?", "When did {s1} begin to work here?"],
        ),
        (
            "how much has the chairman of the friends donated in 2023",
            ["Who is the chairman of the friends?", "how much has {s1} donated in 2023"],
        ),
        (
            "How old was the person who drew the wall map when she joined the mill?",
            [
                "Who is it that drew the wall map?",
                "When was {s1} born?",
                "On what date was it: {s1} joined the mill?",
                "born {s2}, how old on {s3}?",
            ],
        ),
        (
            "how old was the architect of the palm house on its opening day",
            [
                "Who is the architect of the palm house?",
                "When was {s1} born?",
                "On what date was it: the palm house's opening day?",
                "born {s2}, how old on {s3}?",
            ],
        ),
        (
            "How old was the guide of the tour that the Savings Bank booked, on the day of the tour?",
            [
                "Which tour is it that the Savings Bank booked?",
                "Who is the guide of {s1}?",
                "When was {s2} born?",
                "On what date was it: {s1}?",
                "born {s3}, how old on {s4}?",
            ],
        ),
        (
            "how old was ada moor when she left, in full years",
            ["When was ada moor born?", "On what date was it: ada moor left?", "born {s1}, how old on {s2}?"],
        ),
        (
            "Lowest temperature in the house where the vanilla grows?",
            ["Which house is it where the vanilla grows?", "Lowest temperature in {s1}?"],
        ),
        (
            "There is a house that must not get colder than 12 degrees. In what year was that house built?",
            ["Which house is it that must not get colder than 12 degrees?", "In what year was {s1} built?"],
        ),
        (
            "The beekeeper once booked a tour. On what date did that tour take place?",
            ["Which tour is it: The beekeeper once booked a tour?", "On what date did {s1} take place?"],
        ),
        (
            "How heavy is the instrument that Kim Lee has borrowed?",
            ["Which instrument is it that Kim Lee has borrowed?", "How heavy is {s1}?"],
        ),
        ("How heavy is the glass that Kim has?", ["Which glass is it that Kim has?", "How heavy is {s1}?"]),
        (
            "How tall is the mast that Kim Lee bought in 1911 and sold in 1932?",
            ["Which mast is it that Kim Lee bought in 1911 and sold in 1932?", "How tall is {s1}?"],
        ),
        (
            "How much has the man who keeps the bees earned by work?",
            ["Who is it that keeps the bees?", "How much has {s1} earned by work?"],
        ),
        (
            "What has the man who was born in Ostrey been paid?",
            ["Who is it that was born in Ostrey?", "What has {s1} been paid?"],
        ),
        ("How old is the one that Kim Lee taught?", ["Who is it that Kim Lee taught?", "How old is {s1}?"]),
        ("When did the man who let Ida stay leave?", ["Who is it that let Ida stay?", "When did {s1} leave?"]),
        (
            "Oskar put up a mill by the river. In what year was that building sold?",
            ["Which building is it: Oskar put up a mill by the river?", "In what year was {s1} sold?"],
        ),
        (
            "Who is the mentor of Ann Reed's mentor?",
            ["Who is Ann Reed's mentor?", "Who is the mentor of {s1}?"],
        ),
        (
            "Who was the boss  of the boss of Ann Reed?",
            ["Who is the boss of Ann Reed?", "Who was the boss  of {s1}?"],
        ),
        (
            "On her way home, the captain of the Swallow hurt what?",
            ["Who is the captain of the Swallow?", "On her way home, {s1} hurt what?"],
        ),
        (
            "How old was the architect of the mill when it opened?",
            [
                "Who is the architect of the mill?",
                "When was {s1} born?",
                "On what date was it: the mill opened?",
                "born {s2}, how old on {s3}?",
            ],
        ),
        ("When was Ann's son's wife born?", ["Who is Ann's son?", "Who is {s1}'s wife?", "When was {s2} born?"]),
        # who that is stands there, or is all that is asked; one of a table's rows; problems by themselves; several
        ("Of which illness did Mr Acheson's brother Rupert die?", None),
        ("Which school does Philippa, Mrs Acheson's niece, attend?", None),
        ("Tell me the name of the smith who made the Larkhouse locks.", None),
        ("What is the weight of the boat that sank?", None),
        ("Nine birds landed on the wire where 16 were sitting. How many birds now?", None),
        ("Milo sleeps 9 hours a night. How many hours does that add up to?", None),
        ("The mill is cleaned by a boy. How long does that take come winter?", None),
        ("The 3 cooks bake a cake of 12 pieces. In what tin was that cake baked?", None),
        ("When did the man who drew the wall map yawn?", None),
        ("On Monday the baker of the inn baked 12 buns, 20 rolls. How many is that?", None),
        ("Is it the boat with the most seats?", None),
        ("What is the weight of the boats that Kim Lee has borrowed?", None),
        ("Mirek brings coffee beans back. What will that cost at the listed price?", None),
        ("Who bought the cups that were made by Ida Fell?", None),
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


def test_a_step_needs_no_answer_that_it_does_not_name() -> None:
    steps = compose("How old was the person who drew the wall map when she joined the mill?")
    assert steps is not None
    assert [needs for _, needs in steps] == [(), (1,), (1,), (2, 3)]


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


PEOPLE = """# The mill
Anna Berg, who has looked after the mill since 2011, gave three months of notice. Her brother Karl is 41 years old.

The mill weighs on everybody's mind. Its stone, 640 kg of granite, cost a fortune. The roof was painted in 2022.

The meeting of 3 May approved 900 for the wheel. The ladder is 4 m long.
"""


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How old is Karl?", "41 years"),
        ("How old is Anna?", "41 years"),  # at least no three months: those are nobody's age
        ("How much does the stone weigh?", "640 kg"),
        ("What did the roof cost?", None),  # a year is no price
        ("What colour is the roof?", "painted"),
        ("How heavy is the ladder?", "640 kg"),  # 4 m is no weight
    ],
)
def test_a_piece_has_the_form_of_what_is_asked(question: str, expected: str | None, tmp_path: Path) -> None:
    (tmp_path / "mill.md").write_text(PEOPLE)
    found = [passage for passage, _ in passages.search(tmp_path, question, 10)]
    ranked = sentences.ranked(question, found, lambda token: passages.idf(tmp_path, token))
    pieces = spans.candidates(question, wanted(question), ranked)
    assert (pieces[0].text if pieces else None) == expected


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("How old is Anna?", "Anna gave three months of notice.", None),
        ("How old is Anna?", "Anna turned three last week; she is 3 years old.", "3 years"),
        ("What did the ladder cost?", "The ladder has 12 rungs.", None),
        ("What did the ladder cost?", "For the ladder we paid 12.", "12"),
        ("What is the number of the permit?", "The permit was given on 3 May 2024.", None),
        ("What is the number of the permit?", "On 3 May 2024 the permit 4711 was given.", "4711"),
    ],
)
def test_a_piece_of_another_kind_is_none(question: str, text: str, expected: str | None, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(text + "\n")
    found = [passage for passage, _ in passages.search(tmp_path, question, 10)]
    ranked = sentences.ranked(question, found, lambda token: passages.idf(tmp_path, token))
    assert ranked
    pieces = spans.candidates(question, wanted(question), ranked)
    assert (pieces[0].text if pieces else None) == expected


@pytest.mark.parametrize(
    ("question", "said"), [("What did the key cost?", False), ("Where does the key hang?", True)]
)
def test_without_a_piece_of_the_asked_form_the_files_do_not_fit(question: str, said: bool, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("The key of the mill hangs behind the boiler.\n")
    prepared = asyncio.run(prepare_files(question, ToolContext(root=tmp_path)))
    assert (prepared.fit > 0) == said


def test_a_greeting_is_no_part_of_a_question() -> None:
    said = [word.text for word in Question("Good morning, when does the mill open?").words]
    assert said == ["when", "does", "the", "mill", "open"]
    assert [word.text for word in Question("Hi there! Who?").words] == ["Who"]
    assert "morning" in [word.text for word in Question("Which good morning trips are there?").words]


@pytest.mark.parametrize(
    ("question", "answer", "sentence", "wanted"),
    [
        (
            "When do we meet next?",
            "18:30",
            "The next meeting is on 11 June 2026 at 18:30.",
            "11 June 2026 at 18:30",
        ),
        ("When is the concert?", "7 pm", "The concert: 3 May, 7 pm, in the barn.", "3 May, 7 pm"),
        # the time is asked for, or the day is said
        ("At what time do we meet?", "18:30", "The next meeting is on 11 June 2026 at 18:30.", "18:30"),
        ("When do we meet on 11 June?", "18:30", "The next meeting is on 11 June 2026 at 18:30.", "18:30"),
        ("When do you close on Fridays?", "18:30", "From 11 June 2026, 18:30 on Fridays.", "18:30"),
        ("When does it close in winter?", "17:00", "On 1 November, 17:00 is closing time.", "17:00"),
        # the day is of something else
        ("When does it open?", "9:00", "It was painted on 2 May at 9:00 and opens at 9:00.", "9:00"),
        ("When does the ferry leave?", "7:30", "From 1 May, 7:30 from the pier.", "7:30"),
        ("When does it open?", "10:00", "It is on 13 June 2026. The doors open at 10:00.", "10:00"),
        ("When is it?", "18:30", "It is in May 2026, 18:30 sharp.", "18:30"),
        ("When is it?", "11 June 2026", "It is on 11 June 2026 at 18:30.", "11 June 2026"),
    ],
)
def test_when_something_is_has_a_day(question: str, answer: str, sentence: str, wanted: str) -> None:
    assert with_its_day(question, answer, sentence) == wanted


def test_a_year_stands_behind_its_day() -> None:
    found = with_year("When is the concert?", "3 May at 19:30", "Minutes of 2 March 2024")
    assert found is not None
    assert found[0] == "3 May 2024 at 19:30"


def test_files_say_the_day_of_a_meeting(tmp_path: Path) -> None:
    (tmp_path / "minutes.md").write_text(
        "# Minutes\n\nThe next quarterly meeting is on 11 June 2026 at 18:30, with cake.\n"
    )
    prepared = asyncio.run(prepare_files("When is the next quarterly meeting?", ToolContext(root=tmp_path)))
    assert prepared.answer == "11 June 2026 at 18:30"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("an hour and a half", ["1.5 hour"]),
        ("2 hours and a quarter", ["2.25 hours"]),
        ("two and a half hours", ["2.5 hours"]),
        ("an hour and a quarter of an hour", ["1 hour 0.25 hour"]),
        ("an hour and fifty minutes", ["1 hour 50 minutes"]),
        ("a week and a half after it", ["1.5 week"]),
        ("the quarter and a half of it", []),
    ],
)
def test_lengths_of_time_are_read_to_their_end(text: str, wanted: list[str]) -> None:
    assert moments.periods(text) == wanted
