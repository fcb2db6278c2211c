"""The floor with httpx 0.28."""

import httpx
from rival_raw import SHAPES, Raw

__all__ = ["SHAPES", "open"]


async def open(name: str, url: str, folder: str) -> Raw:
    """The client."""
    return Raw(name.endswith("-seq"), url, httpx)
