"""Names for models and MCP."""

import re

from hypothesis import given
from hypothesis import strategies as st

from pointwork.mcp_servers.names import valid_names


@given(st.lists(st.text(min_size=1, max_size=100)))
def test_names_are_valid_all_different_and_the_same_each_time(names: list[str]) -> None:
    made = valid_names(names)
    assert set(made) == set(names)
    assert len(set(made.values())) == len(made)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in made.values())
    assert valid_names(names) == made


@given(st.lists(st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)))
def test_what_is_valid_stays(names: list[str]) -> None:
    assert all(valid_names(["a b", *names])[name] == name for name in names)
