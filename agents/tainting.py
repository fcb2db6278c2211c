"""What a run has seen, kept between its calls, its processes, and the runs that read what it wrote."""

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, cast

from sqlalchemy import select

from pointwork.memory.items import UNTRUSTED
from pointwork.store import Store
from pointwork.store.tables import memory_items, memory_usage, runs, tool_calls
from pointwork.store.writes import names, rows_of, written_before
from pointwork.tools import Tool, ToolResult
from pointwork.tools.carried import places, strings
from pointwork.tools.policy import Taint, spoils

_KEPT = 256  # runs whose taint is kept in memory
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
    return _keep(key, _from_store(store, run_id))


def begin_taint(store: Store, run_id: str, task: str) -> None:
    """A run that begins here has seen nothing yet: the store need not be asked."""
    _keep((str(store.url), run_id), Taint(task=task))


def _keep(key: tuple[str, str], found: Taint) -> Taint:
    with _lock:
        found = _known.setdefault(key, found)
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return found


def _from_store(store: Store, run_id: str) -> Taint:
    row = store.row(select(runs.c.task).where(runs.c.id == run_id))
    taint = Taint(task="" if row is None else row["task"])
    calls = select(tool_calls).where(tool_calls.c.run_id == run_id).order_by(tool_calls.c.started)
    named: set[str] = set()
    for call in store.rows(calls):
        taint.calls += 1
        kinds: dict[str, Any] = call["taint"] or {}
        taint.effects += bool(kinds.get("effect"))
        failed = call["result"] is None
        text = _complaint(call["error"], call["arguments"]) if failed else _as_text(call["result"])
        if kinds.get("private"):
            taint.saw_private(call["tool"], text, call["arguments"])
        if kinds.get("untrusted"):
            taint.saw_untrusted(call["tool"], text)
        if not kinds.get("private") and not kinds.get("untrusted"):
            taint.saw_other(text, call["arguments"])
        if kinds.get("effect"):
            taint.written |= names(call["arguments"])
        carried = cast(dict[str, Any], kinds.get("carried") or {})
        if carried.get("untrusted"):
            taint.foreign |= places(call["arguments"])
        if carried.get("unasked"):
            taint.saw_spoilt(_as_text(call["arguments"]), call["arguments"])
        named |= names(call["arguments"])
    _take_in_written(store, run_id, named, taint)
    _take_in(store, taint, _remembered(store, run_id))
    return taint


def before_call(store: Store, run_id: str, arguments: dict[str, Any], taint: Taint) -> None:
    """Take in what earlier runs wrote, if the call names it."""
    _take_in_written(store, run_id, names(arguments), taint)


def _take_in_written(store: Store, run_id: str, named: set[str], taint: Taint) -> None:
    for call in written_before(store, run_id, named) if named else ():
        source, content = f"{call['tool']} of an earlier run", _as_text(call["arguments"])
        if call["private"]:
            taint.saw_private(source, content, call["arguments"])
        if call["untrusted"]:
            taint.saw_untrusted(source, content)
            taint.foreign |= places(call["arguments"])
        if call["unasked"]:
            taint.saw_spoilt(content, call["arguments"])


def writing(tool: Tool, call: dict[str, Any], taint: Taint) -> list[dict[str, Any]]:
    """Rows of ``tool_writes`` for a call that is about to take effect: what it may carry, by what it names."""
    return rows_of(
        call["id"],
        call["run_id"],
        call["arguments"],
        private=bool(taint.private) or "reads-private" in tool.labels,
        untrusted=bool(taint.untrusted) or "untrusted-source" in tool.labels,
        unasked=spoils(tool, call["arguments"], taint),
    )


def after_call(
    tool: Tool, arguments: dict[str, Any], result: ToolResult | None, taint: Taint, error: str | None = None
) -> dict[str, Any]:
    """Take in what a tool said, also when it failed; what is stored beside the call."""
    clean = not taint.untrusted  # whoever chose this call had read nothing that an outsider wrote
    taint.calls += 1
    taint.effects += tool.has_side_effects
    text = _complaint(error, arguments) if result is None else f"{result.text}\n{_as_text(result.value)}"
    private = "reads-private" in tool.labels
    untrusted = "untrusted-source" in tool.labels or taint.reads_foreign(tool, arguments)
    taint.see(tool, text, arguments)
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
        spoilt = spoils(tool, arguments, taint)
        kept["carried"] = {"private": bool(taint.private), "untrusted": bool(taint.untrusted), "unasked": spoilt}
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
    fresh = set(sources) - taint.shown
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
    taint.shown |= fresh


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


def _complaint(error: str | None, arguments: dict[str, Any]) -> str:
    """What a tool said when it failed, without what the call gave to it: that is no word of the tool's."""
    text = error or ""
    for _, piece in strings(arguments):
        text = text.replace(piece, " ") if len(piece) > 2 else text
    return text


def _as_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
