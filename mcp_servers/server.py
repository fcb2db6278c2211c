"""The MCP server: a team, each of its agents, and tools, for any MCP client."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import RequestStateBoundary, RequestStateSecurity
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pointwork import __version__
from pointwork.agents import Team
from pointwork.agents.lifecycle import load_graphs
from pointwork.agents.result import FINISHED, Question, Result
from pointwork.agents.services import ANYTHING
from pointwork.errors import PointworkError, RunError, UsageError
from pointwork.mcp_servers import prompts, resources, schemas
from pointwork.mcp_servers.jobs import Job, Jobs, Stream
from pointwork.mcp_servers.names import valid_names
from pointwork.mcp_servers.principals import LOCAL, Accounts, Caller, Grant
from pointwork.mcp_servers.results import structured, structured_error, structured_row
from pointwork.mcp_servers.tooling import call_tool, offered
from pointwork.tools import Tool

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]
Called = types.CallToolResult | types.InputRequiredResult

PAGE = 200
INSTRUCTIONS = (
    "'team' plans a task and gives its parts to agents; each agent can also be asked alone. Long tasks: give "
    "wait_seconds, then 'resume' with the run_id. What a run did stands in the resources run://ID and trajectory://ID."
)


@dataclass(frozen=True)
class Options:
    """How a server behaves.

    Attributes:
        agents: names of those to offer; None is all of the team.
        whole: whether ``team`` itself is offered.
        tools: tools to offer as they are.
        callers: who may call; empty: whoever reaches the server.
        max_runs: runs at work at once.
    """

    agents: tuple[str, ...] | None = None
    whole: bool = True
    tools: tuple[Tool, ...] = ()
    callers: tuple[Caller, ...] = ()
    max_runs: int = 16


class AgentServer:
    """Serves a team over MCP; ``mcp`` is the SDK's server, for any of its transports.

    Args:
        team: whose agents work.
        options: what is offered, and to whom.

    Raises:
        UsageError: an agent is named that the team does not have.
    """

    def __init__(self, team: Team, options: Options | None = None) -> None:
        load_graphs()  # now, not while the first client waits for its run
        self.team, self.options = team, options or Options()
        self.books = Accounts(team.store)
        self.jobs = Jobs(team.store, self.books, self.options.max_runs)
        self.runs = resources.Runs(team.store, self.books)
        self._callers = {caller.name: caller for caller in self.options.callers}
        self._teams: dict[str, Team] = {}
        self._plain: dict[str, Tool] = {}
        self._listed = self._offer()
        self.mcp: Server[Any] = Server(
            "pointwork",
            version=__version__,
            title="Pointwork",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
        )
        # what a client carries back between two rounds of one call is sealed: it can not point at another's run
        self.mcp.middleware.append(
            RequestStateBoundary(RequestStateSecurity.ephemeral(ttl=86_400), default_audience="pointwork")
        )

    def _offer(self) -> dict[str, types.Tool]:
        agents = self.team.agents
        chosen = list(agents) if self.options.agents is None else list(self.options.agents)
        unknown = [name for name in chosen if name not in agents]
        if unknown:
            raise UsageError(f"no agent {', '.join(unknown)}; there are {', '.join(agents)}")
        keys = [
            schemas.TEAM,
            schemas.RESUME,
            *(f"agent {n}" for n in chosen),
            *(t.name for t in self.options.tools),
        ]
        clear = {f"agent {n}": n for n in chosen if n not in (schemas.TEAM, schemas.RESUME)}
        names = valid_names([clear.get(key, key) for key in keys])
        listed: dict[str, types.Tool] = {}
        if self.options.whole:
            able = {k: v for k, v in self.team.services.capabilities().items() if k != ANYTHING}
            listed[schemas.TEAM] = schemas.team_tool(able)
            self._teams[schemas.TEAM] = self.team
        for agent in chosen:
            name = names[clear.get(f"agent {agent}", f"agent {agent}")]
            listed[name] = schemas.agent_tool(name, agents[agent])
            self._teams[name] = self.team.only(agent)
        if self._teams:
            listed[schemas.RESUME] = schemas.resume_tool()
        for tool in self.options.tools:
            name = names[tool.name]
            if name in listed:
                raise UsageError(f"a tool and an agent are both called {name!r}")
            listed[name] = offered(name, tool)
            self._plain[name] = tool
        return listed

    def caller(self) -> Caller:
        """Who sent the request that is being handled."""
        token = get_access_token()
        return LOCAL if token is None else self._callers[token.client_id]

    async def aclose(self) -> None:
        """Stop the runs at work; they can be resumed."""
        await self.jobs.aclose()

    # -- tools ---------------------------------------------------------------------------------------------

    async def _list_tools(self, _: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        every = list(self._listed.values())
        start = _offset(params)
        rest = str(start + PAGE) if start + PAGE < len(every) else None
        return types.ListToolsResult(tools=every[start : start + PAGE], next_cursor=rest)

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Called:
        tool = self._listed.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"no tool {params.name!r}; there are {', '.join(self._listed)}")
        caller = self.caller()
        job: Job | None = None
        try:
            if params.request_state is not None:
                return await self._answered(ctx, params, caller)
            self.books.admit(caller)
            if params.name in self._plain:  # a tool checks what it is given itself
                return await call_tool(self._plain[params.name], dict(params.arguments or {}), self.team)
            given = schemas.checked(tool, params.arguments)
            if params.name == schemas.RESUME:
                row = self.runs.row(caller, given["run_id"])
                job = self.jobs.find(row["id"])
                if job is None and (row["status"] in FINISHED and row["result"] is not None):
                    return _said(structured_row(row))
                job = job or self._go_on(caller, row["id"])
            else:
                job = self._begin(caller, params.name, given)
            return await self._follow(ctx, job, given.get("wait_seconds"))
        except PointworkError as error:
            return _said(structured_error(error, job.run_id if job else None))

    def _begin(self, caller: Caller, name: str, given: dict[str, Any]) -> Job:
        grant = self.books.grant(caller, schemas.budget_of(given, self.team.settings.default_budget()))
        thread = given.get("thread")
        if thread is not None and not caller.sees_all:
            thread = f"{caller.name}/{thread}"
        team = self._teams[name]

        def make() -> Stream:
            return team.astream(given["task"], budget=grant.budget, thread=thread)

        return self._job(make, grant, name)

    def _go_on(self, caller: Caller, run_id: str, answer: dict[str, str] | None = None) -> Job:
        from pointwork.budgets import Budget

        grant = self.books.grant(caller, Budget())
        self.books.narrow(grant, run_id)
        tool = self.books.tool_of(run_id) or schemas.TEAM
        team = self._teams.get(tool, self.team)
        return self._job(lambda: team.astream_resume(run_id, answer), grant, tool, run_id)

    def _job(self, make: Callable[[], Stream], grant: Grant, tool: str, run_id: str = "") -> Job:
        try:
            return self.jobs.begin(make, grant, tool, run_id)
        except UsageError:
            self.books.settle(grant, 0.0, 0)
            raise

    async def _follow(self, ctx: Context, job: Job, wait: float | None) -> Called:
        """Report what happens until the run ends, or the client has waited or goes away."""
        job.followers += 1
        try:
            await job.begun.wait()  # without an id nobody could come back to it
            with anyio.move_on_after(wait) as limit:
                await _report(ctx, job)
                await job.ended.wait()
        except asyncio.CancelledError:
            job.followers -= 1
            if job.followers == 0:
                log.info("run %s: the client cancelled it", job.run_id)
                with anyio.CancelScope(shield=True):
                    await job.stop()
            raise
        job.followers -= 1
        if limit.cancelled_caught and not job.ended.is_set():
            return _said({"status": "running", "text": "", "run_id": job.run_id})
        return await self._ended(ctx, job)

    async def _ended(self, ctx: Context, job: Job) -> Called:
        if isinstance(job.error, asyncio.CancelledError):
            return _said(structured_row(self.runs.row(LOCAL, job.run_id)))
        if job.error is not None:
            if not isinstance(job.error, PointworkError):
                log.error("run %s failed", job.run_id, exc_info=job.error)
            assert isinstance(job.error, Exception)
            return _said(structured_error(job.error, job.run_id))
        if job.result is None:
            raise RunError(f"run {job.run_id} ended without a result; the server's log says why")
        if job.result.status == "waiting" and _can_ask(ctx):
            return await self._ask(ctx, job.result)
        return _said(structured(job.result))

    # -- approvals -----------------------------------------------------------------------------------------

    async def _ask(self, ctx: Context, result: Result) -> Called:
        """Put the run's questions to the person at the client."""
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            asked: dict[str, Any] = {q.id: types.ElicitRequest(params=_form(q)) for q in result.questions}
            return types.InputRequiredResult(input_requests=asked, request_state=result.run_id)
        answers: dict[str, str] = {}
        for question in result.questions:
            form = _form(question)
            said = await ctx.session.elicit_form(form.message, form.requested_schema, ctx.request_id)
            answers |= _answer(question, said)
        return await self._with_answers(ctx, self.caller(), result, answers)

    async def _answered(self, ctx: Context, params: types.CallToolRequestParams, caller: Caller) -> Called:
        """The second round of a call in the newer protocol: the client brings the answers."""
        row = self.runs.row(caller, params.request_state or "")
        if row["status"] != "waiting":
            return _said(structured_row(row))
        result = Result.from_json(row["result"])
        given = params.input_responses or {}
        answers: dict[str, str] = {}
        for question in result.questions:
            said = given.get(question.id)
            if isinstance(said, types.ElicitResult):
                answers |= _answer(question, said)
        return await self._with_answers(ctx, caller, result, answers)

    async def _with_answers(self, ctx: Context, caller: Caller, result: Result, answers: dict[str, str]) -> Called:
        if not answers:  # dismissed: the run goes on waiting
            return _said(structured(result))
        job = self._go_on(caller, result.run_id, answers)
        return await self._follow(ctx, job, None)

    # -- resources, prompts, completion --------------------------------------------------------------------

    async def _list_resources(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        try:
            found, rest = self.runs.page(self.caller(), params.cursor if params else None)
        except UsageError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        return types.ListResourcesResult(resources=found, next_cursor=rest)

    async def _list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.templates())

    async def _read_resource(self, _: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        try:
            return types.ReadResourceResult(contents=[self.runs.read(self.caller(), str(params.uri))])
        except UsageError as error:
            raise MCPError(types.INVALID_PARAMS, str(error), {"uri": str(params.uri)}) from error

    async def _list_prompts(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=prompts.listed())

    async def _get_prompt(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        try:
            return prompts.filled(params.name, dict(params.arguments or {}))
        except KeyError:
            known = ", ".join(job.name for job in prompts.JOBS)
            raise MCPError(types.INVALID_PARAMS, f"no prompt {params.name!r}; there are {known}") from None
        except ValueError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error

    async def _complete(self, _: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        values: list[str] = []
        if params.argument.name == "run_id":
            values = self.runs.ids(self.caller(), params.argument.value)
        return types.CompleteResult(completion=types.Completion(values=values[:100], total=len(values)))


async def _report(ctx: Context, job: Job) -> None:
    done, total = 0, None
    async for event in job.follow():
        done += 1
        kind, message = event["event"], ""
        if kind == "run":
            message = f"run {event['run_id']}"
        elif kind == "plan":
            subtasks = event["plan"]["subtasks"]
            total = done + 2 * sum(not subtask.get("found") for subtask in subtasks) + 1
            message = f"plan: {'; '.join(subtask['text'] for subtask in subtasks)}"
        elif kind == "subtask_started":
            message = f"started {event['key']} on {event['arm']}: {event['text']}"
        elif kind == "subtask_finished":
            message = f"finished {event['key']}: {event['status']}"
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await ctx.session.report_progress(done, None if total is None else max(total, done + 1), message[:500])


def _said(value: dict[str, Any]) -> types.CallToolResult:
    """A structured result with the same as text for clients that read only that."""
    wrong = value["status"] == "error"
    text = value["error"]["message"] if wrong else value.get("text") or json.dumps(value, ensure_ascii=False)
    content: list[Any] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=value, is_error=wrong)


def _can_ask(ctx: Context) -> bool:
    able = ctx.session.client_capabilities
    if able is None or able.elicitation is None:
        return False
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS or ctx.session.can_send_request


def _form(question: Question) -> types.ElicitRequestFormParams:
    answer = {"type": "string", "title": "Answer", "enum": list(question.answers)}
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    return types.ElicitRequestFormParams(message=question.question, requested_schema=schema)


def _answer(question: Question, said: types.ElicitResult) -> dict[str, str]:
    """What a person said; declining is "deny", dismissing leaves the question open."""
    if said.action == "decline":
        return {question.id: "deny"}
    if said.action == "accept" and (said.content or {}).get("answer") in question.answers:
        return {question.id: str((said.content or {})["answer"])}
    return {}


def _offset(params: types.PaginatedRequestParams | None) -> int:
    if params is None or params.cursor is None:
        return 0
    if not params.cursor.isdecimal() or len(params.cursor) > 9:
        raise MCPError(types.INVALID_PARAMS, "this cursor was not given by this server")
    return int(params.cursor)
