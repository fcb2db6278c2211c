"""Tools: typed Python functions that a model may call.

``@tool`` makes one from a function; ``builtin_tools()`` gives those that come with Pointwork: arithmetic, units and
dates; files and tables below the run's root, read-only; memory. Importing this package loads neither duckdb, pint
nor numpy: the built-in tools load what they need on first use.
"""

import importlib
from typing import TYPE_CHECKING

from pointwork.tools.spec import Evidence, Label, MemoryLike, Tool, ToolContext, ToolResult, tool

if TYPE_CHECKING:
    from types import ModuleType

    from pointwork.tools.index import Hit, ToolIndex

__all__ = [
    "Evidence",
    "Hit",
    "Label",
    "MemoryLike",
    "Tool",
    "ToolContext",
    "ToolIndex",
    "ToolResult",
    "builtin_tools",
    "tool",
]

_BUILTIN = {
    "calculator": ("calculate", "convert"),
    "date_math": ("date_math",),
    "tables": ("list_tables", "describe_table", "query_table", "sql"),
    "files": ("list_files", "find_files", "grep_files", "read_file", "search_files"),
    "recall": ("recall", "read_memory"),
    "python": ("python",),
    "program": ("program",),
    "web": ("web",),
}


def builtin_tools() -> dict[str, Tool]:
    """The tools that come with Pointwork, by name."""
    found: dict[str, Tool] = {}
    for module, names in _BUILTIN.items():
        home: ModuleType = importlib.import_module(f"pointwork.tools.{module}")
        found.update({name: getattr(home, name) for name in names})
    return found


def __getattr__(name: str) -> object:
    if name in ("ToolIndex", "Hit"):  # numpy is loaded with them
        return getattr(importlib.import_module("pointwork.tools.index"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
