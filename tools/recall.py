"""Tools over the run's memory, for reading only: what is remembered is added by the runtime, not by a model."""

from pointwork.errors import PointworkError, ToolError
from pointwork.tools.files import Count
from pointwork.tools.spec import MemoryLike, ToolContext, ToolResult, tool


def _memory(context: ToolContext) -> MemoryLike:
    if context.memory is None:
        raise ToolError("this run has no memory")
    return context.memory


@tool(labels=["reads-private"])
def recall(context: ToolContext, query: str, k: Count = 5) -> ToolResult:
    """Look up what was remembered from earlier conversations and documents.

    Args:
        query: the question, or its words
        k: how many pieces

    Raises:
        ToolError: the run has no memory, or the query is empty.
    """
    if not query.strip():
        raise ToolError("the query is empty: write what to look up")
    found = _memory(context).recall(query, k=k)
    value = [
        {"id": item.id, "text": item.text, "source": item.source, "trust": item.trust, "score": item.score}
        for item in found.items
    ]
    # beside what holds words of the question, what holds none of them is no evidence
    speaking = [item for item in found.items if item.score > 0] or found.items
    evidence = tuple((f"memory:{item.id}", item.text) for item in speaking)
    return ToolResult(value, found.text or "nothing is remembered about that", evidence)


@tool(labels=["reads-private"])
def read_memory(context: ToolContext, id: str) -> ToolResult:
    """Read the whole original of one remembered piece.

    Args:
        id: as recall gives it

    Raises:
        ToolError: the run has no memory, or nothing has this id.
    """
    name = id.strip().removeprefix("memory:").strip("[] ")
    try:
        text = _memory(context).read(name)
    except (PointworkError, KeyError) as error:
        if isinstance(error, ToolError):
            raise
        raise ToolError(f"nothing is remembered under the id {name!r}: take one that recall gave") from error
    return ToolResult({"id": name, "text": text}, text, ((f"memory:{name}", text),))
