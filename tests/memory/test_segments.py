"""The search index in the store: the same answers after a restart, from several processes, after deletions."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from pointwork.memory import Entry, Memory, segments
from pointwork.memory import index as index_module
from pointwork.memory import memory as memory_module
from pointwork.memory.columns import Columns
from pointwork.store import Store
from pointwork.store.tables import memory_items, memory_postings, memory_segments

few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of a few documents, so that small tests have many."""
    monkeypatch.setattr(index_module, "SMALL", 4)
    monkeypatch.setattr(index_module, "LARGE", 12)
    monkeypatch.setattr(index_module, "_BATCH", 5)
    monkeypatch.setattr(memory_module, "_INDEX_AT", 3)


def entries(count: int, prefix: str = "s") -> list[Entry]:
    return [
        Entry(f"{word} number {n} speaks of wagon{n} and tea", source=f"{prefix}{n}", thread="t", speaker="Ada")
        for n, word in zip(range(count), ["red", "green", "blue"] * count, strict=False)
    ]


def answers(memory: Memory, question: str, tiers: str | None = None) -> list[tuple[str, float]]:
    return [(i.source, round(i.score, 5)) for i in memory.recall(question, k=30, tiers=tiers, now=0.0).items]


def count(memory: Memory, table: object) -> int:
    row = memory.store.row(select(func.count().label("n")).select_from(table))  # pyright: ignore[reportArgumentType]
    assert row is not None
    return int(row["n"])


@pytest.mark.parametrize("tiers", ["low", None])
def test_a_restart_answers_the_same_from_the_stored_index(database_url: str, tiers: str | None) -> None:
    one = Memory(Store(database_url))
    one.add_many(entries(30))
    before = [answers(one, q, tiers) for q in ("wagon7", "green tea", "What did Ada say of wagon12?")]
    assert count(one, memory_segments) >= 2
    assert count(one, memory_postings) > 30
    two = Memory(Store(database_url))
    assert [answers(two, q, tiers) for q in ("wagon7", "green tea", "What did Ada say of wagon12?")] == before
    assert two.recall("wagon7").items[0].source == "s7"


def test_deletion_leaves_nothing_in_rows_index_and_vectors(database_url: str) -> None:
    memory = Memory(Store(database_url))
    memory.add_many(entries(10))
    secret = memory.add("The code word is xylophonium\nand the vault is azurblau", source="secret", speaker="Ada")
    memory.add_many(entries(9, "later"))
    assert memory.recall("xylophonium").items[0].source == "secret"
    (row,) = memory.store.rows(select(memory_items).where(memory_items.c.id == secret))
    serial = row["serial"]
    holding = memory_postings.c.token.like("xylophon%")
    assert len(memory.store.rows(select(memory_postings).where(holding))) == 1
    postings_before = count(memory, memory_postings)
    other = Memory(Store(database_url))
    assert other.recall("xylophonium").items

    assert memory.delete(source="secret") == 1

    assert memory.store.rows(select(memory_postings).where(holding)) == []
    assert count(memory, memory_postings) < postings_before
    (segment,) = [
        row
        for row in memory.store.rows(select(memory_segments))
        if serial in Columns.unpack(row["numbers"]).serials.tolist()
    ]
    columns = Columns.unpack(segment["numbers"])
    place = columns.serials.tolist().index(serial)
    assert (columns.lengths[place], columns.titles[place], columns.sequences[place]) == (0, 0, 0)
    assert np.isnan(columns.times[place])
    for blob in ("codes", "vectors"):
        table = np.frombuffer(segment[blob], np.uint8).reshape(len(columns), -1)
        assert not table[place].any()
        assert table.any(axis=1).sum() == len(columns) - 1
    for postings in memory.store.rows(select(memory_postings).where(memory_postings.c.segment == segment["id"])):
        posting = segments._unpacked(postings["data"])  # pyright: ignore[reportPrivateUsage]
        assert place not in posting.places.tolist()
        assert len(posting.places) == postings["docs"]
    for one in (memory, other, Memory(Store(database_url))):
        assert "secret" not in [source for source, _ in answers(one, "xylophonium vault azurblau code")]


def test_what_is_deleted_does_not_stay_in_an_sqlite_file(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    memory = Memory(Store(f"sqlite:///{path}"))
    memory.add_many([*entries(10), Entry("xylophonium opens the vault", source="secret"), *entries(10, "later")])
    memory.recall("vault")
    assert memory.delete(source="secret") == 1
    memory.store.close()
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"wagon3" in kept
    assert b"xylophon" not in kept


steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "long", "delete", "other"]),
        st.text("abc ", min_size=1, max_size=12),
        st.sampled_from(["t", "u", None]),
        st.booleans(),
    ),
    max_size=24,
)


@few
@given(steps=steps)
def test_an_index_in_segments_equals_one_in_memory(steps: list[tuple[str, str, str | None, bool]]) -> None:
    store = Store("sqlite://")
    memories = [Memory(store), Memory(store)]
    for number, (kind, text, thread, speaks) in enumerate(steps):
        memory = memories[kind == "other"]
        if kind == "delete" and len(memory):
            memory.delete(id=memory.items()[number % len(memory)].id)
        elif text.strip():
            memory.add(text * (300 if kind == "long" else 1), thread=thread, speaker="ab" if speaks else None)
        if number % 3 == 0:
            memory.recall("a b c")
    plain = Memory()  # the same entries, none of them in a segment
    plain.add_many(
        [
            Entry(item.text, item.source, item.trust, item.title, item.time, item.speaker, item.thread)
            for item in memories[0].items()
        ]
    )
    assert len(plain.store.rows(select(memory_segments))) <= 1 + len(plain) // 3
    for question in ("aa bb cc", "ab", "b c ba"):
        texts = [
            [(item.text, round(item.score, 4)) for item in memory.recall(question, k=99, thread="t", now=0.0).items]
            for memory in (*memories, Memory(store))
        ]
        assert texts[0] == texts[1] == texts[2]
        low = [
            sorted((i.text, round(i.score, 4)) for i in memory.recall(question, k=99, now=0.0, tiers="low").items)
            for memory in (memories[0], plain)
        ]
        assert low[0] == low[1]


def test_an_index_that_can_not_be_stored_answers_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from pointwork.errors import StoreError

    def refuse(*_: object) -> bool:
        raise StoreError("disk full")

    monkeypatch.setattr(segments.Segments, "write", refuse)
    memory = Memory(Store(f"sqlite:///{tmp_path / 'm.db'}"))
    memory.add_many(entries(20))
    assert memory.recall("wagon7").items[0].source == "s7"
    assert "disk full" in caplog.text


_WRITER = """
import sys
from pointwork.memory import Entry, Memory, index, memory as module
index.SMALL, index.LARGE, index._BATCH, module._INDEX_AT = 4, 12, 5, 3
from pointwork.store import Store
m = Memory(Store(sys.argv[1]))
for n in range(25):
    m.add(f"writer {sys.argv[2]} says wagon{sys.argv[2]}x{n}", source=f"{sys.argv[2]}:{n}")
    if n % 7 == 0:
        m.recall("writer says")
"""


def test_two_writers_lose_nothing_and_double_nothing(database_url: str) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", _WRITER, database_url, name], stderr=subprocess.PIPE)
        for name in ("a", "b")
    ]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err.decode()
    memory = Memory(Store(database_url))
    sources = [source for source, _ in answers(memory, "writer says", "low")]
    assert len(memory) == 50
    found = [memory.recall(f"wagon{w}x{n}", tiers="low", k=3).items for w in "ab" for n in range(25)]
    assert [items[0].source for items in found] == [f"{w}:{n}" for w in "ab" for n in range(25)]
    assert [len(items) for items in found] == [1] * 50
    assert len(set(sources)) == len(sources)
    serials = [
        serial
        for row in memory.store.rows(select(memory_segments))
        for serial in Columns.unpack(row["numbers"]).serials.tolist()
    ]
    assert len(serials) == len(set(serials))


_CRASHER = """
import os, sys
from pointwork.memory import Entry, Memory, index, segments, memory as module
index.SMALL, index.LARGE, index._BATCH, module._INDEX_AT = 4, 12, 5, 10**9
from pointwork.store import Store
m = Memory(Store(sys.argv[1]))
m.add_many([Entry(f"kept wagon{n}", source=f"k{n}") for n in range(20)])
packed = segments._packed
def crash(posting):
    os._exit(9)
segments._packed = crash
m.recall("wagon3")
"""


def test_a_crash_while_the_index_is_written_loses_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'm.db'}"
    done = subprocess.run([sys.executable, "-c", _CRASHER, url], check=False)
    assert done.returncode == 9
    memory = Memory(Store(url))
    assert count(memory, memory_segments) == 0
    assert [memory.recall(f"wagon{n}", tiers="low").items[0].source for n in range(20)] == [
        f"k{n}" for n in range(20)
    ]
    assert count(memory, memory_segments) >= 1
    assert len(memory) == 20


_INGESTER = """
import sys
from pointwork.memory import Entry, Memory, index, memory as module
index.SMALL, index.LARGE, index._BATCH, module._INDEX_AT = 4, 12, 5, 3
from pointwork.store import Store
m = Memory(Store(sys.argv[1]))
for b in range(1000):
    words = ["tea " * (600 * (n == 3)) for n in range(7)]
    m.add_many([Entry(f"batch{b} says wagon{b}x{n} {words[n]}", source=f"{b}:{n}") for n in range(7)])
    print(b, flush=True)
"""


@pytest.mark.parametrize("batches", [1, 9])
def test_a_killed_ingest_loses_nothing_that_was_stored_and_doubles_nothing(database_url: str, batches: int) -> None:
    """Killed at any moment: while rows are written, while the index is, or between."""
    process = subprocess.Popen(
        [sys.executable, "-c", _INGESTER, database_url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    stored = [int(process.stdout.readline()) for _ in range(batches)]
    process.kill()
    rest, err = process.communicate(timeout=60)
    assert process.returncode == -9, err
    stored += [int(line) for line in rest.split()]
    memory = Memory(Store(database_url))
    sources = sorted(item.source for item in memory.items())
    whole = len(sources) // 7  # the last batch may be stored though nobody was told
    assert whole in (len(stored), len(stored) + 1)
    assert sources == sorted(f"{b}:{n}" for b in range(whole) for n in range(7))
    memory.add_many([Entry(f"batch{whole} says wagon{whole}x{n}", source=f"{whole}:{n}") for n in range(7)])
    for one in (memory, Memory(Store(database_url))):
        for b in {0, whole // 2, whole - 1, whole}:
            for n in (0, 2, 6):
                found = one.recall(f"wagon{b}x{n}", tiers="low", k=3).items
                assert [item.source for item in found] == [f"{b}:{n}"]
    serials = [
        serial
        for row in memory.store.rows(select(memory_segments))
        for serial in Columns.unpack(row["numbers"]).serials.tolist()
    ]
    assert len(serials) == len(set(serials)) > 0
    assert count(memory, memory_items) == len(sources) + 7 + 3 * whole  # one of seven has three chunks
