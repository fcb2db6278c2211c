"""Calling tools: metered, logged, asked about where a person must agree, and never silently twice.

A tool with side effects stores its intent and its idempotency key before the call and its result after it. If a
run that was killed in between goes on, the intent stands there without a result: *indeterminate*. Then, in this
order: the tool takes keys, so it is called again with the same one; it can be asked (``Tool.reconcile``); a person
is asked. What another try of the same run did is not done again either (``repeating``).
"""

import asyncio
import hashlib
import inspect
import json
import time
from dataclasses import dataclass, replace
from typing import Any, cast

from langgraph.types import interrupt
from sqlalchemy import insert, select, update

from pointwork.agents.repeating import SAME_AS, earlier
from pointwork.agents.tainting import after_call, before_call, taint_of, writing
from pointwork.errors import BudgetExceeded, ToolDenied, ToolError
from pointwork.ledger import Account, Amount
from pointwork.store import Store
from pointwork.store.tables import tool_calls, tool_writes
from pointwork.tools import Tool, ToolContext, ToolResult
from pointwork.tools.policy import Taint, check
from pointwork.tools.spec import as_result
from pointwork.tools.threads import in_thread

# What a person may answer; see ``Team.answer``.
APPROVE, DENY, DONE, REPEAT = "approve", "deny", "done", "repeat"

# Characters of a tool's result that are kept.
MAX_RESULT = 100_000

# Pieces of evidence of one call that are kept.
MAX_EVIDENCE = 50


@dataclass(frozen=True)
class Work:
    """For what tools are called.

    Attributes:
        run_id: of the run.
        name: of the attempt, ``p0.s1#1``.
        account: pays.
    """

    run_id: str
    name: str
    account: Account


class ToolCaller:
    """Calls the tools of one attempt at a subtask; its n-th call has the same key when the attempt is repeated."""

    def __init__(self, store: Store, work: Work, context: ToolContext) -> None:
        self._store, self._work, self._context = store, work, context
        self._count = 0

    async def call(self, tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool.

        Raises:
            ToolError: it failed.
            ToolDenied: a person refused the call.
            BudgetExceeded: no tool call is left.
            GraphInterrupt: a person must be asked; the run waits.
        """
        self._count += 1
        digest = hashlib.sha256(json.dumps(arguments, sort_keys=True, default=str).encode()).hexdigest()
        parts = (self._work.run_id, self._work.name, str(self._count), tool.name, digest)
        row = {
            "id": hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40],
            "run_id": self._work.run_id,
            "subtask": self._work.name,
            "tool": tool.name,
            "arguments": arguments,
            "arguments_hash": digest,
            "status": "intent",
            "started": time.time(),
        }
        taint = taint_of(self._store, self._work.run_id)
        if not tool.has_side_effects:
            self._permitted(tool, arguments, taint)
            return await self._run(tool, row)
        known = self._store.row(select(tool_calls).where(tool_calls.c.id == row["id"]))
        if known is None:
            if (before := earlier(self._store, row)) is not None:
                return await self._repeated(tool, row, before)
            self._permitted(tool, arguments, taint)
            return await self._run(tool, row)
        if known["status"] == "intent":
            return await self._indeterminate(tool, row)
        if known["status"] == "done":
            return _result_of(known["result"])
        raise ToolError(known["error"] or f"tool {tool.name!r} failed")

    async def _repeated(self, tool: Tool, row: dict[str, Any], before: dict[str, Any]) -> ToolResult:
        """The call that an overtaken try has made already: its result, or what can be found out about it."""
        if before["status"] == "intent":
            result = await self._indeterminate(tool, {name: before[name] for name in row})
            before = self._store.row(select(tool_calls).where(tool_calls.c.id == before["id"])) or before
        else:
            result = _result_of(before["result"])
        stands = {"status": "done", "result": {**_as_json(result), SAME_AS: before["id"]}, "finished": time.time()}
        with self._store.write() as connection:
            connection.execute(insert(tool_calls), {**row, **stands, "taint": before["taint"]})
        return result

    def _permitted(self, tool: Tool, arguments: dict[str, Any], taint: Taint) -> None:
        """Ask a person where the tool needs it, or the policy does after what the run has seen."""
        if tool.labels:  # what only computes neither brings anything in nor out
            before_call(self._store, self._work.run_id, arguments, taint)
        verdict = check(tool, arguments, taint)
        if tool.needs_approval or not verdict.allowed:
            self._approved(tool, arguments, verdict.why)

    def _approved(self, tool: Tool, arguments: dict[str, Any], why: str = "") -> None:
        asked = f"May {tool.name} be called with {json.dumps(arguments, ensure_ascii=False, default=str)}?"
        question = {
            "kind": "approval",
            "tool": tool.name,
            "arguments": arguments,
            "labels": sorted(tool.labels),
            "question": f"{asked} {why}".strip(),
            "answers": [APPROVE, DENY],
        }
        if self._ask(question) != APPROVE:
            raise ToolDenied(f"tool {tool.name!r}: a person refused this call{f' ({why})' if why else ''}")

    def _ask(self, question: dict[str, Any]) -> str:
        self._store.flush()  # what led here must be there for whoever goes on
        return str(interrupt({**question, "subtask": self._work.name}))

    async def _indeterminate(self, tool: Tool, row: dict[str, Any]) -> ToolResult:
        """A call that may have taken effect before the process ended."""
        if tool.takes_key:
            return await self._run(tool, row)
        failure = ""
        if tool.reconcile is not None:
            try:
                found = await in_thread(tool.reconcile, row["id"], dict(row["arguments"]))
                if inspect.isawaitable(found):
                    found = await found
                result = None if found is None else as_result(tool.name, found)
            except Exception as error:
                failure = f" It was asked whether it did, and failed: {type(error).__name__}: {error}."
            else:
                if result is None:
                    return await self._run(tool, row)
                self._finish(tool, row, "done", result, None)
                return result
        arguments = json.dumps(row["arguments"], ensure_ascii=False, default=str)
        answer = self._ask(
            {
                "kind": "indeterminate",
                "tool": tool.name,
                "arguments": row["arguments"],
                "labels": sorted(tool.labels),
                "question": f"{tool.name} was called with {arguments}, and the process ended before it returned. "
                f"It may have taken effect.{failure} Did it (done), shall it be called again (repeat), or shall "
                "the subtask end (deny)?",
                "answers": [DONE, REPEAT, DENY],
            }
        )
        if answer == REPEAT:
            return await self._run(tool, row)
        if answer == DONE:
            result = ToolResult("done", f"{tool.name}: done, as a person confirmed")
            self._finish(tool, row, "done", result, None)
            return result
        raise ToolDenied(
            f"tool {tool.name!r}: it is not known whether it took effect, and a person ended the subtask"
        )

    async def _run(self, tool: Tool, row: dict[str, Any]) -> ToolResult:
        with self._work.account.spending(Amount(tool_calls=1), by=f"tool:{tool.name}") as spending:
            if tool.has_side_effects:
                self._keep_intent(tool, row)
            spending.add(Amount(tool_calls=1))
            try:
                taint = taint_of(self._store, self._work.run_id)
                tainted = bool(taint.untrusted or taint.private)
                context = replace(
                    self._context, idempotency_key=row["id"], run_id=self._work.run_id, tainted=tainted
                )
                result = _capped(await self._in_time(tool, dict(row["arguments"]), context))
            except ToolError as error:
                # a function that ran out of time may still be at work: whether it took effect is not known
                if not (tool.has_side_effects and isinstance(error.__cause__, TimeoutError)):
                    self._finish(tool, row, "failed", None, str(error))
                raise
        self._finish(tool, row, "done", result, None)
        return result

    async def _in_time(self, tool: Tool, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        """Call it within what is left of the budget's seconds.

        Raises:
            BudgetExceeded: they are over; whether a call with side effects took effect is not known then.
        """
        account = self._work.account
        left = None if account.deadline is None else max(0.0, account.deadline - account.ledger.clock())
        limit = asyncio.timeout(left)
        try:
            async with limit:
                return await tool.call(arguments, context)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise BudgetExceeded(
                f"{account.kind} {account.name!r}: out of time while {tool.name} was at work",
                limit="seconds",
                account=account.name,
            ) from error

    def _keep_intent(self, tool: Tool, row: dict[str, Any]) -> None:
        written = writing(tool, row, taint_of(self._store, self._work.run_id))
        with self._store.write() as connection:
            known = connection.execute(select(tool_calls.c.id).where(tool_calls.c.id == row["id"])).first()
            if known is None:
                connection.execute(insert(tool_calls), row)
                self._store.insert(connection, tool_writes, *written)

    def _finish(
        self, tool: Tool, row: dict[str, Any], status: str, result: ToolResult | None, error: str | None
    ) -> None:
        ended = {
            "taint": after_call(tool, row["arguments"], result, taint_of(self._store, self._work.run_id), error),
            "status": status,
            "result": None if result is None else _as_json(result),
            "error": error,
            "finished": time.time(),
        }
        if tool.has_side_effects:
            with self._store.write() as connection:
                connection.execute(update(tool_calls).where(tool_calls.c.id == row["id"]).values(ended))
        else:
            # reading again changes nothing, so each call is a row of its own
            self._store.append(tool_calls, {**row, **ended, "id": f"{row['id'][:32]}{time.time_ns():x}"})


def _capped(result: ToolResult) -> ToolResult:
    """A result that fits into prompts and the store: a flood is cut, and says so."""
    size = len(json.dumps(result.value, default=str))
    evidence = tuple((source, _cut(text)) for source, text in result.evidence[:MAX_EVIDENCE])
    value = result.value if size <= MAX_RESULT else {"cut": f"the value had {size:,} characters"}
    return replace(result, value=value, text=_cut(result.text), evidence=evidence)


def _cut(text: str) -> str:
    if len(text) <= MAX_RESULT:
        return text
    return f"{text[:MAX_RESULT]}\n… cut: it had {len(text):,} characters"


def _as_json(result: ToolResult) -> dict[str, Any]:
    value = {
        "value": result.value,
        "text": result.text,
        "evidence": [list(piece) for piece in result.evidence],
        "answer": result.answer,
        "choices": list(result.choices),
    }
    return json.loads(json.dumps(value, default=str))


def _result_of(value: Any) -> ToolResult:
    stored = cast(dict[str, Any], value)
    evidence = tuple((str(source), str(text)) for source, text in stored["evidence"])
    choices = tuple(str(choice) for choice in stored.get("choices", ()))
    return ToolResult(stored["value"], stored["text"], evidence, stored.get("answer", ""), choices)
