"""``pointwork.toml``: what it may say, its defaults, and errors that name file, line and key."""

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pointwork.budgets import Budget
from pointwork.errors import ConfigError, UsageError
from pointwork.roles import ROLES

FILE_NAME = "pointwork.toml"

EMBEDDED = "local:"

ToolLabel = Literal["reads-private", "writes", "egress", "untrusted-source", "destructive"]

# The first provider whose key is in the environment serves the roles: (key, small model, large model).
PROVIDERS = (
    ("ANTHROPIC_API_KEY", "anthropic/claude-haiku-4-5", "anthropic/claude-sonnet-5"),
    ("OPENAI_API_KEY", "openai/gpt-5-mini", "openai/gpt-5"),
    ("GEMINI_API_KEY", "gemini/gemini-2.5-flash", "gemini/gemini-2.5-pro"),
    ("MISTRAL_API_KEY", "mistral/mistral-small-latest", "mistral/mistral-large-latest"),
)


# As the router and memory have them, which are not loaded to read a file.
POLICIES = ("linucb", "neural", "random", "static", "thompson", "trees")
MODULES = ("filter", "entity", "temporal", "topic", "summary")
TIERS = ("low", "mid", "high")

_Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSettings(_Strict):
    """``[models.<role>]``: where a role's prompts go.

    Attributes:
        model: ``local:`` or ``local:/file.gguf``, ``http://host:port/v1#name``, or a litellm model string.
        api_key_env: name of the environment variable that holds the key (the key itself never stands in the file).
        usd_per_mtok: price per million (prompt, completion) tokens; None takes the known list price.
        timeout: seconds for one attempt.
        concurrency: most calls in flight.
        attempts: tries of one call, the first included.
    """

    model: str = Field(min_length=1)
    api_key_env: str | None = None
    usd_per_mtok: tuple[_Dollars, _Dollars] | None = None
    timeout: float = Field(default=120.0, gt=0)
    concurrency: int = Field(default=8, ge=1)
    attempts: int = Field(default=3, ge=1)


class RouterSettings(_Strict):
    """``[router]``."""

    policy: str = "linucb"
    usd_per_request: float | None = Field(default=None, gt=0)
    seed: int = 0


class PlannerSettings(_Strict):
    """``[planner]``: ``auto`` asks the model unless one agent can answer outright; ``rules`` never asks."""

    mode: Literal["auto", "model", "rules"] = "auto"
    max_subtasks: int = Field(default=8, ge=1, le=8)


class RunSettings(_Strict):
    """``[run]``: the shape of one run.

    Attributes:
        max_turns: of the agentic loop, at most.
        turn_limits: ``fixed`` allows ``max_turns``; ``learned`` the 75th percentile of what the agent took in the
            past, once extended by half where it is getting on, and never more than ``max_turns``.
        show_budget: what is left of the budget stands in each prompt.
        workspace: what a new plan starts from: ``markovian`` is what is known and what is open, ``transcript``
            everything that was tried.
        max_replans: new plans after a failure.
        readings: what a question's words say outright (a query, a date sum, a piece of a file) is taken without a
            model: ``auto`` all of it with the embedded model and what is nearly certain with others, ``always``,
            ``never``.
        judge: ask a model whether an answer is right, after the checks that need none.
        recall_tokens: of memory, for one subtask.
    """

    max_turns: int = Field(default=6, ge=1)
    turn_limits: Literal["fixed", "learned"] = "learned"
    show_budget: bool = True
    workspace: Literal["markovian", "transcript"] = "markovian"
    max_replans: int = Field(default=1, ge=0)
    readings: Literal["auto", "always", "never"] = "auto"
    judge: bool = False
    recall_tokens: int = Field(default=300, ge=0)


class MemorySettings(_Strict):
    """``[memory]``: what of experience goes into a run.

    Attributes:
        advice: bullets of the playbook and mistake notes that fit a subtask stand in its prompt: ``auto`` leaves
            them out for small models, for which no gain was shown; ``always``, ``never``.
        board: what a finished subtask found is offered to the others of its run.
        skills: plans that went well before are examples for the planner.
        working_tokens: of a loop's transcript; older results become pointers beyond it, which the agent can read.
        tiers: in which memory works: one word for all its modules or a tier for each; None leaves it to memory.
            High of entity, temporal and summary asks the model of the role ``memory``.
    """

    advice: Literal["auto", "always", "never"] = "auto"
    board: bool = True
    skills: bool = True
    working_tokens: int = Field(default=1500, ge=200)
    tiers: str | dict[str, str] | None = None


class TrainingSettings(_Strict):
    """``[training]``: what runs keep for it.

    Attributes:
        keep_tokens: ask local models (embedded, URLs) for token ids and log-probabilities, and keep them in the
            store.
        temperature: of every call to a local model: answers drawn greedily are all alike, and alike they teach
            nothing. None leaves it to the agents (0). ``pointwork train`` sets it for what it collects itself.
    """

    keep_tokens: bool = True
    temperature: float | None = Field(default=None, ge=0, le=2)


class BudgetSettings(_Strict):
    """``[budget]``: limits of a run that sets none itself."""

    usd: float | None = None
    seconds: float | None = None
    tokens: int | None = None
    tool_calls: int | None = None
    turns: int | None = None


class AgentSettings(_Strict):
    """``[[agents]]``: an agent of the user's own, beside the built-in ones."""

    name: str = Field(min_length=1)
    instructions: str
    capabilities: tuple[str, ...]
    tools: tuple[str, ...] = ()
    roles: tuple[str, ...] = ("worker-small", "worker-large")


class WebSettings(_Strict):
    """``[web]``: what the web agent may read.

    Attributes:
        allow: pages of the web, at all.
        private: ``host:port`` of servers on private addresses that it may read too.
    """

    allow: bool = False
    private: tuple[str, ...] = ()


class ToolSettings(_Strict):
    """``[tools]``: tools that the team makes itself.

    Attributes:
        make: whether an agent may write a tool where none fits; it needs a model that can write Python, so it is
            off unless asked for.
        approve: a person agrees to each tool before it is first used. Else only to one whose code wants more than
            to compute, or which was written in a run that read untrusted text or private data.
    """

    make: bool = False
    approve: bool = False


class McpSettings(_Strict):
    """``[mcp.<name>]``: a foreign MCP server whose tools the team may use.

    Attributes:
        command, args, env, cwd: a server that is started here and spoken to over its standard input and output.
            ``env`` maps names to values; ``$NAME`` as a whole value is taken from this process's environment.
        url, token_env: a server that is spoken to over HTTP; the token stands in that environment variable.
        labels: what its tools can do, as the policy must know; without a word, the worst is assumed.
        tool_labels: the same for one tool.
        tools: only these of its tools; None is all.
        timeout: seconds without an answer or a sign of progress before a call is given up.
        max_seconds: seconds before a call is given up whatever it reports.
        max_bytes: of one message; a longer one ends the server.
        memory_mb: of the server's process and its children together.
        approve: every call needs a person's agreement.
    """

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict[str, str])
    cwd: str | None = None
    url: str | None = Field(default=None, pattern=r"^https?://")
    token_env: str | None = None
    labels: tuple[ToolLabel, ...] = ("reads-private", "writes", "egress", "untrusted-source", "destructive")
    tool_labels: dict[str, tuple[ToolLabel, ...]] = Field(default_factory=dict[str, tuple[ToolLabel, ...]])
    tools: tuple[str, ...] | None = None
    timeout: float = Field(default=30.0, gt=0)
    max_seconds: float = Field(default=300.0, gt=0)
    max_bytes: int = Field(default=8_000_000, ge=1000)
    memory_mb: int = Field(default=1024, ge=1)
    approve: bool = False

    @model_validator(mode="after")
    def _one_of(self) -> "McpSettings":
        if (self.command is None) == (self.url is None):
            raise ValueError("give either command or url")
        return self


class Settings(_Strict):
    """The whole file.

    ``agents_from`` names agents written in Python, ``module:name`` of a list of ``Agent``s or a function that makes
    it, so that the command line (``runs resume`` above all) works with the same team as a program.
    ``adapters = false`` serves all roles by their base models: no version that was published, none of the package.
    ``encoder`` says what texts mean to memory and to the index of tools: ``auto`` is MiniLM where the extra
    ``embed`` is installed, else the static embedding of the package; ``static`` and ``minilm`` insist on theirs.
    """

    store: str | None = None
    adapters: bool = True
    encoder: Literal["auto", "static", "minilm"] = "auto"
    models: dict[str, ModelSettings] = Field(default_factory=dict[str, ModelSettings])
    router: RouterSettings = RouterSettings()
    planner: PlannerSettings = PlannerSettings()
    run: RunSettings = RunSettings()
    memory: MemorySettings = MemorySettings()
    budget: BudgetSettings = BudgetSettings()
    training: TrainingSettings = TrainingSettings()
    web: WebSettings = WebSettings()
    tools: ToolSettings = ToolSettings()
    mcp: dict[str, McpSettings] = Field(default_factory=dict[str, McpSettings])
    agents: tuple[AgentSettings, ...] = ()
    agents_from: str | None = Field(default=None, pattern=r"^[\w.]+:\w+$")

    def model_for(self, role: str) -> ModelSettings:
        """What serves a role: the file's entry, else a provider whose key is set, else the embedded model."""
        if role in self.models:
            return self.models[role]
        if "worker-small" in self.models:
            return self.models["worker-small"]
        for key, small, large in PROVIDERS:
            if os.environ.get(key):
                return ModelSettings(model=large if role in ("worker-large", "judge") else small, api_key_env=key)
        return ModelSettings(model=EMBEDDED)

    def default_budget(self) -> Budget:
        """The ``[budget]`` section as a ``Budget``."""
        return Budget(**self.budget.model_dump())


def load(path: str | os.PathLike[str] | None = None) -> Settings:
    """Read a configuration.

    Args:
        path: the file; None takes ``POINTWORK_CONFIG``, else ``pointwork.toml`` of the current folder.

    Raises:
        ConfigError: it is missing, not TOML, or says something unknown or of a wrong type.
        UsageError: ``path`` is none.
    """
    if not isinstance(cast(object, path), str | os.PathLike | None):
        raise UsageError(f"a configuration is the path of a pointwork.toml, or Settings, not {path!r}")
    settings = _read(path)
    return settings if _said_store is None else settings.model_copy(update={"store": _said_store})


_said_store: str | None = None


def say_store(url: str | None) -> None:
    """What the command line says of the store, which no file overrules; None: nothing."""
    global _said_store
    _said_store = url


def config_file() -> Path:
    """The configuration that is read and written where none is named: ``POINTWORK_CONFIG``, or of this folder."""
    return Path(os.environ.get("POINTWORK_CONFIG") or FILE_NAME)


def _read(path: str | os.PathLike[str] | None) -> Settings:
    file = Path(path) if path else config_file()
    if not path and not os.environ.get("POINTWORK_CONFIG") and not file.is_file():
        return Settings()
    try:
        source = file.read_text(encoding="utf-8-sig")  # editors of Windows put a mark before it
    except OSError as error:
        raise ConfigError(f"can not read the configuration {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8: byte {error.start} is {source_byte(error)}") from error
    try:
        values = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: not valid TOML: {error}") from error
    return _checked(file, source, values)


def source_byte(error: UnicodeDecodeError) -> str:
    """The offending byte, for a message."""
    return f"0x{error.object[error.start]:02x}"


def _checked(file: Path, source: str, values: dict[str, Any]) -> Settings:
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        problems = [
            f"{file}:{line_of(source, problem['loc'])}: {'.'.join(map(str, problem['loc']))}: {_said(problem)}"
            for problem in error.errors()
        ]
        raise ConfigError("\n".join(problems)) from error
    try:
        settings.default_budget()
    except UsageError as error:
        raise ConfigError(f"{file}:{line_of(source, ('budget',))}: budget: {error}") from error
    for location, what, name, known in _named(settings):
        if name not in known:
            where = f"{file}:{line_of(source, location)}: {'.'.join(location)}"
            raise ConfigError(f"{where}: unknown {what} {name!r}; known: {', '.join(known)}")
    return settings


def _named(settings: Settings) -> Iterator[tuple[tuple[str, ...], str, str, tuple[str, ...]]]:
    """What a file names that others define: where, what it is, its name, and those that there are."""
    for role in settings.models:
        yield ("models", role), "role", role, ROLES
    yield ("router", "policy"), "policy", settings.router.policy, POLICIES
    tiers = settings.memory.tiers
    for module, tier in (tiers if isinstance(tiers, dict) else {MODULES[0]: tiers or TIERS[0]}).items():
        yield ("memory", "tiers"), "module", module, MODULES
        yield ("memory", "tiers"), "tier", tier.lower(), TIERS


def _said(problem: Any) -> str:
    if problem["type"] == "extra_forbidden":
        return "unknown key"
    return f"{problem['msg']} (it is {problem['input']!r})"


def line_of(source: str, location: tuple[int | str, ...]) -> int:
    """The line (from 1) of a key in a TOML document; of its nearest parent if it does not stand there."""
    best, table, counts = 1, (), dict[tuple[str, ...], int]()
    depth = 0
    for number, line in enumerate(source.splitlines(), 1):
        header = re.match(r"\s*(\[\[?)\s*([^\]]+?)\s*\]", line)
        if header:
            table = tuple(part.strip().strip("\"'") for part in header[2].split("."))
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
            here: tuple[int | str, ...] = (*table, counts[table]) if header[1] == "[[" else table
        else:
            key = re.match(r"\s*([\w.\"'-]+?)\s*=", line)
            if not key:
                continue
            prefix = (*table, counts[table]) if table in counts else table
            here = (*prefix, *(part.strip("\"'") for part in key[1].split(".")))
        if here == location[: len(here)] and len(here) > depth:
            best, depth = number, len(here)
    return best
