"""The second look at a question's best turns."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pointwork.memory import Entry, Memory, ranker, second
from pointwork.memory.view import View

SAID = [
    ("Ada", "Hey Bob! I went to Paris last week and saw the big museum!"),
    ("Bob", "Wow! That sounds lovely, did you see the tower?"),
    ("Ada", "We had 3 tickets, but it rained because of the storm."),
    ("Bob", "My sister moved to Lyon two years ago."),
    ("Ada", "Thanks, the museum in Paris was worth it."),
    ("Bob", "I never liked museums."),
]


def _memory() -> Memory:
    memory = Memory(encoder="static")
    memory.add_many([Entry(text, speaker=who, source=str(n), thread="a") for n, (who, text) in enumerate(SAID)])
    return memory


def _rows(
    memory: Memory, question: str, scores: list[float] | None = None
) -> tuple[View, dict[str, dict[str, float]]]:
    """The view, and source -> column -> number."""
    view, numbers = memory.measured(question, now=0)
    falling = [float(-n) for n in range(len(view.known))]
    some = np.array(falling if scores is None else scores, np.float32)
    chosen, rows = second.second_rows(view, some, np.ones(len(some), bool), numbers["turn"])
    assert rows.shape == (len(chosen), len(second.COLUMNS))
    assert np.isfinite(rows).all()
    numbered: list[int] = chosen.tolist()
    of = {view.known[n].item.source: row for n, row in zip(numbered, rows.tolist(), strict=True)}
    return view, {source: dict(zip(second.COLUMNS, row, strict=True)) for source, row in of.items()}


def test_what_a_turn_does_is_seen() -> None:
    _, rows = _rows(_memory(), "Who saw the museum in Paris?")
    assert rows["1"]["reacts"] == 1
    assert rows["0"]["reacts_after"] == 1
    assert rows["0"]["greets"] == 1
    assert rows["4"]["greets"] == 1
    assert rows["1"]["greets_before"] == 1
    assert rows["0"]["exclaims"] == 2
    assert rows["0"]["length_before"] == 0
    assert rows["0"]["length_after"] > 0


def test_the_kind_of_answer_is_looked_for_only_if_it_is_asked_for() -> None:
    memory = _memory()
    columns = ("where_place", "when_time", "long_span", "many_figures", "why_cause")
    asked = {
        "Where is the museum that Ada saw?": [("0", "where_place", 1.0), ("5", "where_place", 0.0)],
        "When did Ada see the museum?": [("0", "when_time", 1.0)],
        "How long ago did the sister move to Lyon?": [("3", "long_span", 1.0)],
        "How many tickets to the museum?": [("2", "many_figures", 1.0)],
        "Why was it wet, with tickets for the museum?": [("2", "why_cause", 1.0)],
    }
    for question, expected in asked.items():
        _, rows = _rows(memory, question)
        for source, column, value in expected:
            assert rows[source][column] == value, (question, source, column)
        of = {column for row in rows.values() for column in columns if row[column]}
        assert of == {column for _, column, value in expected if value}, question


def test_the_likely_around_a_turn_counts_and_other_conversations_do_not() -> None:
    memory = _memory()
    memory.add("The museum in Paris is closed on Mondays.", speaker="Eve", source="other", thread="b")
    view, _ = _rows(memory, "museum Paris")
    likely = [9.0 if known.item.source == "4" else 0.0 for known in view.known]
    _, rows = _rows(memory, "museum Paris", likely)
    assert rows["4"]["share"] > 0.99
    assert rows["4"]["gap"] == 0
    assert rows["4"]["rank"] == 0
    assert rows["5"]["share_before"] > 0.99
    assert rows["5"]["score_before"] == 0
    assert rows["0"]["stretch_share"] == pytest.approx(rows["4"]["share"] + 4 * rows["0"]["share"], abs=1e-3)
    assert rows["4"]["stretch_share"] < 0.01
    assert rows["other"]["stretch_share"] == 0
    assert rows["other"]["like_best_share"] > 0.1


def test_what_is_not_looked_at_again_stays_below_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second, "LOOKED", 2)
    view, numbers = _memory().measured("What about the museum in Paris?", now=0)
    first = np.linspace(3, -3, len(view.known)).astype(np.float32)
    turns = np.ones(len(first), bool)
    turns[0] = False  # as if it were a document
    found = second.looked(view, first, turns, numbers["turn"], ranker.second_line())
    assert found[0] == first[0]
    assert found[1:3].min() >= found[3:].max()
    assert (np.diff(found[3:]) < 0).all()


@pytest.mark.parametrize(("tiers", "looks"), [({}, True), ({"topic": "low"}, False), ({"filter": "low"}, False)])
def test_it_is_mids_and_belongs_to_topic(
    tiers: dict[str, str], looks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    original = second.looked

    def counted(view: View, scores: NDArray[Any], *others: Any) -> NDArray[Any]:
        calls.append(len(scores))
        return original(view, scores, *others)

    monkeypatch.setattr(second, "looked", counted)
    memory = _memory()
    memory.add("Paris\nParis has a museum.", title="Paris", source="document")
    assert {item.source for item in memory.recall("the museum in Paris", tiers=tiers).items} > {"0", "document"}
    assert bool(calls) == looks
