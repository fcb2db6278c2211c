"""What a task calculates with what files say: amounts, operations, what is shown, and the plan made of it."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork import Team
from pointwork.agents.agreeing import DOUBTED, LEAST, MOST, SECOND, SURE, agreed, answer_of
from pointwork.agents.builtin import builtin_agents
from pointwork.agents.calculated import calculated
from pointwork.agents.decomposer import Decomposed, calculates
from pointwork.agents.facts.figures import in_one_form
from pointwork.agents.facts.gathered import MANY, SENTENCES, Fact
from pointwork.agents.learned import Learned
from pointwork.agents.parsing import calculating
from pointwork.agents.parsing.amounts import DATE, NUMBER, TIME, TRUTH, Amount, amounts_of
from pointwork.agents.parsing.calculating import Calculation, Step, calculations
from pointwork.agents.parsing.operations import COPY, OPERATIONS, applied, kind_of
from pointwork.agents.parsing.showing import SHOWN, show
from pointwork.agents.plan import Found, Subtask
from pointwork.models import ChatRequest, Completion, ScriptedClient
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.tools import ToolContext

STAFF = "staff: name Mabel Orme; hours a week 24; pay an hour (£) 13.50; started 2019-05-06; begins 09:30"
RULES = "Rules: A key costs £3.50, and notice is 6 weeks."


def test_amounts_are_numbers_dates_and_times() -> None:
    found = amounts_of(["From 2026-05-01, 12 jars of 330g at 1,250 each", "open at 9:05, 20% off"])
    assert [(one.value, one.kind, one.line) for one in found] == [
        (float(date(2026, 5, 1).toordinal()), DATE, 0),
        (12, NUMBER, 0),
        (330, NUMBER, 0),
        (1250, NUMBER, 0),
        (545, TIME, 1),
        (20, NUMBER, 1),
    ]


def test_a_third_is_an_amount() -> None:
    """Its 12 digits are no telephone number's: "a third of it" was none until then."""
    text = in_one_form("A third of it goes to Ann, two thirds to Bo.")
    assert [one.value for one in amounts_of([text])] == pytest.approx([100 / 3, 200 / 3])


@pytest.mark.parametrize(
    "text",
    [
        "S110",
        "on 01632 960291",
        "berth C3",
        "2026-06-31",
        "order A-17",
        "1234567890",
        "section 3.2.1",
        "v2",
        "ratio 3:4/5",
    ],
)
def test_codes_and_telephone_numbers_are_none(text: str) -> None:
    assert [one.written for one in amounts_of([text])] == []


_VALUES = {
    NUMBER: st.floats(0.1, 1e6),
    DATE: st.integers(date(1950, 1, 1).toordinal(), date(2050, 1, 1).toordinal()).map(float),
    TIME: st.integers(0, 1439).map(float),
    TRUTH: st.sampled_from([0.0, 1.0]),
}


@given(st.data(), st.sampled_from(OPERATIONS), st.sampled_from(sorted(_VALUES)), st.sampled_from(sorted(_VALUES)))
def test_what_may_be_joined_comes_to_something_of_its_kind(
    data: st.DataObject, name: str, one: int, other: int
) -> None:
    kind = kind_of(name, one, other)
    if kind is None:
        return
    a, b = data.draw(_VALUES[one]), data.draw(_VALUES[other])
    value = applied(name, a, b, one)
    turned = {"-": "r-", "/": "r/", "pless": "rpless", "pmore": "rpmore", "share": "rshare", ">": "<", ">=": "<="}
    mirror = turned.get(name) or {other: name for name, other in turned.items()}.get(name, name)
    assert kind_of(mirror, other, one) == kind
    back = applied(mirror, b, a, other)
    assert math.isnan(value) == math.isnan(back)
    if not math.isnan(value):
        assert back == pytest.approx(value)
        assert kind != TRUTH or value in (0.0, 1.0)
        assert kind != TIME or 0 <= value < 1440


@pytest.mark.parametrize(
    ("name", "a", "b", "value"),
    [
        ("+months", "2026-01-31", 1.0, "2026-02-28"),
        ("-weeks", "2026-05-15", 2.0, "2026-05-01"),
        ("+years", "2024-02-29", 1.0, "2025-02-28"),
        ("years", "2000-06-02", "2026-06-01", 25.0),
        ("months", "2026-01-31", "2026-03-30", 1.0),
        ("days", "2026-03-01", "2026-02-27", 2.0),
        ("pless", 200.0, 35.0, 130.0),
        ("r/", 4.0, 10.0, 2.5),
        ("/", 4.0, 0.0, None),
        ("+months", "2026-01-31", 0.5, None),
        ("+days", "2026-04-11", 2026.0, None),
    ],
)
def test_operations(name: str, a: str | float, b: str | float, value: str | float | None) -> None:
    def plain(one: str | float) -> float:
        return float(date.fromisoformat(one).toordinal()) if isinstance(one, str) else one

    found = applied(name, plain(a), plain(b), DATE if isinstance(a, str) else NUMBER)
    assert math.isnan(found) if value is None else found == pytest.approx(plain(value))


def test_what_is_shown_holds_the_task_and_marks_its_amounts() -> None:
    pieces = calculating.shipped().pieces
    lines = [f"{RULES} It is line {n} of many about nothing in particular." for n in range(60)]
    shown = show("How much do 4 keys cost?", [*lines, STAFF], pieces)
    assert len(shown.pieces) == len(shown.marks) <= SHOWN
    assert shown.amounts[0].written == "4"
    assert len(shown.amounts) == len(shown.places)
    for amount, (_start, end) in zip(shown.amounts, shown.places, strict=True):
        assert shown.pieces[end - 1] == pieces.of(amount.written)[-1]  # "£3" may be one piece
    assert {amount.line for amount in shown.amounts} <= set(range(61))


def test_probabilities_of_what_may_be_calculated_add_up_to_one_at_most() -> None:
    read = calculations("What does Mabel earn in a week?", [STAFF, RULES])
    assert 0 <= read.answered <= 1
    assert 0 < sum(one.chance for one in read.calculations) <= 1 + 1e-6
    assert [one.chance for one in read.calculations] == sorted(
        (one.chance for one in read.calculations), reverse=True
    )


def test_a_comparison_is_one() -> None:
    for yes_no in (True, False):
        read = calculations("Does Mabel earn more than 12 pounds an hour?", [STAFF], yes_no=yes_no)
        assert {one.kind == TRUTH for one in read.calculations} == {yes_no}


def test_without_amounts_nothing_is_calculated() -> None:
    assert calculations("Who is it?", ["nobody knows"]).calculations == ()
    assert asyncio.run(calculated("Who is it?", [Fact("file:a.md", "nobody knows")])) == []
    assert asyncio.run(calculated("How many?", [])) == []


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        ("What does Mabel Orme earn in a week?", 324),
        ("What do 4 keys cost?", 14),
    ],
)
def test_a_plan_reads_its_amounts_and_calculates(task: str, answer: float) -> None:
    facts = [Fact("table:staff.csv", STAFF), Fact("file:rules.md:3", RULES)]
    best = asyncio.run(calculated(task, facts))[0]
    assert best.read
    assert 0 < best.sure <= 1
    assert float(asyncio.run(answer_of(task, best)).split()[0]) == pytest.approx(answer)
    assert {step.found.source for step in best.steps if step.found} <= {fact.source for fact in facts}


def _planned(monkeypatch: pytest.MonkeyPatch, steps: tuple[Step, ...], task: str) -> Decomposed:
    read = calculating.Reading(0.5, (Calculation(0.8, 0.0, NUMBER, steps),))

    def seen(*_: object, **__: object) -> calculating.Reading:
        return read

    monkeypatch.setattr("pointwork.agents.calculated.calculations", seen)
    return asyncio.run(calculated(task, [Fact("table:staff.csv", STAFF), Fact("file:rules.md:3", RULES)]))[0]


def test_what_is_said_of_another_is_not_calculated_with(monkeypatch: pytest.MonkeyPatch) -> None:
    said = ["Heron: Survey: Due 24 months after 2024-02-08.", "Marten: Survey: Due 20 months after 2022-10-17."]
    amounts = amounts_of(["", *said])
    ways = [(Step(amounts[1], amounts[0], "+months"),), (Step(amounts[3], amounts[2], "+months"),)]
    read = calculating.Reading(0.5, tuple(Calculation(0.4, 0.0, DATE, steps) for steps in ways))

    def seen(*_: object, **__: object) -> calculating.Reading:
        return read

    monkeypatch.setattr("pointwork.agents.calculated.calculations", seen)

    def found(task: str) -> list[str]:
        made = asyncio.run(calculated(task, [Fact("file:boats.md:3", line) for line in said]))
        return [asyncio.run(answer_of(task, one)) for one in made]

    assert found("When is the Marten's survey due?") == ["2024-06-17"]
    assert found("When is the survey due?") == ["2026-02-08", "2024-06-17"]


@pytest.mark.parametrize(
    ("task", "calculated_at_all"),
    [
        ("What does she earn a week?", True),
        ("Who earns that in a week?", False),
        ("Tell me why she earns that.", False),
        ("She asked again. Where does she earn it?", False),
        ("Who is she, and how much does she earn a week?", True),
    ],
)
def test_who_wants_a_name_gets_no_sum(task: str, calculated_at_all: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (Step(_amount("24"), _amount("13.50"), "*"),)
    copied = (Step(_amount("24"), _amount("24"), COPY),)
    read = calculating.Reading(0.5, tuple(Calculation(0.4, 0.0, NUMBER, one) for one in (steps, copied)))

    def seen(*_: object, **__: object) -> calculating.Reading:
        return read

    monkeypatch.setattr("pointwork.agents.calculated.calculations", seen)
    facts = [Fact("table:staff.csv", STAFF), Fact("file:rules.md:3", RULES)]

    made = asyncio.run(calculated(task, facts))
    assert len(made) == (2 if calculated_at_all else 1)  # what is only read stays
    assert made[-1].steps[-1].found is not None


def _amount(written: str) -> Amount:
    return next(one for one in amounts_of(["", STAFF, RULES]) if one.written == written)


@pytest.mark.parametrize(
    ("steps", "texts", "answer"),
    [
        (
            (Step(_amount("24"), _amount("13.50"), "*"), Step(0, 52.0, "*")),
            ["hours a week of staff", "pay an hour (£) of staff", "({s1} * {s2}) * 52"],
            "16848",
        ),
        ((Step(_amount("2019-05-06"), _amount("6"), "+weeks"),), None, "2019-06-17"),
        ((Step(_amount("6"), _amount("2019-05-06"), "-weeks"),), None, "2019-03-25"),
        ((Step(_amount("09:30"), 60.0, "+minutes"),), None, "10:30"),
        ((Step(_amount("24"), 2.0, "-"), Step(_amount("09:30"), 0, "+minutes")), None, "09:52"),
        ((Step(_amount("13.50"), _amount("3.50"), "pless"),), None, "13.0275"),
        ((Step(_amount("3.50"), _amount("13.50"), "rshare"),), None, "385.714286"),
        ((Step(_amount("3.50"), _amount("3.50"), COPY),), ["What is it?"], "3.50"),
    ],
)
def test_calculations_become_steps_that_come_to_the_same(
    monkeypatch: pytest.MonkeyPatch, steps: tuple[Step, ...], texts: list[str] | None, answer: str
) -> None:
    found = _planned(monkeypatch, steps, "What is it?")
    assert found.sure == pytest.approx(0.4)
    assert found.read
    assert texts is None or found.lines == texts
    assert all(step.found or calculates(step.text) for step in found.steps)
    said = asyncio.run(answer_of("What is it?", found)).split()[0]
    assert said == answer or float(said) == pytest.approx(float(answer), rel=1e-6)


def test_a_yes_no_task_is_answered_by_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (Step(_amount("13.50"), _amount("3.50"), ">"),)
    found = _planned(monkeypatch, steps, "Is it more?")
    assert asyncio.run(answer_of("Is it more?", found)) == "yes"
    steps = (Step(_amount("2019-05-06"), _amount("2019-05-06"), "<"),)
    assert asyncio.run(answer_of("Is it more?", _planned(monkeypatch, steps, "Is it more?"))) == "no"


WEEK = "What does Mabel Orme earn in a week?"
PAID = "hours a week of Mabel Orme = 24\npay an hour of Mabel Orme = 13.50\n{s1} * {s2}"


def _paid(sure: float) -> Decomposed:
    found = [Found(text, "table:staff.csv", STAFF) for text in ("24", "13.50")]
    steps = [Subtask(f"s{n}", f"figure {n}", "", (), "number", one) for n, one in enumerate(found, 1)]
    return Decomposed(
        (*steps, Subtask("s3", "{s1} * {s2}", "", ("s1", "s2"), "number")), sure, author="calculation"
    )


def _agreed(texts: Sequence[str], computed: Decomposed | None) -> tuple[Decomposed | None, int]:
    """What is agreed on, and how many texts were written for it."""
    asked: list[ChatRequest] = []

    async def chat(request: ChatRequest) -> Completion:
        asked.append(request)
        return Completion(texts[(len(asked) - 1) % len(texts)], 9, 9, "stop", "m", logprobs=(-1.0,), token_ids=(1,))

    facts = [Fact("table:staff.csv", STAFF)]
    return asyncio.run(agreed(WEEK, chat if texts else None, 8, facts, computed=computed)), len(asked)


def test_a_sure_calculation_is_taken_without_a_text() -> None:
    assert _agreed([PAID], _paid(SURE)) == (_paid(SURE), 0)
    assert _agreed([], _paid(SURE)) == (_paid(SURE), 0)
    assert _agreed([], _paid(DOUBTED)) == (_paid(DOUBTED), 0)  # nobody can be asked
    assert _agreed([], _paid(DOUBTED - 0.01)) == (None, 0)
    assert _agreed([], None) == (None, 0)


def test_a_likely_calculation_is_taken_where_the_texts_do_not_agree() -> None:
    apart = [PAID.replace("{s1} * {s2}", f"{{s1}} {sign} {{s2}}") for sign in ("+", "-", "/")]
    found, texts = _agreed(apart, _paid(DOUBTED))
    assert found == _paid(DOUBTED)
    assert texts > 1
    assert _agreed(apart, _paid(DOUBTED - 0.01))[0] is None


def test_one_text_that_comes_to_the_same_is_enough_for_an_unsure_one() -> None:
    other = PAID.replace("{s1} * {s2}", "{s1} + {s2}")
    found, texts = _agreed([other, PAID], _paid(LEAST))
    assert found is not None
    assert texts == MOST - SECOND + 1
    assert found.author == "decomposer"  # in the words of the text
    assert found.sure == pytest.approx(2 / 3)
    found, texts = _agreed([PAID], _paid(LEAST - 0.01))
    assert found is not None
    assert texts == MOST
    assert _agreed([other, "pay of Mabel Orme = 13.50", "hours of Mabel Orme = 24"], None)[0] is None
    # most texts agree on something else
    found, texts = _agreed([other], _paid(LEAST))
    assert found is not None
    assert found.lines[-1] == "{s1} + {s2}"
    assert texts == MOST


def test_what_a_query_says_is_called_as_it_asks() -> None:
    line = "trips: total takings where boat is Heron: 292.9"
    found = asyncio.run(
        calculated("What is 15 per cent of the Heron's total takings?", [Fact("table:trips.csv", line)])
    )
    assert [step.text for step in found[0].steps] == ["total takings where boat is Heron", "15 / 100 * {s1}"]
    assert found[0].steps[0].found == Found("292.9", "table:trips.csv", line)


def test_who_looks_things_up_is_not_overruled_by_what_calculates_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "staff.csv").write_text("name,hours a week,pay an hour\nMabel Orme,24,13.50\n")
    only = Decomposed(_paid(1.0).steps[:1], 1.0, author="calculation")

    def read(found: Decomposed) -> Decomposed | None:
        async def said(*_: object) -> list[Decomposed]:
            return [found]

        monkeypatch.setattr("pointwork.agents.learned.calculated", said)
        return asyncio.run(Learned(ToolContext(root=tmp_path)).read(WEEK, 8))

    assert read(only) is None
    assert read(_paid(1.0)) == _paid(1.0)


def test_the_calculator_is_shown_more_sentences_than_the_reckoner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [f"The key of boat {n} costs {n + 3} pounds." for n in range(2 * MANY)]
    (tmp_path / "keys.md").write_text("# Keys\n\n" + "\n\n".join(said) + "\n")
    shown: list[int] = []

    async def counted(_: str, facts: Sequence[Fact]) -> list[Decomposed]:
        shown.append(len(facts))
        return []

    async def agree(_: str, chat: object, most: int, facts: Sequence[Fact], *__: object) -> None:
        shown.append(len(facts))

    monkeypatch.setattr("pointwork.agents.learned.calculated", counted)
    monkeypatch.setattr("pointwork.agents.learned.agreed", agree)
    asyncio.run(Learned(ToolContext(root=tmp_path)).read("What does the key of a boat cost?", 8))
    assert shown == [MANY, 0, SENTENCES]


@pytest.mark.parametrize(("alone", "with_files"), [(0.5, 0.4), (0.4, 0.5)])
def test_what_a_task_says_itself_is_taken_where_it_is_surer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: float, with_files: float
) -> None:
    (tmp_path / "staff.csv").write_text("name,hours a week,pay an hour\nMabel Orme,24,13.50\n")
    sums = (Subtask("s1", "09:15 + 225 minutes", "", (), "text"),)

    async def said(_: str, facts: Sequence[Fact]) -> list[Decomposed]:
        return [_paid(with_files) if facts else Decomposed(sums, alone, author="calculation", alone=True)]

    monkeypatch.setattr("pointwork.agents.learned.calculated", said)
    found = asyncio.run(Learned(ToolContext(root=tmp_path)).read(WEEK, 8))
    assert found is not None
    assert found.alone == (alone > with_files)


def test_what_is_not_calculated_from_files_does_not_count() -> None:
    bare = replace(_paid(1.0), steps=(Subtask("s1", "24 * 13.50", "", (), "number"),))
    assert _agreed([], bare) == (None, 0)
    whole = replace(bare, alone=True)
    assert _agreed([], whole) == (whole, 0)


def test_a_team_without_models_calculates(tmp_path: Path, store: Store) -> None:
    (tmp_path / "prices.csv").write_text("item,price_eur\nvarnish,18\nglue,7\nsandpaper,4\n")
    with Team(builtin_agents(), Settings(adapters=False), store=store, root=tmp_path) as team:
        result = team.run(
            "We need 5 tins of varnish for the hall and we already have the brushes. What will that come to?"
        )
    assert result.text.split()[0] == "90"
    assert result.plan.author == "calculation"
    assert {one.source for one in result.evidence} >= {"table:prices.csv"}


@pytest.mark.parametrize(("second", "answer"), [("9,000", ""), ("7,000", "2000")])
def test_a_value_less_itself_is_no_answer(second: str, answer: str) -> None:
    steps = (
        Subtask(
            "s1", "litres when full", "", found=Found("9,000", "file:a.md:1", "It holds 9,000 litres, or 7,000.")
        ),
        Subtask(
            "s2", "litres it holds", "", found=Found(second, "file:a.md:1", "It holds 9,000 litres, or 7,000.")
        ),
        Subtask("s3", "{s1} - {s2}", "", ("s1", "s2"), "number"),
    )
    assert asyncio.run(answer_of("How many litres are in it?", Decomposed(steps, 1.0))) == answer


@pytest.mark.parametrize(("last", "answer"), [("2024-03-12", ""), ("2024-03-13", "1 day")])
def test_nothing_lasts_no_days(last: str, answer: str) -> None:
    days = ("2024-03-12", last)  # of two sections of the same minutes: not one value less itself
    steps = [
        Subtask(f"s{at}", f"date {at}", "", found=Found(day, "file:a.md:1", f"section {at} of {day}"))
        for at, day in enumerate(days, 1)
    ]
    steps.append(Subtask("s3", "days from {s1} to {s2}", "", ("s1", "s2")))
    assert asyncio.run(answer_of("How many days does it last?", Decomposed(tuple(steps), 1.0))) == answer


def test_below_zero_is_an_amount() -> None:
    assert [one.value for one in amounts_of(["at -20 degrees, A-17, 10-15, (-4) and -1,250.5"])] == [-20, -1250.5]


@pytest.mark.parametrize("readings", ["auto", "always", "never"])
def test_it_may_be_switched_off(tmp_path: Path, store: Store, readings: str) -> None:
    (tmp_path / "prices.csv").write_text("item,price_eur\nvarnish,18\nglue,7\nsandpaper,4\n")
    settings = Settings.model_validate({"adapters": False, "run": {"readings": readings}})
    client = ScriptedClient(["nobody knows"] * 40)
    with Team(
        builtin_agents(),
        settings,
        store=store,
        root=tmp_path,
        models={role: client for role in ("planner", "worker-small", "worker-large")},
    ) as team:
        result = team.run(
            "We need 5 tins of varnish for the hall and we already have the brushes. What will that come to?"
        )
    assert (result.plan.author == "calculation") is (
        readings == "always"
    )  # a scripted model is none of the small ones


def test_what_needs_no_files_is_calculated_by_who_learnt_only_that() -> None:
    """But whether anything is calculated says who knows tasks that need files too."""
    task = "How many pencils are 3 boxes of 12?"
    alone, both = (calculations(task, [], network=calculating.shipped(alone=so)) for so in (True, False))
    read = calculations(task, [])

    assert read.calculations == alone.calculations != both.calculations
    assert read.answered == both.answered != alone.answered


@pytest.mark.parametrize(
    "task",
    [
        "If the Galeb's engine runs for 2 hours, how much fuel is gone?",
        "How much were we short at the end of 2023?",
    ],
)
def test_what_files_are_needed_for_is_not_calculated_without(task: str) -> None:
    """Who learnt only what needs no files finds something to multiply."""
    alone, read = calculations(task, [], network=calculating.shipped(alone=True)), calculations(task, [])

    assert alone.answered * alone.calculations[0].chance >= DOUBTED
    assert read.answered * read.calculations[0].chance < LEAST


def test_lines_are_read_by_who_learnt_lines() -> None:
    lines = ["stock: boxes 3; of 12"]
    read = calculations("How many are in the boxes?", lines)

    assert read == calculations("How many are in the boxes?", lines, network=calculating.shipped())
