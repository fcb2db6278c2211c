"""A tool that runs Python in the sandbox."""

from pointwork.errors import ToolError
from pointwork.tools.sandbox import Limits, run_python
from pointwork.tools.spec import ToolResult, tool

_SHOWN = 20_000


@tool(timeout=40.0, call_tokens=400)
def python(code: str) -> ToolResult:
    """Run a Python program (standard library only, no network, no files) and give back what it prints.

    Args:
        code: the program; print what is wanted

    Raises:
        ToolError: it failed, took too much, or this system has no sandbox.
    """
    ran = run_python(code, limits=Limits(output_bytes=_SHOWN))
    if ran.ended != "ok":
        raise ToolError(f"the program ended with {ran.ended}: {ran.why or ran.stderr.strip()[-1500:]}")
    printed = ran.stdout.strip()
    if not printed:
        raise ToolError("the program printed nothing: print the result")
    return ToolResult(printed, printed, answer=printed if len(printed) <= 200 else "")
