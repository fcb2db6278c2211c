"""Regular expressions that can not hang: the one place that touches ``regex`` (untyped), for its time-out."""

import importlib
import math
import re
import time
from collections.abc import Callable

from pointwork.errors import ToolError

MAX_REPEATS = 5000
"""Largest product of all counts such as {3,20} in a pattern: nested ones are unrolled, without a time-out."""


def matcher(pattern: str, seconds: float) -> tuple[Callable[[str], bool], str]:
    """A test for one line, and a note if the pattern was not taken as a regular expression.

    Upper case in the pattern makes case count. Without the ``regex`` package patterns are taken literally.

    Args:
        pattern: a regular expression; a broken one is searched for as it stands.
        seconds: time for all calls together.

    Raises:
        ToolError: from the test, when the time is used up.
    """
    note = ""
    if len(pattern) > 500:
        raise ToolError("the pattern is longer than 500 characters")
    try:
        library = importlib.import_module("regex")
    except ImportError:
        library, note = None, "searched for literally: the regex package is not installed"
    if library is None:
        return _literal(pattern), note
    counts = [int(max(n, m or "1", key=int)) for n, m in re.findall(r"\{(\d{1,9})(?:,(\d{1,9})?)?\}", pattern)]
    if math.prod(counts) > MAX_REPEATS:
        raise ToolError(
            f"the pattern's counts multiply to more than {MAX_REPEATS}: compiling it could take forever"
        )
    if re.search(r"\(\?(?:R|[-+]?\d|&|P>)", pattern):
        raise ToolError("patterns that call themselves, such as (?R), are not taken: they can use all memory")
    flags = 0 if re.search(r"[A-Z]", re.sub(r"\\[A-Z]", "", pattern)) else library.IGNORECASE
    try:
        compiled = library.compile(pattern, flags)
    except (library.error, RecursionError, OverflowError) as error:
        return _literal(pattern), f"searched for literally: no regular expression ({error})"
    end = time.monotonic() + seconds

    def test(line: str) -> bool:
        left = end - time.monotonic()
        try:
            if left > 0:
                return compiled.search(line, timeout=left) is not None
        except (TimeoutError, MemoryError):
            pass
        raise ToolError(f"the pattern {pattern[:60]!r} took too long: write plain words, or say fewer files")

    return test, note


def _literal(pattern: str) -> Callable[[str], bool]:
    if re.search(r"[A-Z]", pattern):
        return lambda line: pattern in line
    return lambda line: pattern in line.lower()
