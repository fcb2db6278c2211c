"""What a run has seen, kept between its calls, its processes, and the runs that read what it wrote."""

import json
import threading
from collections import OrderedDict
from typing import Any, cast

from sqlalchemy import select

from pointwork.memory.items import UNTRUSTED
from pointwork.store import Store
from pointwork.store.tables import memory_items, memory_usage, runs, tool_calls
from pointwork.tools import Tool, ToolResult
from pointwork.tools.policy import Taint

_KEPT = 256  # runs whose taint is kept in memory
_WRITES = 2000  # earlier calls that are looked through for what they wrote
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
            taint.saw_private(call["tool"], text)
        if kinds.get("untrusted"):
            taint.saw_untrusted(call["tool"], text)
    return taint


def before_call(store: Store, run_id: str, arguments: dict[str, Any], taint: Taint) -> None:
    """Take in what came by other ways than tools: memory that was shown, and what earlier runs wrote."""
    _remembered(store, run_id, taint)
    texts = {text for text in _texts(arguments) if len(text) >= 3}
    if not texts:
        return
    wrote = (
        select(tool_calls.c.tool, tool_calls.c.arguments, tool_calls.c.taint)
        .where(tool_calls.c.run_id != run_id, tool_calls.c.taint.is_not(None))
        .order_by(tool_calls.c.started.desc())
        .limit(_WRITES)
    )
    for row in store.rows(wrote):
        kinds = cast(dict[str, Any], row["taint"] or {})
        carried = cast(dict[str, Any], kinds.get("carried") or {})
        if not carried or not texts & set(_texts(row["arguments"])):
            continue
        content = json.dumps(row["arguments"], ensure_ascii=False, default=str)
        if carried.get("private"):
            taint.saw_private(f"{row['tool']} of an earlier run", content)
        if carried.get("untrusted"):
            taint.saw_untrusted(f"{row['tool']} of an earlier run", content)


def after_call(tool: Tool, result: ToolResult | None, taint: Taint) -> dict[str, Any]:
    """Take in what a tool said; what is stored beside the call."""
    taint.calls += 1
    taint.effects += tool.has_side_effects
    text = "" if result is None else f"{result.text}\n{json.dumps(result.value, ensure_ascii=False, default=str)}"
    taint.see(tool, text)
    private, untrusted = "reads-private" in tool.labels, "untrusted-source" in tool.labels
    if not untrusted and result is not None and _has_untrusted_items(result.value):
        untrusted = True
        taint.saw_untrusted(tool.name, text)
    kept: dict[str, Any] = {"private": private, "untrusted": untrusted, "effect": tool.has_side_effects}
    if tool.has_side_effects:
        kept["carried"] = {"private": bool(taint.private), "untrusted": bool(taint.untrusted)}
    return kept


def _remembered(store: Store, run_id: str, taint: Taint) -> None:
    shown = store.rows(select(memory_usage.c["items"]).where(memory_usage.c.run_id == run_id))
    ids = {str(pair[0]) for row in shown for pair in cast(list[list[Any]], row["items"] or [])}
    if not ids:
        return
    items = select(memory_items.c.id, memory_items.c.text, memory_items.c.trust, memory_items.c.source)
    for item in store.rows(items.where(memory_items.c.id.in_(ids))):
        source = f"memory:{item['id']}"
        if source in taint.untrusted:
            continue
        if item["trust"] in UNTRUSTED or _run_was_tainted(store, str(item["source"])):
            taint.saw_untrusted(source, item["text"])


def _run_was_tainted(store: Store, source: str) -> bool:
    """What a run that read untrusted text answered is no more to be trusted than that text."""
    if not source.startswith("run:"):
        return False
    rows = store.rows(select(tool_calls.c.taint).where(tool_calls.c.run_id == source.removeprefix("run:")))
    kinds = [cast(dict[str, Any], row["taint"] or {}) for row in rows]
    return any(kind.get("untrusted") for kind in kinds)


def _has_untrusted_items(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    rows = [cast(dict[str, Any], row) for row in cast(list[Any], value) if isinstance(row, dict)]
    return any(row.get("trust") in UNTRUSTED for row in rows)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for inner in cast(dict[Any, Any], value).values() for text in _texts(inner)]
    if isinstance(value, list):
        return [text for inner in cast(list[Any], value) for text in _texts(inner)]
    return []
