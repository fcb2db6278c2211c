"""Problems of a known form: remainders, ratios, round things, what leans, and notes that something is paid with."""

import pytest

from pointwork.agents.readings.forms import in_money, of_form
from pointwork.agents.reckoning import computed, value_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I've 100 jar lids and want to pack them in bags of 12. How many lids are left over?", 4),
        ("We have fifty-three children and make teams of six. How many children are left without a team?", 5),
        ("130 people go by coach, 48 to a coach. How many are left over after the full coaches?", 34),
        ("Each crate holds 24. Of 1,250 bottles, how many remain when all crates are full?", 2),
        ("Split 70 in the ratio 5:9. How much is the larger share?", 45),
        ("Split 70 in the ratio 5 to 9. How much is the smaller share?", 25),
        ("Ann and Bob share 120 euros in the ratio 2:3. How much does Ann get?", 48),
        ("Share 84 sweets between Tom, Una and Vic in the ratio 1:2:4. How many does Vic get?", 48),
        ("A round pond is 3 metres across. What is its area in square metres, to 2 decimals?", 7.07),
        ("What is the circumference of a wheel with a radius of 35 cm?", 219.911),
        ("The ladder's top is 4.8 m up the wall, its foot 1.4 m out. How long is the ladder?", 5),
        ("How long is the diagonal of a room 4 m by 3 m?", 5),
    ],
)
def test_a_known_form_is_read(text: str, value: float) -> None:
    found = computed(text)
    assert found is not None
    assert value_of(found) == pytest.approx(value, abs=0.01)


@pytest.mark.parametrize(
    "text",
    [
        "We had 100 lids and sold 3 bags of 12. How many are left over?",  # three numbers
        "We had 100 lids and sold a bag of 12. How many are left over?",  # one bag of it went
        "1,250 bags are packed 48 to a carton: how many cartons if none may be left over?",
        "9 lids in bags of 12: how many are left over?",
        "12.5 kg in bags of 3: how much is left over?",
        "At 10:30 we put 100 lids in bags of 12. How many are left over?",
        "Cement and sand in the ratio 1 to 4: how much sand for 20 kg of cement?",  # of one to another
        "Split 70 in the ratio 5:9. How much is that?",
        "Split 70 in the ratio 5:5. How much is the larger share?",
        "Ann and Bob share 120 euros and 3 cents in the ratio 2:3. How much does Ann get?",
        "Ann and Bob share 120 euros in the ratio 2:3. How much do Ann and Bob get?",
        "We meet at 5:30 and split 70. How much is the larger share?",
        "The round table is 2 m across and costs 80. What is its area?",
        "The table is 2 m across. What is its area?",
        "The round table is 2 m across. What does it cost?",
        "The ladder is 4.8 m long and 1.4 m out. How long is it?",  # no side is up
        "A room is 4 m by 3 m. How long is a walk round it?",
        "How many are 3 boxes of 12?",
        "100 lids go into bags of 12. How many bags are full?",
        "There are 100 lids here and 3 there. In bags of 12, how many are left over?",
        "Its sides stand in the ratio 5:9, the short side is 70 cm. How long is the larger?",  # none is shared
        "Ann, Bob and Cy split 70 in the ratio 5:9. How much does Ann get?",
        "A bus holds 48. We are 130. How many are left without a seat?",  # one bus, for all that is said
        "A bus holds 48 and 130 people wait. How many are left when it has gone?",
    ],
)
def test_what_is_no_such_form_is_left_to_others(text: str) -> None:
    assert of_form(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("paid with two twenties", "paid with 40"),
        ("I paid 13.60 with a twenty. Change?", "I paid 13.60 with 20. Change?"),
        ("handed her a fiver for it", "handed her 5 for it"),
        ("Bought with a 50 dollar bill, what change?", "Bought with 50, what change?"),
        ("with three ten euro notes.", "with 30."),
        ("with a hundred.", "with 100."),
        ("with two fifties and 3 coins", "with 100 and 3 coins"),
        ("with 3 20s.", "with 60."),
        ("with a 5.5 cubic metre skip", None),
        ("with a ten percent discount", None),
        ("with a twenty minute delay", None),
        ("with two ten", None),
        ("a tenner is on the table", None),
    ],
)
def test_notes_are_their_sum(text: str, said: str | None) -> None:
    assert in_money(text) == (said or text)


def test_change_from_notes() -> None:
    found = computed("Paid for 3 bags of bark at 6.49 and a trowel at 8.95 with two twenties. How much change?")
    assert found is not None
    assert value_of(found) == pytest.approx(11.58)


def test_whether_any_are_left_is_no_number() -> None:
    text = "I've 100 jar lids and want to pack them in bags of 12. Are any left over?"
    assert of_form(text) is not None
    found = computed(text)
    assert found is None or "mod" not in found.arguments["expression"]
