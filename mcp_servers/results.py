"""What the tools of ``pointwork serve`` give back: one structure for answers, partial answers and errors."""

from collections.abc import Mapping
from typing import Any

from pointwork.agents.result import Result
from pointwork.errors import (
    BudgetExceeded,
    PointworkError,
    ProviderError,
    RateLimited,
    ToolDenied,
    ToolError,
    UsageError,
)

_TEXT = {"type": "string"}

# ``status`` is always there; ``error`` only where it is "error".
OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {
            "enum": ["ok", "failed", "budget_exhausted", "waiting", "interrupted", "running", "error"],
            "description": "ok: the answer passed its checks. failed, budget_exhausted, interrupted: text is "
            "partial. waiting: a person must answer. running: it goes on; ask again with 'resume'.",
        },
        "text": {**_TEXT, "description": "The answer, or what there is of it."},
        "run_id": {**_TEXT, "description": "For 'resume' and for the resource run://{run_id}."},
        "cost": {
            "type": "object",
            "properties": {
                "usd": {"type": "number"},
                "tokens": {"type": "integer"},
                "seconds": {"type": "number"},
                "calls": {"type": "integer"},
                "tool_calls": {"type": "integer"},
            },
            "required": ["usd", "tokens", "seconds", "calls", "tool_calls"],
        },
        "evidence": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": _TEXT, "source": _TEXT, "text": _TEXT},
                "required": ["id", "source", "text"],
            },
        },
        "missing": {"type": "array", "items": _TEXT},
        "questions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": _TEXT, "question": _TEXT, "answers": {"type": "array", "items": _TEXT}},
                "required": ["id", "question", "answers"],
            },
        },
        "error": {
            "type": "object",
            "properties": {
                "kind": _TEXT,
                "message": _TEXT,
                "retryable": {"type": "boolean"},
                "retry_after": {"type": "number", "description": "seconds"},
            },
            "required": ["kind", "message", "retryable"],
        },
    },
    "required": ["status"],
}

_KINDS: tuple[tuple[type[PointworkError], str], ...] = (
    (UsageError, "usage"),
    (BudgetExceeded, "budget"),
    (ToolDenied, "denied"),
    (ToolError, "tool"),
    (RateLimited, "rate_limited"),
    (ProviderError, "provider"),
)


def structured(result: Result) -> dict[str, Any]:
    """A result as ``OUTPUT_SCHEMA`` has it."""
    value = result.as_json()
    kept = {key: value[key] for key in ("status", "text", "run_id", "cost", "evidence", "missing")}
    kept["questions"] = [{key: q[key] for key in ("id", "question", "answers")} for q in value["questions"]]
    return kept


def structured_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A run's row of the store as ``OUTPUT_SCHEMA`` has it: what is known of a run that has no result yet."""
    if row["result"] is not None:
        known = structured(Result.from_json(row["result"]))
        return {**known, "status": row["status"]}
    found: dict[str, Any] = {"status": row["status"], "text": "", "run_id": row["id"]}
    if row["error"]:
        found["missing"] = [row["error"]]
    return found


def structured_error(error: Exception, run_id: str | None = None) -> dict[str, Any]:
    """An error as ``OUTPUT_SCHEMA`` has it. What was not meant for a caller says only that it happened."""
    kind = next((name for known, name in _KINDS if isinstance(error, known)), "")
    if not kind:
        kind = "failed" if isinstance(error, PointworkError) else "internal"
    message = str(error) if isinstance(error, PointworkError) else f"{type(error).__name__} inside the server"
    about: dict[str, Any] = {
        "kind": kind,
        "message": message,
        "retryable": isinstance(error, ProviderError) and error.retryable,
    }
    if isinstance(error, RateLimited) and error.retry_after is not None:
        about["retry_after"] = round(error.retry_after, 3)
    value: dict[str, Any] = {"status": "error", "error": about}
    if run_id:
        value["run_id"] = run_id
    return value
