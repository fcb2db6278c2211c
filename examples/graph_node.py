"""A team as a node of another LangGraph graph."""

from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from pointwork import Team


class State(TypedDict, total=False):
    """The outer graph's own state; it shares ``task`` and ``text`` with the team."""

    task: str
    text: str
    shout: str


def shout(state: State) -> State:
    """A node of the outer graph."""
    return {"shout": state.get("text", "").upper() + "!"}


def main(team: Team) -> State:
    """Ask the team, then shout."""
    graph: Any = StateGraph(State)
    graph.add_node("team", team.graph)
    graph.add_node("shout", shout)
    graph.add_edge(START, "team")
    graph.add_edge("team", "shout")
    graph.add_edge("shout", END)
    return graph.compile().invoke({"task": "What is 12 * 7?"})


if __name__ == "__main__":
    with Team.default() as team:
        print(main(team))
