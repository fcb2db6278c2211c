"""Upper bounds on prompt tokens for models whose tokenizer is not at hand.

One token per UTF-8 byte is the only bound that holds for every tokenizer, and it is four times too high for
English: budgets would be reserved away. The bound used here is 1.4 times the count of a small, old vocabulary
(``p50k``, 50,281 entries, from litellm's package data) plus one per digit, never more than the bytes. Old and
small means that it needs more tokens than later vocabularies; the margin and the digits cover the rest. It held
against five other tokenizers on prose, code, JSON, six languages, base64, hexadecimal and random characters, and
is about 1.5 times the truth for English. Where a tokenizer is given, that is used instead.
"""

import base64
import functools
import importlib
import importlib.util
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from pointwork.errors import ConfigError
from pointwork.models.protocol import ChatRequest, Message, ModelClient
from pointwork.models.structured import instructions

Tokenizer = Callable[[str], int]
"""Counts the tokens of a text."""

PER_MESSAGE = 8
"""Tokens that a chat template puts around one message: markers, role, line ends."""
PER_PROMPT = 96
"""Tokens that a chat template may add on its own: a default system text, the opening of the answer."""

_MARGIN = 1.4
_PIECE = 10_000  # characters at a time: an endless run of one letter makes the encoder slow
_LONGEST = 2_000_000  # characters; beyond this the bytes are good enough
# The vocabulary's file name in litellm's package data is the SHA-1 of the address it came from.
_P50K = "litellm_core_utils/tokenizers/ec7223a39ce59f226a68acc30dc1af2788490e15"
_P50K_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"


class _Encoding(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...


@functools.lru_cache(maxsize=1024)  # an agent's conversation is counted anew at every turn
def bound(text: str) -> int:
    """Most tokens that a tokenizer in use today makes of a text. The first call takes about 60 ms."""
    size = len(text.encode("utf-8", "replace"))
    encoding = _p50k() if len(text) <= _LONGEST else None
    if encoding is None:
        return size
    clean = text.encode("utf-8", "replace").decode("utf-8")
    pieces = (clean[start : start + _PIECE] for start in range(0, len(clean), _PIECE))
    count = sum(len(encoding.encode_ordinary(piece)) for piece in pieces)
    digits = sum(map(str.isdigit, clean))
    return min(size, math.ceil(count * _MARGIN) + digits)


def bound_messages(messages: Sequence[Message], tokenizer: Tokenizer = bound) -> int:
    """Most prompt tokens of a conversation, with what a chat template adds."""
    return PER_PROMPT + sum(PER_MESSAGE + tokenizer(message["content"]) for message in messages)


def request_tokens(client: ModelClient, request: ChatRequest) -> int:
    """Most prompt tokens of a request: its messages and, where the back end reads the schema, the schema too.

    The embedded engine constrains its decoding and never sees the schema; hosted models are shown it.
    """
    count = client.count_tokens(request.messages)
    if request.schema is None or not getattr(client, "schema_in_prompt", True):
        return count
    return count + PER_MESSAGE + bound(instructions(request.schema))


def load_tokenizer(path: str | Path) -> Tokenizer:
    """An exact counter from a Hugging Face ``tokenizer.json``.

    Raises:
        ConfigError: no such file, or not a tokenizer.
    """
    file = Path(path).expanduser()
    file = file / "tokenizer.json" if file.is_dir() else file
    tokenizers: Any = importlib.import_module("tokenizers")
    try:
        encoder: Any = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises plain Exception
        raise ConfigError(f"no tokenizer could be read from {file}: {error}") from error

    def count(text: str) -> int:
        return len(cast(list[int], encoder.encode(text, add_special_tokens=False).ids))

    return count


@functools.lru_cache(maxsize=1)
def _p50k() -> _Encoding | None:
    spec = importlib.util.find_spec("litellm")
    folders = (spec.submodule_search_locations if spec else None) or []
    paths = [path for folder in folders if (path := Path(folder) / _P50K).is_file()]
    if not paths or importlib.util.find_spec("tiktoken") is None:
        return None
    tiktoken: Any = importlib.import_module("tiktoken")
    # Not tiktoken's own loader: it would download, or put a copy into the temp folder.
    rows = (line.split() for line in paths[0].read_bytes().splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in rows}
    encoding = tiktoken.Encoding("p50k", pat_str=_P50K_PATTERN, mergeable_ranks=ranks, special_tokens={})
    return cast(_Encoding, encoding)
