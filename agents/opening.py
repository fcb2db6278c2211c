"""Files of which a model or an answer was shown something without a tool, opened by one.

So the run is known to have seen what they hold, private or an outsider's, as after any other call: the labels, the
refusals and the budget of ``read_file`` hold, and whoever goes on with the run in another process knows it too.
"""

import re
from collections.abc import Iterable

from pointwork.agents.job import CallTool
from pointwork.errors import ToolDenied, ToolError
from pointwork.tools import builtin_tools

_LINES = re.compile(r"(?P<path>.*?)(?::(?P<first>\d+)(?:-(?P<last>\d+))?)?")


async def open_files(sources: Iterable[str], call_tool: CallTool) -> None:
    """Open what is cited of files, each passage once: what a call brings is what later ones are held against.

    Args:
        sources: as evidence names them; what is no file or table is passed over.
        call_tool: calls a tool of the run.

    Raises:
        BudgetExceeded: it can not be paid.
        ToolDenied: no tool may read it.
    """
    cited = dict.fromkeys(_cited(source) for source in sources if source.startswith(("file:", "table:")))
    for path, first, last in cited:
        others = [(start, end) for file, start, end in cited if file == path and (start, end) != (first, last)]
        if any(start <= first <= last <= end for start, end in others):
            continue  # it stands in another passage
        lines = {"start_line": first, "end_line": last} if last else {}
        try:
            await call_tool(builtin_tools()["read_file"], {"path": path, **lines})
        except ToolDenied:
            raise
        except ToolError:  # a database is no text; that it was opened counts
            continue


def _cited(source: str) -> tuple[str, int, int]:
    """File, first and last line of ``file:notes/a.md:3-5``; 0 of what has no lines, as ``table:shop.db#orders``."""
    kind, _, rest = source.partition(":")
    if kind == "table":
        return rest.partition("#")[0], 0, 0
    match = _LINES.fullmatch(rest)
    assert match is not None
    first = int(match["first"] or 0)
    return match["path"], first, int(match["last"] or first)
