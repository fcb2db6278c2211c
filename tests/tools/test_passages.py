"""A file's passages bear the day that its first lines do."""

import asyncio
from pathlib import Path

import pytest

from pointwork.agents.facts.gathered import facts_around
from pointwork.tools import ToolContext
from pointwork.tools.passages import cut


@pytest.mark.parametrize(
    ("head", "day"),
    [
        ("Harbour Office, 3 May 2025\n\nDear Ms Lind,", "3 May 2025"),
        ("# Letter of the mill\n\nOtterby, 2nd June 2025.", "2nd June 2025"),
        ("# Minutes of the board, March 8, 2025 (Ada, Bo)", "March 8, 2025"),
        ("**Date:** 2025-04-01", "2025-04-01"),
        ("# Spring meeting\n\nHeld on 12 Apr 2025 in the barn, 14 came.", "12 Apr 2025"),
        ("Prices from 1 April 2025\n", ""),
        ("# Rules\n\nThe boat was sold on 3 May 2025.\n", ""),
        ("# Rules\n\nWe meet at nine: who is late pays, since 3 May 2025", ""),
        ("# History\n" + "\nIt was so.\n" * 5 + "\nHarbour Office, 3 May 2025\n", ""),
    ],
)
def test_the_day_of_a_file_stands_at_its_head(head: str, day: str) -> None:
    passages = cut("a.md", f"{head}\n\n# More\n\nPay within 14 days of this letter.\n")
    assert {one.dated for one in passages} == {day}


@pytest.mark.parametrize(
    ("head", "line"),
    [
        (
            "Sparbank, 11 January 2024",
            "Sparbank, 2024-01-11: The bridge loan is paid back 52 weeks after this letter.",
        ),
        ("# From the bank\n\nHull, 11 January 2024", "From the bank, 2024-01-11: The bridge loan is"),
        ("# The bank, 11 January 2024", "The bank, 2024-01-11: The bridge loan is"),
        ("# The bank on 11 January\n\nHull, 11 January 2024", "The bank on 2024-01-11: The bridge loan is"),
        ("# The bank", "The bank: The bridge loan is"),
    ],
)
def test_a_sentence_is_shown_with_it(tmp_path: Path, head: str, line: str) -> None:
    text = f"{head}\n\nThe bridge loan is paid back 52 weeks after this letter.\n"
    (tmp_path / "bank.md").write_text(text)
    task = "By what day must the bridge loan be paid back?"
    shown = [fact.text for fact in asyncio.run(facts_around(task, ToolContext(root=tmp_path)))]
    assert any(one.startswith(line) for one in shown), shown
