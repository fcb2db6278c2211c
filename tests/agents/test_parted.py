"""Which of several values in one sentence is meant: that of the part which speaks of what is asked."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from pointwork.agents.quoting import quoted, sentences_about
from pointwork.tools import ToolContext, passages

RATES = """# Rates

A single visit costs £4.80 for adults, £2.60 for children from four to fifteen and £3.90 for seniors from 65 on.

Gilroy Ices come on Thursday at 08:15, Brennan Drinks on Tuesday at 10:00 and Hobbs Bakery on Saturday at 07:20.

A locker costs £180 for the season, £18 for a week and £4 for a day.
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What does one adult pay for a single visit?", "£4.80"),
        ("What does a child pay for a single visit?", "£2.60"),
        ("What does a senior pay for a single visit?", "£3.90"),
        ("On which weekday do the Brennan Drinks come?", "Tuesday"),
        ("At what time does Hobbs Bakery come?", "07:20"),
        ("What does a locker cost for the season?", "£180"),
    ],
)
def test_the_part_that_speaks_of_it_says_it(question: str, answer: str, tmp_path: Path) -> None:
    (tmp_path / "rates.md").write_text(RATES)
    found = asyncio.run(sentences_about(question, ToolContext(root=tmp_path)))
    said = quoted(question, found, partial(passages.idf, tmp_path.resolve()))
    assert said.pieces[0].text == answer
