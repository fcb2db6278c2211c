"""What a tool is: a typed Python function with a name, a schema and capability labels."""

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, cast, get_args, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model
from pydantic_core import to_jsonable_python

from pointwork.errors import BudgetExceeded, ProviderError, StoreError, ToolError, UsageError
from pointwork.tools.schemas import schema_problems
from pointwork.tools.threads import in_thread

Label = Literal["reads-private", "writes", "egress", "untrusted-source", "destructive"]


@dataclass(frozen=True)
class Evidence:
    """A piece of text that an answer rests on.

    Attributes:
        id: unique within a run.
        source: where it is from: ``file:notes.md:12-20``, ``table:sales.csv``, ``memory:<id>``, ``tool:calculate``.
        text: the piece itself, verbatim.
    """

    id: str
    source: str
    text: str


@dataclass(frozen=True)
class ToolResult:
    """What a tool gave back.

    Attributes:
        value: plain JSON value.
        text: the same for a reader or a model.
        evidence: (source, text) pairs that the value rests on; the runtime gives them ids.
        answer: the short answer in it, where the call has one: ``397.8`` of ``17% of 2340 = 397.8``.
        choices: short texts of which one is the answer, where the result is a few cells.
    """

    value: Any
    text: str
    evidence: tuple[tuple[str, str], ...] = ()
    answer: str = ""
    choices: tuple[str, ...] = ()


class MemoryItem(Protocol):
    """One remembered piece, as a tool sees it."""

    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def source(self) -> str: ...
    @property
    def trust(self) -> str: ...


class MemoryRecall(Protocol):
    """What memory found: ``items`` best first, ``text`` the same quoted as data for a model."""

    @property
    def items(self) -> Sequence[MemoryItem]: ...
    @property
    def text(self) -> str: ...


class MemoryLike(Protocol):
    """The part of ``pointwork.memory.Memory`` that tools use. It is not a way to write: tools only read memory."""

    def recall(
        self, question: str, k: int = ..., budget_tokens: int = ..., thread: str | None = ...
    ) -> MemoryRecall: ...
    def read(self, id: str, /) -> str: ...


@dataclass(frozen=True)
class ToolContext:
    """What the runtime gives to a tool that asks for it with a parameter of this type.

    Attributes:
        root: the folder that may be read, resolved; None when there is none.
        memory: the run's memory, or None outside a run.
        thread: the conversation's id, or None.
        idempotency_key: the same for a repeated call, for tools with side effects.
        run_id: of the run, empty outside one.
        tainted: the run has read untrusted text or private data.
    """

    root: Path | None = None
    memory: MemoryLike | None = None
    thread: str | None = None
    idempotency_key: str = ""
    run_id: str = ""
    tainted: bool = False


@dataclass(frozen=True)
class Tool:
    """A tool. Make one with ``@tool``, or directly from a schema and a function.

    Attributes:
        name: as a model sees it.
        description: one or two sentences for the model.
        input_schema: JSON schema (object) of the arguments.
        fn: called with the arguments; sync functions run in a thread.
        output_schema: JSON schema of the value, if known.
        labels: what the tool can do that a policy must know.
        timeout: seconds before a call is given up.
        takes_key: the function honours ``ToolContext.idempotency_key``: repeating a call does nothing twice.
        needs_approval: a person must agree to each call.
        reconcile: asked with (idempotency key, arguments) whether an earlier call took effect: its result, or None
            if it did not; may be async. Where it fails, a person is asked. For tools that can look, but do not take
            keys.
        call_tokens: what a model may need to write a call, where that is more than a few short arguments.

    Raises:
        UsageError: no name, a label that the policy does not know, or a time-out that is no number of seconds.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    fn: Callable[..., Any]
    output_schema: dict[str, Any] | None = None
    labels: frozenset[Label] = frozenset()
    timeout: float = 30.0
    takes_key: bool = False
    needs_approval: bool = False
    call_tokens: int = 160
    reconcile: Callable[[str, dict[str, Any]], Any] | None = field(default=None, repr=False)
    model: type[BaseModel] | None = field(default=None, repr=False, compare=False)
    context_parameter: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        name, timeout = cast(object, self.name), cast(object, self.timeout)
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"a tool needs a name, not {self.name!r}")
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
            raise UsageError(f"tool {self.name!r}: timeout is a number of seconds above 0, not {self.timeout!r}")
        # a label that is misspelt would allow what it was to forbid
        unknown = set(self.labels) - set(get_args(Label))
        if unknown:
            shown, known = ", ".join(sorted(map(repr, unknown))), ", ".join(get_args(Label))
            raise UsageError(f"tool {self.name!r}: unknown labels {shown}; known: {known}")

    @property
    def has_side_effects(self) -> bool:
        """Whether a call changes the world outside the run."""
        return bool(self.labels & {"writes", "egress", "destructive"})

    def validate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Check and convert arguments.

        ``null`` for an argument that has a default means the default.

        Raises:
            ToolError: they do not fit the schema; the message names the argument.
        """
        if self.model is None:
            problems = schema_problems(self.input_schema, arguments)
            if problems:
                raise ToolError(f"tool {self.name!r}: wrong arguments: {problems}")
            return dict(arguments)
        try:
            checked = _validate_model(self.model, arguments)
        except ValidationError as error:
            raise ToolError(f"tool {self.name!r}: wrong arguments: {_explain(error, self.model)}") from error
        return {info.alias or name: getattr(checked, name) for name, info in self.model.model_fields.items()}

    async def call(self, arguments: dict[str, Any], context: ToolContext | None = None) -> ToolResult:
        """Run the tool.

        A sync function that is given up at the time-out goes on in its thread: Python can not stop it. Tools
        that may take long therefore bound themselves as well.

        Raises:
            ToolError: wrong arguments, a time-out, or whatever the function raised, with its message.
        """
        checked = self.validate(arguments)
        if self.context_parameter is not None:
            checked[self.context_parameter] = context or ToolContext()
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                if inspect.iscoroutinefunction(self.fn):
                    value = await self.fn(**checked)
                else:
                    value = await in_thread(self.fn, **checked)
                    if inspect.isawaitable(value):
                        value = await value
        except (ToolError, BudgetExceeded, ProviderError, StoreError):
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # nobody cancels this call: something that the function waited for was cancelled
            raise ToolError(f"tool {self.name!r} failed: what it waited for was cancelled") from error
        except (Exception, SystemExit) as error:
            if isinstance(error, TimeoutError) and limit.expired():
                raise ToolError(f"tool {self.name!r} did not end within {self.timeout:g} s") from error
            raise ToolError(f"tool {self.name!r} failed: {type(error).__name__}: {error}") from error
        return as_result(self.name, value)


def as_result(tool_name: str, value: Any) -> ToolResult:
    """What a tool's function gave, in plain JSON.

    Raises:
        ToolError: it can not be written so.
    """
    try:
        if isinstance(value, ToolResult):
            plain = _plain(value.value)
            return value if plain is value.value else replace(value, value=plain)
        plain = _plain(value)
        return ToolResult(plain, plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False))
    except Exception as error:
        # it has taken effect, but nobody can be told what came of it
        raise ToolError(f"tool {tool_name!r}: what it returned can not be written as JSON: {error}") from error


def call_tokens(tools: Sequence[Tool]) -> int:
    """What a model may need to write a call of one of some tools."""
    return max((tool.call_tokens for tool in tools), default=160)


def _plain(value: Any) -> Any:
    """A value as it can be written as JSON: models, dataclasses, sets, dates by what is in them."""
    try:
        json.dumps(value)
    except TypeError:
        try:
            value = to_jsonable_python(value, fallback=str)
        except UnicodeDecodeError:  # bytes that are no text
            value = to_jsonable_python(value, fallback=str, bytes_mode="base64")
        json.dumps(value)
    return value


def _validate_model(model: type[BaseModel], arguments: dict[str, Any]) -> BaseModel:
    try:
        return model.model_validate(arguments)
    except ValidationError:
        required = {info.alias or name for name, info in model.model_fields.items() if info.is_required()}
        given = {name: value for name, value in arguments.items() if value is not None or name in required}
        if given.keys() == arguments.keys():
            raise
        return model.model_validate(given)


def _explain(error: ValidationError, model: type[BaseModel]) -> str:
    problems = [f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors()]
    if any(e["type"] in ("extra_forbidden", "missing") for e in error.errors()):
        names = ", ".join(info.alias or name for name, info in model.model_fields.items())
        problems.append(f"it takes: {names or 'nothing'}")
    return "; ".join(problems)


@overload
def tool(fn: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    labels: Iterable[Label] = (),
    timeout: float = 30.0,
    takes_key: bool = False,
    needs_approval: bool = False,
    reconcile: Callable[[str, dict[str, Any]], Any] | None = None,
    call_tokens: int = 160,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    labels: Iterable[Label] = (),
    timeout: float = 30.0,
    takes_key: bool = False,
    needs_approval: bool = False,
    reconcile: Callable[[str, dict[str, Any]], Any] | None = None,
    call_tokens: int = 160,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool from a typed function.

    The docstring up to its first section (``Args:``, ``Returns:``, ``Raises:``) is the description; what
    ``Args:`` says of a parameter goes into the schema. A parameter annotated ``ToolContext`` is filled in by the
    runtime and hidden from the model.

    Raises:
        UsageError: a parameter has no type, or none that a JSON schema can tell, or no name of its own; the
            function has no docstring; it is no function; or as for ``Tool``.
    """
    if isinstance(labels, str):
        raise UsageError(f"labels={labels!r}: give a list of labels, for example labels=[{labels!r}]")

    def make(function: Callable[..., Any]) -> Tool:
        if not callable(cast(object, function)) or not hasattr(function, "__name__"):
            raise UsageError(f"@tool makes a tool of a function, not of {function!r}")
        description, about = _read_docstring(function)
        model, context_parameter = _arguments_model(function, about)
        try:
            schema = model.model_json_schema()
        except PydanticUserError as error:
            raise UsageError(f"tool {function.__name__!r}: no JSON schema tells its parameters: {error}") from error
        schema.pop("title", None)
        for argument in schema.get("properties", {}).values():
            argument.pop("title", None)
        return Tool(
            name=function.__name__ if name is None else name,
            description=description,
            input_schema=schema,
            fn=function,
            labels=frozenset(labels),
            timeout=timeout,
            takes_key=takes_key,
            needs_approval=needs_approval,
            reconcile=reconcile,
            call_tokens=call_tokens,
            model=model,
            context_parameter=context_parameter,
        )

    return make if fn is None else make(fn)


_SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Examples?):\s*$", re.MULTILINE)
_ARGUMENT = re.compile(r"^    (\w+): (.+(?:\n {5,}.+)*)", re.MULTILINE)


def _read_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The description for the model, and what the docstring says of each parameter."""
    text = inspect.getdoc(function) or ""
    head, *sections = _SECTION.split(text)
    description = " ".join(head.split())
    if not description:
        raise UsageError(f"tool {function.__name__!r} needs a docstring: it is what the model reads")
    pairs = zip(sections[::2], sections[1::2], strict=True)
    body = next((body for name, body in pairs if name == "Args"), "")
    return description, {name: " ".join(about.split()) for name, about in _ARGUMENT.findall(body)}


def _arguments_model(function: Callable[..., Any], about: dict[str, str]) -> tuple[type[BaseModel], str | None]:
    where = f"tool {function.__name__!r}: parameter"
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UsageError(f"{where} type can not be read: {error}; define it at the top of a module") from error
    fields: dict[str, Any] = {}
    context_parameter: str | None = None
    for parameter in inspect.signature(function).parameters.values():
        name = parameter.name
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise UsageError(f"{where} {str(parameter)!r}: a tool's parameters are passed by name, one by one")
        if name not in hints:
            raise UsageError(f"{where} {name!r} has no type")
        if hints[name] is ToolContext or ToolContext in get_args(hints[name]):
            context_parameter = name
            continue
        default: Any = ... if parameter.default is parameter.empty else parameter.default
        extra: dict[str, Any] = {"description": about[name]} if name in about else {}
        if name.startswith("_") or hasattr(BaseModel, name) or name.startswith("model_"):
            # pydantic keeps these names for itself: store under another one
            extra["alias"] = name
            name = f"argument_{name.lstrip('_')}"
        fields[name] = (hints[parameter.name], Field(default, **extra))
    config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
    try:
        model = create_model(f"{function.__name__}_arguments", __config__=config, **fields)
    except PydanticUserError as error:
        raise UsageError(f"{where} type can not be used: {error}") from error
    return model, context_parameter
