"""The floor: the same HTTP calls with nothing around them but asyncio. The HTTP library is the caller's."""

import asyncio
from typing import Any

from child import Shape

FAN, SEQUENTIAL = Shape("fan", 6, 4), Shape("sequential", 7, 7)
SHAPES = {
    "raw-httpx": FAN,
    "raw-httpx2": FAN,
    "raw-httpx-seq": SEQUENTIAL,
    "raw-httpx2-seq": SEQUENTIAL,
}

TOOL = {
    "type": "function",
    "function": {
        "name": "lookup",
        "description": "Look something up.",
        "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    },
}
FACTS = {"alpha": "alpha is 40", "beta": "beta is 2"}
TASK = "Look up alpha and look up beta, then report."


class Raw:
    """Calls, and the tool in between."""

    def __init__(self, sequential: bool, url: str, http: Any) -> None:
        self.tool_calls = 0
        self._sequential, self._url = sequential, f"{url}/v1/chat/completions"
        limits = http.Limits(max_connections=256, max_keepalive_connections=256)
        self._client = http.AsyncClient(limits=limits, timeout=60)

    async def _chat(self, model: str, messages: list[Any], tools: list[Any] | None = None) -> Any:
        body = {"model": model, "messages": messages} | ({"tools": tools} if tools else {})
        response = await self._client.post(self._url, json=body)
        return response.json()["choices"][0]["message"]

    async def _work(self, name: str) -> str:
        messages: list[Any] = [{"role": "user", "content": f"Look up {name}."}]
        call = await self._chat(name, messages, [TOOL])
        self.tool_calls += 1
        messages += [
            call,
            {"role": "tool", "tool_call_id": call["tool_calls"][0]["id"], "content": FACTS[name]},
        ]
        return (await self._chat(name, messages, [TOOL]))["content"]

    async def run(self) -> str:
        messages: list[Any] = [{"role": "user", "content": TASK}]
        if self._sequential:
            for name in FACTS:
                await self._chat("planner", messages)
                messages.append({"role": "assistant", "content": await self._work(name)})
        else:
            await self._chat("planner", messages)
            messages += [{"role": "assistant", "content": t} for t in await asyncio.gather(*map(self._work, FACTS))]
        return (await self._chat("answer", messages))["content"]

    async def close(self) -> dict[str, Any]:
        await self._client.aclose()
        return {}
