"""Files and logs into memory: Markdown, plain text, PDF, HTML, chat logs, runs of the store.

Each becomes entries with a source that leads back: ``path#heading``, ``path#page=3``, ``path#turn=7``,
``run:ID#3``. The words are kept as the library that reads the format gives them; long ones are chunked with
offsets like any text.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from sqlalchemy import select

from pointwork.errors import UsageError
from pointwork.extras import require
from pointwork.memory.dates import to_epoch
from pointwork.memory.episodic import MAX_LABEL, MAX_TITLE, Entry, check_label, replace_refused
from pointwork.store import Store
from pointwork.store.tables import runs, steps

_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+)$", re.MULTILINE)
_CLOSING = re.compile(r"(?:^|(?<=[ \t]))#+$")
_TOOLS = {"tool", "function"}
# Closed by a fence at least as long; one that is not runs to the end (CommonMark).
_FENCE = re.compile(r"^ {0,3}(`{3,}(?=[^`\n]*$)|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*\r?$|\Z)", re.MULTILINE | re.DOTALL)


def read_file(path: str | os.PathLike[str], *, trust: str = "user", source: str | None = None) -> list[Entry]:
    """A file as entries, by its suffix: .md, .pdf, .html, .jsonl or .json (chat logs), else plain text.

    Raises:
        UsageError: it is no path, can not be read, or has no text.
        ImportError: the library for its format is not installed; the message names the extra.
    """
    if not isinstance(cast(object, path), str | os.PathLike):
        raise UsageError(f"a file is named by its path, not {path!r}")
    path = Path(path)
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name the files in it that memory should keep")
    name = source or str(path)
    readers: dict[str, Callable[[Path, str, str], list[Entry]]] = {
        **dict.fromkeys((".md", ".markdown"), _markdown),
        ".pdf": _pdf,
        **dict.fromkeys((".html", ".htm"), _html),
        **dict.fromkeys((".jsonl", ".json"), _chat),
    }
    found = readers.get(path.suffix.lower(), _plain)(path, name, trust)
    if not found and path.suffix.lower() in (".json", ".jsonl"):
        raise UsageError(
            f"{path} holds no messages: .json and .jsonl are read as chat logs, each message with content or text"
        )
    if not found:
        raise UsageError(f"{path} holds no text that memory could keep")
    return found


def read_run(store: Store, run_id: str) -> list[Entry]:
    """A run's task, the steps that have a text, and its answer, as entries of its thread.

    Raises:
        UsageError: there is no such run.
    """
    run = store.row(select(runs).where(runs.c.id == run_id))
    if run is None:
        raise UsageError(f"there is no run {run_id!r}; pointwork runs list shows which there are")
    thread = run["thread"] or f"run:{run_id}"
    entries = [Entry(run["task"], f"run:{run_id}", "user", speaker="user", time=run["created"], thread=thread)]
    for step in store.rows(select(steps).where(steps.c.run_id == run_id).order_by(steps.c.started)):
        output: Any = step["output"]
        text = cast(dict[str, Any], output).get("text") if isinstance(output, dict) else output
        if isinstance(text, str) and text.strip():
            trust = "tool" if step["kind"] == "tool" else "agent"
            source = f"run:{run_id}#{step['id']}"
            entries.append(Entry(text, source, trust, speaker=step["kind"], time=step["started"], thread=thread))
    result: dict[str, Any] = run["result"] or {}
    answer = result.get("text")
    if answer:
        entries.append(
            Entry(answer, f"run:{run_id}#answer", "agent", speaker="team", time=run["finished"], thread=thread)
        )
    return entries


def _text(path: Path) -> str:
    try:
        # not read_text, which changes line ends; a mark of the byte order is none of the words
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"can not read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"can not read {path} as UTF-8 text: {error}") from error


def _plain(path: Path, source: str, trust: str) -> list[Entry]:
    text = _text(path)
    return [Entry(text, source, trust, title=path.stem)] if text.strip() else []


def _markdown(path: Path, source: str, trust: str) -> list[Entry]:
    """A section per heading, with the headings above it as its title."""
    text = _text(path)
    code = [match.span() for match in _FENCE.finditer(text)]
    marks = [m for m in _HEADING.finditer(text) if not any(a <= m.start() < b for a, b in code)]
    entries: list[Entry] = []
    above: list[tuple[int, str]] = []
    begins = [0, *(mark.start() for mark in marks)]
    for number, begin in enumerate(begins):
        end = begins[number + 1] if number + 1 < len(begins) else len(text)
        if number:
            mark = marks[number - 1]
            above = [(level, title) for level, title in above if level < len(mark[1])]
            above.append((len(mark[1]), _heading(mark[2])))
        section = text[begin:end]
        if not section.strip():
            continue
        title = " / ".join(title for _, title in above)[-MAX_TITLE:] or path.stem
        place = above[-1][1][:MAX_TITLE] if above else ""
        entries.append(Entry(section, f"{source}#{place}" if place else source, trust, title=title))
    return entries


def _heading(text: str) -> str:
    """A heading's words, without the marks that may close it ("## Ferry ##", but not "# C#")."""
    return replace_refused(_CLOSING.sub("", text.rstrip()).rstrip())


def _pdf(path: Path, source: str, trust: str) -> list[Entry]:
    pypdf: Any = require("pypdf")
    try:
        pages = [str(page.extract_text() or "") for page in pypdf.PdfReader(str(path)).pages]
    except Exception as error:  # the library raises many kinds for what is no PDF
        raise UsageError(f"can not read {path} as PDF: {error}") from error
    return [
        Entry(text, f"{source}#page={number}", trust, title=path.stem)
        for number, text in enumerate(pages, 1)
        if text.strip()
    ]


def _html(path: Path, source: str, trust: str) -> list[Entry]:
    soup: Any = require("bs4").BeautifulSoup(_text(path), "html.parser")
    for gone in soup(["script", "style", "noscript", "template"]):
        gone.decompose()
    title = (
        replace_refused(str(soup.title.string)).strip()[:MAX_TITLE]
        if soup.title and soup.title.string
        else path.stem
    )
    text = "\n".join(line for raw in str(soup.get_text("\n")).splitlines() if (line := raw.strip()))
    return [Entry(text, source, trust, title=title)] if text else []


def _chat(path: Path, source: str, trust: str) -> list[Entry]:
    """Messages with ``role`` or ``speaker`` and ``content`` or ``text``: lines of JSON, a list, or ``messages``."""
    text = _text(path)
    try:
        # not splitlines: JSON's strings may hold U+2028 and its like as they are
        loaded: Any = [json.loads(line) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError):
        try:
            loaded = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path} is neither JSON nor lines of JSON: {error}") from error
    entries: list[Entry] = []
    for number, message in enumerate(_messages(loaded)):
        speaker = str(message.get("speaker") or message.get("name") or message.get("role") or "")
        content = _said(message.get("text") or message.get("content"))
        if not content.strip():
            continue
        # what a chat's tool said came from outside, whoever keeps the log and whatever the tool is called
        told = "tool" if {speaker.lower(), str(message.get("role")).lower()} & _TOOLS else trust
        try:
            time = to_epoch(message.get("time") or message.get("timestamp") or message.get("created"))
            check_label("speaker", speaker, MAX_LABEL)
        except UsageError as error:
            raise UsageError(f"{path}, turn {number}: {error}") from error
        entries.append(
            Entry(
                content,
                f"{source}#turn={number}",
                told,
                time=time,
                speaker=speaker or None,
                thread=source[:MAX_LABEL],
            )
        )
    return entries


def _said(content: Any) -> str:
    """The words of a message: its text, or the texts among its parts."""
    if isinstance(content, list):
        parts: list[Any] = [
            cast(dict[str, Any], part).get("text") if isinstance(part, dict) else part
            for part in cast(list[Any], content)
        ]
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _messages(loaded: Any) -> Iterator[dict[str, Any]]:
    if isinstance(loaded, dict):
        inner = cast(dict[str, Any], loaded)
        if isinstance(inner.get("messages"), list):
            yield from _messages(inner["messages"])
        elif "content" in inner or "text" in inner:
            yield inner
    elif isinstance(loaded, list):
        for part in cast(list[Any], loaded):
            yield from _messages(part)
