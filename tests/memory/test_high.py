"""Tier High: what a sentence encoder says of the best candidates, and the vectors that are kept of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from pointwork.embedding import HashingEmbedder
from pointwork.errors import StoreError, UsageError
from pointwork.memory import Entry, Memory, available_tiers
from pointwork.memory.encoded import Encoded, packed, unpacked
from pointwork.memory.high import CLOSELY
from pointwork.store import Store
from pointwork.store.tables import memory_items, memory_usage, memory_vectors

QUESTION = "Which pastime did Mara take up?"
ANSWER = "I take clay and a glaze to the kiln to bake it, which is fine"


class Fixed(HashingEmbedder):
    """Stands for a sentence encoder: it finds the question and its answer alike, and little else; counts what it
    reads."""

    def __init__(self, version: str = "fixed") -> None:
        super().__init__(64)
        self.read: list[str] = []
        self._version = version

    @property
    def version(self) -> str:
        return self._version

    def embed(self, texts: Sequence[str]) -> Any:
        self.read.extend(texts)
        return super().embed(["clay" if "clay" in text or "pastime" in text else text for text in texts])


def dialogue(turns: int = 30) -> list[Entry]:
    said = [f"I take number {n} up the hill to see the weather, which is fine" for n in range(turns)]
    said[turns // 2] = ANSWER
    return [Entry(text, speaker=("Mara", "Jon")[n % 2], thread="t", time=1e9 + n) for n, text in enumerate(said)]


def vectors(store: Store) -> dict[int, str]:
    rows = store.rows(select(memory_vectors.c.serial, memory_vectors.c.encoder))
    return {row["serial"]: row["encoder"] for row in rows}


def test_without_an_encoder_there_is_no_high() -> None:
    assert all("high" not in tiers for tiers in available_tiers().values())
    for tiers in ("high", {"filter": "high"}):
        with pytest.raises(UsageError, match=r"high needs the extra 'embed': pip install 'pointwork\[embed\]'"):
            Memory(tiers=tiers)
    memory = Memory()
    memory.add("tea at four")
    assert set(memory.recall("tea").tiers.values()) == {"mid"}


def test_with_one_filter_and_topic_work_there_unless_told_otherwise() -> None:
    encoder = Fixed()
    memory = Memory(encoder=encoder)
    memory.add_many(dialogue())
    for tiers in ("mid", {"filter": "low", "topic": "mid"}):
        memory.recall(QUESTION, tiers=tiers)
        assert encoder.read == []
    found = memory.recall(QUESTION)
    assert dict(found.tiers) == {
        "filter": "high",
        "entity": "mid",
        "temporal": "mid",
        "topic": "high",
        "summary": "mid",
    }
    assert encoder.read
    assert memory.store.rows(select(memory_usage.c.tiers))[-1]["tiers"] == dict(found.tiers)
    with pytest.raises(
        UsageError, match="'high' of memory module entity is not available here: entity has low, mid"
    ):
        memory.recall(QUESTION, tiers={"entity": "high"})


@pytest.mark.parametrize("tiers", ["high", {"filter": "high"}, {"filter": "mid", "topic": "high"}])
def test_the_encoder_says_what_comes_first(tiers: Any) -> None:
    memory = Memory(encoder=Fixed())
    memory.add_many(dialogue())

    def place(tiers: Any) -> int:
        return [item.text for item in memory.recall(QUESTION, k=30, tiers=tiers).items].index(ANSWER)

    high = (
        {**dict.fromkeys(("filter", "entity", "temporal", "topic"), "mid"), **tiers} if tiers != "high" else tiers
    )
    assert place(high) < place("mid")


def test_what_is_read_is_bounded_and_read_once(store: Store) -> None:
    encoder = Fixed()
    memory = Memory(store, encoder=encoder)
    memory.add_many(dialogue(400))
    memory.recall(QUESTION)
    assert len(encoder.read) <= 3 * CLOSELY + 1
    assert len(encoder.read) == len(set(encoder.read)) == len(vectors(store)) + 1
    before = encoder.read[:]
    first = memory.recall(QUESTION)
    assert encoder.read[len(before) :] == ["Which pastime did take up?"]
    # another process on the store reads nothing anew, and finds the same
    other = Fixed()
    again = Memory(Store(str(store.url)), encoder=other).recall(QUESTION)
    assert other.read == ["Which pastime did take up?"]
    assert [item.id for item in again.items] == [item.id for item in first.items]


def test_documents_are_not_read() -> None:
    encoder = Fixed()
    memory = Memory(encoder=encoder)
    memory.add_many(Entry(f"Pottery {n}\nA pastime with clay, number {n}.") for n in range(20))
    assert len(memory.recall(QUESTION).items) == 10
    assert encoder.read == []


def test_a_store_serves_with_and_without(database: Store) -> None:
    plain = Memory(database, encoder="static")
    plain.add_many(dialogue())
    before = [item.id for item in plain.recall(QUESTION).items]
    encoded = Memory(database, encoder=Fixed())
    assert encoded.recall(QUESTION, k=3).items
    more = encoded.add("more clay", thread="t", speaker="Jon")
    assert more in [item.id for item in plain.recall("more clay", k=2).items]
    assert vectors(database)
    assert plain.delete(id=more) == 1
    assert [item.id for item in plain.recall(QUESTION).items] == before


def test_vectors_go_with_their_rows(database: Store) -> None:
    memory = Memory(database, encoder=Fixed())
    memory.add_many(dialogue())
    secret = memory.add("clay pots hide the key", source="diary", speaker="Jon", thread="t")
    memory.recall(QUESTION, k=40)
    [row] = database.rows(select(memory_items.c.serial).where(memory_items.c.id == secret))
    assert row["serial"] in vectors(database)
    assert memory.delete(source="diary") == 1
    assert row["serial"] not in vectors(database)
    assert vectors(database)
    memory.recall(QUESTION, k=40)
    assert row["serial"] not in vectors(database)
    memory.delete(thread="t")
    assert vectors(database) == {}


def test_a_row_that_went_meanwhile_leaves_no_vector(database: Store) -> None:
    encoded = Encoded(database, Fixed())
    assert encoded.of({12345: "clay"})[12345] @ encoded.of({12345: "clay"})[12345] == pytest.approx(1, abs=1e-5)
    assert vectors(database) == {}


def test_encoders_do_not_mix(store: Store) -> None:
    Memory(store, encoder=Fixed()).add_many(dialogue())
    Memory(store, encoder=Fixed()).recall(QUESTION)
    other = Fixed("fixed-2")
    Memory(store, encoder=other).recall(QUESTION)
    assert len(other.read) > 1


def test_a_store_that_can_not_be_written_is_searched_all_the_same(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = Memory(store, encoder=Fixed())
    memory.add_many(dialogue())

    def refused(*_: Any) -> None:
        raise StoreError("read only")

    with monkeypatch.context() as patched:
        patched.setattr(Encoded, "_keep", refused)
        found = memory.recall(QUESTION)
    assert vectors(store) == {}
    again = Memory(store, encoder=Fixed()).recall(QUESTION)
    assert [item.id for item in again.items] == [item.id for item in found.items]
    assert vectors(store)


@settings(deadline=None)
@given(
    st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=50).filter(lambda some: max(map(abs, some)) > 0.01)
)
def test_a_packed_vector_keeps_its_direction(numbers: list[float]) -> None:
    vector = np.array(numbers, np.float32)
    vector /= np.linalg.norm(vector)
    again = unpacked(packed(vector))
    assert float(again @ again) == pytest.approx(1, abs=1e-5)
    assert float(again @ vector) > 0.999
