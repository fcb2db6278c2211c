"""Chats in OpenAI's form, one per line: ``{"messages": […], "reward": …, "metadata": {…}, …}``."""

import hashlib
from typing import Any, cast

from pointwork.portable.conversation import Chat
from pointwork.portable.messages import checked_messages, checked_reward, first_request
from pointwork.portable.routing_logs import LATEST
from pointwork.portable.rows import Row, Wrong, expect

FORMAT = "openai-chat"

_OWN = ("messages", "reward", "score", "model", "task_id", "trial", "created")


class Trials:
    """Numbers the chats of a task that do not say which trial they are."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def of(self, task: str, given: int | None) -> int:
        """The number given, or the next one."""
        trial = self._next.get(task, 0) if given is None else given
        self._next[task] = max(self._next.get(task, 0), trial + 1)
        return trial


def chat_of(value: Any, dataset: str, model: str | None, trials: Trials) -> Chat:
    """A record as a chat.

    ``model``, ``task_id``, ``trial``, ``created``, ``reward`` (or ``score``) are taken from the record or from its
    ``metadata``. Without a task id, chats with the same first request are trials of one task.

    Raises:
        Wrong: a field is missing or of another type.
    """
    record = cast(Row, expect(value, dict, ""))
    if "messages" not in record:
        raise Wrong("messages", "is missing")
    messages = checked_messages(record["messages"], "messages")
    metadata = cast(Row, expect(record.get("metadata") or {}, dict, "metadata"))

    def given(name: str) -> tuple[Any, str]:
        if record.get(name) is not None:
            return record[name], name
        return metadata.get(name), f"metadata.{name}"

    reward, field = given("reward")
    if reward is None:
        reward, field = given("score")
    request = first_request(messages)
    task = _task(*given("task_id"), request)
    named, name_field = given("model")
    return Chat(
        format=FORMAT,
        dataset=dataset,
        task=task,
        trial=trials.of(task, _whole(*given("trial"))),
        request=request,
        model=model or (dataset if named is None else _name(named, name_field)),
        messages=messages,
        reward=checked_reward(reward, field),
        extra={key: item for key, item in record.items() if key not in _OWN},
        created=_time(*given("created")),
    )


def _task(value: Any, field: str, request: str) -> str:
    if value is None:
        return hashlib.sha256(request.encode(errors="surrogatepass")).hexdigest()[:16]
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Wrong(field, f"must be a text or a whole number, not {value!r}")
    return str(value)


def _name(value: Any, field: str) -> str:
    if not expect(value, str, field).strip():
        raise Wrong(field, "is a text without a letter")
    return str(value)


def _whole(value: Any, field: str) -> int | None:
    return None if value is None else int(expect(value, int, field))


def _time(value: Any, field: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LATEST:
        raise Wrong(field, f"must be seconds since 1970, not {str(value)[:40]}")
    return float(value)
