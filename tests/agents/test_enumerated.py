"""The most and least of a list in a sentence: an amount or a name, and nothing where it is of something else."""

import asyncio
from pathlib import Path

import pytest

from pointwork.agents.quoting import TOLD, fits_files, quoted, sentences_about
from pointwork.agents.readings.enumerated import best_listed
from pointwork.agents.readings.wanting import wanted
from pointwork.tools import ToolContext

OFFERS = "Winch: Three offers were read: Brough Engineering 2,840 crowns, Callow & Daughter 3,150, Marstrand 2,990."
QUOTES = "Hall: Three quotes were read out: Barn Hall 45 pounds, Mill Room 38, Town Club 52.50."
ROUTES = "Our four routes: Coast 12 km, Moor 9.5 km, Fell 14 km and Dale 7 km."


@pytest.mark.parametrize(
    ("question", "sentence", "answer"),
    [
        ("What is the cheapest of the three offers?", OFFERS, "2,840 crowns"),
        ("What was the dearest offer?", OFFERS, "3,150 crowns"),
        ("Who made the cheapest offer for the winch?", OFFERS, "Brough Engineering"),
        ("Which offer was the lowest?", OFFERS, "Brough Engineering"),
        ("Which of the four routes is the longest?", ROUTES, "Fell"),
        ("How many km is the shortest of our routes?", ROUTES, "7 km"),
        ("What is the cheapest of the three quotes?", QUOTES, "38 pounds"),
        ("Who gave the dearest quote for the hall?", QUOTES, "Town Club"),
        # of something else, of another number of things, nothing that is the most
        ("What is the cheapest of the four offers?", OFFERS, ""),
        ("What is the cheapest paint?", OFFERS, ""),
        ("Who made the cheapest offer for the crane?", OFFERS, ""),
        ("What did Marstrand offer?", OFFERS, ""),
        ("What lies between the cheapest and the dearest offer?", OFFERS, ""),
        # no list, two units, two that are the least, one without an amount
        ("Which route is the longest?", "The routes are long: the Coast takes 12 km and is steep.", ""),
        ("Which route is the longest?", "Routes: Coast 12 km, Moor 9000 metres.", ""),
        ("Which route is the longest?", "Routes: Coast 12 km, Moor 12 km, Fell 9 km.", ""),
        ("Which route is the longest?", "Routes: Coast 12 km, Moor, Fell 9 km.", ""),
    ],
)
def test_the_most_and_the_least_of_a_list(question: str, sentence: str, answer: str) -> None:
    assert best_listed(question, wanted(question).kind, sentence) == answer


def test_it_is_the_answer_of_who_looks_things_up(tmp_path: Path) -> None:
    (tmp_path / "minutes.md").write_text(f"# Minutes\n\n{OFFERS} The work begins in May.\n")
    question = "What is the cheapest of the three offers for the winch?"
    assert asyncio.run(fits_files(question, ToolContext(root=tmp_path))) == TOLD
    found = asyncio.run(sentences_about(question, ToolContext(root=tmp_path)))
    said = quoted(question, found, lambda stem: 1.0)
    assert (said.answer, said.firm) == ("2,840 crowns", True)
    assert said.pieces[0].sentence.text == OFFERS
