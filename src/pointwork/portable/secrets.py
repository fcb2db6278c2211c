"""Keeping keys out of what leaves the store."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from pointwork.portable import canonical
from pointwork.settings import Settings
from pointwork.store import Store

_ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")

# Shorter values are words that may stand in any text.
_LEAST = 12


def known_secrets(store: Store, settings: Settings | None = None) -> dict[str, str]:
    """Secrets that this process can see, by name: keys in the environment, the password of the store."""
    asked = {model.api_key_env for model in settings.models.values()} if settings is not None else set[str | None]()
    found = {
        name: value
        for name, value in os.environ.items()
        if (name.upper().endswith(_ENDINGS) or name in asked) and len(value) >= _LEAST
    }
    password = store.url.password
    return found | ({"store password": password} if password and len(password) >= _LEAST else {})


def without_secrets(lines: Iterable[bytes], secrets: Mapping[str, str]) -> Iterator[bytes]:
    """Lines with ``[NAME]`` in place of each secret.

    No call logs a key on purpose; but an error message of a server, or what a tool read, may repeat one.
    """
    needles = [canonical.dump(value)[1:-2] for value in secrets.values()]
    for line in lines:
        if any(needle in line for needle in needles):
            line = canonical.dump(_hidden(canonical.load(line), secrets))
        yield line


def _hidden(value: Any, secrets: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for name, secret in secrets.items():
            value = value.replace(secret, f"[{name}]")
        return value
    if isinstance(value, dict):
        return {key: _hidden(item, secrets) for key, item in cast(dict[str, Any], value).items()}
    if isinstance(value, list):
        return [_hidden(item, secrets) for item in cast(list[Any], value)]
    return value
