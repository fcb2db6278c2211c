"""Tools that read the files below the run's root. They never write, and never leave it."""

import re
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import BeforeValidator

from pointwork.errors import ToolError
from pointwork.text import tokenize
from pointwork.tools import passages, paths, patterns
from pointwork.tools.passages import Passage
from pointwork.tools.spec import ToolContext, ToolResult, tool

MAX_LISTED = 200
MAX_HITS = 50
MAX_LINES = 200
MAX_CHARACTERS = 8_000
_GREP_SECONDS = 5.0


def clamp(least: int, most: int) -> BeforeValidator:
    """Take a number outside its range for the nearest inside: a small model can not know the range."""

    def run(value: Any) -> Any:
        try:
            return max(least, min(most, int(float(value))))
        except (TypeError, ValueError, OverflowError):
            return value

    return BeforeValidator(run)


Count = Annotated[int, clamp(1, 50)]
Line = Annotated[int, clamp(0, 10**9)]


@tool(labels=["reads-private"])
def list_files(context: ToolContext, pattern: str = "*") -> ToolResult:
    """List the files that can be read, with their size in bytes.

    Args:
        pattern: such as *.md, reports/* or a folder's name; all files if left out

    Raises:
        ToolError: the run has no folder, or nothing fits.
    """
    root = paths.root_of(context)
    entries = list(paths.walk(root))
    found = [entry for entry in entries if _fits(entry.path, pattern)]
    if not found and entries:
        kinds = sorted({PurePosixPath(entry.path).suffix or "no suffix" for entry in entries})
        raise ToolError(f"no file fits {pattern!r}; there are {len(entries)} files: {', '.join(kinds[:20])}")
    lines = [f"{entry.path} ({entry.size} bytes)" for entry in found[:MAX_LISTED]]
    if len(found) > MAX_LISTED:
        lines.append(f"... {len(found) - MAX_LISTED} more: give a pattern")
    value = [{"path": entry.path, "bytes": entry.size} for entry in found[:MAX_LISTED]]
    return ToolResult(value, "\n".join(lines) or "there are no files")


def _fits(path: str, pattern: str) -> bool:
    """Whether a glob fits the whole path, the file's name, or names a folder above it; case does not count."""
    path, wanted = path.lower(), pattern.strip().strip("'\"").lower().removeprefix("./")
    if wanted in ("", "*", "**", ".", "/"):
        return True
    if not re.search(r"[*?]", wanted) and path.startswith(wanted.rstrip("/") + "/"):
        return True
    glob = re.compile(_glob(wanted))
    return bool(glob.fullmatch(path) or ("/" not in wanted and glob.fullmatch(PurePosixPath(path).name)))


def _glob(pattern: str) -> str:
    """A glob as a regular expression: ``*`` stays in its folder, ``**`` does not."""
    pieces = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(pieces.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*\*|\*|\?)", pattern[:200]))


@tool(labels=["reads-private"])
def find_files(context: ToolContext, query: str) -> ToolResult:
    """Find files by words in their names and folders.

    Args:
        query: words that the file's name or folder may have

    Raises:
        ToolError: the run has no folder, or no name has one of the words.
    """
    root = paths.root_of(context)
    words = set(tokenize(query)) or set(tokenize(query, stop=False))
    scored: list[tuple[float, str]] = []
    for entry in paths.walk(root):
        name = PurePosixPath(entry.path)
        have, above = set(tokenize(name.name)), set(tokenize(str(name.parent)))
        score = len(words & have) + 0.5 * len(words & above) + (query.strip().lower() in entry.path.lower())
        if score > 0:
            scored.append((-score / (1 + 0.01 * len(have)), entry.path))
    found = [path for _, path in sorted(scored)[:10]]
    if not found:
        raise ToolError(f"no file's name has one of the words of {query!r}: try list_files or search_files")
    return ToolResult(found, "\n".join(found))


@tool(labels=["reads-private"])
def grep_files(context: ToolContext, pattern: str, glob: str = "*") -> ToolResult:
    """Find the lines of text files that fit a regular expression or contain a text.

    Args:
        pattern: a regular expression or plain text; upper case makes case count
        glob: which files, such as *.md; all if left out

    Raises:
        ToolError: the run has no folder, or the pattern is empty or too slow.
    """
    root = paths.root_of(context)
    if not pattern.strip():
        raise ToolError("the pattern is empty")
    test, note = patterns.matcher(pattern, _GREP_SECONDS)
    hits: list[Passage] = []
    skipped: list[str] = []
    for entry in paths.walk(root):
        if not _fits(entry.path, glob):
            continue
        try:
            text = passages.decode(paths.read_bytes(root, entry.path), entry.path)
        except ToolError:
            skipped.append(entry.path)
            continue
        for number, line in enumerate(passages.lines_of(text), start=1):
            if test(line[:10_000]):
                hits.append(Passage(entry.path, number, number, line[:400]))
            if len(hits) > MAX_HITS:
                break
        if len(hits) > MAX_HITS:
            break
    return _grepped(hits, skipped, note)


def _grepped(hits: list[Passage], skipped: list[str], note: str) -> ToolResult:
    shown = hits[:MAX_HITS]
    lines = [f"{hit.path}:{hit.first}: {hit.text.strip()}" for hit in shown] or ["no line fits"]
    if len(hits) > MAX_HITS:
        lines.append(f"... more than {MAX_HITS} lines fit: write a narrower pattern")
    if skipped:
        lines.append(f"(not searched, binary or too large: {', '.join(skipped[:5])}{' ...' * (len(skipped) > 5)})")
    if note:
        lines.append(f"({note})")
    value = [{"path": hit.path, "line": hit.first, "text": hit.text} for hit in shown]
    return ToolResult(value, "\n".join(lines), tuple((hit.source, hit.text) for hit in shown))


@tool(labels=["reads-private"])
def read_file(context: ToolContext, path: str, start_line: Line = 1, end_line: Line = 0) -> ToolResult:
    """Read a text file, or some lines of it.

    Args:
        path: the file, as list_files gives it
        start_line: the first line, from 1
        end_line: the last line; 0 is as far as one answer goes

    Raises:
        ToolError: no such file (near names are given), binary, or larger than 20 MB.
        ToolDenied: outside the run's folder, or a file of keys and passwords.
    """
    root = paths.root_of(context)
    name = paths.find(root, path)
    lines = passages.lines_of(passages.decode(paths.read_bytes(root, name), name))
    first = max(1, start_line)
    last = min(len(lines), end_line or len(lines), first + MAX_LINES - 1)
    if first > len(lines):
        raise ToolError(f"{name!r} has {len(lines)} lines: start_line {start_line} is behind its end")
    if 0 < end_line < first:
        raise ToolError(f"end_line {end_line} is before start_line {first}")
    taken, size = list[str](), 0
    for line in lines[first - 1 : last]:
        if taken and size + len(line) > MAX_CHARACTERS:
            break
        taken.append(line[:MAX_CHARACTERS])
        size += len(line) + 1
    last = first + len(taken) - 1
    text = "\n".join(taken)
    rest = (
        f"\n(lines {first}-{last} of {len(lines)}; go on with start_line={last + 1})" if last < len(lines) else ""
    )
    value = {"path": name, "start_line": first, "end_line": last, "lines": len(lines), "text": text}
    return ToolResult(value, text + rest, ((Passage(name, first, last, text).source, text),))


@tool(labels=["reads-private"])
def search_files(context: ToolContext, query: str, k: Count = 5) -> ToolResult:
    """Find the passages of the text files that say most about a question.

    Args:
        query: the question, or its words
        k: how many passages

    Raises:
        ToolError: the run has no folder.
    """
    hits = search_passages(paths.root_of(context), query, k)
    value = [{"source": hit.source, "text": hit.text, "score": round(score, 3)} for hit, score in hits]
    text = "\n\n".join(f"[{hit.source}]\n{hit.text}" for hit, _ in hits) or "no passage has a word of the query"
    return ToolResult(value, text, tuple((hit.source, hit.text) for hit, _ in hits))


def search_passages(root: Path, query: str, k: int = 5) -> list[tuple[Passage, float]]:
    """The k best passages below a root with their scores, best first: for agents' own use."""
    return passages.search(root.resolve(), query, k)
