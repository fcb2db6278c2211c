"""The same meter and the same price around every model, so that systems can be compared."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pointwork.budgets import to_usd
from pointwork.models import ChatRequest, Completion, Message, ModelClient, Price
from pointwork.models.gateway import Models, open_for
from pointwork.models.structured import SchemaViolation
from pointwork.roles import ROLES
from pointwork.settings import Settings
from pointwork.store import Store


@dataclass(frozen=True)
class Usage:
    """What was used: tokens, calls and money."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    usd: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.calls + other.calls,
            self.usd + other.usd,
        )


class Metered:
    """A ``ModelClient`` that counts what goes through it and charges a stated price.

    The ledger charges by the client's price, so it agrees with the meter.
    """

    def __init__(self, client: ModelClient, price: Price) -> None:
        self._client, self._price = client, price
        self._lock = threading.Lock()
        self._used = Usage()

    @property
    def name(self) -> str:
        """The model's name."""
        return self._client.name

    @property
    def price(self) -> Price:
        """The stated price."""
        return self._price

    @property
    def context_tokens(self) -> int:
        """As of the model."""
        return self._client.context_tokens

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """As of the model."""
        return self._client.count_tokens(messages)

    async def chat(self, request: ChatRequest) -> Completion:
        """As of the model, counted."""
        try:
            completion = await self._client.chat(request)
        except SchemaViolation as error:
            # its tokens are spent all the same
            self._count(error.completion)
            raise
        self._count(completion)
        return completion

    def _count(self, completion: Completion) -> None:
        sizes = completion.prompt_tokens, completion.completion_tokens
        with self._lock:
            self._used += Usage(*sizes, 1, to_usd(self._price.nano(*sizes)))

    def take(self) -> Usage:
        """What was used since the last time."""
        with self._lock:
            used, self._used = self._used, Usage()
        return used

    async def aclose(self) -> None:
        """As of the model."""
        await self._client.aclose()

    def __getattr__(self, name: str) -> Any:
        # what only some clients have: ``start``, ``schema_in_prompt`` …
        return getattr(self._client, name)


class Meters:
    """The models of a configuration, each behind one meter.

    Args:
        settings: says which model serves which role.
        price: charged for every token; None leaves each model its own, and free ones cost nothing.
        clients: ready-made clients by role, as ``Team`` takes them.
    """

    def __init__(
        self, settings: Settings, price: Price | None, clients: Mapping[str, ModelClient] | None = None
    ) -> None:
        self._store = Store("sqlite://")
        self._models = Models(settings, self._store, clients)
        self._adapted: list[ModelClient] = []
        meters: dict[int, Metered] = {}
        self.by_role: dict[str, Metered] = {}
        for role in ROLES:
            client = self._client(settings, role)
            # roles of one model share its client, so they share the meter: arms are told apart by the model's name
            self.by_role[role] = meters.setdefault(id(client), Metered(client, price or client.price))

    def _client(self, settings: Settings, role: str) -> ModelClient:
        """The base model's client, or one with the role's adapter, as a run takes it."""
        adapter = self._models.adapter(role)
        if adapter is None:
            return self._models.client(role)
        client = open_for(settings.model_for(role), adapter)
        self._adapted.append(client)
        return client

    def take(self) -> Usage:
        """What all models together used since the last time."""
        used = Usage()
        for meter in {id(meter): meter for meter in self.by_role.values()}.values():
            used += meter.take()
        return used

    async def aclose(self) -> None:
        """Close the models that were opened here."""
        for client in self._adapted:
            await client.aclose()
        await self._models.aclose()
        self._store.close()
