"""The agent that works with tools the team made itself, and writes one where none fits.

What it needs of the model is one call: of a tool that is there, or of ``make_tool`` with name, parameters, code and
cases. A tool that passed its cases is there for all later runs.
"""

import re

from pointwork.agents.services import ANYTHING
from pointwork.agents.spec import Agent, Prepared
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.text import tokenize
from pointwork.tools import Tool, ToolContext
from pointwork.tools.making import MAKE, Manager, make_tool

__all__ = ["MAKE", "Maker", "maker_agent"]

# Made tools that are shown for one subtask, besides the one that makes another.
SHOWN = 3

# A made tool is taken for fitting if a task has this share of what its name and description say.
FITS = 0.5

INSTRUCTIONS = (
    "You solve a task by one small tool: a pure Python function. If a tool that is there fits, call it. Else call "
    "make_tool: write `def run(...)` with the standard library alone, general enough for other inputs too, give at "
    "least two cases with the exact results that are right, and the arguments of this task."
)

_COMPUTES = re.compile(
    r"\b(?:count|convert|reverse|sort|encode|decode|parse|extract|format|normali[sz]e|validate|generate|transform|"
    r"translate\s+into\s+(?:roman|morse|binary|hex)|spell|rot13|checksum|anagram|palindrome|roman|fibonacci|prime)\w*\b",
    re.IGNORECASE,
)


class Maker:
    """Made tools, as an agent has them."""

    def __init__(self, manager: Manager, *, approve: bool) -> None:
        self._manager = manager
        self._make = make_tool(manager, approve=approve)

    async def prepare(self, text: str, _: ToolContext) -> Prepared:
        """The made tools that fit a subtask, and the one that makes another."""
        return Prepared(tools=(*self._fitting(text), self._make))

    async def match(self, text: str, _: ToolContext) -> float:
        """High where a made tool fits; above the writer's where something is to be worked out; else low."""
        if self._fitting(text):
            return 0.88
        return 0.3 if _COMPUTES.search(text) else 0.1

    def _fitting(self, text: str) -> list[Tool]:
        words = set(tokenize(text))
        found = self._manager.find(text, k=SHOWN)
        return [tool for tool in found if _share(set(tokenize(f"{tool.name} {tool.description}")), words) >= FITS]

    def agent(self) -> Agent:
        """The agent; it also joins where a specialist has failed."""
        about = "a computation or a change of text that no other capability covers: a tool is written for it"
        return Agent(
            "maker",
            INSTRUCTIONS,
            {"make": about, ANYTHING: "anything"},
            (self._make,),
            prepare=self.prepare,
            match=self.match,
        )


def _share(wanted: set[str], words: set[str]) -> float:
    return len(wanted & words) / len(wanted) if wanted else 0.0


def maker_agent(settings: Settings, store: Store) -> Agent:
    """The agent of ``[tools] make``."""
    return Maker(Manager(store, needs_approval=settings.tools.approve), approve=settings.tools.approve).agent()
