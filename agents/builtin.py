"""The built-in specialists: calculator, tables, files, recall, python, web and writer."""

import importlib
import os
import sys
from collections.abc import Iterable
from datetime import date
from typing import Any, cast

from pointwork.agents import analysing, preparing, quoting, reaching
from pointwork.agents.services import ANYTHING
from pointwork.agents.spec import Agent
from pointwork.errors import ConfigError
from pointwork.settings import Settings, WebSettings
from pointwork.tools import Tool, builtin_tools
from pointwork.tools.web import web_tool


def builtin_agents(settings: Settings | None = None) -> list[Agent]:
    """The built-in specialists, and the agents of the configuration.

    Raises:
        ConfigError: an agent of the configuration names a tool that is not there.
    """
    tools = builtin_tools()

    def some(*names: str) -> tuple[Tool, ...]:
        return tuple(tools[name] for name in names)

    web = WebSettings() if settings is None else settings.web
    today = f"Today is {date.today():%A, %d %B %Y}."
    agents = [
        Agent(
            "calculator",
            f"You are a helpful assistant that turns a question into a calculation. {today}",
            {"math": "arithmetic, word problems, percentages, units, dates"},
            some("calculate", "convert", "date_math"),
            prepare=preparing.prepare_calculator,
            match=preparing.fits_calculator,
        ),
        Agent(
            "tables",
            "You are a helpful assistant that queries tables.",
            {"table": "count, sum, average, look up or compare rows of CSV, JSON and SQLite tables"},
            some("list_tables", "describe_table", "query_table", "sql"),
            prepare=preparing.prepare_tables,
            match=preparing.fits_tables,
        ),
        Agent(
            "files",
            "You are a helpful assistant. Answer briefly, in the words of the context.",
            {"lookup": "find facts in documents, notes and code files"},
            some("search_files", "grep_files", "read_file", "list_files"),
            prepare=quoting.prepare_files,
            match=quoting.fits_files,
        ),
        Agent(
            "recall",
            "You are a helpful assistant. Answer briefly from what is remembered.",
            {"memory": "what was said or found in earlier conversations"},
            some("recall", "read_memory"),
            prepare=preparing.prepare_recall,
            match=preparing.fits_recall,
        ),
        Agent(
            "python",
            "You are a helpful assistant that solves a task by a short Python program, which prints the answer.",
            {"code": "run a Python program: what needs loops, simulation or working on text"},
            some("python"),
            prepare=reaching.prepare_python,
            match=reaching.fits_python,
        ),
        Agent(
            "analyst",
            "You are a helpful assistant that does a task of several steps by one program over notes and tables.",
            {"analysis": "several facts from notes and tables, counted, compared and computed by one program"},
            some("program"),
            modes=("instant",),
            small=False,
            whole=analysing.can_run,
            prepare=analysing.prepare_program,
            match=preparing.fits_nothing,
        ),
        Agent(
            "web",
            "You are a helpful assistant. Answer briefly, in the words of the page.",
            {"web": "read a page of the web whose address the task names"},
            (web_tool(allow=web.allow, private=web.private),),
            prepare=reaching.prepare_web,
            match=reaching.fits_web,
        ),
        Agent(
            "writer",
            f"You are a helpful assistant. Answer briefly and to the point. {today}",
            {"write": "write, explain, translate or chat, from general knowledge"},
            match=preparing.fits_writer,
        ),
        # the same models with the main tools in one loop, and no specialist's preparation: an arm for everything
        Agent(
            "generalist",
            f"You are a helpful assistant with tools. Answer briefly. {today}",
            {ANYTHING: "anything"},
            some("calculate", "query_table", "search_files", "recall"),
            modes=("agentic",),
            prepare=preparing.prepare_calculator,
            match=preparing.fits_nothing,
        ),
    ]
    if settings is None:
        return agents
    return [*agents, *(_configured(row, tools) for row in settings.agents), *_imported(settings.agents_from)]


def _imported(where: str | None) -> list[Agent]:
    """Agents written in Python, found from the current folder too."""
    if where is None:
        return []
    module, _, name = where.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        found: Any = getattr(importlib.import_module(module), name)
        agents: Any = found() if callable(found) else found
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigError(f"agents_from = {where!r}: {error}") from error
    finally:
        sys.path.remove(os.getcwd())
    if not isinstance(agents, Iterable) or not all(isinstance(a, Agent) for a in cast(Iterable[Any], agents)):
        raise ConfigError(
            f"agents_from = {where!r} must be a list of pointwork.Agent, or a function that returns one"
        )
    return list(cast(Iterable[Agent], agents))


def _configured(row: object, tools: dict[str, Tool]) -> Agent:
    from pointwork.settings import AgentSettings

    assert isinstance(row, AgentSettings)
    unknown = [name for name in row.tools if name not in tools]
    if unknown:
        raise ConfigError(f"agent {row.name!r}: unknown tools {', '.join(unknown)}; there are {', '.join(tools)}")
    return Agent(
        row.name, row.instructions, row.capabilities, tuple(tools[name] for name in row.tools), roles=row.roles
    )
