"""What models that were trained for a part of planning say of a task: its steps; whether one query answers it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from pointwork.agents.agreeing import agreed
from pointwork.agents.calculated import beside, calculated
from pointwork.agents.decomposer import DECOMPOSER, RECKONER, Decomposed, decompose, readings
from pointwork.agents.facts.gathered import facts_around, sentences_besides
from pointwork.agents.facts.queried import queried_around
from pointwork.agents.job import Chat
from pointwork.agents.preparing import prepare_tables, tabled
from pointwork.agents.querier import QUERIER, write_query
from pointwork.agents.reader import once
from pointwork.agents.services import Services
from pointwork.agents.surroundings import surroundings
from pointwork.errors import ProviderError
from pointwork.models import ChatRequest, Completion
from pointwork.tools import ToolContext


@dataclass(frozen=True)
class Learned:
    """The trained models of a run that planning asks; each may be missing.

    Attributes:
        context: of the run's tools.
        table: the capability of the agent that runs queries.
        query: to the model in the role ``querier``.
        steps: to the model in the role ``decomposer``.
        figures: to the model in the role ``reckoner``.
        left: the share of the budget that is left.
        sums: whether what a task calculates is read without a model: of those who plan worse than that.
    """

    context: ToolContext
    table: str = ""
    query: Chat | None = None
    steps: Chat | None = None
    figures: Chat | None = None
    left: Callable[[], float] = lambda: 1.0
    sums: bool = True

    async def queried(self, task: str) -> float:
        """How surely one query over the tables answers a task, 0 to 1.

        Raises:
            BudgetExceeded: it can not be paid.
        """
        shown = await tabled(task, self.context) if self.query is not None and self.table else None
        if shown is None or self.query is None:
            return 0.0
        try:
            written = await write_query(task, shown, self.query)
        except ProviderError:
            return 0.0
        return written.sure if written.query else 0.0

    async def decomposed(self, task: str, most: int) -> list[Decomposed]:
        """What the steps of a task may be, at most so many; empty: nobody says, or it makes no plan.

        Raises:
            BudgetExceeded: it can not be paid.
        """
        if self.steps is None:
            return []
        plain, around = await decompose(task, self.steps, most), await surroundings(task, self.context)
        return readings(plain, await decompose(task, self.steps, most, around) if around else None)

    async def read(self, task: str, most: int) -> Decomposed | None:
        """Steps whose answers were all read in the files, or in the task itself, or calculated; None: unsure.

        Raises:
            BudgetExceeded: it can not be paid.
        """
        facts = await facts_around(task, self.context) if self.sums or self.figures is not None else []
        found: list[Decomposed] = []
        if self.sums:
            more = await sentences_besides(task, self.context, facts)
            asked = await queried_around(task, self.context, [*facts, *more])
            lines = beside(asked, [*facts, *more])
            found = await calculated(task, lines) if lines else []
            alone = await calculated(task, ())
            found = max((found, alone), key=lambda plans: plans[0].sure if plans else -1.0)
        computed = next((one for one in found if len(one.steps) <= most), None)
        if computed is not None and computed.steps[-1].found is not None:
            computed = None  # nothing is calculated: who looks things up knows better what was asked for
        if not facts and computed is None:
            return None
        return await agreed(task, self.figures if facts else None, most, facts, self.left, computed)


def learned_of(
    services: Services,
    run_id: str,
    context: ToolContext,
    ask: Callable[[str, ChatRequest], Awaitable[Completion]],
) -> Learned:
    """The trained models of a run.

    Args:
        services, run_id, context: of the run.
        ask: a model in a role.
    """

    hand = services.in_hand(run_id)

    def chat(role: str) -> Chat | None:
        # the agent of tables is given the same question again
        return once(hand.read, partial(ask, role)) if services.models.trained(role, run_id) else None

    tables = [agent for agent in services.agents.values() if agent.prepare is prepare_tables]
    able = next((name for agent in tables for name in agent.described_capabilities()), "")
    sums = services.sure("planner") == 0.0
    return Learned(context, able, chat(QUERIER), chat(DECOMPOSER), chat(RECKONER), hand.account.share, sums)
