"""The benchmark of memory's High tiers by a model, on a set of four turns."""

import pytest

from pointwork.bench.memory_model import measure
from pointwork.bench.memory_sets import TRAINED, TRAINED_HOTPOT, Question, Set
from pointwork.errors import UsageError
from pointwork.memory import Entry
from pointwork.memory.reader import Reply
from pointwork.models import ChatRequest

TURNS = [
    Entry("The gate is red.", source="a", speaker="Ada", thread="t"),
    Entry("I like the gate, it is lovely to look at from the road.", source="b", speaker="Bob", thread="t"),
    Entry(
        "The weir hums. Its keeper sings of stones at night." + " It sings on and on, as the water does." * 8,
        source="c",
        speaker="Ada",
        thread="t",
    ),
]
ASKED = [
    Question("Who sings at the weir?", frozenset({"c"}), "one", "the keeper"),
    Question("Which gate?", frozenset({"a"}), "one"),
]


class Says:
    """Answers each question of a module, and counts."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def ask(self, request: ChatRequest) -> Reply:
        self.prompts.append(request.messages[0]["content"])
        wanted = (request.schema or {})["properties"]
        return Reply('{"answer": "keeper"}' if "answer" in wanted else '{"search": ["weir"]}', 1, 0.0)


def test_high_is_measured_beside_mid_and_no_prompt_is_asked_twice() -> None:
    dialogues = [Set("d", TURNS, ASKED, 0.0)] * (TRAINED + 1)
    documents = Set("h", [Entry(e.text, source=e.source) for e in TURNS], ASKED * TRAINED_HOTPOT, 0.0)
    model = Says()
    rows = list(measure(dialogues, documents, 1, "static", model))
    assert [(row.system, row.n) for row in rows[:3]] == [
        ("summary Mid", 1),
        ("summary High", 1),
        ("summary: High adds", 1),
    ]
    assert len(model.prompts) == len(set(model.prompts))
    assert any("Answer in the fewest words" in prompt for prompt in model.prompts)
    replies = [row for row in rows if row.what == "a reply"]
    assert [(row.system, row.values["tokens"]) for row in replies] == [("summary High", 1), ("entity High", 1)]
    assert sum(row.n for row in replies) == len(model.prompts)
    rows = [row for row in rows if row not in replies]
    for mid, high, more in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
        assert (mid.what, high.what) == (more.what, more.what)
        for name in mid.values:
            assert abs(high.values[name] - mid.values[name] - more.values[name]) < 1e-9


def test_a_model_has_to_be_named() -> None:
    with pytest.raises(UsageError, match="which model is to be measured"):
        list(measure([], Set("h", [], [], 0.0), 1, "static", None))
