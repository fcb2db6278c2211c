"""From a task to a plan: outright if one agent can answer, by the model, by its second try, or by rules."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pointwork.agents import examples
from pointwork.agents.agreeing import doubted
from pointwork.agents.decomposer import Decomposed, covered, in_other_units
from pointwork.agents.learned import Learned
from pointwork.agents.plan import REFERENCE, Author, Plan, Subtask, plan_schema, read_plan
from pointwork.agents.prompts import Worked, plan_prompt
from pointwork.agents.readings.wanting import QUANTITY
from pointwork.agents.spec import WHOLLY, asked_words
from pointwork.agents.splitter import answer_type_of, apart, nested_steps, split, without_shape
from pointwork.errors import PlanError, ProviderError
from pointwork.models import ChatRequest, Completion, Message
from pointwork.settings import PlannerSettings

# Below this an agent has nothing to go by in a piece of text; above the other, one fits for certain.
NO_FIT, CLEAR_FIT = 0.1, 0.5

# From here on one agent can answer a question and the one within it: one table holds both.
OUTRIGHT = 0.75

PLAN_TOKENS = 400

Chat = Callable[[ChatRequest], Awaitable[Completion]]
# A plan of the rules is sound if every step fits an agent this well; after a failure, less will do.
SURE, ANOTHER = 0.4, 0.2

# One step that an agent fits this well needs no model to split it; a query this sure answers a whole task; a
# decomposition less sure than SPLIT is no plan unless two readings agree on it, after another plan has failed than
# AGAIN; and agents must fit it so much BETTER than the plan of the rules, unless it is as sure as LIKELY (then its
# form was right in 24 of 24 tasks of three worlds; how agents fit "the extension of {s1}" says little before it is
# known who that is).
CLEARLY, QUERIED, SPLIT, AGAIN, BETTER, LIKELY = 0.95, 0.5, 0.05, 0.01, 0.05, 0.2

# A question of so few words has nothing in it that could be a step of its own.
PLAIN = 3

_NUMBER = re.compile(r"\d[\d.,]*")

# "Add up the plums that were picked. How many kg is it?": the second asks for what the first does.
_SAME = re.compile(
    r"\W*how\s+(?:many\s+[a-z]+|much|long|far|heavy)\s+(?:is|are|was|were|does|do|did)\s+\{s1\}(?:\s+\([^)]*\))?"
    r"(?:\s+(?:all|in\s+all|altogether|together|make|come\s+to|amount\s+to))*\W*",
    re.IGNORECASE,
)

# Worked examples that a model is shown.
EXAMPLES = 4

Failed = frozenset[tuple[str, str]]
Fits = Callable[[str], Awaitable[Mapping[str, float]]]


async def nowhere() -> str:
    """Nothing to look things up in."""
    return ""


@dataclass(frozen=True)
class Planner:
    """Makes plans.

    Attributes:
        capabilities: name → description, of what the team can do.
        fits: how well a piece of text fits each capability, 0 to 1.
        chat: asks the planner's model.
        settings: of the planner.
        small: the planner's model is a small one: its plan must fit the agents as well as that of the rules.
        trained: it was trained to plan (its version is an adapter): it needs no worked examples, and is asked
            wherever no agent clearly fits the whole.
        sources: says what there is to look things up in; asked for a model that is neither small nor trained.
        whole: the capability of who writes a program for a task of several steps; empty: nobody, or a model that is
            too small for it, or one that plans better.
        learned: models that were trained for a part of planning.
        worked: a task → tasks like it with plans that went well in earlier runs: the last of the examples.
    """

    capabilities: Mapping[str, str]
    fits: Fits
    chat: Chat
    settings: PlannerSettings
    small: bool = False
    trained: bool = False
    sources: Callable[[], Awaitable[str]] = nowhere
    whole: str = ""
    worked: Callable[[str], Worked] = lambda _: ()
    learned: Learned | None = None

    async def plan(self, task: str, *, report: str = "", failed: Failed = frozenset()) -> Plan:
        """Plan a task.

        Args:
            task: the user's words.
            report: after a failure, what is known so far and what is still open; the new plan starts from it.
            failed: (text, capability) of the subtasks that failed: not to be tried again in the same way.

        Raises:
            BudgetExceeded: asking the model can not be paid. Nothing else stops a plan: in the end there are rules.
        """
        by_rules = self.settings.mode == "rules"
        cut = split(task, self.settings.max_subtasks)
        if not report and self.settings.mode in ("auto", "rules") and (plan := await self._outright(task, cut)):
            return plan
        parts, sure = await self._with_capabilities(cut, failed)
        author = "instant" if len(parts) == 1 else "splitter"
        if self.settings.mode == "auto":
            program = bool(self.whole) and not report and _computes(task, len(parts), sure)
            again = (
                self._decomposed(task, AGAIN, 0.0, failed) if report else self._learned(task, parts, sure, program)
            )
            if plan := await again:
                return plan
            if program:
                return Plan((Subtask("s1", task.strip(), self.whole, (), answer_type_of(task)),), "program")
        by_itself = len(parts) == 1 and not report and (not self.trained or sure >= OUTRIGHT)
        another = NO_FIT if self.small and len(parts) == 1 else ANOTHER  # it would only choose worse
        changed = bool(failed) and sure >= another and not {(p.text, p.capability) for p in parts} & failed
        # a small model plans no better than rules that found parts
        known = self.small and not report and len(parts) > 1
        if self.settings.mode == "auto" and (by_itself or changed or known):
            return Plan(tuple(parts), author)
        problems: list[str] = []
        if not by_rules:
            plan = await self._ask(task, report, problems, one=len(parts) == 1 and not report)
            least = NO_FIT if sure >= SURE else 0.0
            least = max(least, sure - 0.05) if self.small else least
            if plan is not None and len(plan.subtasks) == 1 and len(parts) == 1 and not report:
                return Plan(self._own_words(parts[0], plan.subtasks[0]), author)
            if plan is not None and (not least or await self._weakest(plan) >= least):
                return plan
            if plan is not None:
                problems.append("the model's plan has a step that no agent fits, the rules' plan has none")
        return Plan(tuple(parts), author, tuple(problems))

    async def _outright(self, task: str, cut: Sequence[Subtask]) -> Plan | None:
        """The plan of one step: one agent answers a question and what is inside it, or what is asked twice."""
        steps = nested_steps(task, self.settings.max_subtasks)
        if steps is not None:
            # one query that explains all words of "put 4 % on the price of the skis" has not read it; a sum has
            text, least, kind = without_shape(task), WHOLLY if apart(steps) else OUTRIGHT, answer_type_of(task)
        elif len(cut) == 2 and _SAME.fullmatch(cut[1].text):
            text, least, kind = task, OUTRIGHT, answer_type_of(cut[1].text)
        else:
            return None
        fits = await self.fits(text)
        best = max(fits, key=lambda name: fits[name])
        return Plan((Subtask("s1", task.strip(), best, (), kind),), "instant") if fits[best] >= least else None

    async def _learned(self, task: str, parts: Sequence[Subtask], sure: float, program: bool) -> Plan | None:
        """The plan of models that were trained for it; None: they have none, or that of the rules fits better.

        Beside somebody who writes a ``program``, only one whose values were read: where most texts agree it is
        right in half of the tasks, a program of a model of 1.5 billion weights in fewer.
        """
        if self.learned is None or (len(parts) == 1 and sure >= CLEARLY):
            return None
        text = without_shape(task)
        if await self.learned.queried(text) >= QUERIED:
            return Plan((Subtask("s1", text, self.learned.table, (), answer_type_of(task)),), "instant")
        plain = len(parts) == 1 and len(asked_words(text)) <= PLAIN
        if plain and sure >= OUTRIGHT:
            return None
        found = await self.learned.read(task, self.settings.max_subtasks)
        # what is only looked up, one agent that fits the whole knows better
        if found and len(parts) == 1 and sure >= OUTRIGHT and all(step.found for step in found.steps):
            found = None
        if found and not doubted(found):
            return await self._found(found)
        if plain or program:
            return None
        if found and len(parts) == 1 and sure < OUTRIGHT:  # whoever else plans it is less sure
            return await self._found(found)
        return await self._decomposed(task, SPLIT, sure + BETTER)

    async def _found(self, found: Decomposed) -> Plan:
        steps, _ = await self._with_capabilities(found.steps)
        return Plan(tuple(steps), found.author if len(steps) > 1 else "instant")

    async def _decomposed(self, task: str, least: float, sure: float, failed: Failed = frozenset()) -> Plan | None:
        """The plan of the model that writes steps, if it is likely or its weakest step fits better than ``sure``.

        After a failure it is taken only if none of its steps has failed already.
        """
        tried = {text for text, _ in failed}
        best, plan = 0.0, None
        for found in (
            [] if self.learned is None else await self.learned.decomposed(task, self.settings.max_subtasks)
        ):
            if (found.sure < least and not found.agreed) or set(found.lines) & tried:
                continue
            steps, weakest = await self._with_capabilities(found.steps)
            likely = found.sure >= LIKELY and len(steps) > 1 and not in_other_units(found.lines)
            score = weakest + covered(found, task)
            if weakest > (ANOTHER if likely else max(sure, ANOTHER)) and score > best:
                best, plan = score, Plan(tuple(steps), "decomposer" if len(steps) > 1 else "instant")
        return plan

    def _own_words(self, part: Subtask, planned: Subtask) -> tuple[Subtask]:
        """One step, then in the user's own words. A trained planner's choice of a capability is not taken."""
        return (part if self.trained else replace(part, capability=planned.capability),)

    async def _weakest(self, plan: Plan) -> float:
        """How well an agent fits the step that fits worst."""
        return min(
            [max((await self.fits(REFERENCE.sub("12", s.text))).values()) for s in plan.subtasks], default=0.0
        )

    async def _ask(self, task: str, report: str, problems: list[str], *, one: bool) -> Plan | None:
        large = not (self.small or self.trained)
        examples: Worked = () if self.trained else _examples(list(self.capabilities), task, self.worked(task))
        sources = await self.sources() if large else ""
        messages = plan_prompt(self.capabilities, task, report, examples, large=large, sources=sources)
        authors: tuple[Author, ...] = ("model", "repaired")
        for author in authors:
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
                subtasks = read_plan(
                    _parse(text),
                    task,
                    list(self.capabilities),
                    self.settings.max_subtasks,
                    known=report,
                    literal=self.small,
                    one=large and one,
                )
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

    async def _with_capabilities(
        self, parts: Sequence[Subtask], failed: Failed = frozenset()
    ) -> tuple[list[Subtask], float]:
        """The parts with the capability that fits each best, and how well the worst of them fits."""
        found: list[Subtask] = []
        sure = 1.0
        for part in parts:
            scores = dict(await self.fits(REFERENCE.sub("12", part.text)))
            tried = {name for text, name in failed if text == part.text}
            left = {name: score for name, score in scores.items() if name not in tried} or scores
            best = max(left, key=lambda name: left[name])
            sure = min(sure, left[best])
            found.append(replace(part, capability=best))
        return found, sure


def _computes(task: str, parts: int, sure: float) -> bool:
    """Whether a task has several steps or asks for a quantity, and the agents do not clearly fit what it says."""
    return sure < OUTRIGHT and (parts > 1 or bool(QUANTITY.search(task)) or len(_NUMBER.findall(task)) > 1)


def _examples(capabilities: Sequence[str], task: str, worked: Worked) -> Worked:
    """Worked examples like the task: those of the bank that need no capability which the team lacks, then own."""
    rows = examples.bank("plans").nearest(task, 3 * EXAMPLES)
    fitting = [row for row in rows if all(step["capability"] in capabilities for step in row["plan"])][-EXAMPLES:]
    own = list(worked)[-EXAMPLES:]
    if len(fitting) >= 2:
        return [*((row["ask"], row["plan"]) for row in fitting)][len(own) :] + own
    return _made_up(capabilities[0], capabilities[-1])[len(own) :] + own


def _made_up(first: str, last: str) -> list[tuple[str, list[dict[str, object]]]]:
    """Examples for a team that can nothing of what the bank's need."""
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
