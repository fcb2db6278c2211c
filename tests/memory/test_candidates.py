"""What the ranker reads off the index instead of the candidates' texts, and words whose vectors are kept."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pointwork.embedding import default_embedder
from pointwork.memory import Entry, Memory, features, texts, vectors
from pointwork.memory import index as index_module
from pointwork.memory.low import best
from pointwork.memory.products import product
from pointwork.memory.texts import Known, Words
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
    first = _known("The " + " ".join(f"wagon{n}" for n in range(40)))
    _, [rows], table = words.of([], [first])
    copy = table[rows].copy()
    for start in range(40, 400, 30):
        some = [f"wagon{n}" for n in range(start, start + 30)]
        mine, [there, other, empty], table_now = words.of(
            [*some, "tea"], [first, _known("Café of wagon1"), _known("?")]
        )
        assert (table_now[mine] == default_embedder().embed([*some, "tea"])).all()
        assert (table_now[there] == copy).all()
        assert np.array_equal(table_now[other], default_embedder().embed(["café", "wagon1"]))
        assert not len(empty)
    assert (table[rows] == copy).all()
    many = [f"tea{n}" for n in range(170)]
    rows, _, table = words.of(many, [])  # more than are kept
    assert len(set(rows.tolist())) == len(many)
    assert np.array_equal(table[rows], default_embedder().embed(many))


def _known(text: str) -> Known:
    return Known({"text": text}, text, text)


@pytest.mark.parametrize("turns", [1, 3, 30])
def test_the_nearest_word_of_a_candidate_and_of_those_beside_it(turns: int) -> None:
    memory = Memory(Store("sqlite://"))
    said = [f"The {word} of Ada{n}" for n, word in zip(range(turns), ["train", "tea", "river"] * 10, strict=False)]
    memory.add_many([Entry(text, speaker="Bob", thread="a") for text in [*said, "it is"]])
    memory.recall("railway")
    view = View("Which railway is green?", *memory._synced())  # pyright: ignore[reportPrivateUsage]
    view.find(None, 30)
    before, after, beside = view.neighbours()
    asked = default_embedder().embed(view.asked.words)

    def nearest_of(*some: Known | None) -> list[float]:
        words = [word for known in some if known for word in texts.content(known.text)]
        if not words:
            return [0.0] * len(asked)
        return (asked @ default_embedder().embed(words).T).max(axis=1).tolist()

    own = [nearest_of(known) for known in view.known]
    around = [
        nearest_of(beside.get(b), beside.get(a)) for b, a in zip(before.tolist(), after.tolist(), strict=True)
    ]
    assert pytest.approx(np.array(own), abs=1e-6) == view.alike().T
    assert pytest.approx(np.array(around), abs=1e-6) == view.alike_around(before, after, beside).T


@pytest.mark.parametrize(("count", "inner"), [(0, 5), (1, 256), (35, 256), (36, 256), (1000, 256), (3, 20_000)])
def test_a_product_in_pieces_is_the_product(count: int, inner: int) -> None:
    numbers = np.random.default_rng(count)
    table = numbers.standard_normal((count, inner)).astype(np.float32)
    for other in (numbers.standard_normal(inner), numbers.standard_normal((inner, 7))):
        found = product(table, other.astype(np.float32))
        assert found.shape == (count, *other.shape[1:])
        assert found.astype(float) == pytest.approx(table.astype(float) @ other, rel=1e-3, abs=1e-2)


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
