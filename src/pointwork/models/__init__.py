"""Models: one seam (``protocol.ModelClient``), several back ends behind it.

    open_client("local:")                       the embedded model, llama.cpp in this process
    open_client("http://localhost:8000/v1")     vLLM, Ollama, any OpenAI-compatible server
    open_client("anthropic/claude-haiku-4-5")   hosted models, through litellm

``protocol``    what a client is: ``ChatRequest`` in, ``Completion`` out
``embedded``    llama.cpp in this process; ``engine`` is the typed wall around its bindings
``openai_http`` OpenAI-compatible URLs; ``openai_wire`` is their format
``litellm_client``  the only place where litellm is imported
``scripted``    a model that follows a test's script
``gateway``     budget, retries and log around all of them
``retry``, ``prices``, ``counting``, ``structured``, ``weights``  what the others share

Importing this package imports none of httpx2, litellm, xllamacpp.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pointwork.models.counting import request_tokens
    from pointwork.models.embedded import EmbeddedClient
    from pointwork.models.factory import open_client
    from pointwork.models.gateway import Caller, Models
    from pointwork.models.litellm_client import LiteLLMClient
    from pointwork.models.openai_http import OpenAIClient
    from pointwork.models.protocol import ChatRequest, Completion, Message, ModelClient, Price
    from pointwork.models.retry import with_retries
    from pointwork.models.scripted import ScriptedClient, Step
    from pointwork.models.structured import SchemaViolation

__all__ = [
    "Caller",
    "ChatRequest",
    "Completion",
    "EmbeddedClient",
    "LiteLLMClient",
    "Message",
    "ModelClient",
    "Models",
    "OpenAIClient",
    "Price",
    "SchemaViolation",
    "ScriptedClient",
    "Step",
    "open_client",
    "request_tokens",
    "with_retries",
]

_HOME = {
    "Caller": "gateway",
    "ChatRequest": "protocol",
    "Completion": "protocol",
    "EmbeddedClient": "embedded",
    "LiteLLMClient": "litellm_client",
    "Message": "protocol",
    "ModelClient": "protocol",
    "Models": "gateway",
    "OpenAIClient": "openai_http",
    "Price": "protocol",
    "SchemaViolation": "structured",
    "ScriptedClient": "scripted",
    "Step": "scripted",
    "open_client": "factory",
    "request_tokens": "counting",
    "with_retries": "retry",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
