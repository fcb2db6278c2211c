"""The graph's nodes: plan, work, verify, answer."""

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any, cast

from langgraph.config import get_stream_writer
from sqlalchemy import update

from pointwork.agents import sharing
from pointwork.agents.advising import learn_skill
from pointwork.agents.calling import ToolCaller, Work
from pointwork.agents.followup import Turn, earlier_turns, leans_back, standalone
from pointwork.agents.hiring import job_for, needed
from pointwork.agents.job import Attempt
from pointwork.agents.judge import judge
from pointwork.agents.learned import learned_of
from pointwork.agents.lifecycle import log_check, log_plan, open_run
from pointwork.agents.loop import work
from pointwork.agents.outcome import build_result, failed_steps, workspace
from pointwork.agents.plan import Plan, Subtask, fill_references
from pointwork.agents.planner import Planner
from pointwork.agents.prompts import Worked
from pointwork.agents.reading_ahead import read_ahead, read_through
from pointwork.agents.remembering import ROLE, RunReader, recalled
from pointwork.agents.replay import Replay, earlier_decision
from pointwork.agents.services import ArmSpec, Services
from pointwork.agents.sources import sources_text
from pointwork.agents.state import State, Try, Update, updated
from pointwork.agents.tainting import RELEVANT, take_in, written_trust
from pointwork.agents.turns import TurnLimits
from pointwork.agents.using import learn_usage
from pointwork.agents.verify import check_answer
from pointwork.budgets import to_usd
from pointwork.errors import AgentError, BudgetExceeded, NothingFound, ProviderError, ToolDenied, ToolError
from pointwork.ledger import Account
from pointwork.memory import Item, Recall, quoting, timely
from pointwork.memory.items import UNTRUSTED
from pointwork.models import ChatRequest, Completion
from pointwork.models.gateway import Caller
from pointwork.router import Outcome
from pointwork.store.tables import runs

EVIDENCE_SHOWN = 2000


class Nodes:
    """Bound to the services of a team; each method is a node of its graph."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.turns = TurnLimits(services.store)

    async def plan(self, state: State) -> Update:
        """Make the plan, or after a failure the next one."""
        services = self.services
        run_id = open_run(services, state)
        hand = services.in_hand(run_id)
        account = hand.account
        context = services.tool_context(state.get("root"), state.get("thread"))
        started = time.time()
        again = "plan" in state
        asked, known, report = state.get("asked", state["task"]), list(state.get("known", [])), ""
        turns: list[Turn] = []
        if again:
            report, found = workspace(state, services.settings.run.workspace)
            known += found
        elif leans_back(state["task"]):
            turns = earlier_turns(services.store, state.get("thread"), run_id)
            known = [[f"run:{turn.run_id}", turn.text] for turn in turns]

        number = state.get("round", -1) + 1
        replay = None if hand.fresh else Replay(services.store, run_id, f"p{number}")
        caller = Caller(account, "planner", run_id, f"p{number}")

        async def ask(role: str, request: ChatRequest) -> Completion:
            known_answer = None if replay is None else replay.take(role, request)
            return known_answer or await services.models.chat(role, request, caller)

        chat = partial(ask, "planner")

        about = ""  # a follow-up that could not be made to stand alone is of the kind of the turn before it

        async def fits(text: str) -> Any:
            return await services.fits(f"{text} {about}".strip(), context)

        try:
            if turns:
                understood = await standalone(state["task"], turns, chat)
                asked, about = understood or asked, "" if understood else turns[-1].question
                known = [] if understood and not leans_back(understood) else known
            trained = services.is_trained("planner", run_id)
            small = not services.plans("planner") and not trained
            sources = partial(sources_text, context)  # the folder is walked only if the model is asked
            able, settings = services.capabilities(), services.settings.planner
            whole = "" if trained else await services.whole()
            learned = learned_of(services, run_id, context, ask)
            planner = Planner(able, fits, chat, settings, small, trained, sources, whole, self._worked, learned)
            plan = await planner.plan(asked, report=report, failed=failed_steps(state) if again else frozenset())
        except BudgetExceeded as error:
            empty = Plan((), "splitter", (str(error),))
            return {
                "run_id": run_id,
                "plan": state.get("plan", empty.as_json()),
                "spent_all": str(error),
                "round": number,
                "known": known,
            }
        log_plan(services.store, run_id, number, asked, plan, started)
        sharing.begin(services, run_id, asked, plan)
        services.store.flush()
        _emit("plan", run_id=run_id, plan=plan.as_json(), again=again, task=state["task"], asked=asked)
        results = read_ahead(plan, number)
        opened = ToolCaller(services.store, Work(run_id, f"p{number}", account), context)
        if not await read_through(results, opened):
            results = {}
        return {
            "run_id": run_id,
            "plan": plan.as_json(),
            "round": number,
            "known": known,
            "asked": asked,
            "results": results,
        }

    def _worked(self, task: str) -> Worked:
        """Tasks like one with the plans that went well, for the planner's model."""
        services = self.services
        return services.skills.like(task, list(services.capabilities())) if services.settings.memory.skills else ()

    async def work(self, payload: dict[str, Any]) -> Update:
        """Do one subtask once, on the arm that the router picks; or go on with what an earlier process began."""
        services = self.services
        run_id, key, number = payload["run_id"], payload["key"], payload["attempt"]
        name = f"{key}#{number}"
        subtask = Subtask.from_json(payload["subtask"])
        question = fill_references(subtask.text, payload["answers"])
        if payload["answers"] and payload.get("late"):
            subtask = replace(subtask, capability=await self._fitting(payload, subtask, question))
        account, arm, decision, propensity, replay = self._route(payload, subtask, question, name)
        recall, facts = await self._known(
            payload, subtask, question, arm, Caller(account, ROLE, run_id, name), replay
        )
        take_in(services.store, run_id, (source for source, _ in facts))
        tried: Try = {
            "key": key,
            "subtask": subtask.id,
            "attempt": number,
            "arm": arm.name,
            "decision": decision,
            "propensity": propensity,
            "tiers": dict(recall.tiers),
            "text": "",
            "evidence": [],
            "calls": [],
            "computed": False,
            "facts": facts,
            "question": question,
            "status": "done",
            "checked": False,
            "why": "",
            "usd": 0.0,
            "seconds": 0.0,
            "excluded": payload["excluded"],
            "capability": subtask.capability,
        }
        started = time.time()
        spent: list[int] = []
        try:
            attempt = await work(
                job_for(services, self.turns, payload, subtask, question, arm, facts, account, replay, spent)
            )
        except BudgetExceeded as error:
            tried = updated(tried, status="budget", why=str(error))
        except (ToolDenied, NothingFound) as error:
            tried = updated(tried, status="denied" if isinstance(error, ToolDenied) else "unknown", why=str(error))
        except (AgentError, ProviderError, ToolError) as error:
            tried = updated(tried, status="error", why=str(error))
        else:
            tried = updated(
                tried,
                text=attempt.text,
                evidence=[[source, text[:EVIDENCE_SHOWN]] for source, text in attempt.evidence],
                calls=[list(call) for call in attempt.calls],
                computed=attempt.computed,
            )
            take_in(services.store, run_id, (source for source, _ in attempt.evidence))
            sharing.offer(services, run_id, key, question, attempt.text)
        tried = updated(tried, usd=to_usd(sum(spent)), seconds=time.time() - started)
        if arm.mode == "agentic" and tried["status"] in ("done", "error"):
            self.turns.took(arm.agent.name, len(spent))
        services.store.flush()  # the checkpoint that follows speaks of rows that must be there
        return {"results": {key: tried}, "tries": {name: tried}}

    async def _known(
        self,
        payload: dict[str, Any],
        subtask: Subtask,
        question: str,
        arm: ArmSpec,
        pays: Caller,
        replay: Replay | None,
    ) -> tuple[Recall, list[list[str]]]:
        """What memory recalls for a subtask, and all that is known for it: answers, items, facts, shared pieces."""
        services, run_id, key = self.services, payload["run_id"], payload["key"]
        # where no model is asked, it takes less than a thread would
        asks = services.settings.memory.tiers is not None
        reader = RunReader(services.models, pays, replay) if asks else None
        recall = await recalled(
            services.memory.recall,
            reader,
            question,
            k=4,
            budget_tokens=max(1, services.settings.run.recall_tokens),
            thread=payload["thread"],
            run_id=run_id,
            subtask=key,
        )
        _emit("subtask_started", key=key, text=question, arm=arm.name, tiers=dict(recall.tiers))
        facts = [list(fact) for fact in payload["facts"]]
        shown = {source for source, _ in facts}  # a turn of the thread stands in memory too
        fitting = (item for item in recall.items if item.score >= RELEVANT and item.source not in shown)
        facts += [[f"memory:{item.id}", _shown(item)] for item in fitting]
        # of outsiders only the texts themselves, which the run's taint follows
        trusted = (fact for fact in recall.facts if fact.trust not in UNTRUSTED and fact.sources)
        facts += [[f"memory:{fact.sources[0]}", timely.line(fact)] for fact in trusted]
        has = [text for source, text in facts if source.startswith("answer:")]
        shared = sharing.read(services.in_hand(run_id), key, question, needed(key, subtask), known=has)
        return recall, facts + [list(piece) for piece in shared]

    async def _fitting(self, payload: dict[str, Any], subtask: Subtask, question: str) -> str:
        """The capability that fits a step best now that the answers in it are known."""
        services = self.services
        scores = await services.fits(question, services.tool_context(payload["root"], payload["thread"]))
        best = max(scores, key=lambda name: scores[name])
        return best if scores[best] > scores.get(subtask.capability, 0.0) else subtask.capability

    def _route(
        self, payload: dict[str, Any], subtask: Subtask, question: str, name: str
    ) -> tuple[Account, ArmSpec, str, float, Replay | None]:
        """Who pays, who works, by which decision, and what an earlier process already has."""
        services = self.services
        run_id, key = payload["run_id"], payload["key"]
        hand = services.in_hand(run_id)
        run, earlier = hand.account, None
        if not hand.fresh or name in hand.attempts:
            earlier = earlier_decision(services.store, run_id, key, payload["attempt"])
        hand.attempts.add(name)
        if earlier is not None and earlier["arm"] in services.arms:
            account = services.ledger.find(run_id, "subtask", name) or run.child("subtask", name)
            replay = Replay(services.store, run_id, name)
            return account, services.arms[earlier["arm"]], earlier["id"], earlier["propensity"], replay
        account = run.child("subtask", name)
        drawn = services.router.decide(
            question,
            candidates=services.candidates(subtask.capability, again=bool(payload["excluded"])),
            exclude=payload["excluded"],
            run_id=run_id,
            subtask=key,
            remaining=account.share() if hand.limited else 1.0,
        )
        return account, services.arms[drawn.arm], drawn.id, drawn.propensity, None

    async def verify(self, state: State) -> Update:
        """Check what is new, tell the router, and say where the run stands."""
        services = self.services
        plan = Plan.from_json(state["plan"])
        by_id = {subtask.id: subtask for subtask in plan.subtasks}
        checked: dict[str, Any] = {}
        spent_all = state.get("spent_all", "")
        for key, value in state.get("results", {}).items():
            tried = cast(Try, value)
            if tried["checked"]:
                continue
            if tried["status"] == "done":
                tried = await self._check(state, by_id[tried["subtask"]], tried)
            if tried["status"] == "budget":
                spent_all = tried["why"]
            tried = updated(tried, checked=True)
            checked[key] = tried
            self._learn(tried)
            sharing.settle(services.in_hand(state.get("run_id", "")), tried)
            worked = [tool for tool, _, error in tried["calls"] if error is None]
            if tried["status"] == "ok" and worked:
                name, asked = f"{key}#{tried['attempt']}", by_id[tried["subtask"]].text
                learn_usage(services.store, state.get("run_id", ""), name, asked, state["task"], worked)
            log_check(services.store, state.get("run_id", ""), tried)
            _emit("subtask_finished", **{k: v for k, v in tried.items() if k not in ("facts", "evidence", "calls")})
        services.store.flush()
        tries = {f"{key}#{tried['attempt']}": tried for key, tried in checked.items()}
        return {"results": checked, "tries": tries, "spent_all": spent_all}

    async def _check(self, state: State, subtask: Subtask, tried: Try) -> Try:
        services = self.services
        attempt = Attempt(
            tried["text"],
            [(source, text) for source, text in tried["evidence"]],
            [(tool, arguments, error) for tool, arguments, error in tried["calls"]],
            tried["computed"],
        )
        checks = check_answer(
            attempt,
            question=tried["question"],
            answer_type=subtask.answer_type,
            facts=[(source, text) for source, text in tried["facts"]],
            needs_evidence=services.has_specialist(subtask.capability),
            small=not services.plans(services.arms[tried["arm"]].role),
        )
        failed = [check for check in checks if not check.passed]
        if not failed and services.settings.run.judge:
            account = services.in_hand(state.get("run_id", "")).account.child("judge", tried["key"])
            verdict = await judge(services, account, state.get("run_id", ""), tried)
            failed += [] if verdict.passed else [verdict]
        if failed:
            return updated(tried, status="failed", why="; ".join(f"{check.name}: {check.why}" for check in failed))
        return updated(tried, status="ok")

    def _learn(self, tried: Try) -> None:
        quality = {"ok": 1.0, "failed": 0.0, "error": 0.0}.get(tried["status"])
        self.services.router.learn(
            tried["decision"],
            Outcome(
                quality=quality,
                usd=tried["usd"],
                seconds=tried["seconds"],
                error=tried["why"] if tried["status"] == "error" else None,
            ),
            source="check",
        )

    async def answer(self, state: State) -> Update:
        """Put the answers together, store the result, remember it."""
        services = self.services
        result = build_result(services, state)
        sharing.end(services.in_hand(result.run_id))
        services.let_go(result.run_id)
        with services.store.write() as connection:
            connection.execute(
                update(runs)
                .where(runs.c.id == result.run_id)
                .values(status=result.status, finished=time.time(), result=result.as_json(), owner=None)
            )
        if result.status == "ok":
            asked = state.get("asked", state["task"])
            title = " ".join(asked.split())[:200]
            services.memory.add(
                f"{asked}\n{result.text}",
                source=f"run:{result.run_id}",
                trust=written_trust(services.store, result.run_id),
                title=title,
                thread=state.get("thread"),
            )
        learn_skill(services, result)
        _emit("answer", result=result.as_json())
        return {
            "text": result.text,
            "status": result.status,
            "evidence": [asdict(piece) for piece in result.evidence],
            "missing": list(result.missing),
        }


def _emit(event: str, **values: Any) -> None:
    writer: Callable[[Any], None] = get_stream_writer()
    writer({"event": event, **values})


def _shown(item: Item) -> str:
    """A recalled item for a prompt; what outsiders wrote comes fenced."""
    return quoting.block(item) if item.trust in UNTRUSTED else item.text
