"""Who is asked: the team, and what it must beat.

Each system answers a task from a fresh start, so that the order of the tasks does not matter; with ``learn``, the
teams keep one store through a whole run instead.
"""

import hashlib
import tempfile
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pointwork.agents import Agent, Team
from pointwork.agents.background import BackgroundLoop
from pointwork.agents.job import Job
from pointwork.agents.lifecycle import load_graphs
from pointwork.agents.loop import work
from pointwork.bench.metering import Metered, Meters, Usage
from pointwork.bench.parsers import answer_without_a_model
from pointwork.bench.tasks import Task
from pointwork.errors import ConfigError, PointworkError, StoreError, UsageError
from pointwork.memory.playbook import Bullet
from pointwork.models import ChatRequest, Completion, Message, Price
from pointwork.models.retry import with_retries
from pointwork.models.structured import SchemaViolation
from pointwork.settings import Settings
from pointwork.tools import Tool, ToolContext, ToolResult, builtin_tools

T = TypeVar("T")

# name: what it is
SYSTEMS = {
    "team": "planner, router, specialists, tools, checks",
    "alone": "the same model in one call: it sees the task, no file and no tool",
    "loop": "the same model with all tools in one loop: no planner, no router",
    "parsers": "retrieval and parsers without any planning: no model",
    "random-router": "the team, with arms drawn at random",
}

# Of an answer in one call.
ALONE_TOKENS = 200


@dataclass(frozen=True)
class Answer:
    """What a system said to a task, and how.

    Attributes:
        text: the short answer: all that is scored.
        status: as of a run.
        author: whose plan it was; empty without a plan.
        steps: of the plan: capability and text.
        arms: that were chosen, in order.
        missing: what it says it lacks.
        error: what it failed with; empty if it did not fail.
        used, seconds: what it took.
    """

    text: str
    status: str = "ok"
    author: str = ""
    steps: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    error: str = ""
    used: Usage = Usage()
    seconds: float = 0.0


@dataclass(frozen=True)
class Setup:
    """What all systems of a run share.

    Attributes:
        settings: the configuration; ``router.policy`` is overruled where a system says so.
        price: charged for every token; None leaves each model its own.
        seed: of every random choice, together with the task's id.
        learn: keep one store per team through the run, in ``folder``.
        folder: where such stores lie.
        playbook: bullets that every team begins with.
        clients: ready-made model clients by role.
    """

    settings: Settings
    price: Price | None = Price(0.10, 0.40)
    seed: int = 0
    learn: bool = False
    folder: Path | None = None
    playbook: tuple[Bullet, ...] = ()
    clients: Mapping[str, Any] = field(default_factory=dict[str, Any])


class System(Protocol):
    """Something that can be asked."""

    def ask(self, task: Task, root: Path) -> Answer:
        """Answer one task."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


class Bench:
    """The systems of a run, around the same metered models."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.meters = Meters(setup.settings, setup.price, setup.clients)
        self._loop = BackgroundLoop()
        self._open: dict[str, System] = {}
        # tasks without files get an empty folder, or the current one would be read
        self._passing = tempfile.TemporaryDirectory(prefix="pointwork-bench-")
        self._empty = Path(self._passing.name)
        if setup.learn:  # what is kept of such runs can be run again later, so their folder stays
            self._empty = (setup.folder or Path()) / "no-files"
            self._empty.mkdir(parents=True, exist_ok=True)

    def ask(self, name: str, task: Task) -> Answer:
        """Ask one system one task. What fails is an answer too, apart from what no task can be to blame for.

        Raises:
            UsageError: there is no such system.
            ConfigError, StoreError: nothing can work.
        """
        system = self._open.get(name) or self._open.setdefault(name, self._make(name))
        self.meters.take()
        started = time.perf_counter()
        try:
            answer = system.ask(task, task.root or self._empty)
        except (ConfigError, StoreError, UsageError):
            raise
        except PointworkError as error:
            answer = Answer("", "failed", error=f"{type(error).__name__}: {error}")
        return replace(answer, used=self.meters.take(), seconds=time.perf_counter() - started)

    def wait(self, job: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine; Ctrl-C cancels it."""
        future = self._loop.submit(job)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            self._loop.drain()
            raise

    def close(self) -> None:
        """Close systems and models."""
        for system in self._open.values():
            system.close()
        self.wait(self.meters.aclose())
        self._loop.stop()
        self._passing.cleanup()

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _make(self, name: str) -> System:
        makers = {
            "team": lambda: _TeamSystem(self, "team", self.setup.settings.router.policy),
            "random-router": lambda: _TeamSystem(self, "random-router", "random"),
            "alone": lambda: _Alone(self),
            "loop": lambda: _Loop(self),
            "parsers": lambda: _Parsers(self),
        }
        if name not in makers:
            raise UsageError(f"there is no system {name!r}; there are {', '.join(SYSTEMS)}")
        return makers[name]()


class _TeamSystem:
    def __init__(self, bench: Bench, name: str, policy: str) -> None:
        load_graphs()  # else it would count as time of the first task
        self._bench, self._name, self._policy = bench, name, policy
        self._kept: Team | None = None

    def ask(self, task: Task, root: Path) -> Answer:
        setup = self._bench.setup
        if setup.learn and self._kept is None:
            self._kept = self._team(setup.seed, f"sqlite:///{setup.folder or Path()}/{self._name}.db")
        team = self._kept or self._team(seed_of(setup.seed, task.id), "sqlite://")
        try:
            result = team.run(task.text, root=root)
        finally:
            if team is not self._kept:
                team.close()
        return Answer(
            result.text,
            result.status,
            author=result.plan.author,
            steps=tuple(f"{step.capability}: {step.text}" for step in result.plan.subtasks),
            arms=tuple(decided.arm for decided in result.decisions),
            missing=result.missing,
        )

    def _team(self, seed: int, store: str) -> Team:
        settings = self._bench.setup.settings
        router = settings.router.model_copy(update={"policy": self._policy, "seed": seed})
        team = Team(
            config=settings.model_copy(update={"router": router}), store=store, models=self._bench.meters.by_role
        )
        team.services.playbook.take(self._bench.setup.playbook)
        return team

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()


class _Alone:
    """One call. The prompt asks for a short answer, as that is what is scored."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def ask(self, task: Task, root: Path) -> Answer:
        system = "You are a helpful assistant. Reply with the answer alone, as short as you can."
        messages = [Message(role="system", content=system), Message(role="user", content=task.text)]
        request = ChatRequest(messages, max_tokens=ALONE_TOKENS, seed=self._bench.setup.seed)
        return Answer(self._bench.wait(_chat(self._bench, request)).text.strip())

    def close(self) -> None:
        pass


class _Loop:
    """The agents' own loop with all tools, and nothing around it."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        # no memory: there is nothing in it before the first task
        tools = [tool for name, tool in builtin_tools().items() if name not in ("recall", "read_memory")]
        self._small = bool(getattr(bench.meters.by_role["worker-large"], "small", False))
        # the loop itself tells other models what their tools do, and how to end it
        listed = "".join(f"\n- {tool.name}: {tool.description}" for tool in tools)
        told = f"\nTools:{listed}" if self._small else ""
        self._agent = Agent(
            "everything",
            f"You are a helpful assistant with tools. Answer briefly.{told}",
            ("anything",),
            tuple(tools),
            modes=("agentic",),
        )

    def ask(self, task: Task, root: Path) -> Answer:
        context = ToolContext(root=root.resolve())

        async def call_tool(tool: Tool, arguments: dict[str, Any]) -> ToolResult:
            return await tool.call(arguments, context)

        job = Job(
            agent=self._agent,
            mode="agentic",
            text=task.text,
            answer_type="text",
            facts=(),
            context=context,
            chat=lambda request: _chat(self._bench, request),
            call_tool=call_tool,
            remaining=lambda: "",
            max_turns=self._bench.setup.settings.run.max_turns,
            small=self._small,
        )
        attempt = self._bench.wait(work(job))
        return Answer(attempt.text, steps=tuple(f"{tool} {given}" for tool, given, _ in attempt.calls))

    def close(self) -> None:
        pass


class _Parsers:
    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def ask(self, task: Task, root: Path) -> Answer:
        text, how = self._bench.wait(answer_without_a_model(task.text, root))
        return Answer(text, steps=(how,))

    def close(self) -> None:
        pass


async def _chat(bench: Bench, request: ChatRequest) -> Completion:
    """The strongest model that the team may use, with the same retries."""
    client: Metered = bench.meters.by_role["worker-large"]
    start = getattr(client, "start", None)
    if start is not None:
        await start()
    room = client.context_tokens - client.count_tokens(request.messages)
    request = replace(request, max_tokens=max(1, min(request.max_tokens, room)))
    attempts = bench.setup.settings.model_for("worker-large").attempts

    async def once() -> Completion:
        try:
            return await client.chat(request)
        except SchemaViolation as error:
            # as the gateway does: what is wrong with it, the loop says to the model
            return error.completion

    return await with_retries(once, attempts=attempts, deadline=None)


def seed_of(seed: int, task: str) -> int:
    """A seed for one task: with the run's alone, every fresh router would draw the same arm."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{task}".encode()).digest()[:4])
