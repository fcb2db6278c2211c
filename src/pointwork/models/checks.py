"""What every client refuses before it asks a model."""

import math

from pointwork.errors import UsageError
from pointwork.models import structured
from pointwork.models.protocol import ChatRequest


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
