"""Roles, budgets, retries and the log around every model call."""

import asyncio
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace

from pointwork.errors import BudgetExceeded, ConfigError, ProviderError, ProviderTimeout
from pointwork.ledger import Account, Amount, Reservation
from pointwork.models.adapters import Adapter, adapter_for
from pointwork.models.checks import checked_chat, checked_clients, checked_count
from pointwork.models.counting import request_tokens
from pointwork.models.protocol import ChatRequest, Completion, ModelClient, Price
from pointwork.models.retry import with_retries
from pointwork.settings import ModelSettings, Settings
from pointwork.store import Store
from pointwork.store.tables import steps

# An answer cut below this many tokens is of no use: then the budget has ended.
LEAST_TOKENS = 16
_KEPT = 2  # versions of a role whose clients stay open: each embedded one holds some 300 MB
_RUNS = 1024  # runs and roles whose version is remembered


@dataclass(frozen=True)
class Caller:
    """For whom a call is made: what the ledger and the steps say.

    Attributes:
        account: pays for it.
        by: ``planner``, ``agent:files``, ``judge`` …
        run_id, subtask, agent: of the run, where there is one.
    """

    account: Account
    by: str
    run_id: str | None = None
    subtask: str | None = None
    agent: str | None = None


class Models:
    """The models of a configuration, by role.

    Roles that name the same model share one client, one concurrency limit and one price.

    Args:
        settings: which role is served by what.
        store: where each call is logged.
        clients: ready-made clients by role (tests, models of the user's own); they win over the settings.

    Raises:
        UsageError: a client lacks what ``ModelClient`` asks for.
    """

    def __init__(self, settings: Settings, store: Store, clients: Mapping[str, ModelClient] | None = None) -> None:
        self._settings = settings
        self._store = store
        self._clients = checked_clients(clients or {})
        self._opened: dict[str, ModelClient] = {}
        self._adapted: dict[str, dict[str, ModelClient]] = {}  # role -> version -> client, the newest last
        self._runs: OrderedDict[tuple[str, str], Adapter | None] = OrderedDict()
        self._lock = threading.Lock()
        # a semaphore belongs to the event loop that first waits for it
        self._slots: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, asyncio.Semaphore]]
        self._slots = weakref.WeakKeyDictionary()

    @property
    def given(self) -> Collection[str]:
        """Roles of ready-made clients."""
        return self._clients.keys()

    def client(self, role: str) -> ModelClient:
        """The client of a role's base model; opened at first use (an embedded model loads at its first call).

        Calls go to the role's live adapter, if there is one: its name, price and size are those of the base.

        Raises:
            ConfigError: the role's model is not understood, or its key is missing.
        """
        with self._lock:
            if role in self._clients:
                return self._clients[role]
            if self._clients and not self._settings.models:
                # ready-made clients: any role they do not name is served by the first of them
                return next(iter(self._clients.values()))
            return self._open(self._settings.model_for(role))

    def _open(self, wanted: ModelSettings) -> ModelClient:
        known = self._opened.get(wanted.model)
        if known is None:
            known = self._opened[wanted.model] = open_for(wanted, None)
        return known

    def adapter(self, role: str, run_id: str | None = None) -> Adapter | None:
        """The adapter that serves a role, in this run or for the next: published, or of the package; None without.

        Raises:
            ConfigError: the package's own adapter is damaged.
        """
        if self._clients or not self._settings.adapters:
            return None
        return self._adapter_of(role, run_id)

    def trained(self, role: str, run_id: str | None = None) -> bool:
        """Whether what serves a role was trained for it: an adapter, or a ready-made client that has a version."""
        if self._clients:
            return role in self._clients and bool(getattr(self._clients[role], "version", ""))
        return self.adapter(role, run_id) is not None

    async def _serving(self, role: str, run_id: str | None) -> ModelClient:
        """The client that answers: with the adapter that was live when the run first asked, if there is one."""
        base, adapter = self.client(role), self.adapter(role, run_id)
        if adapter is None:
            return base
        with self._lock:
            mine = self._adapted.setdefault(role, {})
            client = mine.get(adapter.version)
            if client is None:
                client = mine[adapter.version] = open_for(self._settings.model_for(role), adapter)
            # runs that began before a switch end with the version that they began with
            old = [mine.pop(version) for version in list(mine)[:-_KEPT] if version != adapter.version]
        for one in old:
            await one.aclose()  # waits for its calls; a run that still needs it loads it again
        return client

    def _adapter_of(self, role: str, run_id: str | None) -> Adapter | None:
        spec = self._settings.model_for(role).model
        if run_id is None:
            return adapter_for(self._store, role, spec)
        key = (run_id, role)
        with self._lock:
            if key in self._runs:
                self._runs.move_to_end(key)
                return self._runs[key]
        found = adapter_for(self._store, role, spec)
        with self._lock:
            found = self._runs.setdefault(key, found)
            while len(self._runs) > _RUNS:
                self._runs.popitem(last=False)
        return found

    def _settings_of(self, role: str) -> ModelSettings:
        return self._settings.model_for(role)

    async def chat(self, role: str, request: ChatRequest, caller: Caller) -> Completion:
        """Answer, with the budget reserved before and settled after, retries in between, and a step logged.

        The answer is shortened to what the budget and the context window can still hold. It may fail to satisfy
        the request's schema (a back end that does not constrain, an answer that was cut): the caller checks.

        Raises:
            BudgetExceeded: not even a short answer can be paid, or time is up.
            ProviderError: the back end failed for good.
        """
        client, settings = await self._serving(role, caller.run_id), self._settings_of(role)
        await _started(client)
        prompt_tokens = checked_count(client, lambda: request_tokens(client, request))
        room = client.context_tokens - prompt_tokens
        if room < min(LEAST_TOKENS, request.max_tokens):
            raise ProviderError(
                f"{client.name}: the prompt has {prompt_tokens} tokens, its context holds {client.context_tokens}"
            )
        request = replace(request, max_tokens=min(request.max_tokens, room))
        if getattr(client, "gives_tokens", False):
            request = self._for_training(request)
        request, reservation = await self._reserve(client, request, prompt_tokens, caller)
        started = time.time()
        try:
            async with self._slot(client, settings):
                completion = await self._attempt(client, request, settings, caller.account)
        except BaseException as error:
            caller.account.release(reservation)
            self._log(role, client, request, None, caller, started, error)
            raise
        spent = Amount(
            usd_nano=client.price.nano(completion.prompt_tokens, completion.completion_tokens),
            tokens=completion.prompt_tokens + completion.completion_tokens,
            turns=1,
        )
        caller.account.settle(
            reservation,
            spent,
            seconds=time.time() - started,
            model=completion.model,
            model_version=completion.version,
        )
        self._log(role, client, request, completion, caller, started, None)
        return completion

    def _for_training(self, request: ChatRequest) -> ChatRequest:
        """A call to a local model, as the data for its training wants it."""
        wanted = self._settings.training
        request = replace(request, logprobs=request.logprobs or wanted.keep_tokens)
        if wanted.temperature is None:
            return request
        # what draws several answers by seeds of its own would write the same in every trial
        return replace(request, temperature=wanted.temperature, seed=None)

    async def _reserve(
        self, client: ModelClient, request: ChatRequest, prompt_tokens: int, caller: Caller
    ) -> tuple[ChatRequest, Reservation]:
        """Reserve an upper bound, or that of a shorter answer where no more is left.

        What calls beside this one hold is mostly more than they will need: it is waited for, or else the first of
        several would take all that is left, and the others end the run.
        """

        def taken(tokens: int) -> Reservation:
            bound = Amount(client.price.nano(prompt_tokens, tokens), prompt_tokens + tokens, 0, 1)
            return caller.account.reserve(bound, by=caller.by, model=client.name)

        until, pause = time.monotonic() + request.timeout, 0.01
        while True:
            try:
                return request, taken(request.max_tokens)
            except BudgetExceeded as error:
                money = error.limit in ("usd", "tokens")
                if not money or not caller.account.held() or time.monotonic() >= until:
                    shorter = _affordable(client, request, prompt_tokens, caller.account, error)
                    return shorter, taken(shorter.max_tokens)
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.25)

    def _slot(self, client: ModelClient, settings: ModelSettings) -> asyncio.Semaphore:
        slots = self._slots.setdefault(asyncio.get_running_loop(), {})
        return slots.setdefault(id(client), asyncio.Semaphore(settings.concurrency))

    async def _attempt(
        self, client: ModelClient, request: ChatRequest, settings: ModelSettings, account: Account
    ) -> Completion:
        timeout = min(request.timeout, settings.timeout)
        deadline = account.deadline
        left = None if deadline is None else max(0.01, deadline - time.time())
        request = replace(request, timeout=timeout if left is None else min(timeout, left))

        try:
            async with asyncio.timeout(left):
                return await with_retries(
                    lambda: checked_chat(client, request), attempts=settings.attempts, deadline=deadline
                )
        except (TimeoutError, ProviderTimeout) as error:
            if deadline is not None and time.time() >= deadline - 0.05:
                raise BudgetExceeded(
                    f"{account.kind} {account.name!r}: out of time while {client.name} was answering",
                    limit="seconds",
                    account=account.name,
                ) from error
            raise

    def _log(
        self,
        role: str,
        client: ModelClient,
        request: ChatRequest,
        completion: Completion | None,
        caller: Caller,
        started: float,
        error: BaseException | None,
    ) -> None:
        if caller.run_id is None:
            return
        given: dict[str, object] = {
            "messages": list(request.messages),
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "schema": request.schema,
        }
        row: dict[str, object] = {
            "run_id": caller.run_id,
            "subtask": caller.subtask,
            "kind": "model",
            "agent": caller.agent or caller.by,
            "role": role,
            "model": client.name,
            "model_version": "" if completion is None else completion.version,
            "input": given,
            "output": None,
            "token_ids": None,
            "logprobs": None,
            "prompt_tokens": None,
            "completion_tokens": None,
            "usd_nano": 0,
            "started": started,
            "seconds": time.time() - started,
            "error": None if error is None else f"{type(error).__name__}: {error}",
        }
        if completion is not None:
            if completion.prompt_ids is not None:
                row["input"] = {**given, "prompt_ids": list(completion.prompt_ids)}
            row |= {
                "output": {"text": completion.text, "finish": completion.finish},
                "token_ids": None if completion.token_ids is None else list(completion.token_ids),
                "logprobs": None if completion.logprobs is None else list(completion.logprobs),
                "prompt_tokens": completion.prompt_tokens,
                "completion_tokens": completion.completion_tokens,
                "usd_nano": client.price.nano(completion.prompt_tokens, completion.completion_tokens),
            }
        self._store.append(steps, row)

    async def aclose(self) -> None:
        """Close the clients that this object opened."""
        with self._lock:
            opened, self._opened = list(self._opened.values()), {}
            opened += [client for mine in self._adapted.values() for client in mine.values()]
            self._adapted = {}
        for client in opened:
            await client.aclose()


def open_for(wanted: ModelSettings, adapter: Adapter | None) -> ModelClient:
    """A client for a role's model, with an adapter or without.

    Raises:
        ConfigError: the model is not understood, or its key is missing.
    """
    from pointwork.models import open_client

    key = None
    if wanted.api_key_env is not None:
        key = os.environ.get(wanted.api_key_env)
        if not key:
            raise ConfigError(
                f"model {wanted.model!r}: the environment variable {wanted.api_key_env} is not set; "
                "it must hold the key"
            )
    price = None if wanted.usd_per_mtok is None else Price(*wanted.usd_per_mtok)
    return open_client(wanted.model, price=price, api_key=key, adapter=adapter)


def _affordable(
    client: ModelClient, request: ChatRequest, prompt_tokens: int, account: Account, error: BudgetExceeded
) -> ChatRequest:
    """The request with as long an answer as can be paid; raises the error if that is too short."""
    left = account.remaining()
    affordable = request.max_tokens
    if error.limit == "tokens" and left.tokens is not None:
        affordable = left.tokens - prompt_tokens
    elif error.limit == "usd" and left.usd_nano is not None and client.price.completion > 0:
        spare = left.usd_nano - client.price.nano(prompt_tokens, 0)
        affordable = int(spare / (client.price.completion * 1000))
    if not LEAST_TOKENS <= affordable < request.max_tokens:
        raise error
    return replace(request, max_tokens=affordable)


async def _started(client: ModelClient) -> None:
    """Load a model that lives in this process without holding up the event loop."""
    start: Callable[[], Awaitable[None]] | None = getattr(client, "start", None)
    if start is not None:
        await start()
