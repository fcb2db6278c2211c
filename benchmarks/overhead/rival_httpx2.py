"""The floor with httpx2, the client that Pointwork has."""

import httpx2
from rival_raw import SHAPES, Raw

__all__ = ["SHAPES", "open"]


async def open(name: str, url: str, folder: str) -> Raw:
    """The client."""
    return Raw(name.endswith("-seq"), url, httpx2)
