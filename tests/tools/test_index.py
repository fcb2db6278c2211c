"""Finding tools: what is found, on what it rests, and that anything may be asked."""

import threading
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork import tool
from pointwork.errors import UsageError
from pointwork.store import Store
from pointwork.tools import Hit, ToolIndex
from pointwork.tools import index as index_module
from pointwork.tools.described import describe, own_words
from pointwork.tools.requests import read_request


def named(name: str, description: str = "", *arguments: str, results: tuple[str, ...] = ()) -> dict[str, Any]:
    def schema(names: tuple[str, ...]) -> dict[str, Any]:
        return {"type": "object", "properties": {each: {"type": "string"} for each in names}}

    return {
        "name": name,
        "description": description,
        "input_schema": schema(arguments),
        "output_schema": schema(results) if results else None,
    }


TOOLS = [
    named("getTide", "Times of high and low water at a harbour", "harbour", "date"),
    named("bookBerth", "Reserve a place for a boat", "boat_length", "harbour"),
    named("translateText", "Translate a text into another language", "text", "language"),
    named("excel_write_to_sheet", "Write rows to a sheet of a workbook", "path"),
    named("play_music", "Play songs of an artist", "artist"),
    named("get_weather", "Forecast for a town", "town", results=("temperature", "wind")),
    named("sqlQuery", "Run a query", "statement"),
    named("makeInvoice", "Create a bill for a customer", "customer", "amount"),
]


def found(request: str, k: int = 3, tools: list[dict[str, Any]] = TOOLS) -> list[str]:
    return [hit.name for hit in ToolIndex(tools).search(request, k=k)]


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        ("When is low water in Whitby harbour?", "getTide"),
        ("how windy will it be? temperature too", "get_weather"),  # stands in the results alone
        ("boat length 9 m", "bookBerth"),  # in a parameter's name
        ("Say this in French, please: another language", "translateText"),
        ("put on some tunes by that singer", "play_music"),  # no word in common
        (
            "Save the rows in /home/me/music/weather/q3.xlsx",
            "excel_write_to_sheet",
        ),  # by the ending, not the folders
    ],
)
def test_the_tool_that_is_meant_comes_first(request_: str, name: str) -> None:
    assert found(request_)[0] == name


def test_each_part_of_a_request_finds_its_tool() -> None:
    asked = (
        "First, get the tide at the harbour for tomorrow. Then translate the text 'hello' into Spanish. "
        "Finally, create an invoice for the customer Smith."
    )
    assert set(found(asked)) == {"getTide", "translateText", "makeInvoice"}


def test_parts_and_files_of_requests() -> None:
    one = read_request("Find the cheapest flight to Oslo")
    assert (one.text, one.parts, one.files) == ("Find the cheapest flight to Oslo", (), "")
    two = read_request("Read /data/a.csv and then write a summary to out/b.docx")
    assert "csv" in two.files
    assert "write" in two.files
    assert "word document" in two.files
    assert "/data" not in two.text
    assert len(two.parts) == 2 or two.parts == ()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("Compare both and make a report of it", "word document"),
        ("Look at last month's sales, then write me a letter about them.", "word document"),
        ("Put the prices into a spreadsheet", "workbook"),
        ("Turn it into slides", "presentation"),
        ("List the largest ones and save it", "write create file"),
        ("Send the plan to ann@example.org", "send email"),
        ("What does https://a.example/b say?", "web page"),
        ("Find the best phone on the web", "search web"),
    ],
)
def test_what_a_request_leaves_asks_for_what_makes_it(asked: str, words: str) -> None:
    assert any(words in each for each in read_request(asked).leaves)


@pytest.mark.parametrize(
    "asked", ["Read the report", "What does my letter say?", "When is high tide?", "the file a.md"]
)
def test_what_is_only_read_is_not_made(asked: str) -> None:
    assert read_request(asked).leaves == ()


def test_an_address_on_the_web_is_no_file() -> None:
    asked = read_request("Read https://a.example/docs/b?c=1 and https://github.com/d/e.pdf.")
    assert (asked.files, asked.leaves) == ("read open load pdf document", ("fetch open web page url",))
    assert "github.com" in asked.text
    assert "docs" not in asked.text


def test_groups_are_a_dictionary() -> None:
    groups: Any = [("getTide", "harbour")]
    with pytest.raises(UsageError, match="groups are a dictionary"):
        ToolIndex(TOOLS, groups=groups)


def test_a_tool_for_what_is_to_be_made_is_found_though_the_request_does_not_name_it() -> None:
    tools = [
        *TOOLS,
        named("add_paragraph", "Add a paragraph to a Word document"),
        named("reportFault", "Report a fault of a boat"),
    ]
    assert "add_paragraph" in found("Get the tide for tomorrow and write a report of it", 3, tools)


def test_where_nothing_makes_what_is_to_be_left_nothing_is_added_for_it() -> None:
    asked = "Get the tide for tomorrow and write a report of it"
    with_it = [*TOOLS, named("add_paragraph", "Add a paragraph to a Word document, or create one")]
    for tools, makes in ((TOOLS, 0), (with_it, 1)):
        index = ToolIndex(tools)
        [there] = index._ranker.there(index._signals(read_request(asked).leaves))  # pyright: ignore[reportPrivateUsage]
        assert round(float(there)) == makes


def test_of_tools_that_fit_alike_that_is_likelier_whose_neighbours_fit() -> None:
    about = "Look it up"
    tools = [
        {"name": name, "description": text}
        for name, text in [
            ("zoo/find", about),
            ("harbour/find", about),
            ("harbour/tides", "Times of high and low water"),
            ("harbour/berths", "Free berths in the marina, by tide"),
            ("zoo/feed", "When the lions are fed"),
        ]
    ]
    asked = "find when high water is and a berth in the marina"

    def place(index: ToolIndex, name: str) -> int:
        return [hit.name for hit in index.search(asked, k=5)].index(name)

    assert place(ToolIndex(tools), "harbour/find") < place(ToolIndex(tools), "zoo/find")
    # names that do not say it: somebody who knows has to
    plain = [
        {**tool, "name": tool["name"].replace("/", "X").replace("harbour", "h").replace("zoo", "a")}
        for tool in tools
    ]
    groups = {tool["name"]: tool["name"][0] for tool in plain}
    scores = {hit.name: hit.score for hit in ToolIndex(plain).search(asked, k=5)}
    grouped = {hit.name: hit.score for hit in ToolIndex(plain, groups=groups).search(asked, k=5)}
    assert scores["hXfind"] - scores["aXfind"] < grouped["hXfind"] - grouped["aXfind"]


def test_a_servers_name_is_not_part_of_what_its_tools_do() -> None:
    """It stands before each of them, and would make them alike."""

    def words(name: str, group: str) -> str:
        return own_words(describe({"name": name}), group)

    assert words("mail-server/send_email", "mail-server") == "send email"
    assert words("Notes_write", "notes") == "write"
    assert words("write", "notes") == "write"
    assert words("notes", "notes") == "notes"
    assert words("getTide", "") == "get Tide"
    index = ToolIndex([{"name": name} for name in ("boat/boat_sink", "boat/rent", "plane/rent")])
    assert np.allclose(index._named[1], index._named[2])  # pyright: ignore[reportPrivateUsage]


def test_what_a_server_is_speaks_for_its_tools() -> None:
    tools = [
        {"name": name, "description": "Look it up"}
        for name in ("painter/find", "sailor/find", "painter/colours", "painter/brush", "sailor/anchor", "lone")
    ]
    index = ToolIndex(tools)
    signals = index._signals(["how deep is the anchor of the sailor"])  # pyright: ignore[reportPrivateUsage]
    assert signals.served is not None
    [served] = signals.served
    assert served[1] == served[4] > served[0] == served[2] == served[3]
    assert served[5] == 0  # of a tool without a server nothing is known
    assert ToolIndex(tools[-1:])._signals(["x"]).served is None  # pyright: ignore[reportPrivateUsage]


def test_one_of_two_servers_tools_that_do_the_same_will_do() -> None:
    tools = [
        {"name": "anna/search", "description": "Search the web for pages"},
        {"name": "bert/search", "description": "Search the web for pages"},
        {"name": "cora/archive", "description": "Old pages of the web"},
    ]
    index = ToolIndex(tools, embedder="static")
    scores = np.array([1.0, 0.99, 0.98], np.float32)
    varied = index._varied(scores, None)  # pyright: ignore[reportPrivateUsage]
    assert varied[0] == 1
    assert varied[1] < varied[2] <= np.float32(0.98)
    # those of one server complete each other
    index = ToolIndex(tools, embedder="static", groups={"bert/search": "anna"})
    assert index._varied(scores, None)[1] == np.float32(0.99)  # pyright: ignore[reportPrivateUsage]


def test_tool_objects_and_hits() -> None:
    @tool
    def knots(speed: float) -> float:
        """Convert a speed from km/h to knots."""
        return speed / 1.852

    index = ToolIndex([knots, *TOOLS])
    [hit] = index.search("convert a speed to knots", k=1)
    assert hit.tool is knots
    assert (hit.name, len(index), "knots" in index, "other" in index) == ("knots", 9, True, False)
    assert 0 < hit.score <= 1
    assert ToolIndex.schema_tokens([hit]) == hit.tokens > 0
    assert index.all_tokens > hit.tokens


def test_usage_is_learned_and_kept(store: Store) -> None:
    index = ToolIndex(TOOLS, store=store)
    asked = "Wie wird das Segeln morgen?"
    before = [hit.name for hit in index.search(asked, k=8)]
    for _ in range(40):
        index.learn(asked, ["get_weather", "gone"])
    assert index.search("Wie wird das Segeln morgen frueh?", k=1)[0].name == "get_weather"
    # another process, another index over some of the same tools
    later = ToolIndex(TOOLS[3:], store=store)
    assert later.search(asked, k=1)[0].name == "get_weather"
    assert [hit.name for hit in ToolIndex(TOOLS).search(asked, k=8)] == before


def test_failures_speak_against_a_tool() -> None:
    index = ToolIndex(TOOLS)
    asked = "Forecast for the town"
    assert index.search(asked, k=1)[0].name == "get_weather"
    for _ in range(100):
        index.learn(asked, "sqlQuery", ok=False)
    assert index.search(asked, k=1)[0].name == "get_weather"


ENDLESS: dict[str, Any] = {"properties": {}}
ENDLESS["properties"]["more"] = ENDLESS


def nested(times: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(times):
        made = {"properties": {"more": made}}
    return made


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ([{"description": "x"}], "needs a name"),
        ([{"name": " "}], "needs a name"),
        ([{"name": 3}], "needs a name"),
        ([{"name": "a"}, {"name": "a"}], "two tools named 'a'"),
        ([{"name": "a", "description": 3}], "must be text"),
        ([{"name": "a", "input_schema": [1]}], "schemas objects"),
        ([{"name": "a", "input_schema": ENDLESS}], "can not be written as JSON"),
        ([{"name": "a", "input_schema": nested(5_000)}], "can not be written as JSON"),
        ([5], "5 is no tool"),
        (["getTide"], "'getTide' is no tool"),
        ({"name": "a"}, "a list of tools"),
        ("abc", "a list of tools"),
        (None, "a list of tools"),
    ],
)
def test_what_can_not_be_indexed_is_said(tools: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        ToolIndex(tools)


@pytest.mark.parametrize("asked", ["get the tide at the harbour of Whitby", "When is high water?", "tide"])
def test_one_tool_alone_is_the_best_if_it_fits(asked: str) -> None:
    [hit] = ToolIndex(TOOLS[:1], embedder="static").search(asked)
    assert hit.score == 1.0


def test_the_wrong_kind_of_thing_is_said_and_changes_nothing(store: Store) -> None:
    index: Any = ToolIndex(TOOLS, store=store)
    before = index.search("tide")
    for request in (None, 3, b"tide", ["tide"]):
        with pytest.raises(UsageError, match="a request is a text"):
            index.search(request)
    for k in (None, "3", 1.5, float("nan")):
        with pytest.raises(UsageError, match="whole number"):
            index.search("tide", k=k)
    for request, names in (
        (None, "getTide"),
        ("tide", None),
        ("tide", 5),
        ("tide", [5]),
        ("tide", ["getTide", None]),
    ):
        with pytest.raises(UsageError, match="are texts"):
            index.learn(request, names)
    assert index.search("tide") == before


def test_nothing_is_found_in_nothing() -> None:
    assert ToolIndex([]).search("tide") == []
    assert ToolIndex(TOOLS).search("") == []
    assert ToolIndex(TOOLS).search(" ?! ") == []
    with pytest.raises(UsageError, match="at least 1"):
        ToolIndex(TOOLS).search("tide", k=0)
    with pytest.raises(UsageError, match="k is a whole number"):
        ToolIndex(TOOLS).search("tide", k=cast(Any, "5"))
    with pytest.raises(UsageError, match="is a text, not None"):
        ToolIndex(TOOLS).search(cast(Any, None))
    assert len(ToolIndex(TOOLS).search("tide", k=100)) == len(TOOLS)


names = st.text(min_size=1, max_size=40).filter(lambda name: bool(name.strip()))


@given(st.lists(names, min_size=1, max_size=8, unique=True), st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_anything_may_be_called_and_asked_anything(given_names: list[str], asked: str) -> None:
    index = ToolIndex([{"name": name, "description": name * 3} for name in given_names])
    hits = index.search(asked, k=3)
    assert len({hit.name for hit in hits}) == len(hits) <= 3
    assert all(hit.name in given_names and 0 <= hit.score <= 1 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert index.search(asked, k=3) == hits


def test_very_many_tools_are_searched_by_a_closer_look_at_some(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [named(f"tool{n}", f"thing {n} of shelf {n % 7}") for n in range(300)]
    monkeypatch.setattr(index_module, "MANY", 50)
    monkeypatch.setattr(index_module, "LIKELY", 40)
    index = ToolIndex([*TOOLS, *many])
    asked = "get the tide at the harbour, and translate a text into another language"
    assert {hit.name for hit in index.search(asked, k=2)} == {"getTide", "translateText"}
    assert index.search("Write rows to /x/y.xlsx", k=1)[0].name == "excel_write_to_sheet"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SEOTool", "SEO Tool"),
        ("getHTTPHeaders", "get HTTP Headers"),
        ("listIDs", "list IDs"),
        ("pdf/to_text", "pdf to text"),
    ],
)
def test_a_name_is_read_as_words(name: str, words: str) -> None:
    assert describe(named(name)).words == words


class Directions:
    """Stands for a sentence encoder: some texts point to one side, all others to the other."""

    version, dims = "directions", 2

    def __init__(self, *aside: str) -> None:
        self._aside = frozenset(aside)

    def embed(self, texts: Sequence[str]) -> Any:
        return np.array([(1, 0) if text in self._aside else (0, 1) for text in texts], np.float32)


def test_an_encoder_is_asked_what_a_description_means_without_its_name() -> None:
    asked, about = "is it slippery outside", "Road conditions"
    tools = [named("vault", "Tall ships"), named("quartz", about), named("heron", "Old maps")]
    assert ToolIndex(tools, embedder=Directions(asked, about)).search(asked, k=1)[0].name == "quartz"
    assert ToolIndex(tools, embedder=Directions(asked)).search(asked, k=1)[0].name == "vault"


def test_threads_may_search_and_learn_at_once() -> None:
    index = ToolIndex(TOOLS)
    wrong: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(20):
                hits: list[Hit] = index.search(f"tide {number}", k=2)
                index.learn(f"tide {number}", hits[0].name)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []
