"""What the ranker reads off the index instead of the candidates' texts, and words whose vectors are kept."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pointwork.embedding import default_embedder
from pointwork.memory import Entry, Memory, features, texts, vectors
from pointwork.memory import index as index_module
from pointwork.memory.low import best
from pointwork.memory.texts import Words
from pointwork.memory.view import View, nearest
from pointwork.store import Store

QUESTION = "Did red tea of may 1970 run from Ada to the green wagon7?"

parts = st.lists(
    st.sampled_from(["red", "Tea", "may", "1970", "running", "Ada", "green", "wagon7", "the", "?", "x,y"]),
    max_size=6,
).map(" ".join)
kept = st.builds(
    Entry,
    text=parts.map(lambda text: text or "."),
    title=st.one_of(st.none(), parts),
    time=st.sampled_from([None, 0.0, 1.1e7]),
    speaker=st.sampled_from([None, "Ada", "Bob"]),
    thread=st.sampled_from([None, "t"]),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=st.lists(kept, min_size=1, max_size=14), gone=st.sets(st.integers(0, 13), max_size=4))
def test_the_index_holds_the_words_that_the_texts_have(
    monkeypatch: pytest.MonkeyPatch, entries: list[Entry], gone: set[int]
) -> None:
    for name, value in (("SMALL", 4), ("LARGE", 6), ("_BATCH", 3)):
        monkeypatch.setattr(index_module, name, value)
    memory = Memory(Store("sqlite://"))
    ids = memory.add_many(entries)
    memory.recall("tea")
    for number in gone & set(range(len(ids))):
        memory.delete(id=ids[number])
    memory.add("green tea, running late", title="Red May", speaker="Ada")
    memory.recall("tea")
    index, known = memory._synced()  # pyright: ignore[reportPrivateUsage]
    view = View(QUESTION, index, known)
    view.find(None, 30)
    before, after, beside = view.neighbours()
    asked = view.asked.tokens
    assert view.held(view.places).tolist() == [[t in known.bag for t in asked] for known in view.known]
    for places in (before, after):
        expected = [[p in beside and t in beside[p].bag for t in asked] for p in places.tolist()]
        assert view.held(places).reshape(len(expected), -1).tolist() == expected
    lengths = features._lengths(view)  # pyright: ignore[reportPrivateUsage]
    assert lengths.tolist() == [len(known.tokens) for known in view.known]


def test_a_words_vector_is_that_of_the_text_and_tables_stay_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "_WORDS", 50)
    words = Words(default_embedder())
    first = [f"wagon{n}" for n in range(40)]
    rows, table = words.rows(first)
    copy = table[rows].copy()
    for start in range(40, 400, 30):
        some = [f"wagon{n}" for n in range(start, start + 30)]
        mine, other = words.rows([*some, "tea"])
        assert (other[mine] == default_embedder().embed([*some, "tea"])).all()
    assert (table[rows] == copy).all()
    many = [f"tea{n}" for n in range(170)]
    rows, table = words.rows(many)  # more than are kept
    assert len(set(rows.tolist())) == len(many)
    assert np.array_equal(table[rows], default_embedder().embed(many))


@given(st.lists(st.sampled_from([-1.0, 0.1, 0.3, 0.31, 0.4, 0.5]), max_size=40), st.integers(0, 9))
def test_the_nearest_are_the_best(near: list[float], count: int) -> None:
    values = np.array(near, np.float32)
    assert nearest(values, count).tolist() == best(values, count).tolist()


def test_beyond_the_exact_comparison_signs_estimate_the_cosine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SMALL", 4), ("LARGE", 6), ("_BATCH", 3)):
        monkeypatch.setattr(index_module, name, value)
    monkeypatch.setattr(vectors, "EXACT", 8)
    store = Store("sqlite://")
    memory = Memory(store)
    said = [f"{word} about {thing}" for word in ("news", "songs", "tales") for thing in ("trains", "rain", "bread")]
    ids = memory.add_many([Entry(text, source=text, speaker="Ada") for text in said])
    memory.recall("trains")  # takes them into segments and the tail
    asked = default_embedder().embed(["a railway carriage"])[0]
    signs = np.unpackbits(vectors.codes(np.stack([asked, *default_embedder().embed(said)])), axis=1)
    expected = np.cos((signs[0] != signs[1:]).sum(axis=1) * np.pi / 256)
    memory.add("one more", source="more")  # comes to the tail
    for one in (memory, Memory(store)):
        one.recall("trains")
        index = one._synced()[0]  # pyright: ignore[reportPrivateUsage]
        near, exact = index.dense.near(asked, index.lexical.size)
        assert not exact
        assert near[: len(said)] == pytest.approx(expected, abs=1e-5)
        assert np.argmax(near) in (0, 3, 6)
    assert "news about trains" in [item.source for item in memory.recall("a railway carriage?").items]
    memory.delete(id=ids[0])
    memory.recall("trains")
    assert "news about trains" not in [item.source for item in memory.recall("a railway carriage?").items]
    table = memory._synced()[0].dense._joined  # pyright: ignore[reportPrivateUsage]
    assert table is not None
    assert table.any(axis=0).tolist() == [False] + [True] * 9


def test_documents_that_have_a_word_are_those_that_score_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "SMALL", 3)
    memory = Memory(Store("sqlite://"))
    ids = memory.add_many([Entry(f"tea number {n}", speaker="Ada" if n % 2 else "Bob") for n in range(9)])
    memory.recall("tea")
    memory.add("late tea", speaker="Ada")
    memory.delete(id=ids[3])
    memory.recall("tea")
    lexical = memory._synced()[0].lexical  # pyright: ignore[reportPrivateUsage]
    assert lexical.having(["ada"]).tolist() == (lexical.scores({"ada": 1.0}).own > 0).tolist()
    assert np.flatnonzero(lexical.having(["ada", "bob"])).tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9]
