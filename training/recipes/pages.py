"""Questions to pages of our own, as the reader is asked them: of one passage at a time, as a search finds them."""

import asyncio
import random
import re
import tempfile
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
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
class Asked:
    """A question, a passage, and what the passage says to it: words of it, or ``UNSAID``."""

    question: str
    text: str
    said: str


def folders(rows: Sequence[dict[str, Any]]) -> tuple[list[list[dict[str, Any]]], list[list[dict[str, Any]]]]:
    """Texts in folders to train on, and those that are never trained on."""
    every = [list(rows[k : k + FOLDER]) for k in range(0, len(rows), FOLDER)]
    taught = [folder for k, folder in enumerate(every) if k % 10 != HELD_OUT]
    return taught, every[HELD_OUT::10]


@contextmanager
def written(rows: Sequence[dict[str, Any]]) -> Generator[Path, None, None]:
    """A folder with the texts, ``note0.md`` and so on."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for number, row in enumerate(rows):
            (root / f"note{number}.md").write_text(row["text"] + "\n", encoding="utf-8")
        yield root


def bare(text: str) -> str:
    """An answer without case, article, preposition before it and marks around it, to be compared."""
    text = re.sub(r"\s+", " ", text.lower().replace("’", "'")).strip(" .,;:!?\"“”'()")
    before = r"(?:in|on|at|by|to|for|with|from|until|till|under|because of|because|since|the|an?)\s+"
    return re.sub(rf"^(?:{before})*", "", text).strip(" .,;:!?\"“”'()")


def bundles(rows: Sequence[dict[str, Any]], seed: int = 0) -> list[list[Asked]]:
    """What a folder's questions ask of its passages; those of one passage together, so that it is computed once.

    A question is asked of the passage that answers it, one that nothing answers of what the search finds first, and
    some of another that was found and does not answer them.
    """
    chance = random.Random(seed)
    by_passage: dict[str, list[Asked]] = defaultdict(list)
    with written(rows) as root:
        for number, row in enumerate(rows):
            for pair in row["qa"]:
                found = asyncio.run(sentences_about(pair["q"], ToolContext(root=root), most=12))
                for asked in _asked(pair["q"], pair["a"] or "", f"note{number}.md", pages_of(found), chance):
                    by_passage[asked.text].append(asked)
    made: list[list[Asked]] = []
    for same in by_passage.values():
        chance.shuffle(same)
        made += [same[k : k + SHARING] for k in range(0, len(same), SHARING)]
    return made


def _asked(
    question: str, answer: str, own: str, pages: Sequence[tuple[str, str]], chance: random.Random
) -> list[Asked]:
    saying = [text for source, text in pages if answer and f"file:{own}:" in source and bare(answer) in bare(text)]
    others = [text for source, text in pages if not answer or f"file:{own}:" not in source]
    found: list[Asked] = []
    if saying:
        found.append(Asked(question, saying[0], answer))
    elif not answer and pages:
        found.append(Asked(question, others.pop(0), UNSAID))
    if others and chance.random() < FALSE:
        found.append(Asked(question, chance.choice(others[:2]), UNSAID))
    return found
