"""What models cost and how much they can read, from the table that litellm ships.

litellm itself is not imported (that takes over a second): the table is a JSON file inside its package.
"""

import functools
import importlib.util
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pointwork.models.protocol import Price

_TABLE = "model_prices_and_context_window_backup.json"
_PER_MILLION = 1e6


@dataclass(frozen=True)
class ModelInfo:
    """One row of the table.

    Attributes:
        price: in US dollars per million tokens.
        context: most tokens it reads at this price, or None where the table does not say.
        output: most tokens it writes, or None.
        schema: whether it takes a JSON schema as response format.
    """

    price: Price
    context: int | None
    output: int | None
    schema: bool


def lookup(model: str) -> ModelInfo | None:
    """The row for a litellm model string, or None if the table does not know the model or its price.

    ``provider/name`` is looked up as it stands, then without its provider, as litellm does.
    """
    table = _table()
    for key in (model, model.split("/", 1)[-1]):
        row = table.get(key)
        if isinstance(row, dict):
            return _row(cast(dict[str, Any], row))
    return None


def price_of(model: str) -> Price | None:
    """The price of a litellm model string, or None if it is not known."""
    info = lookup(model)
    return info.price if info else None


@functools.lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    # find_spec locates a top-level package without executing it.
    spec = importlib.util.find_spec("litellm")
    folders = (spec.submodule_search_locations if spec else None) or []
    for folder in folders:
        path = Path(folder) / _TABLE
        if path.is_file():
            return cast(dict[str, Any], json.loads(path.read_text(encoding="utf-8")))
    return {}


def _row(row: dict[str, Any]) -> ModelInfo | None:
    prompt, completion = row.get("input_cost_per_token"), row.get("output_cost_per_token")
    if not isinstance(prompt, int | float) or not isinstance(completion, int | float):
        return None
    # Some models ask more for long prompts. One price is all that the ledger knows, so the context ends where the
    # higher rate begins.
    limits = [_count(row.get("max_input_tokens") or row.get("max_tokens")), *_thresholds(row)]
    return ModelInfo(
        price=Price(_dollars(prompt), _dollars(completion)),
        context=min((limit for limit in limits if limit), default=None),
        output=_count(row.get("max_output_tokens")),
        schema=bool(row.get("supports_response_schema")),
    )


def _dollars(per_token: float) -> float:
    # 1.5e-07 * 1e6 is 0.15000000000000002 without the rounding
    return round(per_token * _PER_MILLION, 9)


def _thresholds(row: dict[str, Any]) -> list[int]:
    found = (re.fullmatch(r"(?:in|out)put_cost_per_token_above_(\d+)k_tokens", key) for key in row)
    return [int(match[1]) * 1000 for match in found if match]


def _count(value: object) -> int | None:
    if isinstance(value, int | float | str) and str(value).isdigit() and int(value) > 0:
        return int(value)
    return None
