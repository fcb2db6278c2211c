"""Working memory: never above its budget, never lossy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.errors import UsageError
from pointwork.memory.working import Working
from pointwork.text import count_tokens_estimate


@given(st.lists(st.text(max_size=300), max_size=20), st.integers(1, 200), st.integers(1, 100))
def test_any_pieces_fit_the_budget_and_come_back_exactly(texts: list[str], budget: int, whole: int) -> None:
    working = Working(budget, whole=whole)
    ids = [working.add(text) for text in texts]
    shown = working.shown()
    assert len(shown) == len(texts) == len(working)
    assert sum(map(count_tokens_estimate, shown)) <= budget
    assert [working.read(name) for name in ids] == texts
    assert working.hidden == (shown != texts)


def test_the_newest_is_shown_and_older_ones_become_pointers_with_their_first_line() -> None:
    working = Working(60, whole=200)
    working.add("\nFirst line of one.\n" + "word " * 30)
    working.add("A short one.")
    assert working.shown()[0].startswith("\nFirst line of one.")
    working.add("The newest: " + "word " * 30)
    pointer, short, newest = working.shown()
    assert pointer == f"[w1] First line of one. ({len(working.read('w1'))} characters)"
    assert short == "A short one."
    assert newest == working.read("w3")


def test_a_long_piece_is_shown_by_its_beginning_and_read_from_anywhere() -> None:
    working = Working(1000, whole=10)
    working.add("0123456789abcdef")
    assert working.shown() == ["0123456789… [w1: 16 characters in all]"]
    assert working.read("w1", 10) == "abcdef"
    assert working.read("[w1]", 2, 3) == "234"


@pytest.mark.parametrize(("name", "start"), [("w2", 0), ("w0", 0), ("x", 0), ("", 0), ("w1", 9), ("w1", -1)])
def test_what_is_not_there_can_not_be_read(name: str, start: int) -> None:
    working = Working(9)
    working.add("text")
    with pytest.raises(UsageError):
        working.read(name, start)
    with pytest.raises(UsageError):
        Working(0)
