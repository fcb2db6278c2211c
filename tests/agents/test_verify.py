"""Checks without a model: each catches its fault and lets the right answer pass."""

import pytest

from pointwork.agents.job import Attempt
from pointwork.agents.verify import check_answer


def failed(attempt: Attempt, question: str = "q", answer_type: str = "text", evidence: bool = False) -> list[str]:
    checks = check_answer(attempt, question=question, answer_type=answer_type, facts=[], needs_evidence=evidence)
    return [check.name for check in checks if not check.passed]


@pytest.mark.parametrize(
    ("text", "kind", "passes"),
    [
        ("12 apples", "number", True),
        ("a dozen", "number", True),
        ("several", "number", False),
        ("Yes, it is", "yes-no", True),
        ("perhaps", "yes-no", False),
        ("3 May", "date", True),
        ("soon", "date", False),
        ("  ", "text", False),
        ("anything", "text", True),
    ],
)
def test_types(text: str, kind: str, passes: bool) -> None:
    assert (failed(Attempt(text), answer_type=kind) == []) is passes


@pytest.mark.parametrize(
    ("text", "question", "kind", "passes"),
    [
        ("18:30", "What time does it start?", "text", True),
        ("7.30 pm", "What time does it start?", "text", True),
        ("10 December, 6 o'clock", "What time does it start?", "text", True),
        ("at dusk", "What time does it start?", "text", True),
        ("from 9 to 17", "At what time is it open?", "text", True),
        ("2026-12-10", "What time does it start?", "text", False),
        ("26, 24, 29", "From what time may it be let?", "text", False),
        ("B03, B11", "What time does it start?", "text", False),
        ("12, 9, 4", "From what time may it be let?", "text", False),
        ("Until 2026.", "Until what time can it be bought?", "text", False),
        ("2026-12-10", "When does it start?", "text", True),
        ("2026-06-15", "How many weeks does it run?", "number", False),
        ("14:10", "How many weeks does it run?", "number", False),
        ("3 weeks from 2026-06-15", "How many weeks does it run?", "number", True),
    ],
)
def test_a_time_of_day_is_no_date_and_a_number_neither(text: str, question: str, kind: str, passes: bool) -> None:
    assert (failed(Attempt(text), question, kind) == []) is passes


@pytest.mark.parametrize(
    ("expression", "passes"),
    [("45+17", False), ("45*30", False), ("(17.5-14)*45", True), ("(17-14)*45", False), ("45*3.5", False)],
)
def test_the_hour_of_a_clock_time_is_no_number_of_a_sum(expression: str, passes: bool) -> None:
    made = Attempt(
        "7", [("tool:calculate", f"{expression} = 7")], [("calculate", {"expression": expression}, None)], True
    )
    question = "A hall costs 45 euros an hour and we need it from 14:00 to 17:30. What is that in all?"
    assert ("arguments" not in failed(made, question)) is passes


@pytest.mark.parametrize(
    ("question", "expression", "passes"),
    [
        ("It costs 45 an hour, and we need it 14:00-17:30. What is that?", "45+17", False),
        ("Mix it 1:20, with 3 litres of soap. How much water?", "3*20", True),
    ],
)
def test_times_stand_in_a_range_and_are_no_ratios(question: str, expression: str, passes: bool) -> None:
    made = Attempt(
        "7", [("tool:calculate", f"{expression} = 7")], [("calculate", {"expression": expression}, None)], True
    )
    assert ("arguments" not in failed(made, question)) is passes


def test_a_sum_of_full_hours_takes_them_as_they_are() -> None:
    made = Attempt(
        "15", [("tool:calculate", "(17-14)*5 = 15")], [("calculate", {"expression": "(17-14)*5"}, None)], True
    )
    assert failed(made, "It costs 5 euros an hour from 14:00 to 17:00. What is that?") == []


def test_numbers_in_a_call_come_from_the_question() -> None:
    right = Attempt(
        "29", [("tool:calculate", "3*12-7 = 29")], [("calculate", {"expression": "3*12-7"}, None)], True
    )
    wrong = Attempt("52", [], [("calculate", {"expression": "45+7"}, None)], True)
    question = "Tom has three boxes of 12 apples and gives away 7."
    assert failed(right, question) == []
    assert failed(wrong, question) == ["arguments"]
    echo = Attempt("12", [("tool:calculate", "12 = 12")], [("calculate", {"expression": "12"}, None)], True)
    assert failed(echo, question) == ["arguments"]
    same = Attempt("12", [("tool:calculate", "12.00 = 12")], [("calculate", {"expression": "12.00"}, None)], True)
    assert failed(same, question) == ["arguments"]
    assert failed(
        Attempt("1", [("tool:calculate", "1 = 1")], [("calculate", {"expression": "1"}, None)], True)
    ) == ["arguments"]
    made_up = Attempt("90", [("tool:calculate", "45*2 = 90")], [("calculate", {"expression": "45*2"}, None)], True)
    assert failed(made_up, "How many are two dozen?") == ["arguments"]


@pytest.mark.parametrize(
    ("question", "handed", "expression", "passes"),
    [
        ("1/4 of 2024-06-17", "2024-06-17", "4 + 1", False),
        ("2024-06-17 + 3 days", "2024-06-17", "2024-06-17 + 3 days", True),
        ("what is 80 less 15 %?", "15 %", "80 * (1 - 0.15)", True),
        ("what is 80 less 15 %?", "15 %", "80 - 3", False),
        ("3 times 12.5 kg", "12.5 kg", "3 * 12.5 kg", True),
        ("3 days at the wage of Ann Reed", "Ann Reed", "3 * 3", True),
        ("3 * 4", "5 apples", "3 * 4", True),
    ],
)
def test_what_an_earlier_step_answered_goes_into_the_call(
    question: str, handed: str, expression: str, passes: bool
) -> None:
    attempt = Attempt("7", [("file:a", question + " 3")], [("calculate", {"expression": expression}, None)], True)
    facts = [("answer:s1", handed)]
    checks = check_answer(attempt, question=question, answer_type="text", facts=facts, needs_evidence=False)
    assert {check.name: check.passed for check in checks}["arguments"] is passes
    attempt.calls = [("note", {"text": "the gate again"}, None)]  # whoever only writes down may say it otherwise
    checks = check_answer(attempt, question=question, answer_type="text", facts=facts, needs_evidence=False)
    assert "earlier" not in {check.name: check.why for check in checks}["arguments"]


@pytest.mark.parametrize(
    ("question", "handed", "answer", "passes"),
    [
        ("days from 2024-06-18 to 2024-06-18", ["2024-06-18", "2024-06-18"], "0 days", False),
        ("6.5 nmi / 6.5 nmi", ["6.5 nmi", "6.5 nmi"], "1 nmi", False),
        ("2024-06-18 - 2024-06-18", ["2024-06-18"], "0 days", True),  # the user's own
        ("days from 2024-06-17 to 2024-06-18", ["2024-06-17", "2024-06-18"], "1 day", True),
        ("12 - 11", ["12", "12"], "1", True),  # one of them is not spoken of
        ("12 + 12", ["12", "12"], "24", True),
    ],
)
def test_what_two_steps_say_is_not_compared_with_itself(
    question: str, handed: list[str], answer: str, passes: bool
) -> None:
    facts = [(f"answer:s{number}", text) for number, text in enumerate(handed, 1)]
    call = ("date_math", {"expression": question}, None)
    attempt = Attempt(answer, [("tool:date_math", f"{question} = {answer}")], [call], True)
    checks = check_answer(attempt, question=question, answer_type="text", facts=facts, needs_evidence=False)
    assert {check.name: check.passed for check in checks}["arguments"] is passes


def test_a_call_that_only_failed_does_not_count() -> None:
    assert failed(Attempt("5", [], [("calculate", {"expression": "("}, "not an expression")])) == ["tool"]


def test_an_answer_rests_on_what_was_found() -> None:
    evidence = [("file:a.md:1", "The gate was painted green by Ilse Brandt in 1987.")]
    assert failed(Attempt("Ilse Brandt", evidence), "Who painted the gate?", evidence=True) == []
    assert failed(Attempt("Hugo Meier", evidence), "Who painted the gate?", evidence=True) == ["grounded"]
    assert failed(Attempt("in 1988", evidence), "When was it painted?", evidence=True) == ["grounded"]
    assert failed(Attempt("Ilse Brandt"), "Who painted the gate?", evidence=True) == ["evidence"]
    assert failed(Attempt("Ilse Brandt"), "Who painted the gate?") == []
    assert failed(Attempt("the north gate was painted"), "Who painted the north gate?") == ["echo"]
    assert failed(Attempt("The answer is Peter Quint."), "Which boat belongs to Peter Quint?") == ["echo"]


@pytest.mark.parametrize("expression", ["640 * (1 - 0.85)", "640 * 0.15", "640 - 85% * 640", "640 * 0.85"])
def test_a_percentage_may_be_written_as_a_share(expression: str) -> None:
    evidence = [("tool:calculate", f"{expression} = 96")]
    shares = Attempt("96", evidence, [("calculate", {"expression": expression}, None)], True)
    assert failed(shares, "Of the 640 seats, 85% were sold. How many stayed empty?") == []


def test_other_shares_are_made_up() -> None:
    shares = Attempt("96", [], [("calculate", {"expression": "640 * 0.45"}, None)], True)
    assert failed(shares, "Of the 640 seats, 85% were sold. How many stayed empty?") == ["arguments"]


def test_a_small_model_knows_no_number_by_itself() -> None:
    question = "How many gallons does the pond hold?"
    for small, names in ((True, ["evidence"]), (False, [])):
        checks = check_answer(
            Attempt("1000"), question=question, answer_type="number", facts=[], needs_evidence=False, small=small
        )
        assert [check.name for check in checks if not check.passed] == names
    said = check_answer(
        Attempt("1000"),
        question=question,
        answer_type="number",
        facts=[("memory:m1", "The pond holds 1000 gallons.")],
        needs_evidence=False,
        small=True,
    )
    assert all(check.passed for check in said)
