import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.errors import UsageError
from pointwork.memory.bm25 import BM25

words = st.lists(st.sampled_from("abcdefgh"), max_size=8)


def by_formula(docs: dict[int, list[str]], query: list[str], k1: float = 1.2, b: float = 0.75) -> dict[int, float]:
    filled = [len(tokens) for tokens in docs.values() if tokens]
    mean = sum(filled) / len(filled) if filled else 1.0
    scores: dict[int, float] = {}
    for key, tokens in docs.items():
        score = 0.0
        for token in query:
            df = sum(token in other for other in docs.values())
            tf = Counter(tokens)[token] / (1 - b + b * len(tokens) / mean)
            score += math.log(1 + (len(docs) - df + 0.5) / (df + 0.5)) * (k1 + 1) * tf / (k1 + tf) if tf else 0.0
        if score > 0:
            scores[key] = score
    return scores


@given(st.lists(words, max_size=12), words)
def test_one_field_is_plain_bm25(texts: list[list[str]], query: list[str]) -> None:
    docs = dict(enumerate(texts))
    index: BM25[int] = BM25()
    for key, tokens in docs.items():
        index.add(key, tokens)
    expected = by_formula(docs, query)
    found = dict(index.search(query, k=100))
    assert found.keys() == expected.keys()
    assert all(math.isclose(found[key], expected[key], rel_tol=1e-6) for key in found)


def test_fields_are_weighted_before_saturation() -> None:
    index: BM25[str] = BM25({"text": 1.0, "title": 2.0}, b=0.0)
    index.add("in text", {"text": ["rail", "yard"]})
    index.add("in title", {"text": ["yard"], "title": ["rail"]})
    index.add("twice in text", {"text": ["rail", "rail"]})
    found = dict(index.search(["rail"]))
    assert found["in title"] == pytest.approx(found["twice in text"])
    assert found["in title"] > found["in text"]


def test_neighbours_speak_for_the_one_between() -> None:
    index: BM25[int] = BM25(neighbour_weight=0.5, b=0.0)
    for key, tokens in enumerate([["tea"], ["why"], ["tea"], ["far"]]):
        index.add(key, tokens, after=key - 1 if key else None)
    found = dict(index.search(["tea"]))
    assert found[1] == pytest.approx(found[0])  # 0.5 + 0.5 from both sides
    assert found[3] < found[1]
    index.remove(2)
    found = dict(index.search(["tea"]))
    assert set(found) == {0, 1}


class Changes:
    """The same documents in an index that changes and in one built at once."""

    def __init__(self) -> None:
        self.live: BM25[int] = self.empty()
        self.docs: dict[int, tuple[list[str], list[str]]] = {}

    def empty(self) -> BM25[int]:
        return BM25({"text": 1.0, "title": 2.0}, neighbour_weight=0.6)

    def put(self, index: BM25[int], key: int, previous: int | None) -> None:
        text, title = self.docs[key]
        index.add(key, {"text": text, "title": title}, after=previous)

    def rebuilt(self) -> BM25[int]:
        index = self.empty()
        last = None
        for key in sorted(self.docs):
            self.put(index, key, last)
            last = key
        return index


@given(st.lists(st.tuples(words, words, st.booleans()), max_size=20), st.randoms(), words)
def test_an_index_that_changed_equals_one_built_anew(
    steps: list[tuple[list[str], list[str], bool]], random: object, query: list[str]
) -> None:
    both = Changes()
    for key, (text, title, remove) in enumerate(steps):
        last = max(both.docs, default=None)
        both.docs[key] = (text, title)
        both.put(both.live, key, last)
        if remove:
            gone = sorted(both.docs)[len(both.docs) // 2]
            del both.docs[gone]
            both.live.remove(gone)
    assert len(both.live) == len(both.docs)
    assert both.live.search(query, 50) == both.rebuilt().search(query, 50)


def test_removed_documents_are_swept_out() -> None:
    both = Changes()
    for key in range(800):
        both.docs[key] = ([f"w{key % 7}", f"x{key}"], [])
        both.put(both.live, key, key - 1 if key else None)
    for key in range(0, 800):
        if key % 4:
            both.live.remove(key)
            del both.docs[key]
    assert len(both.live.keys) < 500
    assert both.live.search(["w3", "x400", "x401"], 20) == both.rebuilt().search(["w3", "x400", "x401"], 20)


def test_best_among_some() -> None:
    index: BM25[str] = BM25()
    for key in "pqr":
        index.add(key, ["tea"])
    assert [key for key, _ in index.best(index.scores(["tea"]), 5, among=["r", "q", "gone"])] == ["q", "r"]
    assert index.search({"tea": 2.0}, 1)[0][1] == pytest.approx(2 * index.search(["tea"], 1)[0][1])


def test_a_document_can_be_put_before_the_first() -> None:
    index: BM25[int] = BM25(neighbour_weight=1.0)
    index.add(5, ["tea"])
    index.add(4, ["pot"], before=5)
    assert index.before(5) == 4
    assert index.before(4) is None
    assert len(index.search(["tea"])) == 2


def test_wrong_use_changes_nothing() -> None:
    index: BM25[str] = BM25()
    index.add("a", ["x"])
    for arguments in ({"tokens": ["y"]}, {"tokens": {"title": ["y"]}}):
        with pytest.raises(UsageError, match="can not index"):
            index.add("a", arguments["tokens"])
    with pytest.raises(UsageError, match="beside"):
        index.add("b", ["y"], after="c")
    with pytest.raises(UsageError, match="not there"):
        index.remove("b")
    with pytest.raises(UsageError, match="needs a field"):
        BM25({})
    assert (len(index), "a" in index, index.search(["y"])) == (1, True, [])
