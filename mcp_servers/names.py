"""Names that may be shown to a model or sent over MCP, made from names that may be anything."""

import re
from collections.abc import Iterable

# What providers and MCP clients accept: letters, digits, "_" and "-", at most 64.
MOST = 64
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")


def valid_names(names: Iterable[str]) -> dict[str, str]:
    """A valid name for each name, all different, the same for the same names in the same order.

    A name that is valid stays as it is, wherever it stands in the order.
    """
    wanted = list(dict.fromkeys(names))
    taken = {name for name in wanted if _OTHER.search(name) is None and 0 < len(name) <= MOST}
    made: dict[str, str] = {name: name for name in wanted if name in taken}
    for name in wanted:
        if name in made:
            continue
        short = _OTHER.sub("_", name).strip("_")[:MOST] or "tool"
        number, candidate = 2, short
        while candidate in taken:
            candidate = f"{short[: MOST - len(str(number)) - 1]}_{number}"
            number += 1
        taken.add(candidate)
        made[name] = candidate
    return made
