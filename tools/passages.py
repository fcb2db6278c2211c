"""Text files below the root: read once, cut into paragraphs, ranked by BM25. Kept until a file changes."""

import re
import threading
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from pointwork.embedding import Vectors, default_embedder
from pointwork.errors import ToolError
from pointwork.text import tokenize
from pointwork.tools import paths
from pointwork.tools.paths import Entry

if TYPE_CHECKING:
    from pointwork.memory.bm25 import BM25

MAX_SEARCHED = 2_000_000
"""Bytes of a file above which it is not searched by ``search``."""

MAX_PASSAGES = 50_000
MAX_EMBEDDED = 5_000
"""Passages of a root above which they are found by their words alone."""

_FULL = 1200  # characters of a passage
_SMALL = 300  # a paragraph shorter than this is joined with the next
_KEPT = 4  # folders whose index stays in memory

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)?\.? {_MONTH},? \d{{4}}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}|"
    r"\d{4}-\d\d-\d\d)"
)
# "Harbour Office, 3 May 2025", "Date: 2025-05-03", "Held on 3 May 2025 in the barn"; not "Prices from 3 May 2025"
_DATED = re.compile(
    r"(?:[^.!?:;|]{0,60}(?:, |\s))?(?<!from )(?<!since )(?<!until )(?<!till )(?<!on )"
    rf"(?P<day>{_DAY})[.,]?(?:\s*\([^)]*\))?$|"
    r"(?:date|dated|held|written|sent|(?:\w+ )?(?:minutes|meeting|council|committee))\b[^.!?|]{0,30}?\b"
    rf"(?P<held>{_DAY})",
    re.IGNORECASE,
)
_HEAD = 5  # lines of a file in which it may bear its date


@dataclass(frozen=True)
class Passage:
    """Consecutive lines of a file.

    Attributes:
        path: of the file, relative to the root.
        first, last: line numbers from 1, both included.
        text: the lines, verbatim.
        heading: the heading above, if there is one.
        dated: the day that the file bears in its first lines, as a letter does; as it is written there.
        letterhead: the line in which that stands.
    """

    path: str
    first: int
    last: int
    text: str
    heading: str = ""
    dated: str = ""
    letterhead: str = ""

    @property
    def source(self) -> str:
        """As evidence names it."""
        return f"file:{self.path}:{self.first}-{self.last}" if self.last > self.first else self.one_line

    @property
    def one_line(self) -> str:
        """The source of its first line."""
        return f"file:{self.path}:{self.first}"


def decode(data: bytes, name: str) -> str:
    """Text of a file's bytes; what is no UTF-8 is replaced.

    Raises:
        ToolError: the file is binary.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    if b"\0" in data[:8192]:
        raise ToolError(f"{name!r} is a binary file ({len(data)} bytes), not text")
    return data.decode("utf-8-sig", errors="replace")


def lines_of(text: str) -> list[str]:
    """The lines as an editor counts them, without their ends."""
    lines = re.split(r"\r\n|\n|\r", text)
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


def cut(path: str, text: str) -> list[Passage]:
    """A text's paragraphs as passages: short neighbours joined, long ones divided at lines."""
    passages: list[Passage] = []
    dated, letterhead = _date_of(text)
    heading = above = ""
    block: list[tuple[int, str]] = []
    size = 0

    def close() -> None:
        nonlocal block, size, above
        while block and not block[-1][1].strip():
            block.pop()
        if block:
            text = "\n".join(line for _, line in block)
            passages.append(Passage(path, block[0][0], block[-1][0], text, above, dated, letterhead))
        block, size, above = [], 0, heading

    for number, line in enumerate(lines_of(text), start=1):
        is_heading = re.match(r"#{1,6}\s+\S", line) is not None
        if is_heading or (not line.strip() and size >= _SMALL) or size + len(line) > _FULL:
            close()
        if is_heading:
            heading = above = line.lstrip("#").strip()
        if not line.strip() and not block:
            continue
        for start in range(0, max(len(line), 1), _FULL):  # a minified file is one line
            block.append((number, line[start : start + _FULL]))
            size += len(block[-1][1]) + 1
            if len(line) > _FULL:
                close()
    close()
    return passages


def _date_of(text: str) -> tuple[str, str]:
    """The day that a text bears at its head, and the line in which it stands; empty without one."""
    head = [plain for line in lines_of(text[:_FULL]) if (plain := line.strip(" \t#*_"))][:_HEAD]
    found = next(((match, line) for line in head if (match := _DATED.match(line))), None)
    return (found[0]["day"] or found[0]["held"], found[1]) if found else ("", "")


@dataclass
class _Index:
    files: dict[str, tuple[int, int, list[Passage]]]
    ranking: "BM25[tuple[str, int]]"
    lock: threading.Lock
    vectors: dict[str, tuple[int, int, Vectors]] = field(default_factory=dict[str, tuple[int, int, Vectors]])


_indexes: OrderedDict[Path, _Index] = OrderedDict()
_lock = threading.Lock()


def _index_of(root: Path) -> _Index:
    from pointwork.memory.bm25 import BM25

    with _lock:
        found = _indexes.get(root)
        if found is None:
            found = _Index({}, BM25[tuple[str, int]]({"text": 1.0, "heading": 0.8, "path": 0.8}), threading.Lock())
            _indexes[root] = found
            if len(_indexes) > _KEPT:
                _indexes.popitem(last=False)
        _indexes.move_to_end(root)
        return found


def search(root: Path, query: str, k: int) -> list[tuple[Passage, float]]:
    """The k best passages of the root's text files with their scores, best first."""
    index = _index_of(root)
    with index.lock:
        _refresh(root, index)
        hits = index.ranking.search(tokenize(query), k)
        return [(index.files[path][2][number], score) for (path, number), score in hits]


def alike(root: Path, query: str, k: int) -> list[Passage]:
    """The k passages whose static embedding is most like the query's; none of over ``MAX_EMBEDDED``."""
    index = _index_of(root)
    embedder = default_embedder()
    with index.lock:
        _refresh(root, index)
        if not 0 < sum(len(passages) for _, _, passages in index.files.values()) <= MAX_EMBEDDED:
            return []
        for path, (mtime, size, passages) in index.files.items():
            if passages and index.vectors.get(path, (0, -1))[:2] != (mtime, size):
                texts = [f"{passage.heading} {passage.text}" for passage in passages]
                index.vectors[path] = (mtime, size, embedder.embed(texts))
        everything = [passage for path in index.files for passage in index.files[path][2]]
        vectors = np.concatenate([index.vectors[path][2] for path in index.files if index.files[path][2]])
    scores = vectors @ embedder.embed([query])[0]
    return [everything[i] for i in np.argsort(-scores, kind="stable")[:k]]


def _refresh(root: Path, index: _Index) -> None:
    """Bring the index up to date with the files: by time and size, so a second search reads nothing."""
    entries = {entry.path: entry for entry in paths.walk(root)}
    for path, (mtime, size, passages) in list(index.files.items()):
        entry = entries.get(path)
        if entry is None or (entry.mtime_ns, entry.size) != (mtime, size):
            for number in range(len(passages)):
                index.ranking.remove((path, number))
            del index.files[path]
    total = sum(len(passages) for _, _, passages in index.files.values())
    for entry in entries.values():
        if entry.path in index.files or total >= MAX_PASSAGES:
            continue
        passages = _passages(root, entry)[: MAX_PASSAGES - total]
        total += len(passages)
        name = tokenize(str(PurePosixPath(entry.path).with_suffix("")).replace("/", " "))
        for number, passage in enumerate(passages):
            fields = {"text": tokenize(passage.text), "heading": tokenize(passage.heading), "path": name}
            index.ranking.add((entry.path, number), fields)
        index.files[entry.path] = (entry.mtime_ns, entry.size, passages)


def _passages(root: Path, entry: Entry) -> list[Passage]:
    if entry.size > MAX_SEARCHED:
        return []
    try:
        return cut(entry.path, decode(paths.read_bytes(root, entry.path, MAX_SEARCHED), entry.path))
    except ToolError:  # binary, gone or unreadable: nothing to search
        return []


def idf(root: Path, token: str) -> float:
    """How much a stemmed word tells among the root's passages, as ``search`` saw them last."""
    return _index_of(root).ranking.idf(token)


def held(root: Path, words: Collection[str]) -> set[str]:
    """Those of some stemmed words that stand in a passage of the root, in its heading or in the name of its file.

    All of them where not all texts were read, some being too large or too many.
    """
    index = _index_of(root)
    with index.lock:
        _refresh(root, index)
        total = sum(len(passages) for _, _, passages in index.files.values())
        if total >= MAX_PASSAGES or any(size > MAX_SEARCHED for _, size, _ in index.files.values()):
            return set(words)
        return {word for word in words if index.ranking.holds(word)}
