"""From a task to a plan: outright if one agent can answer, by the model, by its second try, or by rules."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pointwork.agents.plan import Plan, Subtask, plan_schema, read_plan
from pointwork.agents.splitter import split
from pointwork.errors import PlanError, ProviderError
from pointwork.models import ChatRequest, Completion, Message
from pointwork.settings import PlannerSettings

# Below this an agent has nothing to go by in a piece of text; above the other, one fits for certain.
NO_FIT, CLEAR_FIT = 0.1, 0.5

PLAN_TOKENS = 400

Chat = Callable[[ChatRequest], Awaitable[Completion]]
Fits = Callable[[str], Awaitable[Mapping[str, float]]]


@dataclass(frozen=True)
class Planner:
    """Makes plans.

    Attributes:
        capabilities: name → description, of what the team can do.
        fits: how well a piece of text fits each capability, 0 to 1.
        chat: asks the planner's model.
        settings: of the planner.
    """

    capabilities: Mapping[str, str]
    fits: Fits
    chat: Chat
    settings: PlannerSettings

    async def plan(self, task: str, *, report: str = "") -> Plan:
        """Plan a task.

        Args:
            task: the user's words.
            report: after a failure, what is known so far and what is still open; the new plan starts from it.

        Raises:
            BudgetExceeded: asking the model can not be paid. Nothing else stops a plan: in the end there are rules.
        """
        parts = split(task, self.settings.max_subtasks)
        by_rules = self.settings.mode == "rules"
        if len(parts) == 1 and self.settings.mode == "auto" and not report:
            return Plan(tuple(await self._with_capabilities(parts)), "instant")
        problems: list[str] = []
        if not by_rules:
            plan = await self._ask(task, report, problems)
            if plan is not None:
                return plan
        author = "instant" if len(parts) == 1 else "splitter"
        return Plan(tuple(await self._with_capabilities(parts)), author, tuple(problems))

    async def _ask(self, task: str, report: str, problems: list[str]) -> Plan | None:
        messages = self._prompt(task, report)
        for author in ("model", "repaired"):
            request = ChatRequest(
                messages,
                max_tokens=PLAN_TOKENS,
                schema=plan_schema(list(self.capabilities), self.settings.max_subtasks),
            )
            try:
                text = (await self.chat(request)).text
            except ProviderError as error:
                problems.append(f"the planner's model did not answer: {error}")
                return None
            try:
                subtasks = read_plan(_parse(text), task, list(self.capabilities), self.settings.max_subtasks)
            except PlanError as error:
                problems.append(str(error))
                messages = [
                    *messages,
                    Message(role="assistant", content=text),
                    Message(role="user", content=f"That plan does not fit: {error}. Write the whole plan again."),
                ]
            else:
                return Plan(tuple(await self._corrected(subtasks, problems)), author, tuple(problems))
        return None

    async def _corrected(self, subtasks: Sequence[Subtask], problems: list[str]) -> list[Subtask]:
        """Replace a capability that has nothing to go by in the subtask where another clearly fits."""
        corrected: list[Subtask] = []
        for subtask in subtasks:
            scores = await self.fits(subtask.text)
            best = max(scores, key=lambda name: scores[name])
            if scores[subtask.capability] < NO_FIT and scores[best] >= CLEAR_FIT:
                problems.append(f"{subtask.id}: {subtask.capability} can do nothing here; {best} can")
                subtask = replace(subtask, capability=best)
            corrected.append(subtask)
        return corrected

    async def _with_capabilities(self, parts: Sequence[Subtask]) -> list[Subtask]:
        found: list[Subtask] = []
        for part in parts:
            scores = await self.fits(part.text)
            found.append(replace(part, capability=max(scores, key=lambda name: scores[name])))
        return found

    def _prompt(self, task: str, report: str) -> list[Message]:
        names = list(self.capabilities)
        able = "\n".join(f"- {name}: {text}" for name, text in self.capabilities.items())
        system = (
            "You plan. Split the task into the fewest subtasks, in order. Copy the words and numbers of the task. "
            "A subtask that uses the answer of the first writes {s1} in its place.\n"
            f"Capabilities:\n{able}"
        )
        messages = [Message(role="system", content=system)]
        for question, plan in _examples(names):
            messages.append(Message(role="user", content=f"Task: {question}"))
            messages.append(Message(role="assistant", content=json.dumps({"subtasks": plan})))
        content = f"Task: {task}"
        if report:
            content += f"\nAn earlier plan failed. {report}\nPlan only what is still open, in another way."
        messages.append(Message(role="user", content=content))
        return messages


def _examples(capabilities: Sequence[str]) -> list[tuple[str, list[dict[str, object]]]]:
    """Two worked examples in the team's own capabilities: one of two steps, one of two independent parts."""
    first, last = capabilities[0], capabilities[-1]
    return [
        (
            "Find the width of the gate and then double it.",
            [
                {"task": "Find the width of the gate.", "capability": last, "answer": "number"},
                {"task": "Double {s1}.", "capability": first, "answer": "number"},
            ],
        ),
        (
            "Who painted the barn, and what is 6 times 9?",
            [
                {"task": "Who painted the barn?", "capability": last, "answer": "text"},
                {"task": "What is 6 times 9?", "capability": first, "answer": "number"},
            ],
        ),
    ]


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise PlanError(f"the plan is not JSON: {error}") from error
