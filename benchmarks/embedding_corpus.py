"""General English for ``train_embedding.py``: one text a line, out of free reference works that Debian packages.

    mkdir debs && (cd debs && apt-get download wordnet-base fortunes fortunes-min dict-foldoc dict-jargon \
        anarchism debian-handbook developers-reference debian-policy git-doc postgresql-doc-15 python3.11-doc)
    for package in debs/*.deb; do dpkg -x $package unpacked; done
    python benchmarks/embedding_corpus.py unpacked --descriptions Translation-en.xz --out corpus.txt

WordNet's glosses and example sentences, descriptions of packages (``Translation-en``, an index of the
distribution), a dictionary of computing, quotations, paragraphs of handbooks, and our own worked examples in
``training/recipes``. Nothing of what ``pointwork bench`` measures on. Half a minute.
"""

import argparse
import gzip
import html
import json
import lzma
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHORTEST, LONGEST = 3, 70  # words of a text
RECIPES = Path(__file__).parents[1] / "training" / "recipes"


def wordnet(root: Path) -> Iterator[str]:
    """Words with their gloss, and the sentences that show their use."""
    for part in ("noun", "verb", "adj", "adv"):
        for line in (root / "usr/share/wordnet" / f"data.{part}").read_text(encoding="utf-8").splitlines():
            if line.startswith(" ") or " | " not in line:
                continue
            fields, gloss = line.split(" | ", 1)
            written = fields.split()[4 : 4 + 2 * int(fields[14:16], 16) : 2]
            words = [word.replace("_", " ").split("(")[0] for word in written]
            examples = re.findall(r'"([^"]+)"', gloss)
            meaning = re.sub(r';?\s*"[^"]*"', "", gloss).strip(" ;")
            yield f"{', '.join(words)}: {meaning}"
            yield meaning
            yield from examples


def descriptions(path: Path) -> Iterator[str]:
    """What packages are for: the line, and each paragraph."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for entry in file.read().split("\n\n"):
            _, _, body = entry.partition("Description-en: ")
            if not body:
                continue
            line, *rest = body.split("\n")
            yield line
            for paragraph in "\n".join(rest).split("\n ."):
                yield " ".join(paragraph.split())


def fortunes(root: Path) -> Iterator[str]:
    """Quotations."""
    for path in sorted((root / "usr/share/games/fortunes").iterdir()):
        if not path.suffix and path.name not in ("ascii-art", "translate-me"):
            yield from re.split(r"\n%\n", path.read_text(encoding="utf-8", errors="replace"))


def dictionaries(root: Path) -> Iterator[str]:
    """Entries of the dictionaries of computing."""
    for path in sorted((root / "usr/share/dictd").glob("*.dict.dz")):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
            for paragraph in re.split(r"\n\s*\n|\n(?=\S)", file.read()):
                yield re.sub(r"[{}]|<[^>]*>", "", paragraph)


def handbooks(root: Path) -> Iterator[str]:
    """Paragraphs of pages."""
    for path in sorted((root / "usr/share/doc").rglob("*.html*")):
        if path.suffix not in (".html", ".gz") or path.is_symlink() or not path.is_file():
            continue
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for paragraph in re.findall(r"<p[ >].*?</p>", raw.decode("utf-8", "replace"), re.DOTALL):
            yield html.unescape(re.sub(r"<[^>]*>", "", paragraph))


def recipes() -> Iterator[str]:
    """Our own tasks, plans, texts, their sentences, and questions to them."""
    for path in sorted(RECIPES.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row: dict[str, Any] = json.loads(line)
            yield from (step["task"] for step in row.get("plan", []))
            yield from (pair["q"] for pair in row.get("qa", []))
            yield row.get("task", "")
            for paragraph in row.get("text", "").split("\n"):
                yield paragraph
                yield from re.split(r"(?<=[.!?])\s+", paragraph)


def cleaned(text: str) -> list[str]:
    """A text on one line, long ones cut at sentences; nothing where it is too short or hardly prose."""
    words = " ".join(text.split())
    if sum(c == " " or (c.isalpha() and c.isascii()) for c in words) < 0.8 * len(words):
        return []
    pieces, now = [], ""
    for sentence in re.split(r"(?<=[.!?])\s+", words):
        if now and len(f"{now} {sentence}".split()) > LONGEST:
            pieces.append(now)
            now = ""
        now = f"{now} {sentence}".strip()
    return [piece for piece in (*pieces, now) if SHORTEST <= len(piece.split()) <= 2 * LONGEST]


def main() -> None:
    """Collect, mix, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("unpacked", type=Path)
    parser.add_argument("--descriptions", type=Path, required=True)
    parser.add_argument("--most", type=int, default=60_000, help="texts of one kind; of glosses all")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    chance, every = random.Random(0), dict[str, None]()
    for name, found in (
        ("glosses", wordnet(given.unpacked)), ("descriptions", descriptions(given.descriptions)),
        ("quotations", fortunes(given.unpacked)), ("dictionaries", dictionaries(given.unpacked)),
        ("handbooks", handbooks(given.unpacked)), ("recipes", recipes()),
    ):  # fmt: skip
        texts = list(dict.fromkeys(piece for text in found for piece in cleaned(text)))
        chance.shuffle(texts)
        taken = texts if name == "glosses" else texts[: given.most]
        print(f"{name}: {len(texts)} texts, {len(taken)} taken")
        every |= dict.fromkeys(taken)
    mixed = list(every)
    chance.shuffle(mixed)
    given.out.write_text("\n".join(mixed) + "\n", encoding="utf-8")
    print(f"{given.out}: {len(mixed)} texts, {sum(len(text.split()) for text in mixed)} words")


if __name__ == "__main__":
    main()
