"""What can not be by its units is not calculated; what is not told speaks against nothing."""

import asyncio
from datetime import date

import pytest

from pointwork.agents import calculated as plans
from pointwork.agents.facts.gathered import Fact
from pointwork.agents.measuring import measures_fit
from pointwork.agents.parsing.amounts import DATE, NUMBER, TIME, Amount, amounts_of
from pointwork.agents.parsing.calculating import Calculation, Reading, Step

HOURS = "trips where boat is Heron: 19 rows; hours total 26.35, average 1.39"
COURSE = "Regatta: Course: 6.5 nautical miles for the large boats, 12 km for the others."
SEATS = "trips of the highest passengers: trip T205; boat Heron; passengers 54"
LICENCE = "Heron: She is licensed for 58 passengers and a crew of 4."


def made(task: str, line: str, first: str, operation: str, second: str, *more: Step) -> Calculation:
    """Two amounts as they are written in a task and a line, joined."""
    found = {amount.written: amount for amount in amounts_of([task, line])}

    def side(written: str) -> Amount | float:
        return found[written] if written in found else float(written)

    return Calculation(1.0, 7.0, NUMBER, (Step(side(first), side(second), operation), *more))


@pytest.mark.parametrize(
    ("task", "line", "first", "operation", "second", "fits"),
    [
        ("What is that at 1.70 a litre?", HOURS, "26.35", "*", "1.70", False),
        ("What is that at 1.70 an hour?", HOURS, "26.35", "*", "1.70", True),
        ("What is that at 1.70 a minute?", HOURS, "26.35", "*", "1.70", True),  # 60 may come into it
        ("What is that at 1.70 a trip?", HOURS, "26.35", "*", "1.70", True),
        ("A third of 19, at 1.70 a litre?", HOURS, "19", "*", "1.70", True),  # of what there are 19 is not told
        ("How many kilometres are 3 rounds?", COURSE, "3", "*", "6.5", False),
        ("How many kilometres are 3 rounds?", COURSE, "12", "*", "3", True),
        ("How many kilometres are 3 rounds?", COURSE, "6.5", "*", "1000", True),  # a constant may convert
        ("How many nautical miles are 3 rounds?", COURSE, "6.5", "*", "3", True),
        ("How long are 3 rounds?", COURSE, "6.5", "*", "3", True),
        ("How many passengers would 54 passengers be?", LICENCE, "54", "*", "58", False),
        ("How many passengers would 54 passengers be?", LICENCE, "58", "-", "54", True),
        ("How many hours are 12 km?", "Rules: Walk 4 km an hour.", "12", "/", "4", True),
        ("How many hours are 12 km?", "Rules: Paint 4 litres an hour.", "12", "/", "4", False),
        ("How large is it, 4 metres wide?", "Room: It is 6 metres long.", "6", "*", "4", True),
        ("What do we owe for 4 hours?", "staff: name Theo; price_per_hour 28", "4", "*", "28", True),
        ("What do 30 packs cost?", "stock: pack size 56; pack price £ 2.75", "30", "*", "2.75", True),
        ("Spots in 8 days?", "campaigns: spots_a_day 6; days 12", "6", "*", "12", True),
        ("What are 3 pounds an hour for 4 hours?", "Rules: It is so.", "3", "*", "4", True),
        ("What is it with 2 pounds more?", "staff: name Theo; price_per_hour 28", "2", "+", "28", True),
        ("What are the hours at that price?", "trips: hours 26; price_per_litre 1.7", "26", "*", "1.7", False),
        ("What are 25 crates?", "pickers: rate_gbp_per_crate 4.05", "25", "*", "4.05", True),
        ("Driving at 65 pence a kilometre?", "log: total litres where car is T: 101.9", "65", "*", "101.9", False),
        ("Driving at 65 pence a kilometre?", "log: total litres per car: 101.9", "65", "*", "101.9", True),
        ("Driving at 65 pence a kilometre?", "log: number of rows where litres is 5: 12", "65", "*", "12", True),
        ("At 2.3 litres of petrol an hour?", "trips: total diesel litres: 9.5", "9.5", "*", "2.3", False),
        ("At 2.3 litres of petrol an hour?", "trips: total hours: 9.5", "9.5", "*", "2.3", True),
        ("At 2.3 litres of petrol an hour?", "trips: total km: 9.5", "9.5", "*", "2.3", False),
        ("How many minutes?", "picks: hours 9.5; The long break lasts 45 minutes.", "9.5", "*", "45", False),
        ("How many litres?", "It covers 6 square metres a litre; it is 7 metres wide", "6", "*", "7", False),
        ("Which number at 3 in the morning?", "staff: bleep 2109", "3", "copy", "3", False),
        ("Which number at 3 in the morning?", "staff: bleep 2109", "2109", "copy", "2109", True),
        ("What share of sessions?", "bookings in all: 74 rows; people total 424", "74", "share", "424", False),
        ("What share of sessions?", "bookings in all: 74 rows; 19 rows without", "19", "share", "74", True),
        ("People a session?", "bookings in all: 74 rows; people total 424", "424", "/", "74", True),
        # rates in columns and in sentences, and money
        ("What do 890 dollars make?", "kiosk: sells nzd total 47.3", "890", "*", "47.3", False),
        ("What do 890 dollars make?", "kiosk: sells eur total 47.3", "890", "*", "47.3", True),  # an exchange rate
        ("What is left of £1800?", "parts: gbp total 645", "1800", "-", "645", True),
        ("What is left of £1800?", "trips: km total 645", "1800", "-", "645", False),
        ("What is left of 3 litres?", "Bench: It takes 20 minutes.", "3", "-", "20", False),
        ("By how much do they exceed 65 kg?", "Feeding: Dogs of 40 kg are fed 3 times.", "65", "-", "40", True),
        ("Over by 9 hours?", "Rules: They work at most 6 hours a month.", "9", "-", "6", True),
        ("What do 7 hours cost?", "staff: name Theo; usd_hour 26.8", "7", "*", "26.8", True),
        ("What do 9 days cost?", "gear: item Tent; day_rate_eur 18", "9", "*", "18", True),
        ("What do 9 litres cost?", "gear: item Tent; day_rate_eur 18", "9", "*", "18", False),
        ("Seed for 12.5 ha?", "seed: crop Rye; sowing_kg_ha 120", "12.5", "*", "120", True),
        ("Hours in 52 weeks?", "staff: name Theo; weekly_hours 38", "52", "*", "38", True),
        ("Hours in 52 weeks?", "staff: hours per week total 72", "52", "*", "72", True),
        ("Thread for 174 copies?", "THREAD_METRES_PER_COPY = 2.4", "174", "*", "2.4", True),
        ("How many minutes for 155 litres?", "pump: pump_litres_per_min 38", "155", "/", "38", True),
        ("How far with 53 litres?", "cars: car Berlingo; litres_per_100km 6.1", "53", "/", "6.1", True),
        ("Gas for 290 miles?", "Van: It runs 14.5 miles on a gallon.", "290", "/", "14.5", True),
        ("Water for 90 litres?", "Brewing: For each litre we use 4.6 litres of water.", "90", "*", "4.6", True),
        ("Ice for 90 kg?", "Ice: Reckon with 0.8 kg of ice to a kilo of fish.", "90", "*", "0.8", True),
        ("What more than 36 an hour?", "New: It does 58 metres an hour.", "58", "-", "36", True),
        ("My 3 dogs?", "tickets: adult 4.20; dog 0.50", "3", "*", "0.50", True),
        ("How many cups are 12 litres?", "Cups: A cup holds 0.2 litres.", "12", "/", "0.2", True),
        ("The hours of 4 days of 8 hours?", "Crew: It is so.", "4", "*", "8", True),
        ("How much in pounds, for 27 kg?", "Bonus: It is 3 times that.", "27", "*", "3", True),
        ("How many years are 900 days?", "Year: It has 365 days.", "900", "/", "365", True),
        ("What do 9 litres cost?", "staff: weekly_eur 400", "9", "*", "400", False),
        ("What do 9 weeks cost?", "staff: weekly_eur 400", "9", "*", "400", True),
        ("What is it with 12 percent off?", "Winter: 10900 crowns a yard.", "10900", "pless", "12", True),
        ("How many kilos are 5 packs of 1000 grams?", "Packs: It is so.", "5", "*", "1000", True),
        ("How many kilos are 5 packs of 900 grams?", "Packs: It is so.", "5", "*", "900", False),
        ("How many metres for 28 copies?", "CLOTH_CM_PER_COPY = 46", "28", "pct", "46", True),
        ("How far over 15 percent?", "loads: moisture_pct 18.3", "15", "r-", "18.3", True),
        ("What is left after 4 days?", "racks: rack C 36", "36", "-", "4", True),
        ("How long do 155 litres last?", "pump: used_per_min 38", "155", "/", "38", True),
        ("How many pounds are 60 miles?", "Paid: 45 pence a mile.", "60", "pct", "45", True),
        ("What do 9 metres cost?", "stock: oak (£/m) 52", "9", "*", "52", True),
        ("What do 9 litres cost?", "stock: oak (£/m) 52", "9", "*", "52", False),
        ("What is left of £1800?", "parts: cost £ 645", "1800", "*", "645", False),
    ],
)
def test_units_speak_against_it_only_where_they_are_told(
    task: str, line: str, first: str, operation: str, second: str, fits: bool
) -> None:
    assert measures_fit(task, [line], made(task, line, first, operation, second)) is fits


def test_miles_by_miles_a_gallon_are_gallons() -> None:
    task, line = "Gas for 290 miles at 3.42 dollars a gallon?", "Van: It runs 14.5 miles on a gallon."
    miles, price, each = amounts_of([task, line])
    gallons, paid = Step(miles, each, "/"), Step(price, 0, "*")
    assert measures_fit(task, [line], Calculation(0.9, 68.4, NUMBER, (gallons, paid)))
    assert not measures_fit(task, [line], Calculation(0.9, 992.0, NUMBER, (Step(miles, price, "*"),)))


def test_months_between_dates_are_no_other_unit_than_days() -> None:
    task, line = (
        "How many days until it is serviced?",
        "Motor: on 2025-02-10, every 6 months; we meet on 2025-07-09.",
    )
    day, months, meeting = amounts_of([task, line])
    steps = Step(day, months, "+months"), Step(meeting, 0, "days")
    assert measures_fit(task, [line], Calculation(0.9, 32.0, NUMBER, steps))


@pytest.mark.parametrize(
    ("operation", "fits"), [("-", False), ("share", False), ("/", False), ("+", True), (">=", True)]
)
def test_what_two_lines_say_is_not_compared_with_itself(operation: str, fits: bool) -> None:
    task, lines = (
        "How far is the average of 3 from what was hoped for?",
        ["visits: average eur: 3", "visits in all: 78 rows; eur total 234, average 3"],
    )
    asked, one, *_, same = amounts_of([task, *lines])
    assert measures_fit(task, lines, Calculation(0.9, 0.0, NUMBER, (Step(one, same, operation),))) is fits
    assert measures_fit(task, lines, Calculation(0.9, 0.0, NUMBER, (Step(asked, same, operation),)))


def test_two_rows_may_have_the_same() -> None:
    task, lines = "How many more did Ann pick than Ben?", ["picks: name Ann; crates 3", "picks: name Ben; crates 3"]
    one, other = amounts_of([task, *lines])
    assert measures_fit(task, lines, Calculation(0.9, 0.0, NUMBER, (Step(one, other, "-"),)))


def test_nothing_is_divided_by_what_is_divided_by_it() -> None:
    task, line = "How many hours is a plank of 60 mm in the box?", "Box: It needs one hour for each 25 millimetres."
    thick, each = amounts_of([task, line])
    hours, through = Step(thick, each, "/"), Step(thick, 0, "/")
    assert measures_fit(task, [line], Calculation(0.9, 2.4, NUMBER, (hours,)))
    assert not measures_fit(task, [line], Calculation(0.9, 25.0, NUMBER, (hours, through)))
    assert measures_fit(task, [line], Calculation(0.9, 0.4, NUMBER, (Step(thick, each, "-"), through)))


@pytest.mark.parametrize("seats", [SEATS, "trips in all: 3 rows; passengers total 54"])
def test_counts_of_a_row_and_of_a_sentence_are_of_the_same_thing(seats: str) -> None:
    amounts = {amount.written: amount for amount in amounts_of(["How many is it licensed for?", seats, LICENCE])}
    found = Calculation(0.9, 3132.0, NUMBER, (Step(amounts["54"], amounts["58"], "*"),))
    assert not measures_fit("How many is it licensed for?", [seats, LICENCE], found)


@pytest.mark.parametrize(
    ("task", "fits"),
    [
        ("How long may they take until they are out of time?", False),
        ("For how long must it stay, I want the date?", True),
        ("How long may they take, and when is it over?", True),
        ("Until when may they take part?", True),
    ],
)
def test_how_long_is_no_hour_of_the_day(task: str, fits: bool) -> None:
    (start,) = amounts_of([task, "Start: Boats at 10:30."])
    (early,) = amounts_of([task, "Start: 25 minutes earlier."])
    found = Calculation(0.9, 605.0, TIME, (Step(start, early, "-minutes"),))
    assert measures_fit(task, ["Start: Boats at 10:30."], found) is fits


@pytest.mark.parametrize(
    ("task", "fits"), [("How long does it run?", True), ("How many months does it run?", False)]
)
def test_how_long_may_be_a_date(task: str, fits: bool) -> None:
    (day,) = amounts_of([task, "Contract: until 2026-12-31"])
    found = Calculation(0.9, 739981.0, DATE, (Step(day, day, "copy"),))
    assert measures_fit(task, ["Contract: until 2026-12-31"], found) is fits


def test_dates_are_left_alone() -> None:
    task, line = (
        "When is it due, 20 months later, and how many kilometres are that?",
        "Survey: It was on 2022-10-17.",
    )
    day = Amount(float(date(2022, 10, 17).toordinal()), DATE, "2022-10-17", 18, 28, 1)
    (months,) = amounts_of([task])
    assert measures_fit(task, [line], Calculation(0.9, 1.0, DATE, (Step(day, months, "+months"),)))


def test_the_likeliest_that_can_be_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    task = "What are the hours of the Heron at 1.70 a litre?"
    wrong = made(task, HOURS, "26.35", "*", "1.70")
    right = made(task, HOURS, "19", "*", "1.70")
    read = Reading(1.0, (*(plans.MOST * [wrong]), right))

    def reading(*_: object, **__: object) -> Reading:
        return read

    monkeypatch.setattr(plans, "calculations", reading)
    found = asyncio.run(plans.calculated(task, [Fact("table:trips.csv", HOURS)]))
    assert [one.steps[0].found.answer for one in found if one.steps[0].found] == ["19"]
