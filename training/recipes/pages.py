"""Questions to pages of our own, as the reader is asked them: of one passage at a time, as a search finds them."""

import asyncio
import random
import re
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pointwork.agents.prompts import UNSAID
from pointwork.agents.quoting import pages_of, sentences_about
from pointwork.tools import ToolContext

TEXTS = ("reading_comprehension.jsonl", "reading_entries.jsonl")
FOLDER = 10  # texts that are searched together
HELD_OUT = 9  # of each ten folders the last is never trained on
FALSE = 0.15  # questions that are asked of a passage besides, that does not answer them
SHARING = 8  # questions to one passage in a bundle at most


@dataclass(frozen=True)
class Read:
    """A question, a passage, and what the passage says to it: words of it, or ``UNSAID``."""

    question: str
    text: str
    said: str


def folders(rows: Sequence[dict[str, Any]]) -> tuple[list[list[dict[str, Any]]], list[list[dict[str, Any]]]]:
    """Texts in folders to train on, and those that are never trained on."""
    every = [list(rows[k : k + FOLDER]) for k in range(0, len(rows), FOLDER)]
    taught = [folder for k, folder in enumerate(every) if k % 10 != HELD_OUT]
    return taught, every[HELD_OUT::10]


def bare(text: str) -> str:
    """An answer without case, article, preposition before it and marks around it, to be compared."""
    text = re.sub(r"\s+", " ", text.lower().replace("’", "'")).strip(" .,;:!?\"“”'()")
    before = r"(?:in|on|at|by|to|for|with|from|until|till|under|because of|because|since|the|an?)\s+"
    return re.sub(rf"^(?:{before})*", "", text).strip(" .,;:!?\"“”'()")


def bundles(rows: Sequence[dict[str, Any]], seed: int = 0) -> list[list[Read]]:
    """What a folder's questions ask of its passages; those of one passage together, so that it is computed once.

    A question is asked of the passage that answers it, one that nothing answers of what the search finds first, and
    some of another that was found and does not answer them.
    """
    chance = random.Random(seed)
    by_passage: dict[str, list[Read]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for number, row in enumerate(rows):
            (root / f"note{number}.md").write_text(row["text"] + "\n")
        for number, row in enumerate(rows):
            for pair in row["qa"]:
                found = asyncio.run(sentences_about(pair["q"], ToolContext(root=root), most=12))
                for read in _asked(pair["q"], pair["a"] or "", f"note{number}.md", pages_of(found), chance):
                    by_passage[read.text].append(read)
    made: list[list[Read]] = []
    for reads in by_passage.values():
        chance.shuffle(reads)
        made += [reads[k : k + SHARING] for k in range(0, len(reads), SHARING)]
    return made


def _asked(
    question: str, answer: str, own: str, pages: Sequence[tuple[str, str]], chance: random.Random
) -> list[Read]:
    saying = [text for source, text in pages if answer and f"file:{own}:" in source and bare(answer) in bare(text)]
    others = [text for source, text in pages if not answer or f"file:{own}:" not in source]
    found: list[Read] = []
    if saying:
        found.append(Read(question, saying[0], answer))
    elif not answer and pages:
        found.append(Read(question, others.pop(0), UNSAID))
    if others and chance.random() < FALSE:
        found.append(Read(question, chance.choice(others[:2]), UNSAID))
    return found
