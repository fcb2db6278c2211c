"""Who calls: bearer tokens with scopes, budgets and rates.

A token file is TOML::

    [[token]]
    name = "desk"                       # shown in logs; its runs are seen by it alone
    token = "…"                         # or sha256 = "…" of it, so that the file holds no secret
    scopes = ["read", "run"]            # read: list and read; run: call tools. Both by default
    usd = 1.0                           # most that all its runs may cost together; the default is no limit
    tokens = 200000
    calls_per_minute = 30

or plain text with one token a line. Comparison takes the same time for right and wrong tokens.
"""

import hashlib
import hmac
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import insert, select, update

from pointwork.budgets import Budget, to_nano, to_usd
from pointwork.errors import BudgetExceeded, ConfigError, RateLimited
from pointwork.store import Store
from pointwork.store.tables import accounts, mcp_callers, mcp_runs

Scope = Literal["read", "run"]
ALL: tuple[Scope, ...] = ("read", "run")
LEAST_TOKEN = 16


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = Field(min_length=1, max_length=64, pattern=r"^[\w.-]+$")
    token: str | None = None
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    scopes: tuple[Scope, ...] = ALL
    usd: float | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    calls_per_minute: float | None = Field(default=None, gt=0)


@dataclass(frozen=True)
class Caller:
    """Somebody who may call.

    Attributes:
        name: of the token; "local" for whoever started the server on stdio or without tokens.
        digest: SHA-256 of the token.
        scopes: ``read`` and ``run``.
        usd, tokens: limits of all its runs together; None is none.
        calls_per_minute: of tools; None is no limit.
    """

    name: str
    digest: bytes = b""
    scopes: tuple[Scope, ...] = ALL
    usd: float | None = None
    tokens: int | None = None
    calls_per_minute: float | None = None

    @property
    def sees_all(self) -> bool:
        """Whether it sees the runs of all others."""
        return not self.digest


LOCAL = Caller("local")


def one_token(token: str) -> Caller:
    """A caller of ``--token``.

    Raises:
        ConfigError: it is too short to be a secret.
    """
    return Caller("token", _digest(token, "--token"))


def read_tokens(path: Path) -> list[Caller]:
    """The callers of a token file.

    Raises:
        ConfigError: it can not be read, or says something that can not be.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"can not read the token file {path}: {error}") from error
    lines = [line.strip() for line in text.splitlines()]
    if any(line.startswith("[[") for line in lines):
        found = _from_toml(path, text)
    else:
        plain = [line for line in lines if line and not line.startswith("#")]
        found = [Caller(f"token-{n}", _digest(line, f"{path}:{n}")) for n, line in enumerate(plain, 1)]
    if not found:
        raise ConfigError(f"the token file {path} has no token in it")
    for what, values in (("name", [c.name for c in found]), ("token", [c.digest for c in found])):
        if len(set(values)) < len(values):
            raise ConfigError(f"the token file {path} has the same {what} twice")
    return found


def _from_toml(path: Path, text: str) -> list[Caller]:
    try:
        rows = tomllib.loads(text).get("token", [])
        entries = [_Entry.model_validate(row) for row in rows]
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise ConfigError(f"the token file {path}: {_without_input(error)}") from error
    found: list[Caller] = []
    for entry in entries:
        if (entry.token is None) == (entry.sha256 is None):
            raise ConfigError(f"the token file {path}: {entry.name}: give either token or sha256")
        digest = (
            bytes.fromhex(entry.sha256) if entry.sha256 else _digest(entry.token or "", f"{path}: {entry.name}")
        )
        found.append(Caller(entry.name, digest, entry.scopes, entry.usd, entry.tokens, entry.calls_per_minute))
    return found


def _without_input(error: tomllib.TOMLDecodeError | ValidationError) -> str:
    # what was given may be the token itself
    if isinstance(error, ValidationError):
        return "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
    return str(error)


def _digest(token: str, where: str) -> bytes:
    if len(token) < LEAST_TOKEN or any(c.isspace() or not c.isprintable() or not c.isascii() for c in token):
        raise ConfigError(
            f"{where}: a token is at least {LEAST_TOKEN} printable ASCII characters without spaces; make one with "
            'python -c "import secrets; print(secrets.token_urlsafe(32))"'
        )
    return hashlib.sha256(token.encode()).digest()


def find_caller(callers: Sequence[Caller], token: str) -> Caller | None:
    """Whose token it is; all are compared, each in constant time."""
    digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
    found: Caller | None = None
    for caller in callers:
        if hmac.compare_digest(caller.digest, digest):
            found = caller
    return found


@dataclass
class _Live:
    tokens: float
    at: float
    held_nano: int = 0
    held_tokens: int = 0


@dataclass(frozen=True)
class Grant:
    """What one run of a caller may spend, held until it is settled."""

    caller: Caller
    budget: Budget
    nano: int = 0
    tokens: int = 0


@dataclass
class Accounts:
    """What callers have spent, kept in the store; what their running runs may still spend, kept here.

    One server process per token is assumed: of two at once, each holds back only what its own runs may spend.
    """

    store: Store
    clock: Callable[[], float] = time.monotonic
    _live: dict[str, _Live] = field(default_factory=dict[str, _Live])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, caller: Caller) -> None:
        """Count a call (a token bucket, filled at the caller's rate).

        Raises:
            RateLimited: too many of late; says how long to wait.
        """
        rate = caller.calls_per_minute
        if rate is None:
            return
        with self._lock:
            live = self._of(caller)
            now = self.clock()
            live.tokens = min(max(1.0, rate), live.tokens + (now - live.at) * rate / 60)
            live.at = now
            if live.tokens < 1:
                wait = (1 - live.tokens) * 60 / rate
                raise RateLimited(
                    f"{caller.name}: more than {rate:g} calls a minute; try again in {wait:.1f} s", retry_after=wait
                )
            live.tokens -= 1

    def grant(self, caller: Caller, asked: Budget) -> Grant:
        """Hold what a run may spend: what it asks for, at most what is left.

        Raises:
            BudgetExceeded: nothing is left, or other runs hold all of it.
        """
        if caller.usd is None and caller.tokens is None:
            return Grant(caller, asked)
        with self._lock:
            live = self._of(caller)
            spent_nano, spent_tokens = self.spent(caller)
            nano = tokens = 0
            if caller.usd is not None:
                left = to_nano(caller.usd) - spent_nano - live.held_nano
                nano = left if asked.usd is None else min(left, to_nano(asked.usd))
                _some(left, caller, "usd", f"{caller.usd:g} USD")
                asked = replace(asked, usd=to_usd(nano))
            if caller.tokens is not None:
                left = caller.tokens - spent_tokens - live.held_tokens
                tokens = left if asked.tokens is None else min(left, asked.tokens)
                _some(left, caller, "tokens", f"{caller.tokens} tokens")
                asked = replace(asked, tokens=tokens)
            live.held_nano += nano
            live.held_tokens += tokens
            return Grant(caller, asked, nano, tokens)

    def narrow(self, grant: Grant, run_id: str) -> None:
        """Let a run that goes on spend no more than its grant: its account has limits from when it began."""
        may = {"usd_nano": grant.nano} if grant.caller.usd is not None else {}
        may |= {"tokens": grant.tokens} if grant.caller.tokens is not None else {}
        if not may:
            return
        mine = (accounts.c.run_id == run_id, accounts.c.parent_id.is_(None))
        with self.store.write() as connection:
            row = connection.execute(select(accounts).where(*mine)).mappings().first()
            if row is not None:
                most = {f"limit_{unit}": row[f"spent_{unit}"] + left for unit, left in may.items()}
                lower = {name: new for name, new in most.items() if row[name] is None or new < row[name]}
                if lower:
                    connection.execute(update(accounts).where(*mine).values(lower))

    def settle(self, grant: Grant, usd: float, tokens: int) -> None:
        """A run has ended or stopped: give back what it held, and write down what it spent since its grant."""
        if grant.caller.sees_all:
            return
        with self._lock:
            live = self._of(grant.caller)
            live.held_nano -= grant.nano
            live.held_tokens -= grant.tokens
            with self.store.write() as connection:
                row = mcp_callers.c.name == grant.caller.name
                added = {
                    "spent_usd_nano": mcp_callers.c.spent_usd_nano + to_nano(max(0.0, usd)),
                    "spent_tokens": mcp_callers.c.spent_tokens + max(0, tokens),
                    "runs": mcp_callers.c.runs + 1,
                }
                if connection.execute(update(mcp_callers).where(row).values(added)).rowcount == 0:
                    values = {"name": grant.caller.name, "runs": 1}
                    values |= {"spent_usd_nano": to_nano(max(0.0, usd)), "spent_tokens": max(0, tokens)}
                    connection.execute(insert(mcp_callers), values)

    def spent(self, caller: Caller) -> tuple[int, int]:
        """Nano-USD and tokens of all its runs that have ended."""
        row = self.store.row(select(mcp_callers).where(mcp_callers.c.name == caller.name))
        return (0, 0) if row is None else (row["spent_usd_nano"], row["spent_tokens"])

    def owns(self, caller: Caller, run_ids: Iterable[str]) -> set[str]:
        """Of some runs, those that a caller may see."""
        asked = list(run_ids)
        if caller.sees_all:
            return set(asked)
        mine = select(mcp_runs.c.run_id).where(mcp_runs.c.caller == caller.name, mcp_runs.c.run_id.in_(asked))
        return {row["run_id"] for row in self.store.rows(mine)}

    def note_run(self, caller: Caller, run_id: str, tool: str) -> None:
        """Whose run it is."""
        with self.store.write() as connection:
            connection.execute(insert(mcp_runs), {"run_id": run_id, "caller": caller.name, "tool": tool})

    def tool_of(self, run_id: str) -> str | None:
        """The tool that began a run."""
        row = self.store.row(select(mcp_runs.c.tool).where(mcp_runs.c.run_id == run_id))
        return None if row is None else row["tool"]

    def _of(self, caller: Caller) -> _Live:
        return self._live.setdefault(caller.name, _Live(max(1.0, caller.calls_per_minute or 1.0), self.clock()))


def _some(left: int, caller: Caller, limit: str, of: str) -> None:
    if left <= 0:
        raise BudgetExceeded(
            f"{caller.name}: all of {of} is spent, or held by runs that go on; raise it in the token file",
            limit=limit,
            account=caller.name,
        )
