"""What a run has seen, kept between its calls, its processes, and the runs that read what it wrote."""

import json
import posixpath
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, cast

from sqlalchemy import select

from pointwork.memory.items import UNTRUSTED
from pointwork.store import Store
from pointwork.store.tables import memory_items, memory_usage, runs, tool_calls
from pointwork.tools import Tool, ToolResult
from pointwork.tools.policy import Taint

_KEPT = 256  # runs whose taint is kept in memory
_WRITES = 2000  # earlier calls that are looked through for what they wrote
# A recalled item is shown if it holds at least this share of what the question asks (``Item.score``).
RELEVANT = 0.5
_FROM_WEB = " (web)"
_known: "OrderedDict[tuple[str, str], Taint]" = OrderedDict()
_lock = threading.Lock()


def taint_of(store: Store, run_id: str) -> Taint:
    """What a run has seen; of a run that another process began, from the store."""
    key = (str(store.url), run_id)
    with _lock:
        if key in _known:
            _known.move_to_end(key)
            return _known[key]
    found = _from_store(store, run_id)
    with _lock:
        found = _known.setdefault(key, found)
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return found


def _from_store(store: Store, run_id: str) -> Taint:
    row = store.row(select(runs.c.task).where(runs.c.id == run_id))
    taint = Taint(task="" if row is None else row["task"])
    calls = select(tool_calls).where(tool_calls.c.run_id == run_id).order_by(tool_calls.c.started)
    for call in store.rows(calls):
        taint.calls += 1
        kinds: dict[str, Any] = call["taint"] or {}
        taint.effects += bool(kinds.get("effect"))
        text = json.dumps(call["result"], ensure_ascii=False, default=str)
        if kinds.get("private"):
            taint.saw_private(call["tool"], text, call["arguments"])
        if kinds.get("untrusted"):
            taint.saw_untrusted(call["tool"], text)
        if kinds.get("effect"):
            taint.written |= _plain(_texts(call["arguments"]))
    _take_in(store, taint, _remembered(store, run_id))
    return taint


def before_call(store: Store, run_id: str, arguments: dict[str, Any], taint: Taint) -> None:
    """Take in what earlier runs wrote, if the call names it."""
    texts = _plain(_texts(arguments))
    if not texts:
        return
    wrote = (
        select(tool_calls.c.tool, tool_calls.c.arguments, tool_calls.c.taint)
        .where(tool_calls.c.run_id != run_id, tool_calls.c.taint["carried"].as_string().is_not(None))
        .order_by(tool_calls.c.started.desc())
        .limit(_WRITES)
    )
    for row in store.rows(wrote):
        kinds = cast(dict[str, Any], row["taint"] or {})
        carried = cast(dict[str, Any], kinds.get("carried") or {})
        if not texts & _plain(_texts(row["arguments"])):
            continue
        content = json.dumps(row["arguments"], ensure_ascii=False, default=str)
        if carried.get("private"):
            taint.saw_private(f"{row['tool']} of an earlier run", content, row["arguments"])
        if carried.get("untrusted"):
            taint.saw_untrusted(f"{row['tool']} of an earlier run", content)


def after_call(tool: Tool, arguments: dict[str, Any], result: ToolResult | None, taint: Taint) -> dict[str, Any]:
    """Take in what a tool said; what is stored beside the call."""
    clean = not taint.untrusted  # whoever chose this call had read nothing that an outsider wrote
    taint.calls += 1
    taint.effects += tool.has_side_effects
    text = "" if result is None else f"{result.text}\n{json.dumps(result.value, ensure_ascii=False, default=str)}"
    taint.see(tool, text, arguments)
    private, untrusted = "reads-private" in tool.labels, "untrusted-source" in tool.labels
    if not untrusted and result is not None and _has_untrusted_items(result.value):
        untrusted = True
        taint.saw_untrusted(tool.name, text)
    kept: dict[str, Any] = {
        "private": private,
        "untrusted": untrusted,
        "effect": tool.has_side_effects,
        "clean": clean,
    }
    if tool.has_side_effects:
        kept["carried"] = {"private": bool(taint.private), "untrusted": bool(taint.untrusted)}
    return kept


def take_in(store: Store, run_id: str, sources: Iterable[str]) -> None:
    """Take in what is shown without a tool: items of memory (``memory:ID``), earlier turns (``run:ID``)."""
    _take_in(store, taint_of(store, run_id), sources)


def written_trust(store: Store, run_id: str) -> str:
    """How far memory may trust what a run came to: no further than what it has read."""
    untrusted = taint_of(store, run_id).untrusted
    if any(source == "web" or source.endswith(_FROM_WEB) for source in untrusted):
        return "web"
    return "tool" if untrusted else "agent"


def _remembered(store: Store, run_id: str) -> list[str]:
    """What of memory was shown in a run."""
    shown = store.rows(select(memory_usage.c["items"]).where(memory_usage.c.run_id == run_id))
    pairs = [pair for row in shown for pair in cast(list[list[Any]], row["items"] or [])]
    return [f"memory:{item}" for item, score in pairs if score >= RELEVANT]


def _take_in(store: Store, taint: Taint, sources: Iterable[str]) -> None:
    known = {*taint.untrusted, *taint.private}
    fresh = {source for source in sources if source not in known and f"{source}{_FROM_WEB}" not in known}
    ids = {source.removeprefix("memory:") for source in fresh if source.startswith("memory:")}
    turns = {source for source in fresh if source.startswith("run:")}
    if not ids and not turns:
        return
    wanted = memory_items.c.id.in_(ids) | memory_items.c.source.in_(turns)
    items = store.rows(
        select(memory_items.c.id, memory_items.c.text, memory_items.c.trust, memory_items.c.source).where(wanted)
    )
    seen = _seen_by(store, {str(item["source"]) for item in items})
    for item in items:
        origin = str(item["source"])
        source = origin if origin in turns else f"memory:{item['id']}"
        private, untrusted = seen.get(origin, (False, False))
        if item["trust"] in UNTRUSTED or untrusted:
            taint.saw_untrusted(source + (_FROM_WEB if item["trust"] == "web" else ""), item["text"])
        if private:
            taint.saw_private(source, item["text"])


def _seen_by(store: Store, sources: set[str]) -> dict[str, tuple[bool, bool]]:
    """Of runs (``run:ID``): whether they read private data, and untrusted text. What such a run answered is neither
    less private nor more to be trusted than what it read.
    """
    ids = {source.removeprefix("run:") for source in sources if source.startswith("run:")}
    found: dict[str, tuple[bool, bool]] = {}
    if not ids:
        return found
    of_runs = select(tool_calls.c.run_id, tool_calls.c.taint).where(tool_calls.c.run_id.in_(ids))
    for row in store.rows(of_runs):
        kinds = cast(dict[str, Any], row["taint"] or {})
        private, untrusted = found.get(f"run:{row['run_id']}", (False, False))
        found[f"run:{row['run_id']}"] = (
            private or bool(kinds.get("private")),
            untrusted or bool(kinds.get("untrusted")),
        )
    return found


def _has_untrusted_items(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    rows = [cast(dict[str, Any], row) for row in cast(list[Any], value) if isinstance(row, dict)]
    return any(row.get("trust") in UNTRUSTED for row in rows)


def _plain(texts: list[str]) -> set[str]:
    """Texts that may name the same thing, spelled alike: ``./Out.txt`` is ``out.txt``."""
    return {posixpath.normpath(text.strip().lower()) for text in texts if len(text.strip()) >= 3}


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for inner in cast(dict[Any, Any], value).values() for text in _texts(inner)]
    if isinstance(value, list):
        return [text for inner in cast(list[Any], value) for text in _texts(inner)]
    return []
