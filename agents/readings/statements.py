"""A page of Markdown or plain text as statements: sentences, entries with their lead words, rows of tables.

What is told below a lead word is told of it: of "**Lantern.** Built 1926. Key on hook 3." the second statement is
"Lantern: Key on hook 3.". A row of a table is one statement, with the words of its columns.
"""

import re

from pointwork.text import sentence_spans

# Marks of emphasis and code; an underscore inside a word belongs to it.
_MARKS = re.compile(r"[*`]{1,3}(?=\S)|(?<=\S)[*`]{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)")
_BULLET = r"(?:[-*+>•]\s+|\d+[.)]\s+)"
_ENTRY = re.compile(
    rf"\s*(?P<bullet>{_BULLET})?(?:"
    r"(?P<mark>\*\*|__|\*|_)(?P<bold>[^*_\n]{2,60}?)(?P<inner>[.:])?(?P=mark)(?P<outer>\s*[:.–—]|\s+-(?=\s))?|"
    r"(?P<plain>[^\W_a-z][^\n.:;,|*]{0,40}?)(?::(?=\s)|(?P<dash>\s+[–—-](?=\s))))\s*"
)
_MOST = 5  # words of a lead that nothing marks
_SHORT = 2  # of one that holds for the rest of its line
# A line that goes on with the one before; an entry, a list, a table or a heading does not.
_WRAPPED = re.compile(
    r"(?<=\S)\n(?=\s*[^\s|#*\-+>•0-9])(?!\s*[^\W_a-z][^\n.:;,|*]{0,40}?(?::\s|\s[–—-]\s))|(?<=[\w,;])\n(?!\d+[.)]\s)(?=\d|\*\w)"
)
# "Mon – Fri", "12 – 14 May": no entry, but from one to the other
_TIME = re.compile(r"\d|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b")
_RULE = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*$")


_CUT = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|St|No|ca|approx|[ap]\.m|e\.g|i\.e)\.$")


def statements(text: str) -> list[str]:
    """The statements of a page in order, each on one line and without marks."""
    text = re.sub(r"(?m)^(#{1,6}\s.*)$", r"\1\n", text)
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", _WRAPPED.sub(" ", text))
    text = re.sub(r"(?<=;)\s+(?=(?:and\s+)?\*\*)", "\n", text)  # each of them is an entry
    lines = text.split("\n")
    found: list[str] = []
    head: list[str] = []
    for number, line in enumerate(lines):
        if line.lstrip().startswith("|"):
            if number + 1 < len(lines) and _RULE.match(lines[number + 1]):
                head = _cells(line)
            found += _row(line, head)
        else:
            head = []
            found += _told(line)
    return [piece for piece in found if re.search(r"\w", piece)]


def _told(line: str) -> list[str]:
    """The statements of a line."""
    entry = _ENTRY.match(line)
    lead, whole = "", True
    if entry is not None and entry["dash"] and _TIME.search(entry["plain"]):
        entry = None
    if entry is not None and (entry["bold"] or entry["bullet"] or len(entry["plain"].split()) <= _MOST):
        rest = line[entry.end() :]
        apart = entry["plain"] or entry["inner"] or entry["outer"] or not rest[:1].islower()
        if apart and re.search(r"\w", rest):  # not "**Brown Verger** was Mr Enoch Sturt."
            line, lead = rest, re.sub(rf"^{_BULLET}", "", _plain(entry["bold"] or entry["plain"]))
            whole = bool(entry["bold"] or entry["bullet"]) or len(lead.split()) <= _SHORT
    pieces = _sentences(re.sub(rf"^\s*{_BULLET}", "", line))
    return [f"{lead}: {piece}" if lead and (whole or not k) else piece for k, piece in enumerate(pieces)]


def _sentences(line: str) -> list[str]:
    """The sentences of a line; no abbreviation ends one."""
    joined: list[str] = []
    for a, b in sentence_spans(line):
        piece = _plain(line[a:b])
        if joined and _CUT.search(joined[-1]):
            joined[-1] += f" {piece}"
        else:
            joined.append(piece)
    return joined


def _row(line: str, head: list[str]) -> list[str]:
    """A row of a table as one statement; the head itself says nothing."""
    cells = _cells(line)
    if _RULE.match(line) or cells == head:
        return []
    if len(head) != len(cells) or len(cells) < 2:
        return [_plain(line)]
    told = "; ".join(f"{name} {cell}" for name, cell in zip(head[1:], cells[1:], strict=True) if cell)
    return [f"{head[0]} {cells[0]}: {told}.".strip()] if told else []


def _cells(line: str) -> list[str]:
    return [_plain(cell) for cell in line.strip().strip("|").split("|")]


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", text).split())
