"""The tier policy as a network: learnt from what each tier found, live through the gate, taken by the memory."""

import json
from pathlib import Path
from typing import Any

import pytest

from pointwork.errors import UsageError
from pointwork.memory import Memory
from pointwork.memory.learned import ARMS, Measured, NetworkTiers, usable
from pointwork.memory.modules import available_tiers
from pointwork.memory.policy import TierRequest
from pointwork.store import Store, tables
from pointwork.training import tiers
from pointwork.training.policies import Recipe
from pointwork.training.tiers import Labelled, labelled, measure, promote_tiers, questions_of, train_tiers

QUICK = Recipe(networks=1, hidden=16, epochs=40, patience=40, rate=1e-2, dropout=0.0)


def request(question: str) -> TierRequest:
    return TierRequest(question, 10, 800, None, available_tiers(), 500)


def world(count: int, gain: float = 0.6) -> list[Measured]:
    """Only questions with "why" gain from Mid."""
    rows: list[Measured] = []
    for number in range(count):
        why = number % 2 == 0
        asked = request(f"{'Why' if why else 'When'} did Ada leave harbour {number % 7}?")
        low = 0.9 - gain if why else 0.9
        quality = {"low": low, "mid without topic": 0.9, "mid": 0.9}
        rows.append(Measured(asked, quality, {"low": 0.002, "mid without topic": 0.03, "mid": 0.04}))
    return rows


def test_it_picks_the_dear_tiers_where_they_gain() -> None:
    policy = train_tiers(world(300), 4.0, QUICK)
    assert policy.arm(request("Why did Ada leave harbour 3?")) != "low"
    assert policy.arm(request("When did Ada leave harbour 3?")) == "low"


def test_it_survives_the_store() -> None:
    policy = train_tiers(world(200), 4.0, QUICK)
    again = NetworkTiers.from_json(json.loads(json.dumps(policy.as_json())))
    assert again is not None
    for question in ("Why did Bob come?", "When did Bob come?"):
        assert again.choose(request(question)) == policy.choose(request(question))
    assert NetworkTiers.from_json({**policy.as_json(), "arms": ["other"]}) is None
    with pytest.raises(UsageError, match="an output and seconds of each arm"):
        NetworkTiers([], {}, 1.0)


@pytest.mark.parametrize("promoted", [True, False])
def test_only_what_is_better_goes_live(store: Store, monkeypatch: pytest.MonkeyPatch, promoted: bool) -> None:
    rows = world(400) if promoted else _mid_only(400)

    def measured(*_: object, **__: object) -> list[Measured]:
        return rows

    monkeypatch.setattr(tiers, "measure", measured)
    done = promote_tiers(store, [Labelled("q", sources=frozenset({"s"}))] * 400, price=4.0, recipe=QUICK)
    assert done.promoted is promoted, done
    policy = Memory(store).policy
    assert isinstance(policy, NetworkTiers) is promoted
    if promoted:
        assert Memory(store).policy.choose(request("When did Ada leave harbour 3?")) == ARMS["low"]
    else:
        assert "not above 0" in done.reason


def _mid_only(count: int) -> list[Measured]:
    free = dict.fromkeys(ARMS, 0.0)
    return [
        Measured(request(f"What is {n}?"), {"low": 0.1, "mid without topic": 0.2, "mid": 0.9}, free)
        for n in range(count)
    ]


def test_questions_are_asked_at_every_tier(store: Store) -> None:
    memory = Memory(store)
    wanted = memory.add("The ferry to Skye leaves at nine.", source="a")
    memory.add("Bob likes tea.", source="b")
    asked = [
        Labelled("When does the ferry leave?", ids=frozenset({wanted})),
        Labelled("ferry", sources=frozenset("ab")),
    ]
    first, second = measure(memory, asked, k=1)
    assert set(first.quality) == set(first.seconds) == set(usable(available_tiers()))
    assert set(first.quality.values()) == {1.0}
    assert set(second.quality.values()) == {0.5}


def test_the_log_knows_which_items_answers_rest_on(store: Store) -> None:
    for number, (status, source) in enumerate((("ok", "memory:m1"), ("failed", "memory:m1"), ("ok", "file:x"))):
        result = {"evidence": [{"id": "e1", "source": source, "text": "…"}]}
        run = {"id": f"r{number}", "task": "t", "status": status, "created": 1.0, "package_version": "t"}
        with store.write() as connection:
            connection.execute(tables.runs.insert().values(**run, result=result))
        used: dict[str, Any] = {
            "run_id": f"r{number}",
            "question": f"q{number}",
            "tiers": {},
            "items": [],
            "tokens": 0,
            "usd_nano": 0,
        }
        store.append(tables.memory_usage, {**used, "seconds": 0.0, "created": 1.0})
    assert questions_of(store) == [Labelled("q0", ids=frozenset({"m1"}))]


def test_a_file_of_questions(tmp_path: Path, store: Store) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"question": "q", "sources": ["a", "b"]}\n')
    assert labelled(file) == [Labelled("q", sources=frozenset({"a", "b"}))]
    with pytest.raises(UsageError, match="1 questions whose answer is known are too few"):
        promote_tiers(store, labelled(file))
    file.write_text('{"question": "q"}\n')
    with pytest.raises(UsageError, match=r"q\.jsonl:1 needs a question and its sources"):
        labelled(file)
