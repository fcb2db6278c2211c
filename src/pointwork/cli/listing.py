"""``pointwork agents`` and ``pointwork tools``."""

from typing import Annotated

import typer

from pointwork.cli.output import print_json, table
from pointwork.cli.team import open_team

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def agents(json: Json = False) -> None:
    """List the agents with their capabilities, tools and arms."""
    with open_team(models=False) as team:
        rows = [
            {
                "name": agent.name,
                "capabilities": agent.described_capabilities(),
                "tools": [tool.name for tool in agent.tools],
                "arms": [arm.name for arm in team.services.arms.values() if arm.agent is agent],
                "instructions": agent.instructions,
            }
            for agent in team.agents.values()
        ]
    if json:
        print_json(rows)
        return
    table(
        ("agent", "capabilities", "tools", "arms"),
        [
            (row["name"], ", ".join(row["capabilities"]), ", ".join(row["tools"]), "\n".join(row["arms"]))
            for row in rows
        ],
        "no agents",
    )


def tools(json: Json = False) -> None:
    """List the tools with their labels."""
    with open_team(models=False) as team:
        found = {tool.name: (tool, agent.name) for agent in team.agents.values() for tool in agent.tools}
    if json:
        print_json(
            [
                {
                    "name": tool.name,
                    "agent": agent,
                    "description": tool.description,
                    "input_schema": tool.input_schema,
                    "output_schema": tool.output_schema,
                    "labels": sorted(tool.labels),
                }
                for tool, agent in found.values()
            ]
        )
        return
    table(
        ("tool", "agent", "labels", "what it does"),
        [
            (tool.name, agent, ", ".join(sorted(tool.labels)), tool.description.splitlines()[0])
            for tool, agent in found.values()
        ],
        "no tools",
    )
