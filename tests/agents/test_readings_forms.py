"""Forms of questions to tables that many worlds of tables have shown (``table_questions.jsonl``)."""

import asyncio
from pathlib import Path

import pytest

from pointwork.agents.loop import read_out
from pointwork.agents.preparing import prepare_tables
from pointwork.agents.readings import Reading
from pointwork.tools import ToolContext, builtin_tools

WINES = """label,colour,stock,price,vintage,grower
Kapelle,white,12,11.5,2019,G1
Hofwein,white,0,6,2021,G1
Rotes Eck,red,30,18,2018,G2
Sasso,red,4,42,2016,G2
"""
GROWERS = """gid,code,grower_name,hectares,joined_on,insured,phone
G1,AA,Ida Holm,4,2009-03-01,no,12
G2,BB,Ole Berg,9,1999-05-01,yes,
"""
SALES = """sale,sold_on,at,label,paid,remark,deposit
101,2024-02-03,08:30,Kapelle,23,,5
102,2024-03-09,10:15,Sasso,42,gift,
103,2024-04-11,16:40,Sasso,84,,5
104,2024-10-01,12:00,Kapelle,11.5,,
"""
LIFTS = "lift,tested_on,driver\nL1,2024-05-01,Ann Reed\nL2,,Bo Lind\nL3,2023-01-09,\n"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cellar")
    for name, text in {"wines": WINES, "growers": GROWERS, "sales": SALES, "lifts": LIFTS}.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def short_answer(question: str, root: Path) -> str:
    """What a question is read as finds."""
    context = ToolContext(root=root)
    prepared = asyncio.run(prepare_tables(question, context))
    assert prepared.call is not None
    tool, arguments = prepared.call
    result = asyncio.run(builtin_tools()[tool].call(arguments, context))
    return read_out(prepared, result).removesuffix(".0")


@pytest.fixture
def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the parser, which reads these otherwise."""

    def words(_: str, found: list[Reading], __: object) -> list[Reading]:
        return found

    monkeypatch.setattr("pointwork.agents.tabling._weighed", words)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which wine is the second most expensive?", "Rotes Eck"),
        ("What is the second highest price of a wine?", "18"),
        ("Which wines cost less than 12?", "Kapelle, Hofwein"),  # wines, no prices
        ("red wines with a price over 20, please", "Sasso"),
        ("name the white ones", "Kapelle, Hofwein"),
        ("Which wine is sold out?", "Hofwein"),
        ("Who's the newest grower?", "Ida Holm"),  # a name, no code
        ("Who is the eldest member among the growers, by when they joined?", "Ole Berg"),
        ("Which grower isn't insured?", "Ida Holm"),
        ("How many sales were paid before eleven in the morning?", "2"),
        ("How many sales were paid before ten in the morning?", "1"),  # and not of less than ten
        ("How many sales took place after 3 pm?", "1"),
        ("How many sales were there in the first half of 2024?", "3"),
        ("How many sales were there in Q1 2024?", "2"),
        ("How many sales of the Sasso were there since the start of April 2024?", "1"),
        ("How many sales were there between the 3rd and the 9th of February 2024?", "1"),
        ("What did we take in all with the Sasso?", "126"),
        ("How much did they pay altogether in April 2024?", "84"),
        ("How many sales of the Sasso were there?", "2"),  # 101 to 104 only number the sales
        ("Which lift has no driver?", "L3"),
        ("Which is the newest lift?", "L1"),  # by the only date that there is
        ("What do the wines cost on average, the red ones I mean?", "30"),
    ],
)
def test_what_is_read(question: str, answer: str, root: Path) -> None:
    assert short_answer(question, root) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("our third dearest wine is which one", "Kapelle"),
        ("Which is our oldest vintage?", "2016"),
        ("Which sale was the dearest?", "Sasso"),  # not the first that was sold
    ],
)
@pytest.mark.usefixtures("words_only")
def test_what_the_words_say(question: str, answer: str, root: Path) -> None:
    assert short_answer(question, root) == answer
