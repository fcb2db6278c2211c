"""What commands print: rich for people, one JSON value for machines; errors to stderr."""

import io
import json
import logging
import math
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

# exit codes of every command
OK, FAILED, USAGE, BUDGET = 0, 1, 2, 3
STOPPED = 130  # Ctrl-C, as shells have it

# What a terminal obeys instead of showing it: control characters, the escape sequences that begin with one, and
# those that turn the order of what follows round. Line ends and tabs stay, and so do marks that scripts need.
_HARM = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """A text as a terminal can show it: what it would obey stands there as an escape, ``\\x1b``."""
    return _HARM.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


class Shown(Console):
    """A console on which documents, models, tools and servers can only say something, and do nothing.

    Whatever is printed comes through here, so no command has to think of it. Escape sequences for colours and the
    cursor are made after this.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """Text of a string, before it is measured."""
        return super().render_str(harmless(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Segments of anything else."""
        for segment in super().render(renderable, options):
            tame = segment.control or not _HARM.search(segment.text)
            yield segment if tame else Segment(harmless(segment.text), segment.style)


# ':key:' in somebody's text is not a picture of a key
out = Shown(highlight=False, soft_wrap=True, emoji=False)
err = Shown(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def print_json(value: Any) -> None:
    """One JSON value on stdout, and nothing else."""
    sys.stdout.write(_as_json(value, indent=2) + "\n")


def print_json_line(value: Any) -> None:
    """One JSON value on a line of its own, at once: for commands that print several."""
    sys.stdout.write(_as_json(value) + "\n")
    sys.stdout.flush()


def _as_json(value: Any, indent: int | None = None) -> str:
    """JSON that every parser takes and this stdout can hold: NaN is null, odd characters are escaped."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent, default=str, allow_nan=False)
    except ValueError:
        plain = json.loads(json.dumps(value, default=str), parse_constant=lambda _: None)
        text = json.dumps(plain, ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=indent)
    return text


def print_exact(text: str) -> None:
    """A text to the letter, for a pipe or a file; a terminal is shown it."""
    sys.stdout.write(harmless(text) if sys.stdout.isatty() else text)


class _Warning(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return harmless(super().format(record))


def take_any_text() -> None:
    """What a model or a file said may hold what this terminal can not show, or half a character: it is escaped.

    So is what it would obey in warnings, which go past the consoles.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Warning("%(message)s"))


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], empty: str) -> None:
    """A table, or a sentence if there is nothing in it."""
    if not rows:
        out.print(empty, markup=False)
        return
    drawn = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        drawn.add_row(*(escape("" if cell is None else str(cell)) for cell in row))
    out.print(drawn)


def money(usd: float) -> str:
    """US dollars, short: two significant digits below a cent, and never an exponent."""
    if abs(usd) < 5e-10:
        return "$0"
    if abs(usd) >= 0.01:
        return f"${usd:.2f}" if abs(usd) >= 1 else f"${usd:.3f}"
    digits = min(9, 1 - math.floor(math.log10(abs(usd))))  # the ledger counts in nano-dollars
    return f"${usd:.{digits}f}"


def ago(created: float) -> str:
    """How long ago, in the largest unit."""
    seconds = max(0.0, time.time() - created)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def tiers(values: Mapping[str, str]) -> str:
    """Memory tiers, short: ``low`` if all are alike, else ``filter:mid entity:low …``."""
    if not values:
        return "off"
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return " ".join(f"{module}:{tier}" for module, tier in values.items())
