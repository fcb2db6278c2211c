"""A page of Markdown or plain text as statements: sentences, entries with their lead words, rows of tables.

What is told below a lead word is told of it: of "**Lantern.** Built 1926. Key on hook 3." the second statement is
"Lantern: Key on hook 3.". A row of a table is one statement, with the words of its columns.
"""

import re
from collections.abc import Iterator

from pointwork.text import sentence_spans

Statement = tuple[str, str]
"""The text on one line without marks, and the lead words of the entry; empty without."""

# Marks of emphasis and code; an underscore inside a word belongs to it.
_MARKS = re.compile(r"[*`]{1,3}(?=\S)|(?<=\S)[*`]{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)")
_BULLET = r"(?:[-*+>•]\s+|\d+[.)]\s+)"
_ENTRY = re.compile(
    rf"\s*(?P<bullet>{_BULLET})?(?:"
    r"(?P<mark>\*\*|__|\*|_)(?P<bold>[^*_\n]{2,60}?)(?P<inner>[.:])?(?P=mark)(?P<outer>\s*[:.–—]|\s+-(?=\s))?|"
    r"(?P<plain>[^\W_a-z][^\n.:;,|*]{0,40}?)(?::(?=\s)|\s+[–—-](?=\s)))\s*"
)
_MOST = 5  # words of a lead that nothing marks
_SHORT = 2  # of one that holds for the rest of its line
# A line that goes on with the one before; an entry, a list, a table or a heading does not.
_WRAPPED = re.compile(
    r"(?<=\S)\n(?=\s*[^\s|#*\-+>0-9])(?!\s*[^\W_a-z][^\n.:;,|*]{0,40}?(?::\s|\s[–—-]\s))|(?<=[\w,;])\n(?=\d|\*\w)"
)
_INLINE = re.compile(r"(?:\S+\s+){0,2}\*\*(?P<bold>[A-Z][^*\n]{1,60}?)[.:]?\*\*")
_RULE = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*$")


def statements(text: str) -> list[Statement]:
    """The statements of a page in order."""
    text = re.sub(r"(?m)^(#{1,6}\s.*)$", r"\1\n", text)
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", _WRAPPED.sub(" ", text))
    text = re.sub(r"(?<=;)\s+(?=(?:and\s+)?\*\*)", "\n", text)  # each of them is an entry
    lines = text.split("\n")
    found: list[Statement] = []
    head: list[str] = []
    for number, line in enumerate(lines):
        if line.lstrip().startswith("|"):
            if number + 1 < len(lines) and _RULE.match(lines[number + 1]):
                head = _cells(line)
            found += _row(line, head)
        else:
            head = []
            found += _told(line)
    return _rejoined([(piece, topic) for piece, topic in found if re.search(r"\w", piece)])


def _told(line: str) -> Iterator[Statement]:
    """The statements of a line."""
    entry = _ENTRY.match(line)
    topic, marked = "", False
    if entry is not None and (entry["bold"] or entry["bullet"] or len(entry["plain"].split()) <= _MOST):
        topic = _plain(entry["bold"] or entry["plain"])
        marked = bool(entry["bold"] or entry["bullet"]) or len(topic.split()) <= _SHORT
        line = line[entry.end() :]
        apart = entry["plain"] or entry["inner"] or entry["outer"]
        if not re.search(r"\w", line) or (not apart and line[:1].islower()):
            yield f"{topic} {_plain(line)}".strip(), topic  # "**Brown Verger** was Mr Enoch Sturt."
            return
    for k, (a, b) in enumerate(sentence_spans(line)):
        piece, inline = _plain(line[a:b]), _INLINE.match(line[a:b])
        if topic and (marked or not k):
            yield f"{topic}: {piece}", topic
        else:
            yield piece, _plain(inline["bold"]) if inline is not None else ""


def _row(line: str, head: list[str]) -> list[Statement]:
    """A row of a table as one statement; the head itself says nothing."""
    cells = _cells(line)
    if _RULE.match(line) or cells == head:
        return []
    if len(head) != len(cells) or len(cells) < 2:
        return [(_plain(line), "")]
    told = "; ".join(f"{name} {cell}" for name, cell in zip(head[1:], cells[1:], strict=True) if cell)
    return [(f"{head[0]} {cells[0]}: {told}.".strip(), cells[0])] if told else []


def _cells(line: str) -> list[str]:
    return [_plain(cell) for cell in line.strip().strip("|").split("|")]


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", text).split())


def _rejoined(pieces: list[Statement]) -> list[Statement]:
    """Cuts after an abbreviation undone."""
    joined: list[Statement] = []
    for piece, topic in pieces:
        before, its_topic = joined[-1] if joined else ("", "")
        if before and (
            re.search(r"\b(?:Dr|Mr|Mrs|Ms|St|No|ca|approx|e\.g|i\.e)\.$", before)
            or (len(before.split()) <= 2 and before[-1] in ".:" and not before.startswith("#"))
        ):
            joined[-1] = f"{before} {piece.removeprefix(f'{topic}: ') if topic == its_topic else piece}", its_topic
        else:
            joined.append((piece, topic))
    return joined
