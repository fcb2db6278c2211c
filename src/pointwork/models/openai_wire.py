"""OpenAI's chat format: requests to JSON, responses to completions or to errors that say what to do."""

import dataclasses
import email.utils
import json
import math
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pointwork.errors import ProviderError, ProviderTimeout, RateLimited
from pointwork.models import counting
from pointwork.models.protocol import ChatRequest, Completion

_ADVICE = {
    400: "the server refuses the request",
    401: "check the API key",
    402: "check the account's balance",
    403: "the API key may not use this model",
    404: "check the path of the URL (it usually ends in /v1) and the model's name",
    405: "check the path of the URL (it usually ends in /v1)",
    413: "the prompt is too long for the server",
    422: "the server refuses the request",
    429: "the server asks to slow down",
}
_TIMEOUTS = (408, 504)


def shown(url: str) -> str:
    """A URL without what may be secret in it: user, password, query."""
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return urllib.parse.urlunsplit(
        (parts.scheme, f"{host}:{parts.port}" if parts.port else host, parts.path, "", "")
    )


def body(model: str, request: ChatRequest) -> dict[str, Any]:
    """The JSON body of a request."""
    fields: dict[str, Any] = {
        "model": model,
        "messages": list(request.messages),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
    }
    if request.stop:
        fields["stop"] = list(request.stop)
    if request.seed is not None:
        fields["seed"] = request.seed
    if request.schema is not None:
        fields["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": request.schema, "strict": True},
        }
    if request.logprobs:
        fields |= {"logprobs": True, "top_logprobs": 1}
    return fields


def first_model(rows: Sequence[dict[str, Any]], url: str) -> tuple[str, int | None]:
    """Name and context (in tokens, if it says) of the first model that a server lists.

    Raises:
        ProviderError: it lists none.
    """
    for row in rows:
        if isinstance(row.get("id"), str):
            meta: Any = row.get("meta") or {}
            context = row.get("max_model_len") or meta.get("n_ctx") or meta.get("n_ctx_train")
            return row["id"], context if isinstance(context, int) else None
    raise ProviderError(f"{url} lists no model; load one there, or name it: {url}#model-name")


class Reader:
    """Reads one server's responses.

    Args:
        url: as it may be shown.
        api_key: taken out of everything that is shown: some servers repeat it.
        chat_path: where answers come from, below ``url``.
    """

    def __init__(self, url: str, api_key: str | None, chat_path: str = "/chat/completions") -> None:
        self.url, self.chat_path = url, chat_path
        self._secret = api_key

    def parse(self, path: str, status: int, headers: Mapping[str, str], content: bytes) -> dict[str, Any]:
        """The response's JSON object.

        Raises:
            ProviderError: another status than 200, or no JSON object.
        """
        if status != 200:
            raise self._refused(path, status, headers, content)
        try:
            value: object = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ProviderError(
                f"{self.url}{path} answered with broken JSON: {self._start(content)}; "
                "is this an OpenAI-compatible server?",
                retryable=True,
            ) from error
        if not isinstance(value, dict):
            raise self._missing(path, "a JSON object", content)
        reply = cast(dict[str, Any], value)
        if "error" in reply and "choices" not in reply:
            # Some gateways report failures with status 200.
            raise ProviderError(f"{self.url}{path} answered with an error: {self._start(content)}")
        return reply

    def models(self, reply: dict[str, Any]) -> list[dict[str, Any]]:
        """The rows of ``/models``."""
        rows = reply.get("data")
        if not isinstance(rows, list):
            raise self._missing("/models", "'data'", json.dumps(reply).encode())
        return [cast(dict[str, Any], row) for row in cast(list[object], rows) if isinstance(row, dict)]

    def completion(
        self, reply: dict[str, Any], request: ChatRequest, model: str, version: str, seconds: float
    ) -> Completion:
        """The completion in a response.

        Raises:
            ProviderError: a field that is needed is missing or of another type.
        """
        path = self.chat_path
        try:
            choice = reply["choices"][0]
            text = choice["message"]["content"]
            finish = str(choice.get("finish_reason") or "stop")
            prompt, generated = _usage(reply)
            ids, logprobs = _tokens(choice) if request.logprobs else (None, None)
            shown_ids = _ids(reply.get("prompt_token_ids")) if request.logprobs else None
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise self._missing(path, f"what is needed ({error!r})", json.dumps(reply).encode()) from error
        if text is None and finish == "length":
            text = ""  # a reasoning model that was cut before its answer
        if not isinstance(text, str):
            raise self._missing(path, "text in the message", json.dumps(reply).encode())
        completion = Completion(
            text=text,
            prompt_tokens=prompt if prompt is not None else counting.bound_messages(request.messages),
            completion_tokens=generated if generated is not None else min(request.max_tokens, counting.bound(text)),
            finish=finish,
            model=model,
            version=version,
            token_ids=ids,
            logprobs=logprobs,
            prompt_ids=shown_ids,
            seconds=seconds,
        )
        if prompt is None or generated is None:
            return dataclasses.replace(completion, raw={"usage": "estimated"})
        return completion

    def too_long(self, path: str, limit: int) -> ProviderError:
        """The error for a response over the limit."""
        return ProviderError(
            f"{self.url}{path} sent more than {limit / 1e6:g} MB, and the rest was refused; "
            "ask for fewer tokens, or see what the server is"
        )

    def broken(self, path: str, error: Exception) -> ProviderError:
        """The error for a connection that could not be made or that broke."""
        name = type(error).__name__
        if name in ("ConnectError", "ProxyError"):
            return ProviderError(
                f"no connection to {self.url}: {self._clean(str(error)) or name}; "
                "is the server running, and is the address right?",
                retryable=True,
            )
        return ProviderError(
            f"the connection to {self.url}{path} broke ({name}: {self._clean(str(error))}); see the server's log",
            retryable=True,
        )

    def _refused(self, path: str, status: int, headers: Mapping[str, str], content: bytes) -> ProviderError:
        advice = _ADVICE.get(status, "see the server's log" if status >= 500 else "see the answer")
        if 300 <= status < 400:
            advice = f"it has moved to {shown(headers.get('location', '?'))}: use that address"
        text = f"{self.url}{path} answered with status {status}: {advice}. It said: {self._start(content)}"
        if status == 429:
            return RateLimited(text, retry_after=retry_after(headers.get("retry-after")))
        if status in _TIMEOUTS:
            return ProviderTimeout(text)
        return ProviderError(text, retryable=status >= 500 and status != 501)

    def _missing(self, path: str, what: str, content: bytes) -> ProviderError:
        return ProviderError(
            f"the answer of {self.url}{path} lacks {what}: {self._start(content)}; "
            "is this an OpenAI-compatible server?"
        )

    def _start(self, content: bytes) -> str:
        text = " ".join(self._clean(content[:2000].decode("utf-8", "replace")).split())
        return repr(text[:200]) if text else "nothing"

    def _clean(self, text: str) -> str:
        return text.replace(self._secret, "***") if self._secret else text


def retry_after(value: str | None) -> float | None:
    """Seconds to wait by a Retry-After header: a number, or an HTTP date. None if it says nothing sensible."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _usage(reply: dict[str, Any]) -> tuple[int | None, int | None]:
    usage: dict[str, Any] = reply.get("usage") or {}
    prompt, generated = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return _whole(prompt), _whole(generated)


def _whole(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"a token count of {value!r}")
    return value


def _tokens(choice: dict[str, Any]) -> tuple[tuple[int, ...] | None, tuple[float, ...] | None]:
    table: dict[str, Any] = choice.get("logprobs") or {}
    rows: list[dict[str, Any]] = table.get("content") or []
    logprobs = tuple(float(row["logprob"]) for row in rows) or None
    return _ids(choice.get("token_ids") or [row.get("id") for row in rows]), logprobs


def _ids(value: object) -> tuple[int, ...] | None:
    given = cast(list[object], value) if isinstance(value, list) else []
    whole = tuple(number for number in given if isinstance(number, int))
    return whole if whole and len(whole) == len(given) else None
