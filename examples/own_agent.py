"""An agent of your own beside the built-in ones."""

from typing import Literal

from pointwork import Agent, Team, tool


@tool
def stock(product: Literal["bench", "table"]) -> int:
    """How many pieces of a product are in stock."""
    return {"bench": 12, "table": 3}[product]


keeper = Agent(
    "keeper", "You know the stock.", {"stock": "how many benches or tables are in stock"}, tools=(stock,)
)

if __name__ == "__main__":
    with Team.default(agents=[keeper]) as team:
        result = team.run("How many benches do we have?")
        print(result.text, result.status, [decision.arm for decision in result.decisions])
