"""crewAI: a hierarchical crew, its manager delegates to two agents. Crews keep state: each job builds its own."""

import os
from typing import Any

os.environ["CREWAI_DISABLE_TELEMETRY"] = os.environ["OTEL_SDK_DISABLED"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"
os.environ["OPENAI_API_KEY"] = "none"

from child import Shape
from crewai import LLM, Agent, Crew, Process, Task
from crewai.tools import BaseTool

SHAPES = {"crewai": Shape("sequential", 7, 7)}
FACTS = {"alpha": "alpha is 40", "beta": "beta is 2"}
TASK = "Look up alpha and look up beta, then report."


class Crews:
    """Makes a crew per job; the models are shared."""

    def __init__(self, url: str) -> None:
        self.tool_calls = 0
        os.environ["OPENAI_API_BASE"] = os.environ["OPENAI_BASE_URL"] = f"{url}/v1"
        self._models = {
            name: LLM(model=f"openai/{name}", base_url=f"{url}/v1", api_key="none")
            for name in ("supervisor", *FACTS)
        }
        crews = self

        class Lookup(BaseTool):
            name: str = "lookup"
            description: str = "Look something up."

            def _run(self, name: str) -> str:
                crews.tool_calls += 1
                return FACTS[name]

        self._tool = Lookup

    async def run(self) -> str:
        workers = [
            Agent(
                role=name,
                goal=f"Look up {name}",
                backstory="You look up.",
                tools=[self._tool()],
                llm=self._models[name],
                allow_delegation=False,
                verbose=False,
            )
            for name in FACTS
        ]
        crew = Crew(
            agents=workers,
            tasks=[Task(description=TASK, expected_output="A report.")],
            process=Process.hierarchical,
            manager_llm=self._models["supervisor"],
            verbose=False,
        )
        return str((await crew.akickoff()).raw)

    async def close(self) -> dict[str, Any]:
        return {}


async def open(name: str, url: str, folder: str) -> Crews:
    """The crews."""
    return Crews(url)
