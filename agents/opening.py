"""Files of which a model or an answer was shown something without a tool, opened by one.

So the run is known to have seen what they hold, private or an outsider's, as after any other call: the labels, the
refusals and the budget of ``read_file`` hold, and whoever goes on with the run in another process knows it too.
"""

import re
from collections.abc import Iterable

from pointwork.agents.job import CallTool
from pointwork.errors import ToolDenied, ToolError
from pointwork.tools import builtin_tools

_LINES = re.compile(r":\d+(?:-\d+)?$")


async def open_files(sources: Iterable[str], call_tool: CallTool) -> None:
    """Open each file once.

    Args:
        sources: as evidence names them; what is no file or table is passed over.
        call_tool: calls a tool of the run.

    Raises:
        BudgetExceeded: it can not be paid.
        ToolDenied: no tool may read it.
    """
    named = [_path(source) for source in sources if source.startswith(("file:", "table:"))]
    for path in dict.fromkeys(named):
        try:
            await call_tool(builtin_tools()["read_file"], {"path": path})
        except ToolDenied:
            raise
        except ToolError:  # a database is no text; that it was opened counts
            continue


def _path(source: str) -> str:
    """Of ``file:notes/a.md:3-5`` and ``table:shop.db#orders`` the file."""
    kind, _, rest = source.partition(":")
    return _LINES.sub("", rest) if kind == "file" else rest.partition("#")[0]
