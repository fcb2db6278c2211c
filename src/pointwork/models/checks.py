"""What every client refuses before it asks a model, and what is refused of clients that are the user's own."""

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import cast

from pointwork.errors import PointworkError, ProviderError, ProviderTimeout, UsageError
from pointwork.models import structured
from pointwork.models.protocol import ChatRequest, Completion, ModelClient, Price

_PROTOCOL = ("name", "price", "context_tokens", "count_tokens", "chat", "aclose")
_MOST_TOKENS = 2**40


def check_request(request: ChatRequest) -> None:
    """Refuse a request that no model can answer, or whose limits mean "no limit" to some back ends.

    Raises:
        UsageError: naming the field.
    """
    if not request.messages:
        raise UsageError("a chat request needs at least one message")
    for number, message in enumerate(request.messages):
        if message.get("role") not in ("system", "user", "assistant") or "content" not in message:
            raise UsageError(f"message {number} needs a role (system, user or assistant) and content: {message!r}")
    if request.max_tokens < 1:
        raise UsageError(f"max_tokens must be at least 1, not {request.max_tokens}")
    if not 0 <= request.temperature <= 2:
        raise UsageError(f"temperature must lie between 0 and 2, not {request.temperature}")
    if not (request.timeout > 0 and math.isfinite(request.timeout)):
        raise UsageError(f"timeout must be a positive number of seconds, not {request.timeout}")
    if request.schema is not None:
        structured.check_schema(request.schema)


def checked_clients(clients: Mapping[str, ModelClient]) -> dict[str, ModelClient]:
    """Ready-made clients by role.

    Raises:
        UsageError: they are no mapping, or one lacks what ``ModelClient`` asks for.
    """
    given = cast(object, clients)
    if not isinstance(given, Mapping):
        raise UsageError(f"models maps roles to clients, for example {{'worker-small': client}}; it is {given!r}")
    for role, client in cast(Mapping[str, object], given).items():
        lacking = [name for name in _PROTOCOL if not hasattr(client, name)]
        if lacking:
            raise UsageError(
                f"models[{role!r}]={client!r} is no ModelClient: it lacks {', '.join(lacking)} "
                "(pointwork.models.open_client makes one of a model's name)"
            )
        _check_words(role, clients[role])
    return dict(clients)


def _check_words(role: str, client: ModelClient) -> None:
    name, price, context = (cast(object, value) for value in (client.name, client.price, client.context_tokens))
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"models[{role!r}]: name must be text, not {name!r}")
    if not isinstance(price, Price):
        raise UsageError(f"models[{role!r}]: price must be a pointwork.models.Price, not {price!r}")
    if isinstance(context, bool) or not isinstance(context, int) or context < 1:
        raise UsageError(f"models[{role!r}]: context_tokens must be a number of tokens, not {context!r}")


def checked_count(client: ModelClient, count: Callable[[], object]) -> int:
    """What a client counts in a prompt.

    Raises:
        ProviderError: it failed, or said what is no number of tokens.
    """
    try:
        tokens = count()
    except PointworkError:
        raise
    except Exception as error:
        raise ProviderError(f"{client.name}: count_tokens failed: {type(error).__name__}: {error}") from error
    if isinstance(tokens, bool) or not isinstance(tokens, int | float) or not 0 <= tokens <= _MOST_TOKENS:
        raise ProviderError(f"{client.name}: count_tokens gave {tokens!r}, no number of tokens")
    return math.ceil(tokens)


def checked_completion(client: ModelClient, completion: object) -> Completion:
    """What a client answered, before it is paid and stored.

    Raises:
        ProviderError: it is no ``Completion``, or one without text or numbers of tokens.
    """
    if not isinstance(completion, Completion):
        raise ProviderError(f"{client.name}: chat gave {type(completion).__name__}, not a Completion")
    if not isinstance(cast(object, completion.text), str):
        raise ProviderError(f"{client.name}: the text of its completion is {completion.text!r}")
    for what in ("prompt_tokens", "completion_tokens"):
        count: object = getattr(completion, what)
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= _MOST_TOKENS:
            raise ProviderError(
                f"{client.name}: {what} of its completion is {count!r}, which is no number of tokens"
            )
    return completion


def foreign_failure(client: ModelClient, error: BaseException) -> ProviderError:
    """A failure of a client that says it in words of its own, in ours."""
    if isinstance(error, TimeoutError):
        return ProviderTimeout(f"{client.name} did not answer in time: {error}")
    told = f"{client.name} failed: {type(error).__name__}: {error}"
    return ProviderError(told, retryable=isinstance(error, OSError))


async def checked_chat(client: ModelClient, request: ChatRequest) -> Completion:
    """One attempt at an answer, whatever the client does.

    An answer that does not satisfy the schema is one too: its tokens are spent, and whoever asked can say what was
    wrong better than a blind retry.

    Raises:
        ProviderError: there is none. asyncio.CancelledError: this task was cancelled, not the client's own.
    """
    try:
        return checked_completion(client, await client.chat(request))
    except structured.SchemaViolation as error:
        return error.completion
    except PointworkError:
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise foreign_failure(client, error) from error
    except (Exception, SystemExit) as error:
        raise foreign_failure(client, error) from error
