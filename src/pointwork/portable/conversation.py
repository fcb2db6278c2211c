"""Chats of other programs as runs: messages, tool calls and a reward become the rows of a whole run.

A run made of a chat has

- a ``note`` step with what the record said beside the chat (``input.import``);
- a ``model`` step per message of the assistant: ``input.messages`` holds the messages since the one before, and
  ``input.continues`` says so; ``output`` holds the answer (``messages_of`` puts the prompts together again);
- a ``note`` step with the messages after the last answer, if there are any;
- a ``tool_calls`` row per call, with its result;
- one decision (router ``import:<format>``, one candidate, propensity 1) that the reward is the outcome of. Its
  ``context.import`` holds ``dataset``, ``task`` and ``trial``, by which groups are made.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from pointwork.portable import canonical
from pointwork.portable.importer import Prepared
from pointwork.portable.messages import calls_of, text_of
from pointwork.portable.rows import Row, checked
from pointwork.store import tables

# What a run's only subtask is called, so that feedback finds its decision.
SUBTASK = "p0.s1"
# A reward from here on makes the run's status ok.
OK_FROM = 0.5


@dataclass(frozen=True)
class Chat:
    """One conversation of another program.

    Attributes:
        format: its format's name.
        dataset, task, trial: trials of a task of a dataset make a group.
        request: what was asked, in words.
        model: who answered.
        messages: in OpenAI's form, checked by ``checked_messages``.
        reward: 0 to 1, or None if it is not known.
        extra: what else the record said.
        created: when it was (seconds since the epoch); None: now.
        errors: results of tools that begin so are failures.
    """

    format: str
    dataset: str
    task: str
    trial: int
    request: str
    model: str
    messages: Sequence[Row]
    reward: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    created: float | None = None
    errors: str | None = None


class Names:
    """Ids for records that have none: the same record gets the same one in every import."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._seen: dict[bytes, int] = {}

    def of(self, record: Any) -> str:
        """40 hex digits of the record, and of how many like it came before."""
        digest = hashlib.sha256(self._kind.encode() + b"\0" + canonical.dump(record))
        before = self._seen.get(digest.digest(), 0)
        self._seen[digest.digest()] = before + 1
        digest.update(str(before).encode())
        return digest.hexdigest()[:40]


def prepared(chat: Chat, run_id: str, number: int) -> Prepared:
    """The rows of a chat.

    Args:
        chat: to be stored.
        run_id: of the run it becomes.
        number: how many came before it from the same source: the clock of its decision.
    """
    created = time.time() if chat.created is None else chat.created
    answers = [message for message in chat.messages if message["role"] == "assistant"]
    decision = _decision(chat, run_id, number, created)
    status = "ok" if chat.reward is None or chat.reward >= OK_FROM else "failed"
    outcome = {
        "decision_id": decision["id"],
        "created": created,
        "quality": chat.reward,
        "usd": None,
        "seconds": None,
        "error": None,
        "source": "import",
    }
    run = {
        "id": run_id,
        "thread": None,
        "task": chat.request,
        "root": None,
        "status": status,
        "created": created,
        "finished": created,
        "budget": None,
        "result": _result(chat, run_id, decision["id"], status, text_of(answers[-1].get("content"))),
        "error": None,
        "package_version": version("pointwork"),
    }
    rows = {
        "runs": [run],
        "steps": _steps(chat, run_id, created),
        "decisions": [decision],
        "outcomes": [] if chat.reward is None else [outcome],
        "tool_calls": _tool_calls(chat, run_id, created),
    }
    # texts of others: what no database takes is found here, and named
    by_name = tables.metadata.tables
    return Prepared(run_id, {name: [checked(by_name[name], row, name) for row in rows[name]] for name in rows})


def _decision(chat: Chat, run_id: str, number: int, created: float) -> Row:
    return {
        "id": f"dec{run_id[:28]}",
        "run_id": run_id,
        "subtask": SUBTASK,
        "router": f"import:{chat.format}",
        "created": created,
        "clock": number,
        "policy": "import",
        "policy_version": "",
        "features_version": "none",
        "text": chat.request,
        "context": {"import": {"dataset": chat.dataset, "task": chat.task, "trial": chat.trial}},
        "candidates": [chat.model],
        "arm": chat.model,
        "propensity": 1.0,
        "propensities": {chat.model: 1.0},
        "scores": {},
    }


def _result(chat: Chat, run_id: str, decision_id: str, status: str, text: str) -> Row:
    """A result as ``Result.as_json`` gives it, so that a run made of a chat is shown like any other."""
    subtask: Row = {"id": "s1", "text": chat.request, "capability": "chat", "needs": [], "answer_type": "text"}
    decided: Row = {
        "id": decision_id,
        "subtask": SUBTASK,
        "arm": chat.model,
        "propensity": 1.0,
        "tiers": {},
        "status": status,
        "usd": 0.0,
        "seconds": 0.0,
    }
    return {
        "text": text,
        "status": status,
        "run_id": run_id,
        "cost": {"usd": 0.0, "tokens": 0, "seconds": 0.0, "calls": 0, "tool_calls": 0},
        "plan": {"subtasks": [subtask], "author": "instant", "problems": []},
        "decisions": [decided],
        "evidence": [],
        "missing": [] if status == "ok" else [f"{chat.format}: reward {chat.reward:g}"],
    }


def _steps(chat: Chat, run_id: str, created: float) -> list[Row]:
    steps = [_step(run_id, "note", created, {"import": {"format": chat.format, **chat.extra}})]
    new: list[Row] = []
    for message in chat.messages:
        if message["role"] != "assistant":
            new.append(message)
            continue
        more = {key: item for key, item in message.items() if key not in ("role", "content")}
        called = "tool_calls" in more or "function_call" in more
        content = message["content"]
        output = {**more, "text": text_of(content), "finish": "tool_calls" if called else "stop"}
        if isinstance(content, list):
            output["content"] = content
        given = {"messages": new, "continues": True}
        steps.append(_step(run_id, "model", created, given, output, chat.model))
        new = []
    if new:
        steps.append(_step(run_id, "note", created, {"messages": new, "continues": True}))
    return steps


def _step(
    run_id: str, kind: str, created: float, given: Row, output: Row | None = None, model: str | None = None
) -> Row:
    return {
        "run_id": run_id,
        "subtask": SUBTASK,
        "kind": kind,
        "agent": "assistant" if model else None,
        "role": None,
        "model": model,
        "model_version": None,
        "input": given,
        "output": output,
        "token_ids": None,
        "logprobs": None,
        "prompt_tokens": None,
        "completion_tokens": None,
        "usd_nano": None,
        "started": created,
        "seconds": 0.0,
        "error": None,
    }


def _tool_calls(chat: Chat, run_id: str, created: float) -> list[Row]:
    rows: list[Row] = []
    open_calls: dict[str, Row] = {}
    for message in chat.messages:
        if message["role"] == "assistant":
            open_calls = {}  # ids may be used again later in a chat
            for call_id, tool, arguments in calls_of(message):
                row = _tool_call(run_id, len(rows), tool, arguments, created)
                rows.append(row)
                open_calls[call_id or tool] = row
        elif message["role"] in ("tool", "function"):
            row = open_calls.get(str(message.get("tool_call_id") or message.get("name")))
            if row is not None:
                _answer(row, text_of(message["content"]), chat.errors)
    return rows


def _tool_call(run_id: str, number: int, tool: str, arguments: Any, created: float) -> Row:
    """A call whose result is not known (yet)."""
    plain = json.dumps(arguments, sort_keys=True)
    return {
        "id": hashlib.sha256(f"{run_id}\0{number}".encode()).hexdigest()[:40],
        "run_id": run_id,
        "subtask": SUBTASK,
        "tool": tool,
        "arguments": arguments,
        "arguments_hash": hashlib.sha256(plain.encode()).hexdigest(),
        "status": "intent",
        "result": None,
        "error": None,
        "taint": None,
        "started": created + number * 1e-6,  # an order: the chat does not say when
        "finished": None,
    }


def _answer(row: Row, text: str, errors: str | None) -> None:
    failed = errors is not None and text.startswith(errors)
    row |= {
        "status": "failed" if failed else "done",
        "result": {"value": text, "text": text, "evidence": []},
        "error": text if failed else None,
        "finished": row["started"],
    }
