"""Tables inside Markdown pages, by themselves and as what is asked of."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork import Team
from pointwork.errors import ToolError
from pointwork.tools.catalog import catalog
from pointwork.tools.markdown_tables import markdown_reader, markdown_tables

PAGE = """# Prices

Valid from May, *per loaf*.

| Loaf | Shop (£) | Trade | Share |
|---|---|---|---|
| Seven **Seed** | £4.20 | £1,003.00 | 5 % |
| [Rye](rye.md) | £4.60 | – | 7 % |

## Codes

| | Farm | Since |
|---|---|---|
| G1 | Long Barrow | 2020-01-05 |
| G2 | Sparrow Hall | 2021-03-09 |

| Code | Day |
|---|---|
| G1 | Monday |
| G2 | Friday |
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "prices.md").write_text(PAGE)
    (tmp_path / "loads.csv").write_text("load,grower,kg\nD1,G1,300\nD2,G2,250\nD3,G1,120\n")
    return tmp_path


def test_tables_of_a_page() -> None:
    prices, farms, days = markdown_tables(PAGE)

    assert prices.name == "Prices"
    assert prices.header == ("loaf", "shop_£", "trade", "share")
    assert prices.rows == (("Seven Seed", "4.20", "1003.00", "5"), ("Rye", "4.60", "", "7"))
    assert (farms.name, farms.header) == ("Codes", ("name", "farm", "since"))
    assert (days.name, days.rows) == ("Codes 2", (("G1", "Monday"), ("G2", "Friday")))


@pytest.mark.parametrize(
    "page",
    [
        "",
        "a | b\nc | d",
        "| a | b |\n|---|---|\n| 1 | 2 |",  # one row
        "| a |\n|---|\n| 1 |\n| 2 |",  # one column
        "| a | A |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |",  # the same name twice
        "```\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n```",  # shown as code
    ],
)
def test_what_is_none(page: str) -> None:
    assert markdown_tables(page) == []


@given(st.text(alphabet="|-: \nab1£%", max_size=200))
def test_any_page_has_whole_tables(page: str) -> None:
    for table in markdown_tables(page):
        assert len(set(table.header)) == len(table.header) >= 2
        assert all(len(row) == len(table.header) for row in table.rows)


def test_they_are_listed_after_the_files_with_their_types_and_keys(root: Path) -> None:
    found = {info.name: info for info in catalog(root)}

    assert set(found) == {"loads", "Prices", "Codes", "Codes_2"}
    assert {column.name: column.kind for column in found["Prices"].columns} == {
        "loaf": "text", "shop_£": "number", "trade": "number", "share": "number"
    }  # fmt: skip
    assert found["Codes"].column("since").kind == "date"
    assert found["Prices"].evidence == "table:prices.md#Prices"


def test_a_page_that_changed_meanwhile(root: Path) -> None:
    copy = root / "prices.md"

    with pytest.raises(ToolError, match="no table 'Gone' any more"):
        markdown_reader("prices.md", "Gone", copy)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the shop price of Seven Seed?", "4.2"),
        ("Which day has code G2?", "Friday"),
        ("How many kg came from grower G1?", "420"),
    ],
)
def test_a_question_is_answered_from_a_page(root: Path, question: str, answer: str) -> None:
    with Team.default(store="sqlite://", root=root) as team:
        result = team.run(question)

    assert answer in result.text
