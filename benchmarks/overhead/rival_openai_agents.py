"""openai-agents: a manager with two agents as tools, one after the other, with no tracing."""

from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from child import Shape
from openai import AsyncOpenAI

SHAPES = {"openai-agents": Shape("sequential", 7, 7)}
FACTS = {"alpha": "alpha is 40", "beta": "beta is 2"}
TASK = "Look up alpha and look up beta, then report."


class Manager:
    """The agents, used by all jobs."""

    def __init__(self, url: str) -> None:
        self.tool_calls = 0
        set_tracing_disabled(True)
        client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)

        @function_tool
        async def lookup(name: str) -> str:
            """Look something up."""
            self.tool_calls += 1
            return FACTS[name]

        def model(name: str) -> Any:
            return OpenAIChatCompletionsModel(name, client)

        workers = [
            Agent(name=name, instructions="You look up.", model=model(name), tools=[lookup]) for name in FACTS
        ]
        self._agent = Agent(
            name="supervisor",
            instructions="You delegate.",
            model=model("supervisor"),
            tools=[worker.as_tool(f"ask_{worker.name}", f"Ask for {worker.name}.") for worker in workers],
        )

    async def run(self) -> str:
        return (await Runner.run(self._agent, TASK)).final_output

    async def close(self) -> dict[str, Any]:
        return {}


async def open(name: str, url: str, folder: str) -> Manager:
    """The agents."""
    return Manager(url)
