"""Logs of tau-bench: a JSON array (or lines) of ``{"task_id", "trial", "reward", "traj", "info"}``."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, cast

from pointwork.portable import canonical
from pointwork.portable.conversation import Chat
from pointwork.portable.files import Input
from pointwork.portable.importer import Record, line_records
from pointwork.portable.messages import checked_messages, checked_reward, first_request
from pointwork.portable.rows import Row, Wrong, expect

FORMAT = "tau-bench"

# How the tools of its environments begin when they refuse.
ERRORS = "Error"


def records(source: Input) -> Iterator[Record]:
    """The records of a log, whether it is one array or has one per line."""
    lines = source.lines()
    number, first = next(lines)
    if not first.lstrip().startswith(b"["):
        yield from line_records(chain([(number, first)], lines))
        return
    text = source.whole(first)
    try:
        values = cast(list[Any], canonical.load(text))
    except ValueError as error:
        # what stands before the break is no log: trials would be missing without a word
        yield "the array", Wrong("", f"{error} (was the file cut off?)"), len(text)
        return
    if not values:
        yield "the array", Wrong("", "is empty: there is nothing to import"), 0
    for i, value in enumerate(values, 1):
        yield f"record {i}", value, len(text) // len(values)


def chat_of(value: Any, dataset: str, model: str | None) -> Chat:
    """A record as a chat.

    Raises:
        Wrong: a field is missing or of another type.
    """
    record = cast(Row, expect(value, dict, ""))
    for name in ("task_id", "trial", "reward", "traj"):
        if record.get(name) is None:
            raise Wrong(name, "is missing")
    task = record["task_id"]
    if isinstance(task, bool) or not isinstance(task, int | str):
        raise Wrong("task_id", f"must be a whole number or a text, not {task!r}")
    messages = checked_messages(record["traj"], "traj")
    info = cast(Row, expect(record.get("info") or {}, dict, "info"))
    given = info.get("task")
    wanted = cast(Row, given).get("instruction") if isinstance(given, dict) else None
    return Chat(
        format=FORMAT,
        dataset=dataset,
        task=str(task),
        trial=expect(record["trial"], int, "trial"),
        # the user is played by a model from this instruction; the agent sees only what that one says
        request=wanted if isinstance(wanted, str) else first_request(messages),
        model=model or dataset,
        messages=messages,
        reward=checked_reward(record["reward"], "reward"),
        extra={key: item for key, item in record.items() if key not in ("traj", "task_id", "trial", "reward")},
        errors=ERRORS,
    )
