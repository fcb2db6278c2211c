"""LangGraph by hand: the same graph as Pointwork's, with no store, no ledger, no router and no checkpoints."""

import operator
from typing import Annotated, Any, TypedDict

import httpx2
from child import Shape
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

SHAPES = {"langgraph": Shape("fan", 6, 4)}
FACTS = {"alpha": "alpha is 40", "beta": "beta is 2"}
TASK = "Look up alpha and look up beta, then report."
TOOL = {
    "type": "function",
    "function": {
        "name": "lookup",
        "description": "Look something up.",
        "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    },
}


class State(TypedDict, total=False):
    """Of the graph."""

    task: str
    parts: list[str]
    found: Annotated[list[str], operator.add]
    text: str


class ByHand:
    """A compiled graph and an HTTP client, both used by all jobs."""

    def __init__(self, url: str) -> None:
        self.tool_calls = 0
        self._url = f"{url}/v1/chat/completions"
        limits = httpx2.Limits(max_connections=256, max_keepalive_connections=256)
        self._client = httpx2.AsyncClient(limits=limits, timeout=60)
        graph: Any = StateGraph(State)
        graph.add_node("plan", self._plan)
        graph.add_node("work", self._work)
        graph.add_node("answer", self._answer)
        graph.add_edge(START, "plan")
        graph.add_conditional_edges("plan", lambda s: [Send("work", {"task": p}) for p in s["parts"]], ["work"])
        graph.add_edge("work", "answer")
        graph.add_edge("answer", END)
        self._graph = graph.compile()

    async def _chat(self, model: str, messages: list[Any], tools: list[Any] | None = None) -> Any:
        body = {"model": model, "messages": messages} | ({"tools": tools} if tools else {})
        response = await self._client.post(self._url, json=body)
        return response.json()["choices"][0]["message"]

    async def _plan(self, state: State) -> State:
        plan = await self._chat("planner", [{"role": "user", "content": state["task"]}])
        return {"parts": plan["content"].split(", ")}

    async def _work(self, state: State) -> State:
        name = state["task"]
        messages: list[Any] = [{"role": "user", "content": f"Look up {name}."}]
        while True:
            said = await self._chat(name, messages, [TOOL])
            messages.append(said)
            if not said.get("tool_calls"):
                return {"found": [said["content"]]}
            for call in said["tool_calls"]:
                self.tool_calls += 1
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": FACTS[name]})

    async def _answer(self, state: State) -> State:
        found = "; ".join(state["found"])
        said = await self._chat("answer", [{"role": "user", "content": f"{state['task']} Found: {found}"}])
        return {"text": said["content"]}

    async def run(self) -> str:
        return (await self._graph.ainvoke({"task": TASK}))["text"]

    async def close(self) -> dict[str, Any]:
        await self._client.aclose()
        return {}


async def open(name: str, url: str, folder: str) -> ByHand:
    """The graph."""
    return ByHand(url)
