"""Questions to tables about whom a document tells of, and about rows of others: own world, no model."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pointwork.agents import tabling
from pointwork.agents.preparing import fits_tables, prepare_tables, read_tables
from pointwork.agents.quoting import sentences_about
from pointwork.agents.readings.bridging import Bridge, bridged, forms_of
from pointwork.agents.tabling import _readings, readable_tables  # pyright: ignore[reportPrivateUsage]
from pointwork.tools import ToolContext, builtin_tools
from pointwork.tools.catalog import texts_of

KEEPERS = """keeper_id,name,started_on,weekly_hours,village
K1,Runa Aldis,2009-04-01,30,Norrvik
K2,Ivo Marsh,2015-09-01,24,Askel
K3,Petra Olm,2019-02-15,40,Norrvik
"""
LIGHTS = """light_id,light,height_m,keeper_id,coast
L1,Gull Point,31,K1,north
L2,Sand Spit,18,K2,south
L3,Old Mole,12,K2,north
"""
REPAIRS = """repair_id,light,fault,hours,cost_eur
R1,Gull Point,cracked lens,12,800
R2,Sand Spit,worn bearing,5,120
R3,Gull Point,damp cable,4,90
R4,Old Mole,rusty stair,9,300
"""
MINUTES = """# Meeting of 4 March 2024

Runa Aldis takes charge of the summer school, and Ivo has the keys for the boat shed until further notice.

At Sand Spit the storm tore the flag from its mast. Nobody was hurt there.

The committee thanked Petra Olm for the cake.
"""


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    for name, text in (("keepers", KEEPERS), ("lights", LIGHTS), ("repairs", REPAIRS)):
        (tmp_path / f"{name}.csv").write_text(text)
    (tmp_path / "minutes.md").write_text(MINUTES)
    return ToolContext(root=tmp_path)


def answer(question: str, context: ToolContext) -> str:
    prepared = asyncio.run(prepare_tables(question, context))
    if prepared.call is None:
        return ""
    result = asyncio.run(builtin_tools()[prepared.call[0]].call(prepared.call[1], context))
    value: Any = result.value
    return result.answer or (str(value["rows"][0][prepared.cell]) if prepared.cell is not None else "")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Since which date has the colleague in charge of the summer school been working here?", "2009-04-01"),
        ("How many weekly hours does the person with the keys for the boat shed have?", "24"),
        ("Somebody takes charge of the summer school. In which village does she live?", "Norrvik"),
        ("How high, in metres, is the light where the storm tore the flag from its mast in March 2024?", "18"),
        # nobody whom a document tells of is needed
        ("How many weekly hours does Petra Olm have?", "40"),
    ],
)
def test_whom_a_document_tells_of_is_looked_up(question: str, expected: str, context: ToolContext):
    assert answer(question, context) == expected


def test_the_sentence_is_evidence_and_counts(context: ToolContext):
    question = "Since which date has the colleague in charge of the summer school been working here?"
    prepared = asyncio.run(prepare_tables(question, context))
    assert prepared.call is not None
    assert prepared.call[1]["where_value"] == "Runa Aldis"
    (source, text), *_ = prepared.told
    assert source.startswith("file:minutes.md")
    assert "summer school" in text
    assert (
        asyncio.run(fits_tables(question, context)) >= 0.75 > asyncio.run(fits_tables("Who baked a cake?", context))
    )


@pytest.mark.parametrize(
    "question",
    [
        "Who was thanked for the cake?",  # no column is asked for
        "Who was hurt at Sand Spit in the storm?",
        "How many keepers take charge of the summer school?",
    ],
)
def test_what_a_document_says_by_itself_is_no_query(question: str, context: ToolContext):
    assert asyncio.run(prepare_tables(question, context)).told == ()


def test_people_go_by_one_of_their_names_where_it_is_one_s_own():
    forms = forms_of(["Runa Aldis", "Ivo Marsh", "Ivo Berg", "north", "R1", "cracked lens"])
    assert forms["runa"] == forms["aldis"] == forms["runa aldis"] == "Runa Aldis"
    assert "ivo" not in forms
    assert forms["berg"] == "Ivo Berg"
    assert not {"north", "r1"} & forms.keys()
    assert forms["cracked lens"] == "cracked lens"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many repairs were done on lights of the north coast?", "3"),
        ("What did all repairs to lights below 20 metres cost in total?", "420"),
        ("What is the total height of the lights whose keeper comes from Norrvik?", "31"),
        ("How many hours did the repairs at Gull Point take in total?", "16"),
    ],
)
def test_what_stands_in_the_rows_of_others_counts(question: str, expected: str, context: ToolContext):
    assert answer(question, context) == expected


def test_a_plain_reading_comes_before_one_with_the_rows_of_others(context: ToolContext):
    first = asyncio.run(read_tables("How many lights are on the north coast?", context))[0]
    assert first.arguments["table"] == "lights"
    assert first.arguments["where_column"] == "coast"


@pytest.mark.parametrize(
    ("question", "lowered"),
    [
        ("Until which day can Petra Olm hand in the hours that she did last?", True),
        ("How many weekly hours does the keeper have who started in 2019?", False),
        ("Add up the weekly hours of all keepers whose village is Norrvik.", False),
    ],
)
def test_a_number_is_no_day_and_nobody(question: str, lowered: bool, context: ToolContext):
    found = asyncio.run(read_tables(question, context))
    assert (not found or found[0].score < 0.4) is lowered


def test_who_is_asked_for_is_no_thing(context: ToolContext):
    assert answer("Who keeps the highest light?", context) == "Runa Aldis"


async def _bridged(question: str, context: ToolContext) -> Bridge | None:
    root, known = context.root, await readable_tables(context)
    assert root is not None
    found = await sentences_about(question, context, 8)
    forms = forms_of(v for info in known for c in info.columns for v in texts_of(root, info, c))
    return bridged(question, found, forms, known, lambda asked: _readings(asked, root, known))


@pytest.mark.parametrize("light", ["Sand Spit", "Gull Point"])
def test_the_name_that_is_asked_of_is_not_taken_for_another_in_its_sentence(
    light: str, context: ToolContext
) -> None:
    assert context.root is not None
    (context.root / "fog.md").write_text("# Fog\n\nThe height for Gull Point or Sand Spit is told on the tower.\n")
    found = asyncio.run(_bridged(f"What is the height in metres for {light}?", context))

    assert found is None
    assert answer(f"What is the height in metres for {light}?", context) == {"Sand Spit": "18"}.get(light, "31")


def test_a_word_that_names_a_bound_column_is_nobody(tmp_path: Path) -> None:
    (tmp_path / "courses.csv").write_text(
        "course_id,course_name,instructor,pool,lesson_min,lessons\n"
        "C1,Silver,Ruben Achter,teaching,45,8\nC2,Gold,Tessa Marlow,teaching,60,8\n"
        "C3,Minnows,Tessa Marlow,teaching,30,10\n"
        "C4,Crawl,Ruben Achter,main,60,6\nC5,Badge,Owen Castle,teaching,45,10\n"
    )
    (tmp_path / "handbook.md").write_text(
        "# Handbook\n\nEach also looks after something. Tessa Marlow checks the ropes, Owen Castle the rescue "
        "equipment and Ruben Achter the pool cover.\n"
    )
    context = ToolContext(root=tmp_path)
    question = "How many courses in the teaching pool have lessons of 45 minutes or more?"
    assert asyncio.run(tabling.bridged(question, context, [])) is None
    assert answer(question, context) == "3"
    found = asyncio.run(
        tabling.bridged("How many courses does the instructor of the pool cover give?", context, [])
    )
    assert found is not None
    assert found.name == "Ruben Achter"
