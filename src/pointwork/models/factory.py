"""From a model's spec, as it stands in pointwork.toml, to a client."""

import importlib.util
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointwork.errors import ConfigError
from pointwork.models import prices, weights
from pointwork.models.protocol import ModelClient, Price

if TYPE_CHECKING:
    from pointwork.models.adapters import Adapter

FORMS = """a model is one of
  local:                          the embedded default model (SmolLM2-135M-Instruct, 98 MB)
  local:large                     a larger one (Qwen2.5-Coder-1.5B-Instruct, 1.1 GB; pulled at first use)
  local:/path/to/model.gguf       any GGUF file, in this process
  http://host:8000/v1#name        an OpenAI-compatible server (vLLM, Ollama, llama.cpp); #name may be left out
  provider/model                  a litellm model string: anthropic/claude-haiku-4-5, gpt-4o-mini, …"""


def open_client(
    spec: str,
    *,
    price: Price | None = None,
    api_key: str | None = None,
    adapter: "Adapter | None" = None,
    **options: Any,
) -> ModelClient:
    """A client for a model. Nothing is loaded, pulled or asked before its first use.

    Args:
        spec: see ``FORMS``.
        price: in US dollars per million tokens; default: nothing for local models and URLs, litellm's table else.
        api_key: for URLs and hosted models.
        adapter: what serves beside the model (``pointwork.models.adapters``); its version stands in all answers.
        options: of the client's constructor: ``EmbeddedClient``, ``OpenAIClient`` or ``LiteLLMClient``.

    Raises:
        ConfigError: the spec is none of the forms, the file is not there, an option is unknown to the client, or
            the price is needed and not known.
        ProviderError: the adapter's file is not the one that was published.
    """
    spec = spec.strip()
    if adapter is not None:
        options = {**options, "version": adapter.version}
        if adapter.path is not None:
            options["adapters"] = [adapter.checked()]
        else:
            options["adapter"] = adapter.served_as
    try:
        if spec.startswith("local:"):
            return _local(spec.removeprefix("local:").strip(), options)
        if spec.startswith(("http://", "https://")):
            return _url(spec, price, api_key, options)
        return _hosted(spec, price, api_key, options)
    except TypeError as error:
        raise ConfigError(f"model {spec!r}: {error}") from error


def _local(name: str, options: dict[str, Any]) -> ModelClient:
    from pointwork.models.embedded import EmbeddedClient

    known = weights.named(name)
    if known is not None:
        if known is not weights.SMOLLM2_135M:
            options.setdefault("system", None)
        return EmbeddedClient(known, **options)
    path = Path(name).expanduser()
    if not path.is_file():
        names = ", ".join([*weights.SHORT, *weights.FILES])
        raise ConfigError(f"model 'local:{name}': there is no such file, and it is none of {names}\n{FORMS}")
    # The system text that suits the default model may not suit another.
    options.setdefault("system", None)
    return EmbeddedClient(path, **options)


def _url(spec: str, price: Price | None, api_key: str | None, options: dict[str, Any]) -> ModelClient:
    from pointwork.models.openai_http import OpenAIClient

    address, _, name = spec.partition("#")
    return OpenAIClient(address, urllib.parse.unquote(name) or None, price=price, api_key=api_key, **options)


def _hosted(spec: str, price: Price | None, api_key: str | None, options: dict[str, Any]) -> ModelClient:
    if not spec or any(letter.isspace() for letter in spec) or ("/" not in spec and prices.lookup(spec) is None):
        raise ConfigError(f"model {spec!r} is not understood; {FORMS}")
    if importlib.util.find_spec("litellm") is None:
        raise ConfigError(f"model {spec!r} needs litellm, which is not installed: pip install litellm")
    from pointwork.models.litellm_client import LiteLLMClient

    return LiteLLMClient(spec, price=price, api_key=api_key, **options)
