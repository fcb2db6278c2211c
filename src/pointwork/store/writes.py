"""What calls of tools wrote, by the names in their arguments: a later run that names it finds whence it came."""

import hashlib
import posixpath
from collections.abc import Iterable, Iterator
from typing import Any, cast

from sqlalchemy import select, union_all

from pointwork.store.store import Row, Store
from pointwork.store.tables import tool_calls, tool_writes

# Of what stands under the same names, so many calls are told of, the latest first: per kind, so that no flood of
# one kind hides the other.
LATEST = 500

_SHORTEST = 3  # characters of what can be a name
_LONGEST_PATH = 300


def names(value: Any) -> set[str]:
    """All texts in some arguments, spelled alike."""
    return {spelled(text) for text in texts(value) if len(text.strip()) >= _SHORTEST}


def spelled(name: str) -> str:
    """A path or a name as all that mean the same are spelled: ``./Out.txt`` is ``out.txt``."""
    return posixpath.normpath(name.strip().casefold())


def folders(name: str) -> list[str]:
    """The folders that a path, spelled as all are, lies in: whoever packs one of them has the file too."""
    parts = name.split("/")
    if ":/" in name or len(name) > _LONGEST_PATH or any(c.isspace() for c in name):
        return []
    return [folder for n in range(1, len(parts)) if (folder := "/".join(parts[:n])) and len(folder) >= _SHORTEST]


def texts(value: Any) -> list[str]:
    """All texts in a JSON value, without the keys of objects."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for inner in cast(dict[Any, Any], value).values() for text in texts(inner)]
    if isinstance(value, list):
        return [text for inner in cast(list[Any], value) for text in texts(inner)]
    return []


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def rows_of(
    call_id: str, run_id: str | None, arguments: Any, *, private: bool, untrusted: bool, unasked: bool = False
) -> list[Row]:
    """Rows of ``tool_writes`` for a call with effects; none where it carries nothing.

    Args:
        call_id, run_id, arguments: of the call.
        private: whether its run had seen private data.
        untrusted: whether its run had seen text of outsiders.
        unasked: whether what it wrote holds private data that its user did not speak of.
    """
    if not (private or untrusted):
        return []
    row = {"call_id": call_id, "run_id": run_id, "private": private, "untrusted": untrusted, "unasked": unasked}
    named = names(arguments)
    named |= {folder for name in named for folder in folders(name)}
    return [{"name": _digest(name), **row} for name in sorted(named)]


def rows_of_stored(calls: Iterable[Row]) -> Iterator[Row]:
    """The same from rows of ``tool_calls``: of an import, or of before there was this table."""
    for call in calls:
        taint: Any = call["taint"]
        carried: Any = cast(Row, taint).get("carried") if isinstance(taint, dict) else None
        if isinstance(carried, dict):
            kinds = cast(Row, carried)
            private, untrusted = bool(kinds.get("private")), bool(kinds.get("untrusted"))
            yield from rows_of(call["id"], call["run_id"], call["arguments"], private=private, untrusted=untrusted)


def written_before(store: Store, run_id: str, named: set[str]) -> list[Row]:
    """What other runs wrote under these names.

    Returns:
        Of each call ``tool``, ``arguments``, ``private``, ``untrusted`` and ``unasked``.

    Raises:
        StoreError: the database refused.
    """
    digests = [_digest(name) for name in sorted(named)]
    columns = tool_writes.c
    kinds = [
        select(columns.call_id, columns.private, columns.untrusted, columns.unasked)
        .where(columns.name.in_(digests), columns.run_id != run_id, kind.is_(True))
        .order_by(columns.id.desc())
        .limit(LATEST)
        .subquery()
        for kind in (columns.private, columns.untrusted)
    ]
    # first without the calls, though a join were one query: calls that only read wait in the store's buffer, and
    # to ask for their table is to write them out, on each call of a tool
    found = {row["call_id"]: row for row in store.rows(union_all(*(select(kind) for kind in kinds)))}
    if not found:
        return []
    calls = select(tool_calls.c.id, tool_calls.c.tool, tool_calls.c.arguments).where(tool_calls.c.id.in_(found))
    return [{**found[call["id"]], **call} for call in store.rows(calls)]
