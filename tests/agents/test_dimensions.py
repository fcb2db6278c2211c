"""What expressions over the numbers of a problem are measured in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.agents.readings.dimensions import ANY, Measures
from pointwork.agents.readings.problem_text import Leaf, Node, Problem, Tree
from pointwork.agents.readings.problems import solved

FIRST, SECOND, THIRD = (Leaf("q", place) for place in range(3))
MIXED = "2 hours, 30 minutes, 3 euros a kilo, 80 cents, 400 g, a half, 12 eggs per box, 5 boxes, 7 each. How long?"


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("It drips 3.5 litres an hour.", {"litr": 1, "hour": -1}),
        ("There are 22 seats each.", {"seat": 1, ANY: -1}),
        ("They are 22 seats apiece.", {"seat": 1, ANY: -1}),
        ("We paid 3 euros a bag.", {"$": 1, "bag": -1}),
        ("It is $6 per kilo.", {"$": 1, "kilo": -1}),
        ("There are 12 eggs in each box.", {"egg": 1, "box": -1}),
        ("There are 22 soft red seats each.", {"soft": 1, ANY: -1}),
        ("Each box holds 12 eggs.", {"egg": 1, "box": -1}),
        ("A ticket costs 8.", {"$": 1, "ticket": -1}),
        ("They come in boxes of 12.", {"box": -1}),
        ("The hall has 16 rows.", {"row": 1}),
        ("A pen is 80 cents and a book more.", {"cent": 1}),
        ("It is 3 euro cents.", {"cent": 1}),
        ("We paid about 12 then.", {"$": 1}),
        ("It grew by 15%.", {}),
        ("It was 12.", {}),
    ],
)
def test_what_a_number_is_measured_in(text: str, of: dict[str, int]) -> None:
    assert Measures(Problem(text)).numbers[0][0] == of


@pytest.mark.parametrize(
    ("text", "name", "value", "of"),
    [
        ("It drips 3.5 litres an hour. How many litres in 2 days?", "*", 168, {"litr": 1}),
        ("There are 16 rows with 22 seats each. How many seats?", "*", 352, {"seat": 1}),
        ("The plank is 2 m long, 30 cm are cut off. How many cm are left?", "-", 170, {"cm": 1}),
        ("The pen is 80 cents, the book 4 euros. What do both cost?", "+", 4.8, {"$": 1}),
        ("She reads 30 minutes a day for 2 weeks. How many hours is that?", "*", 7, {"hour": 1}),
        ("A 400 g bag at $6 per kilo. What does it cost?", "*", 2.4, {"$": 1}),
        ("90 km in 2 hours. How many km an hour?", "/", 45, {"km": 1, "hour": -1}),
        ("3 pens, 4 books. How many things?", "+", 7, {"pen": 1}),
        ("It was 12. It took 2 hours. How many minutes?", "/", 6, {"hour": -1}),  # no minutes an hour
        ("There are 22 seats each, 5 rows each. How many?", "*", 110, {"seat": 1, "row": 1, ANY: -2}),
    ],
)
def test_units_of_a_kind_are_brought_together(text: str, name: str, value: float, of: dict[str, int]) -> None:
    found = Measures(Problem(text)).answered(Node(name, FIRST, SECOND))
    assert found.value == pytest.approx(value)
    assert eval(found.written) == pytest.approx(value)
    assert found.of == of


def test_unlike_things_are_told() -> None:
    litres = Measures(Problem("It holds 840 litres, for 2 days. How many litres?"))
    assert "- mixed" in litres.of(Node("-", FIRST, SECOND)).joins
    assert litres.features(litres.of(Node("*", FIRST, SECOND)))["asked=part"] == 1.0
    assert litres.features(litres.of(FIRST))["asked=yes"] == 1.0
    rows = Measures(Problem("There are 5 seats per row and 9 seats. How many?"))
    assert "+ nearly" in rows.of(Node("+", FIRST, SECOND)).joins


def test_areas_and_parts_of_an_hour_are_left_as_they_are() -> None:
    lengths = Measures(Problem("It is 3 m by 2 m, with 40 cm."))
    found = lengths.of(Node("/", Node("*", FIRST, SECOND), THIRD))
    assert (found.value, found.of, found.factors) == (pytest.approx(0.15), {"m": 2, "cm": -1}, 0)
    times = Measures(Problem("It was 12. 2 hours. 30 minutes. How long?"))
    found = times.of(Node("+", Node("/", FIRST, SECOND), Node("/", FIRST, THIRD)))
    assert (found.value, found.factors) == (pytest.approx(6.4), 0)


def test_how_often_units_were_brought_together_counts() -> None:
    drips = Measures(Problem("It drips 3.5 litres an hour. How many litres in 2 days?"))
    found = drips.answered(Node("*", FIRST, SECOND))
    assert drips.features(found)["factors"] == 1.0


@pytest.mark.parametrize(
    ("question", "unit"),
    [
        ("How many cents is that?", "cent"),
        ("What does it cost?", "$"),
        ("How many boats are there?", "boat"),
        ("What length is left?", ""),
    ],
)
def test_the_unit_that_is_asked_for(question: str, unit: str) -> None:
    assert Measures(Problem(f"It is 2 m long. {question}")).asked == unit


_TREES = st.recursive(
    st.builds(Leaf, st.sampled_from(["q", "1+", "1-"]), st.integers(0, 8)),
    lambda inner: st.builds(Node, st.sampled_from("+-*/"), inner, inner),
    max_leaves=6,
)


@given(_TREES)
def test_what_is_written_is_what_it_comes_to(tree: Tree) -> None:
    problem = Problem(MIXED)
    assert len(problem.quantities) == 9
    measures = Measures(problem)
    found = measures.answered(tree)
    try:
        value = eval(found.written)
    except ZeroDivisionError:
        return
    assert value == pytest.approx(found.value, rel=1e-6, abs=1e-9)
    assert all(found.of.values())
    assert all(isinstance(one, float) for one in measures.features(found).values())


def test_a_tank_that_drips_for_days() -> None:
    read = solved("A tank holds 840 litres and drips 3.5 litres an hour, how many litres are left after two days")
    assert read is not None
    assert eval(read.arguments["expression"]) == 672
