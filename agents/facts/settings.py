"""Sections of settings files, each in a line: ``alarm: armed_at 18:20; code_holder Petra Lindqvist``."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from pointwork.errors import ToolError
from pointwork.text import tokenize
from pointwork.tools import paths
from pointwork.tools.passages import decode
from pointwork.tools.paths import Entry

SUFFIXES = (".toml", ".ini", ".cfg", ".conf", ".yaml", ".yml", ".properties")

MAX_BYTES = 200_000
"""A file that is larger holds data, and no settings."""

# Keys of a section that make a line; and how much less each of them makes a hit in it tell.
_KEYS, _LONG = 10, 0.02
_KEPT = 64  # files

_HEAD = re.compile(r"\s*\[+([^\]]+)\]+\s*$")
_BRANCH = re.compile(r"\s*[\"']?([\w .\-]+?)[\"']?\s*:\s*$")
_PAIR = re.compile(r"\s*(?:- )?[\"']?([\w .\-]+?)[\"']?\s*[=:]\s*(.+)$")
_COMMENT = re.compile(r"\s*[#;]")


@dataclass(frozen=True)
class Section:
    """Some of the keys of a section.

    Attributes:
        source: as evidence names it. name: of the section, or of the file.
        pairs: keys and values, with the comments that follow them: "capacity 2000 (litres)".
    """

    source: str
    name: str
    pairs: tuple[tuple[str, str], ...]

    @property
    def told(self) -> str:
        """In a line."""
        return f"{self.name}: " + "; ".join(f"{key} {value}" for key, value in self.pairs)


def sections_about(root: Path, task: str, most: int) -> list[Section]:
    """The sections that share most words with a task, best first; those of their names count twice."""
    asked = set(tokenize(task))
    scored: list[tuple[float, Section]] = []
    for entry in paths.walk(root):
        if not entry.path.lower().endswith(SUFFIXES) or entry.size > MAX_BYTES:
            continue
        for section in _sections(root, entry):
            named = set(tokenize(re.sub(r"[_.]", " ", section.name)))
            inside = {word for key, value in section.pairs for word in tokenize(f"{key.replace('_', ' ')} {value}")}
            hits = 2 * len(named & asked) + len(inside & asked)
            if hits:
                scored.append((hits / (1 + _LONG * len(section.pairs)), section))
    return [section for _, section in sorted(scored, key=lambda one: -one[0])[:most]]


@lru_cache(_KEPT)
def _sections(root: Path, entry: Entry) -> tuple[Section, ...]:
    try:
        return tuple(sections(entry.path, decode(paths.read_bytes(root, entry.path, MAX_BYTES), entry.path)))
    except ToolError:  # binary, gone or unreadable: nothing to show
        return ()


def sections(path: str, text: str) -> Iterator[Section]:
    """The sections of a settings file. Comments behind a value are kept: they say what a number is."""
    name, first, pairs = PurePosixPath(path).stem, 1, list[tuple[str, str]]()

    def cut(last: int) -> Iterator[Section]:
        source = f"file:{path}:{first}-{last}" if last > first else f"file:{path}:{first}"
        for start in range(0, len(pairs), _KEYS):
            yield Section(source, name, tuple(pairs[start : start + _KEYS]))

    number = 0
    for number, line in enumerate(text.splitlines(), 1):
        if _COMMENT.match(line):
            continue
        said, _, note = line.partition("#")
        head = _HEAD.match(said.rstrip()) or _BRANCH.match(said.rstrip())
        if head is not None:
            yield from cut(number - 1)
            name, first, pairs = head[1].strip("\"'"), number, []
        elif pair := _PAIR.match(said.rstrip()):
            value = pair[2].strip().strip("\"'")
            pairs.append((pair[1], f"{value} ({note.strip()})" if note.strip() else value))
    yield from cut(number)
