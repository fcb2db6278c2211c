"""langgraph-supervisor: a supervisor that hands over to two ReAct agents, one after the other."""

from typing import Any

from child import Shape
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent
from langgraph_supervisor import create_supervisor

SHAPES = {"langgraph-supervisor": Shape("sequential", 7, 7)}
FACTS = {"alpha": "alpha is 40", "beta": "beta is 2"}
TASK = "Look up alpha and look up beta, then report."


class Supervisor:
    """The compiled graph, used by all jobs."""

    def __init__(self, url: str) -> None:
        self.tool_calls = 0

        @tool
        async def lookup(name: str) -> str:
            """Look something up."""
            self.tool_calls += 1
            return FACTS[name]

        def model(name: str) -> Any:
            return ChatOpenAI(model=name, base_url=f"{url}/v1", api_key="none", max_retries=0)

        workers = [create_react_agent(model(name), [lookup], name=name, prompt="You look up.") for name in FACTS]
        self._graph = create_supervisor(workers, model=model("supervisor"), prompt="You delegate.").compile()

    async def run(self) -> str:
        state = await self._graph.ainvoke({"messages": [{"role": "user", "content": TASK}]})
        return state["messages"][-1].content

    async def close(self) -> dict[str, Any]:
        return {}


async def open(name: str, url: str, folder: str) -> Supervisor:
    """The graph."""
    return Supervisor(url)
