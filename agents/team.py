"""The team: agents, models, router, memory and store, and the runs that they make."""

import asyncio
import contextlib
import copy
import os
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pointwork.agents.advising import take_feedback
from pointwork.agents.alone import services_of
from pointwork.agents.background import (
    AsyncEvents,
    BackgroundLoop,
    Events,
    awaited,
    followed,
    put,
    result_of,
    streamed,
)
from pointwork.agents.builtin import builtin_agents
from pointwork.agents.checkpoints import open_checkpointer
from pointwork.agents.foreign import foreign_agents
from pointwork.agents.inputs import (
    checked_agents,
    checked_budget,
    checked_reward,
    checked_root,
    checked_task,
    checked_thread,
)
from pointwork.agents.lifecycle import begin_run, load_graphs, mark, wake
from pointwork.agents.outcome import build_result
from pointwork.agents.questions import answers_to
from pointwork.agents.remembering import ROLE
from pointwork.agents.result import FINISHED, Question, Result
from pointwork.agents.runs import find_run
from pointwork.agents.services import Services
from pointwork.agents.spec import Agent
from pointwork.budgets import Budget
from pointwork.errors import PointworkError, UsageError
from pointwork.memory import Memory
from pointwork.memory.reader import ClientReader
from pointwork.models import ModelClient
from pointwork.models.gateway import Models
from pointwork.settings import Settings, load
from pointwork.store import Store, default_url, open_store

T = TypeVar("T")


class Team:
    """A team of agents that runs tasks.

    >>> team = Team.default()                                # doctest: +SKIP
    >>> team.run("What is 17% of 2340?").text                # doctest: +SKIP
    '397.8'

    Args:
        agents: exactly these; None takes the built-in specialists and those of the configuration.
        config: path of a ``pointwork.toml``, or ready ``Settings``; None looks for one in the current folder.
        store: an SQLAlchemy URL or a ``Store``; None takes the configuration's, ``POINTWORK_STORE`` or the user's.
        models: ready-made model clients by role, instead of the configuration's.
        root: the folder that agents may read; None is the current one.

    A team may be shared by threads. ``close`` it, or use it as a context manager.

    Raises:
        ConfigError, StoreError, UsageError: what it was given can not work.
    """

    def __init__(
        self,
        agents: Sequence[Agent] | None = None,
        config: str | os.PathLike[str] | Settings | None = None,
        *,
        store: str | Store | None = None,
        models: Mapping[str, ModelClient] | None = None,
        root: str | os.PathLike[str] | None = None,
    ) -> None:
        settings = config if isinstance(config, Settings) else load(config)
        self.store = open_store(store or settings.store or default_url())
        self.root = None if root is None else checked_root(root)
        self.settings = settings
        chosen = builtin_agents(settings) if agents is None else checked_agents(agents)
        served = Models(settings, self.store, models)
        reader = ClientReader(lambda: served.client(ROLE))
        memory = Memory(self.store, encoder=settings.encoder, tiers=settings.memory.tiers, model=reader)
        self.services = Services(chosen, settings, self.store, served, memory)
        self.memory = self.services.memory
        self.router = self.services.router
        self._worker = BackgroundLoop()
        self._graph: Any = None
        self._compiled: Any = None
        self._runner: asyncio.Future[tuple[Any, contextlib.AsyncExitStack]] | None = None
        self._closed = False
        self._whole: Team | None = None
        self._at_close: list[Callable[[], None]] = []
        self._finalizer = weakref.finalize(self, BackgroundLoop.stop, self._worker)

    @classmethod
    def default(cls, agents: Sequence[Agent] = (), **options: Any) -> "Team":
        """The built-in specialists, with ``agents`` beside them; options as for ``Team``."""
        config = options.pop("config", None)
        settings = config if isinstance(config, Settings) else load(config)
        agents = checked_agents(agents)
        if not (settings.mcp or settings.tools.make):
            return cls([*builtin_agents(settings), *agents], settings, **options)
        options["store"] = open_store(options.get("store") or settings.store or default_url())
        foreign, close = foreign_agents(settings, options["store"])
        team = cls([*builtin_agents(settings), *agents, *foreign], settings, **options)
        team._at_close.append(close)
        return team

    @property
    def agents(self) -> dict[str, Agent]:
        """The agents, by name."""
        return dict(self.services.agents)

    def only(self, agent: str) -> "Team":
        """The same team with one of its agents to choose from.

        Store, router, memory, models and the runs are shared: what this agent learns the whole team knows. Closing
        it closes nothing.

        Raises:
            UsageError: the team has no such agent.
        """
        part = copy.copy(self)
        part.services = services_of(self.services, agent)
        part._graph = part._compiled = None
        part._whole = self._whole or self
        return part

    @property
    def graph(self) -> Any:
        """The compiled LangGraph graph, to call or to put as a node into another.

        ``task`` in; ``text``, ``status``, ``run_id``, ``evidence``, ``missing`` out. ``invoke`` or
        ``ainvoke``; it takes the outer graph's checkpointer.
        """
        if self._graph is None:
            from pointwork.agents.graph import build_graph

            self._graph = build_graph(self.services, waiting=self._wait)
        return self._graph

    def run(
        self,
        task: str,
        *,
        budget: Budget | None = None,
        thread: str | None = None,
        root: str | os.PathLike[str] | None = None,
    ) -> Result:
        """Run a task to its end.

        Args:
            task: in the user's words.
            budget: limits; None takes the configuration's.
            thread: a conversation's name: its earlier runs are remembered first.
            root: the folder that agents may read; None takes the team's, else the current folder.

        Returns:
            The result; ``result.status`` says whether it is ``ok``, ``failed`` or ``budget_exhausted``.

        Raises:
            UsageError: an empty or overlong task, a folder that is not there, a thread that can not be kept.
            ProviderError, StoreError: no model could be reached at all, or the store refused.
            KeyboardInterrupt: passed on; the run is stored as interrupted and can be resumed.
        """
        return self._wait(self._run(*self._arguments(task, budget, thread, root)))

    async def arun(
        self,
        task: str,
        *,
        budget: Budget | None = None,
        thread: str | None = None,
        root: str | os.PathLike[str] | None = None,
    ) -> Result:
        """``run``, from asynchronous code; cancelling it stops the run, which can be resumed."""
        return await awaited(self._worker, self._run(*self._arguments(task, budget, thread, root)))

    def stream(
        self,
        task: str,
        *,
        budget: Budget | None = None,
        thread: str | None = None,
        root: str | os.PathLike[str] | None = None,
    ) -> Generator[dict[str, Any], None, None]:
        """Run a task and yield what happens: events ``run``, ``plan``, ``subtask_started``, ``subtask_finished``,
        ``answer`` as dictionaries with the key ``event``; the last one carries the result as JSON.
        """
        arguments = self._arguments(task, budget, thread, root)
        events = Events()
        yield from streamed(self._worker, events, self._run(*arguments, events=events))

    def astream(
        self,
        task: str,
        *,
        budget: Budget | None = None,
        thread: str | None = None,
        root: str | os.PathLike[str] | None = None,
    ) -> AsyncGenerator[dict[str, Any], None]:
        """``stream``, from asynchronous code. Cancelling what awaits it stops the run; it can be resumed."""
        arguments = self._arguments(task, budget, thread, root)
        events = AsyncEvents()
        return followed(self._worker, events, self._run(*arguments, events=events))

    def astream_resume(
        self, run_id: str, answer: str | Mapping[str, str] | None = None
    ) -> AsyncGenerator[dict[str, Any], None]:
        """``stream_resume``, from asynchronous code."""
        events = AsyncEvents()
        return followed(self._worker, events, self._resume(run_id, events=events, answer=answer))

    def resume(self, run_id: str) -> Result:
        """Go on with a run that was interrupted or killed; of a finished run, its result.

        Raises:
            UsageError: there is no such run, or it was not run by a team of this kind of store.
        """
        return self._wait(self._resume(run_id))

    def stream_resume(
        self, run_id: str, answer: str | Mapping[str, str] | None = None
    ) -> Generator[dict[str, Any], None, None]:
        """``resume``, or with an answer ``answer``, yielding events as ``stream`` does."""
        events = Events()
        yield from streamed(self._worker, events, self._resume(run_id, events=events, answer=answer))

    def answer(self, run_id: str, answer: str | Mapping[str, str]) -> Result:
        """Answer what a run waits for, and let it go on; may come days later and from another process.

        Args:
            run_id: of a run whose status is ``waiting``.
            answer: ``approve``, ``deny``, ``done`` or ``repeat`` for all its questions, or answers by question id.

        Raises:
            UsageError: no such run, it does not wait, or the answer is none of those asked for.
        """
        return self._wait(self._resume(run_id, answer=answer))

    def questions(self, run_id: str) -> tuple[Question, ...]:
        """What a run waits for a person to say; empty if it does not wait."""
        return self._wait(self._questions(find_run(self.store, run_id)["id"]))

    def feedback(self, run_id: str, reward: float) -> int:
        """Say how good a run's answer was; the router learns it for the decisions that led to it, and it is a vote
        for or against the advice that was shown.

        Args:
            run_id: of the run, also long after it.
            reward: 0 (wrong) to 1 (right). A later call corrects an earlier one; the same again changes nothing.

        Returns:
            How many decisions it was credited to.

        Raises:
            UsageError: no such run, a reward outside 0 to 1, or the team is closed.
        """
        self._check_open()
        return take_feedback(self.services, find_run(self.store, run_id)["id"], checked_reward(reward))

    def _check_open(self) -> None:
        if (self._whole or self)._closed:
            raise UsageError("this team is closed")

    def close(self) -> None:
        """Stop the runs that go on (they can be resumed), store the router's state, close models and connections.
        Closing twice does nothing."""
        if self._closed or self._whole is not None:
            return
        self._closed = True
        self._worker.cancel()
        for end in self._at_close:
            end()
        self._worker.finish(self._aclose())

    def __enter__(self) -> "Team":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _aclose(self) -> None:
        if self._runner is not None:
            _, stack = await self._runner
            await stack.aclose()
        await self.services.aclose()

    def _arguments(
        self, task: str, budget: Budget | None, thread: str | None, root: str | os.PathLike[str] | None
    ) -> tuple[str, Budget, str | None, str]:
        self._check_open()
        folder = checked_root(root) if root is not None else (self.root or checked_root(Path.cwd()))
        limits = self.settings.default_budget() if budget is None else checked_budget(budget)
        return checked_task(task), limits, checked_thread(thread), str(folder)

    async def _run(
        self, task: str, budget: Budget, thread: str | None, root: str, events: "Events | AsyncEvents | None" = None
    ) -> Result:
        load_graphs()  # the time that it takes to load is not the run's
        await asyncio.sleep(0)  # whoever gave up meanwhile began nothing
        run_id = begin_run(self.services, task, root=root, thread=thread, budget=budget)
        put(events, {"event": "run", "run_id": run_id})
        return await self._drive(run_id, {"task": task, "thread": thread, "root": root, "run_id": run_id}, events)

    async def _resume(
        self,
        run_id: str,
        events: "Events | AsyncEvents | None" = None,
        answer: str | Mapping[str, str] | None = None,
    ) -> Result:
        run = find_run(self.store, run_id)
        put(events, {"event": "run", "run_id": run["id"]})
        if run["status"] in FINISHED and run["result"] is not None:
            if answer is not None:
                raise UsageError(f"run {run['id']} does not wait for an answer: it has ended ({run['status']})")
            put(events, {"event": "answer", "result": run["result"]})
            return Result.from_json(run["result"])
        inputs: Any = None
        asked = await self._questions(run["id"])
        if asked and answer is None:
            return await self._waiting(run["id"], asked, events)
        if answer is not None:
            from pointwork.agents.graph import resuming

            inputs = resuming(answers_to(asked, answer, run["id"]))
        elif not await self._begun(run["id"]):
            inputs = {"task": run["task"], "thread": run["thread"], "root": run["root"], "run_id": run["id"]}
        wake(self.services, run["id"])
        return await self._drive(run["id"], inputs, events)

    async def _begun(self, run_id: str) -> bool:
        graph = await self._checkpointed()
        return bool((await graph.aget_state({"configurable": {"thread_id": run_id}})).values)

    async def _questions(self, run_id: str) -> tuple[Question, ...]:
        graph = await self._checkpointed()
        state = await graph.aget_state({"configurable": {"thread_id": run_id}})
        return tuple(Question.from_json({**asked.value, "id": asked.id}) for asked in state.interrupts)

    async def _drive(self, run_id: str, inputs: Any, events: "Events | AsyncEvents | None") -> Result:
        config = {"configurable": {"thread_id": run_id}, "recursion_limit": 200}
        result: dict[str, Any] | None = None
        try:
            graph = await self._checkpointed()
            async for event in graph.astream(inputs, config, stream_mode="custom", durability="sync"):
                put(events, event)
                result = event.get("result", result)
        except asyncio.CancelledError:
            mark(self.store, run_id, "interrupted", result=await self._partial(run_id))
            raise
        except PointworkError as error:
            mark(self.store, run_id, "failed", str(error))
            raise
        except Exception as error:
            mark(self.store, run_id, "failed", f"{type(error).__name__}: {error}")
            raise
        finally:
            self.services.let_go(run_id)
        if result is not None:
            return Result.from_json(result)
        # the graph ended without an answer: it waits for one
        return await self._waiting(run_id, await self._questions(run_id), events)

    async def _waiting(
        self, run_id: str, asked: tuple[Question, ...], events: "Events | AsyncEvents | None"
    ) -> Result:
        graph = await self._checkpointed()
        state = await graph.aget_state({"configurable": {"thread_id": run_id}})
        result = build_result(self.services, state.values, asked)
        mark(self.store, run_id, result.status, result=result.as_json())
        put(events, {"event": "answer", "result": result.as_json()})
        return result

    async def _partial(self, run_id: str) -> dict[str, Any] | None:
        """What a run that is stopped has come to, as JSON; None if it has no plan yet."""
        graph = await self._checkpointed()
        state = await graph.aget_state({"configurable": {"thread_id": run_id}})
        if "plan" not in state.values:
            return None
        return replace(build_result(self.services, state.values), status="interrupted").as_json()

    async def _checkpointed(self) -> Any:
        # a task, awaited by all: two runs that begin at once must not open it twice
        whole = self._whole or self
        if whole._runner is None:
            whole._runner = asyncio.ensure_future(open_checkpointer(self.store))
        checkpointer, _ = await asyncio.shield(whole._runner)
        if self._compiled is None:
            from pointwork.agents.graph import build_graph

            self._compiled = build_graph(self.services, checkpointer)
        return self._compiled

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return result_of(self._worker, work)
