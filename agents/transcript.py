"""An agent's loop as its model sees it, kept short: what tools said long ago becomes a pointer, and can be read."""

from collections.abc import Sequence
from typing import Any

from pointwork.errors import UsageError
from pointwork.memory.working import Working
from pointwork.models import Message
from pointwork.tools import Tool

# Characters that one call of ``read_result`` gives: as many as a budget of some hundred tokens holds.
PAGE = 1500


class Transcript:
    """What an agent was shown and said, as messages.

    Args:
        opening: what every prompt begins with.
        budget_tokens: of all results that are shown.
    """

    def __init__(self, opening: Sequence[Message], budget_tokens: int) -> None:
        self._opening = list(opening)
        self._working = Working(budget_tokens)
        self._pages = Working(budget_tokens, whole=2 * PAGE)
        self._turns: list[tuple[str, bool, str]] = []  # what was said, whether a page was read, what to do now

    def add(self, said: str, seen: str, then: str) -> None:
        """A turn: what the model said, what came of it, and what it is asked next."""
        self._working.add(seen)
        self._turns.append((said, False, then))

    def read(self, said: str, arguments: dict[str, Any], then: str) -> str | None:
        """A turn that asks for a result again; what is wrong with it, or None."""
        try:
            start = int(arguments.get("start") or 0)
            page = self._working.read(str(arguments.get("id", "")), start, PAGE)
        except (UsageError, ValueError, TypeError) as error:
            self.add(said, f"Error: {error}", then)
            return str(error)
        self._pages.add(page)
        self._turns.append((said, True, then))
        return None

    def messages(self) -> list[Message]:
        """The prompt as it is now."""
        results, pages = iter(self._working.shown()), iter(self._pages.shown())
        found = list(self._opening)
        for said, paged, then in self._turns:
            found.append(Message(role="assistant", content=said))
            found.append(
                Message(role="user", content=f"{next(pages) if paged else next(results)}\n{then}".lstrip())
            )
        return found

    def tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """The tools, and ``READ``, which reads what is no longer shown, if anything is not."""
        named = any(tool.name == READ.name for tool in tools)  # somebody's own
        return [*tools, READ] if self._working.hidden and not named else tools


def _not_called(id: str, start: int = 0) -> str:
    raise AssertionError("the loop reads its own transcript")


READ = Tool(
    "read_result",
    "Read an earlier result again, from a character on.",
    {
        "type": "object",
        "properties": {
            "id": {"type": "string", "pattern": "^w[0-9]{1,3}$"},
            "start": {"type": "integer", "minimum": 0, "maximum": 999999},
        },
        "required": ["id", "start"],
        "additionalProperties": False,
    },
    _not_called,
)
