"""Questions read as queries: no model, own tables."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork.agents.readings import Reading
from pointwork.agents.readings.tables import readings
from pointwork.tools import ToolContext, builtin_tools
from pointwork.tools.catalog import catalog, texts_of, years_of

SHEEP = """tag,name,breed,born,weight_kg,pen,sold
1,Bella,Texel,2021-03-04,61.5,North,
2,Cora,Texel,2020-04-11,72.0,South,2024-05-02
3,Dolly,Suffolk,2022-02-20,58.2,North,
4,Edith,Merino,2019-05-30,66.4,East,2024-06-12
5,Flora,Suffolk,2021-04-01,70.1,North,
"""
SALES = """sale,day,buyer,product,pieces,unit_price,paid
1,2024-01-05,Mill Farm,wool,12,3.5,true
2,2024-01-09,Ann Reed,cheese,3,8.0,false
3,2024-02-11,Mill Farm,cheese,5,8.0,true
4,2024-02-20,Inn,wool,20,3.2,true
5,2024-03-02,Ann Reed,milk,30,1.1,false
6,2024-03-04,Ann Reed,wool,1,3.5,true
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("farm")
    (folder / "sheep.csv").write_text(SHEEP)
    (folder / "sales.csv").write_text(SALES)
    return folder


def read(question: str, root: Path) -> list[Reading]:
    return readings(
        question,
        [table for table in catalog(root) if not table.problem],
        lambda info, column: texts_of(root, info, column),
        lambda info, column: years_of(root, info, column),
    )


def answer(question: str, root: Path) -> str:
    best = read(question, root)[0]
    result = asyncio.run(builtin_tools()[best.tool].call(best.arguments, ToolContext(root=root)))
    if best.cell is not None:
        return str(result.value["rows"][0][best.cell])
    if best.yes_no:
        return "yes" if float(result.answer) > 0 else "no"
    return result.answer or str(result.value.get("value", result.value.get("rows")))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many pieces were sold over the first ten days of January 2024?", "15"),
        ("How many sales were there in the last nine days of February 2024?", "0"),
        ("How many sales were there in the last ten days of February 2024?", "1"),
        ("Average unit price in the last two weeks of February 2024?", "3.2"),
        ("How many sheep are in the North pen?", "3"),
        ("What is the average weight of the Suffolk sheep?", "64.15"),
        ("Which sheep is the heaviest?", "Cora"),
        ("Who is the oldest of the sheep?", "Edith"),
        ("How many different breeds of sheep do we keep?", "3"),
        ("How many sheep weigh more than 65 kg?", "3"),
        ("Number of sheep that have not been sold", "3"),
        ("How many pieces of cheese were sold altogether?", "8"),
        ("Which buyer made the most sales?", "Ann Reed"),
        ("How many sales are still waiting for payment?", "2"),
        ("What is all the wool worth, at its unit price?", "109.5"),
        ("How many sales were there in February 2024?", "2"),
        ("Is there a Merino among the sheep in the South pen?", "no"),
        ("When was the sheep Dolly born?", "2022-02-20"),
    ],
)
def test_what_a_question_asks_of_a_table(question: str, expected: str, root: Path) -> None:
    assert answer(question, root).startswith(expected)


@pytest.mark.parametrize(
    "question", ["Write a poem about the sea", "What is 12 times 9?", "Who is the mayor of the town?", ""]
)
def test_what_is_no_question_to_a_table_scores_low(question: str, root: Path) -> None:
    assert all(reading.score < 0.4 for reading in read(question, root))


WORDS = f"{SHEEP} {SALES} how many most than 2024 the not average".replace(",", " ").split()


@settings(max_examples=60, deadline=None)
@given(question=st.text(max_size=80) | st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join))
def test_a_reading_never_fails_and_names_only_what_is_there(question: str, root: Path) -> None:
    columns = {table.name: {column.name for column in table.columns} for table in catalog(root)}
    for reading in read(question, root):
        assert 0.0 <= reading.score <= 1.0
        table = reading.arguments["table"]
        for key in ("where_column", "and_column", "also_column", "group_by", "order_by"):
            assert reading.arguments.get(key, "") in columns[table] | {""}


def test_who_asks_for_people_and_what_it_costs_for_a_price(tmp_path: Path) -> None:
    (tmp_path / "repairs.csv").write_text(
        "job,customer,clock,smith,price_eur\nR-1,Nora Feldmann,tall clock,Ines Marlow,18\n"
        "R-2,Maud Ellery,kitchen clock,Tobias Renn,24.5\nR-3,Jo Hale,alarm clock,Ines Marlow,12\n"
    )
    (tmp_path / "parts.csv").write_text("sku,name,shelf,unit_price_eur\nSD-05,brass hand,A1,44\nSD-06,dial,B2,31\n")
    assert answer("who repaired the clock of Maud Ellery?", tmp_path) == "Tobias Renn"
    assert answer("what does a brass hand cost", tmp_path).startswith("44")
