"""What an agent is: instructions, tools, capabilities, and the models and modes it may run with."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from pointwork.errors import UsageError
from pointwork.text import tokenize
from pointwork.tools import Tool, ToolContext, ToolResult

Mode = Literal["instant", "reasoning", "agentic"]

MODES: tuple[Mode, ...] = ("instant", "reasoning", "agentic")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


# Words that ask, and say nothing of what is asked about.
_ASKING = frozenset(tokenize("many much find show tell list give name say look number please there get which"))


def asked_words(text: str) -> set[str]:
    """The words of a request, stemmed, that say what it is about."""
    return set(tokenize(text)) - _ASKING


@dataclass(frozen=True)
class Example:
    """A request, what was at hand, and the call that answered it."""

    context: tuple[tuple[str, str], ...]
    request: str
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Writing:
    """How a model is asked for a program that does the whole subtask.

    Attributes:
        instructions: the system message.
        examples: (request, program) pairs.
        asked: the request: what is given and the task, as comments of Python.
    """

    instructions: str
    examples: tuple[tuple[str, str], ...]
    asked: str


@dataclass(frozen=True)
class Tabled:
    """Tables that may answer a question, for a model that was trained to write queries.

    Attributes:
        text: columns and first rows (``querying.tables_text``).
        named: the cells that the question seems to name.
    """

    text: str
    named: tuple[str, ...]


# From here on what was found speaks of what is asked.
FITTING = 0.75

# From here on an agent's own form accounts for the whole text, and no other agent could do better.
WHOLLY = 0.98


@dataclass(frozen=True)
class Prepared:
    """What an agent has at hand before a model is asked.

    Attributes:
        context: (source, text) pairs to show to the model; they count as evidence.
        fit: how well the context fits the question; where it is less than ``FITTING``, a small model makes its
            answer up.
        background: gathers more of the same, where a model that is not small is to be shown what may or may not
            matter.
        tools: the tools for this subtask, their schemas narrowed where the choices are known; None: all of them.
        call: (tool name, arguments) when the subtask says outright what to call, so no model is needed to choose.
        sure: how much of the subtask that call accounts for, 0 to 1; a model that is not small is asked below
            ``job.SURE``.
        cell: which cell of that call's first row is the answer; None: the result says it itself.
        yes_no: the answer is whether that call's result is more than nothing.
        unit: of a number that the call gives.
        absent: that call asks for a value that is not in the table which is named: nobody finds that.
        answer: the best of the choices, if it fits so well that a small model would not choose better.
        choices: pieces of the context of which one is the answer, the likeliest first.
        examples: like requests and the calls that answered them, the likest last.
        writing: a program is to be written and run by the agent's first tool, instead of a call or an answer.
        pages: (source, text) of whole passages that may say it, the likeliest first, for a trained reader.
        tabled: gathers tables that may answer it, for a model that was trained to write queries.
        told: (source, text) of what led to that call, evidence beside what it brings.
        reads: what that call brings is a text to be read: finds the answer in it, or choices, for a small model.
    """

    context: tuple[tuple[str, str], ...] = ()
    fit: float = 1.0
    background: Callable[[], Awaitable[Sequence[tuple[str, str]]]] | None = None
    tools: tuple[Tool, ...] | None = None
    call: tuple[str, dict[str, Any]] | None = None
    sure: float = 1.0
    cell: int | None = None
    yes_no: bool = False
    unit: str = ""
    absent: bool = False
    answer: str = ""
    choices: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    writing: Writing | None = None
    pages: tuple[tuple[str, str], ...] = ()
    tabled: Callable[[], Awaitable[Tabled | None]] | None = None
    told: tuple[tuple[str, str], ...] = ()
    reads: Callable[[ToolResult], ToolResult] | None = None


Prepare = Callable[[str, ToolContext], Awaitable[Prepared]]
Match = Callable[[str, ToolContext], Awaitable[float]]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


@dataclass(frozen=True)
class Agent:
    """A specialist.

    Args:
        name: letters, digits, ``_`` and ``-``.
        instructions: for the model: who it is and how it answers.
        capabilities: what it can be asked for; the planner names one of these, the router picks among the agents
            that have it. Maps a name to a description for the planner, or is a tuple of names.
        tools: what it may call.
        roles: model roles it may run on; each distinct model behind them makes an arm.
        modes: ``instant`` (at most one tool call), ``reasoning`` (a few sentences of thought first) and ``agentic``
            (a loop of tool calls; only for agents with tools).
        small: a small model will do (``EmbeddedClient.small``); without, the agent gets no arm on one, and is left
            out of a team that has no other model for its roles.
        whole: says whether the agent can do a task of several steps by itself, now and here. Where the model of the
            planner plans no better than rules it is given such tasks as they are; if it fails there comes a plan,
            not another agent. None: it can not.
        prepare: gathers context before the model is asked.
        match: how well a piece of text fits this agent, 0 to 1; default is overlap with what is written above.

    Raises:
        UsageError: a name that can not be used, no capability, no role, no mode, two tools of one name, a function
            that is no tool, or something of another type.
    """

    name: str
    instructions: str
    capabilities: Mapping[str, str] | tuple[str, ...]
    tools: tuple[Tool, ...] = ()
    roles: tuple[str, ...] = ("worker-small", "worker-large")
    modes: tuple[Mode, ...] = MODES
    small: bool = True
    whole: Callable[[], bool] | None = field(default=None, repr=False)
    prepare: Prepare | None = field(default=None, repr=False)
    match: Match | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        # users write these by hand, and not all of them have a type checker
        name, told = cast(object, self.name), cast(object, self.instructions)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise UsageError(f"agent name {self.name!r}: use letters, digits, '_' and '-', at most 64")
        if not isinstance(told, str):
            raise UsageError(f"agent {self.name!r}: instructions must be text, not {told!r}")
        self._check_capabilities()
        self._check_tools()
        for what in ("roles", "modes"):
            values: object = getattr(self, what)
            if not values:
                raise UsageError(f"agent {self.name!r} needs at least one of {what}")
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise UsageError(f"agent {self.name!r}: {what} must be a tuple, e.g. {what}=({values!r},)")
        if not all(map(_is_text, self.roles)):
            raise UsageError(f"agent {self.name!r}: roles are names of model roles, not {self.roles!r}")
        unknown = set(self.modes) - set(MODES)
        if unknown:
            raise UsageError(f"agent {self.name!r}: unknown mode {sorted(unknown)}; known: {', '.join(MODES)}")

    def _check_capabilities(self) -> None:
        given = cast(object, self.capabilities)
        if isinstance(given, str) or not isinstance(given, Iterable) or not given:
            raise UsageError(f"agent {self.name!r}: capabilities must be a non-empty tuple of names or a mapping")
        for capability, about in self.described_capabilities().items():
            if not _is_text(capability) or not isinstance(cast(object, about), str):
                raise UsageError(
                    f"agent {self.name!r}: a capability is a name, with a description in words if it is a mapping, "
                    f"not {capability!r}: {about!r}"
                )

    def _check_tools(self) -> None:
        given = cast(object, self.tools)
        if isinstance(given, Tool):
            raise UsageError(f"agent {self.name!r}: tools must be a tuple, e.g. tools=({given.name},)")
        if not isinstance(given, Iterable):
            raise UsageError(f"agent {self.name!r}: tools must be a tuple of tools, not {given!r}")
        object.__setattr__(self, "tools", tuple(self.tools))
        for item in cast(tuple[object, ...], self.tools):
            if not isinstance(item, Tool):
                shown = getattr(item, "__name__", repr(item))
                raise UsageError(f"agent {self.name!r}: {shown} is no tool; put @tool before the function")
        names = [tool.name for tool in self.tools]
        if len(set(names)) < len(names):
            raise UsageError(f"agent {self.name!r} has two tools of one name: {sorted(names)}")

    def described_capabilities(self) -> dict[str, str]:
        """Capability names with a description each."""
        if isinstance(self.capabilities, Mapping):
            return dict(self.capabilities)
        return dict.fromkeys(self.capabilities, self.instructions)

    async def fits(self, text: str, context: ToolContext) -> float:
        """How well a piece of text fits this agent, 0 to 1."""
        if self.match is not None:
            return min(1.0, max(0.0, await self.match(text, context)))
        able = (f"{name} {description}" for name, description in self.described_capabilities().items())
        about = set(tokenize(" ".join([self.name, self.instructions, *able])))
        about |= {word for tool in self.tools for word in tokenize(f"{tool.name} {tool.description}")}
        words = asked_words(text)
        return 0.95 * len(words & about) / len(words) if words else 0.0
