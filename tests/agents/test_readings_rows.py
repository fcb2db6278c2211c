"""Rows by names and keys, moments by columns, entries of pages by lead words: own worlds, no model."""

import asyncio
import re
from pathlib import Path

import pytest

from pointwork.agents.quoting import prepare_files
from pointwork.agents.readings import moments
from pointwork.agents.readings.moments import BOTH
from pointwork.agents.readings.question import Question
from pointwork.agents.readings.spans import is_constant
from pointwork.agents.readings.statements import statements
from pointwork.agents.readings.tables import readings
from pointwork.agents.readings.wanting import asking
from pointwork.tools import ToolContext, builtin_tools
from pointwork.tools.catalog import catalog, texts_of, years_of

BOATS = """boat_id,nickname,fuel,bought_year,checked,keeper_id
B1,Kingfisher,electric,2015,2024-05-01,P2
B2,Old Gregor,diesel,1998,2024-04-02,P1
B3,Snail,electric,2019,2024-03-03,P2
"""
PEOPLE = """person_id,name,joined,weekly_hours,hourly_pay,mentor_id
P1,Ada Moor,2001-02-03,40,20.5,
P2,Ben Carver,2011-02-03,30,18,P1
P3,Cy Park,2021-02-03,20,15,P1
"""
TRIPS = """trip_id,boat_id,day,left_at,back_at,seats,status,packet_price,seeds_per_packet
T1,B1,2024-06-01,08:30,10:15,12,on time,2.5,40
T2,B3,2024-06-02,13:05,16:35,9,late,3,60
T3,B3,2024-06-03,09:00,09:40,5,on time,3.5,80
"""
# More kinds of pipe than a column's values are kept of; repairs that have minutes; what people are counted by.
PARTS = "part_code,pipe_name\n" + "".join(f"K{n:03},pipe {n}\n" for n in range(60))
REPAIRS = """repair,mender,repair_minutes
R1,Ada Moor,30
R2,Ben Carver,40
R3,Ben Carver,5
R4,Ben Carver,20
R5,Ada Moor,60
"""
EVENTS = """event,name,attendance,first_aiders
E1,Fair,120,3
E2,Concert,80,5
E3,Quiz,30,1
"""


_TABLES = {
    "boats": BOATS,
    "people": PEOPLE,
    "trips": TRIPS,
    "parts": PARTS,
    "repairs": REPAIRS,
    "events": EVENTS,
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quay")
    for name, text in _TABLES.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def answer(question: str, root: Path) -> str:
    known = [table for table in catalog(root) if not table.problem]
    best = readings(question, known, lambda i, c: texts_of(root, i, c), lambda i, c: years_of(root, i, c))[0]
    result = asyncio.run(builtin_tools()[best.tool].call(best.arguments, ToolContext(root=root)))
    found = [str(row[best.cell or 0]) for row in result.value.get("rows", [])] or [result.answer]
    return ", ".join([*found, best.unit] if best.unit else found)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        # what has a name is told by it
        ("Name the electric boats.", "Kingfisher, Snail"),
        ("Which of our boats was bought first?", "Old Gregor"),
        ("What is the id of the boat that was bought first?", "B2"),
        ("Who is P2?", "Ben Carver"),
        ("What is B3?", "Snail"),
        ("Which trip had the most seats?", "T1"),  # a trip has no name
        ("What is Kingfisher's fuel?", "electric"),  # no doer, though it ends like one
        # of keys that stand in the same table
        ("Who is the mentor of Cy Park?", "Ada Moor"),
        ("How many people have Ada Moor as mentor?", "2"),
        # rows are counted where they are named, not what else could be the most
        ("Which boat made the most trips?", "Snail"),
        ("Which boat sold the most seats?", "Snail"),
        # a year or a time of day that is named is when
        ("When was Snail bought?", "2019"),
        ("When was Snail checked?", "2024-03-03"),
        ("When did trip T2 leave?", "13:05:00"),
        ("On what date was trip T2 begun?", "2024-06-02"),
        ("Which trip came back latest?", "T2"),  # the latest is not late
        ("How long was trip T2 out?", "210, minutes"),
        # of prices by the piece
        ("What does Cy Park earn an hour?", "15"),
        ("What does Cy Park earn in a week?", "300"),
        ("What does a packet cost on trip T3?", "3.5"),
        ("Who has been with us longest?", "Ada Moor"),
        # what is measured is not rows: Ben Carver has more repairs
        ("Which mender had the most repair minutes?", "Ada Moor"),
        ("How many people came to the events altogether?", "230"),  # attendance adds up
        ("How many first-aiders were at the concert?", "5"),  # first is no order
        ("What is the part code of pipe 7?", "K007"),
        # how people lead up to it, and before what year
        ("I'm curious how many people joined before the year 2012.", "2"),
        ("Somebody asked me how many people joined after the year 2012. Can you find out?", "1"),
    ],
)
def test_rows_and_moments(question: str, expected: str, root: Path) -> None:
    assert answer(question, root).replace(".0", "") == expected


def test_how_people_lead_up_to_a_question() -> None:
    assert asking("What does it weigh? Could you check?") == "What does it weigh?"
    for lead in ("I'd love to know", "Could you please tell me", "We wonder", "Any idea"):
        assert [word.text for word in Question(f"{lead} which boat is old?").words] == [
            "which",
            "boat",
            "is",
            "old",
        ]
    assert Question("Check the lamp").words[0].text == "Check"  # an order, not what leads up to one


HANDBOOK = """# The houses

Kept by Bram. Learn their tempers.

**Lantern.** Built 1926. The warm house: 18 degrees at night. Key on hook 3.
The man from Gale & Sons mends its panes.

**Fernery.** Built 1938, only 19 metres. Night minimum 14 degrees. Key on hook 9.

Ours are called after people. **Brown Verger** was Mr Enoch Sturt; and **Sergeant Plum** is his
old captain, Mavis Orde.

- **Brackwater Estate**: Aurelia Thwaite. Stable yard, gate code 9038.
- Lower Sorrel: Agnes Birtwhistle. There is a goose.
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "handbook.md").write_text(HANDBOOK)
    return folder


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which house was built in 1926?", "Lantern"),
        ("Which house's key is on hook 9?", "Fernery"),
        ("Whose gate code is 9038?", "Brackwater Estate"),
        ("On which hook is the key of the Fernery?", "hook 9"),  # the item is named: its value is asked for
        ("Which house has a key on hook 5?", ""),
        ("Which house was built in 1939?", ""),
    ],
)
def test_an_item_by_what_is_said_of_it(question: str, expected: str, pages: Path) -> None:
    found = asyncio.run(prepare_files(question, ToolContext(root=pages)))
    assert found.answer == expected


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Which customer has a goose?", "Lower Sorrel"),
        ("Which variety is named after Mavis Orde?", "Sergeant Plum"),
    ],
)
def test_an_item_is_what_a_model_may_choose_first(question: str, first: str, pages: Path) -> None:
    found = asyncio.run(prepare_files(question, ToolContext(root=pages)))
    assert found.choices[0] == first


def test_what_answers_about_an_item_shows_the_item(pages: Path) -> None:
    found = asyncio.run(prepare_files("Which house's key is on hook 9?", ToolContext(root=pages)))
    assert found.context[0][1] == "Fernery: Key on hook 9."


def test_who_is_in_the_sentence_before_whose_item_it_is(pages: Path) -> None:
    found = asyncio.run(prepare_files("Which man mends the panes of Gale & Sons?", ToolContext(root=pages)))
    assert found.answer != "Lantern"  # the sentence itself speaks of a man


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("**Lantern.** Built 1926. Key on hook 3.", ["Lantern: Built 1926.", "Lantern: Key on hook 3."]),
        (
            "- Smoker: jute fuel\n* Pump – out on loan\n2. **Van**: new",
            ["Smoker: jute fuel", "Pump: out on loan", "Van: new"],
        ),
        ("Chair: Elin Prosser. Signs cheques.", ["Chair: Elin Prosser.", "Chair: Signs cheques."]),
        ("One thing to know: never whistle. It carries.", ["One thing to know: never whistle.", "It carries."]),
        ("**Note** that it sticks. Push it.", ["Note that it sticks.", "Push it."]),
        ("| Bin | Day |\n|---|---|\n| Paper | Tuesday |\n| Glass | |", ["Bin Paper: Day Tuesday."]),
        ("| loose | row |", ["| loose | row |"]),
        (
            "Mon – Fri 9–17\n\n12 May – 14 May: closed",
            ["Mon – Fri 9–17", "12 May – 14 May: closed"],
        ),  # from one to the other
        ("1. First thing. Do it.", ["First thing.", "Do it."]),
        (
            "It was\nDr. Who\ncalling. Smoker: jute",
            ["It was Dr. Who calling.", "Smoker: jute"],
        ),  # lines that are wrapped
        ("Jute is burnt.\nSmoker: jute fuel", ["Jute is burnt.", "Smoker: jute fuel"]),  # an entry is not
    ],
)
def test_a_page_as_statements(page: str, expected: list[str]) -> None:
    assert statements(page) == expected


@pytest.mark.parametrize(
    ("line", "constant"),
    [
        ("LANTERN = 42", True),
        ("limit: 42,", True),
        ("LIMIT = 42  # metres", True),
        ("Lantern: 42 metres long", False),  # tells more
    ],
)
def test_a_line_that_is_a_constant(line: str, constant: bool) -> None:
    assert is_constant(line) is constant


@pytest.mark.parametrize(
    ("said", "both"),
    [("counting the first day", True), ("not counting the first day", False), ("inclusive", True)],
)
def test_whether_both_days_count(said: str, both: bool) -> None:
    question = f"How many days are there from 1 May 2025 to 9 May 2025, {said}?"
    assert bool(BOTH.search(question)) is both
    (reading,) = moments.readings(question)
    result = asyncio.run(builtin_tools()[reading.tool].call(reading.arguments, ToolContext()))
    assert re.findall(r"\d+", result.answer or result.text)[0] == ("9" if both else "8")
