import json
import re
from pathlib import Path
from typing import Any

import pytest

from pointwork.errors import UsageError
from pointwork.training.recipes.seal_tools import CANDIDATES, Figures, SealTools, parsed, reward

GOLD: list[dict[str, Any]] = [
    {"api": "getA", "parameters": {"x": "Rome", "n": 3}},
    {"api": "getB", "parameters": {}},
]


@pytest.fixture
def data(tmp_path: Path) -> SealTools:
    tools = [
        {
            "api_name": f"get{letter}",
            "api_description": f"Get the {letter}.",
            "parameters": {
                "x": {"type": "str", "description": "The place (e.g., Rome, Oslo)"},
                "n": {"type": "int", "description": "How many"},
            },
            "required": ["x"],
        }
        for letter in "ABCDEFGH"
    ]
    (tmp_path / "tool.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in tools))
    row: dict[str, Any] = {
        "id": "dev-1",
        "query": "A of Rome, and B.",
        "calling": [{**call, "responses": []} for call in GOLD],
    }
    (tmp_path / "dev.jsonl").write_text(json.dumps(row) + "\n")
    return SealTools(tmp_path)


def test_candidates_hold_the_gold_ones_and_depend_on_the_request_alone(data: SealTools) -> None:
    (request,) = data.requests("dev")
    assert len(set(request.tools)) == CANDIDATES
    assert {"getA", "getB"} <= set(request.tools)
    assert data.requests("dev") == [request]
    shown = data.prompt(request)[0]["content"]
    assert shown.count("\n- ") == CANDIDATES
    assert "n?: int" in shown
    with pytest.raises(UsageError, match="test_in_domain"):
        data.requests("test_in_domain")


def test_the_gold_answer_is_exact(data: SealTools) -> None:
    (request,) = data.requests("dev")
    answer = data.example(request).messages[-1]["content"]
    figures = Figures()
    figures.add(answer, request.gold)
    assert figures.report() == {"requests": 1, "valid": 1, "tool_f1": 1, "parameter_f1": 1, "exact": 1}
    assert reward(answer, request.gold) == 1.0


def test_figures_by_hand() -> None:
    figures = Figures()
    figures.add(json.dumps([{"api": "getA", "parameters": {"x": "rome", "n": 4}}]), GOLD)
    figures.add("no JSON", GOLD)
    found = figures.report()
    assert found["tool_f1"] == pytest.approx(2 * 1 / (1 + 4))
    assert found["parameter_f1"] == pytest.approx(2 * 1 / (2 + 4))
    assert (found["valid"], found["exact"]) == (0.5, 0.0)


def test_a_call_too_many_is_not_exact() -> None:
    figures = Figures()
    figures.add(json.dumps([*GOLD, GOLD[1]]), GOLD)
    assert figures.report()["exact"] == 0.0


@pytest.mark.parametrize("text", ["{}", "[1]", '[{"api": "a"}]', "[", '[{"api": "a", "parameters": []}]'])
def test_what_is_no_list_of_calls(text: str) -> None:
    assert parsed(text) is None
    assert reward(text, GOLD) == 0.0


def test_rewards_are_ordered() -> None:
    half = json.dumps(GOLD[:1])
    assert 0 < reward(half, GOLD) < reward(json.dumps(GOLD), GOLD) == 1.0
    assert reward(json.dumps(GOLD[1:]), GOLD[1:]) == 1.0


def test_examples_are_made_from_schemas_alone(data: SealTools) -> None:
    made = data.generated(20, seed=1)
    assert made == data.generated(20, seed=1)
    for request in made:
        for call in request.gold:
            assert call["parameters"]["x"] in ("Rome", "Oslo")
            assert all(str(value) in request.text for value in call["parameters"].values())


def test_a_request_is_varied_in_text_and_calls_alike(data: SealTools) -> None:
    calls: list[dict[str, Any]] = [
        {"api": "getA", "parameters": {"x": "7Kq9fXb2Lm", "n": 415}},
        {"api": "getB", "parameters": {"x": "Rome", "n": 41}},
    ]
    asked = data.request("dev-2", "A of Rome with 415, B for '7Kq9fXb2Lm' in Rome and 41 more, 4150 in all.", calls)
    other = data.request("dev-3", "A of Oslo.", [{"api": "getA", "parameters": {"x": "Oslo"}}])
    cities: set[str] = set()
    for seed in range(20):
        varied, _ = data.varied([asked, other], seed=seed)
        first, second = (call["parameters"] for call in varied.gold)
        assert {"getA", "getB"} <= set(varied.tools)
        assert [type(value) for value in first.values()] == [str, int]
        assert 100 <= first["n"] <= 999
        assert 10 <= second["n"] <= 99
        assert "4150" in varied.text
        for value in (*first.values(), *second.values()):
            assert re.search(rf"(?<!\w){re.escape(str(value))}(?!\w)", varied.text)
        cities.add(second["x"])
    assert cities == {"Rome", "Oslo"}
    assert data.varied([asked, other], seed=3) == data.varied([asked, other], seed=3)
    assert data.varied([asked], seed=3)[0].tools != data.varied([asked], seed=5)[0].tools


def test_values_that_would_be_mistaken_are_left(data: SealTools) -> None:
    def asked(text: str, *values: Any) -> Any:
        return data.request(text, text, [{"api": "getA", "parameters": {"x": value}} for value in values])

    requests = [
        asked("A of Rome, not of Oslo.", "Rome"),
        asked("A of Bergen and of New Bergen.", "Bergen", "New Bergen"),
        asked("A of Oslo in 2021.", "Oslo", 2021),
    ]
    years: set[int] = set()
    for seed in range(40):
        one, two, three = data.varied(requests, seed=seed)
        assert one.text.count("Oslo") == 1
        assert all(str(call["parameters"]["x"]) in two.text for call in two.gold)
        assert two.text.count(str(two.gold[0]["parameters"]["x"])) == 2 or "New Bergen" not in two.text
        years.add(three.gold[1]["parameters"]["x"])
    assert len(years) > 5
    assert min(years) >= 1990
    assert max(years) < 2030


def test_days_are_made_where_a_day_is_wanted(tmp_path: Path, data: SealTools) -> None:
    data.tools["getA"]["parameters"]["x"]["description"] = "The day (e.g., 2022-10-15)"
    found = [c["parameters"]["x"] for made in data.generated(40, seed=2) for c in made.gold if c["api"] == "getA"]
    said = " ".join(made.text for made in data.generated(40, seed=2))
    assert re.search(r"\b[A-Z][a-z]+ \d{1,2}, 20[0-2]\d\b", said)
    assert found
    assert all(re.fullmatch(r"20[0-2]\d-\d\d-\d\d", value) for value in found)
    assert len(set(found)) > 1
