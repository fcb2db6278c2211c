"""What a running team works with: store, models, router, memory, tools, and the arms that they make together."""

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sqlalchemy import select

from pointwork.agents.job import SURE
from pointwork.agents.remembering import Unasked
from pointwork.agents.spec import WHOLLY, Agent, Mode
from pointwork.errors import UsageError
from pointwork.ledger import Account, Ledger
from pointwork.memory import Memory
from pointwork.memory.playbook import Playbook
from pointwork.memory.shared import Board
from pointwork.memory.skills import Skills
from pointwork.models import Completion, Message
from pointwork.models.gateway import Models
from pointwork.roles import ROLES
from pointwork.router import Arm, Router
from pointwork.router.settings import Settings as RouterSettings
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.store.tables import runs
from pointwork.tools import ToolContext

# An agent with this capability may be picked for any subtask.
ANYTHING = "*"

# With fewer there is nothing for the router to learn.
LEAST_ARMS = 3


@dataclass(frozen=True)
class ArmSpec:
    """An arm of the router, taken apart.

    Attributes:
        name: ``agent/model/mode``.
        agent, mode: who works, and how.
        role: the model role to call.
        model: name of the model that serves the role.
    """

    name: str
    agent: Agent
    mode: Mode
    role: str
    model: str


@dataclass
class RunInHand:
    """What this process knows of a run it works on, so that it need not ask the store again.

    Attributes:
        account: of the run.
        limited: its budget has a limit.
        fresh: it was begun here and never stopped, so what is not in ``attempts`` was never begun.
        created: when it was begun, seconds since the epoch.
        attempts: names of the attempts begun here.
        board: what its subtasks share; None: they are not several, or another process had it.
        read: what the reader said, by what it was asked.
    """

    account: Account
    limited: bool
    fresh: bool
    created: float
    attempts: set[str] = field(default_factory=set[str])
    board: Board | None = None
    read: dict[str, Completion] = field(default_factory=dict[str, Completion])


# Quality that a minute of waiting must be worth: of arms that are as good, the quicker one.
LATENCY_WEIGHT = 0.1

# Prompt tokens, completion tokens and seconds of an attempt in each mode, before anything is known of an arm.
_TYPICAL: dict[Mode, tuple[float, float, float]] = {
    "instant": (400, 40, 1.0),
    "reasoning": (900, 160, 2.0),
    "agentic": (2000, 200, 4.0),
}


def _check_roles(agents: Sequence[Agent], given: Collection[str]) -> None:
    """Raise a UsageError for a role that nothing serves, or that nobody plays: it is misspelt.

    Args:
        given: roles of ready-made clients. A caller's own are known, if they have an agent.
    """
    played = {role: agent.name for agent in agents for role in agent.roles}
    for role, name in played.items():
        if role not in ROLES and role not in given:
            raise UsageError(f"agent {name!r}: no model serves the role {role!r}; there are {', '.join(ROLES)}")
    for role in given:
        if role not in ROLES and role not in played:
            raise UsageError(
                f"models[{role!r}]: there is no such role, and no agent that plays it; there are {', '.join(ROLES)}"
            )


class Services:
    """Everything the graph's nodes use, shared by all runs of a team."""

    def __init__(
        self, agents: Sequence[Agent], settings: Settings, store: Store, models: Models, memory: Memory
    ) -> None:
        if not agents:
            raise UsageError("a team needs at least one agent")
        names = [agent.name for agent in agents]
        if len(set(names)) < len(names):
            raise UsageError(f"two agents of a team have the same name: {', '.join(sorted(names))}")
        _check_roles(agents, models.given)
        self.settings, self.store, self.models, self.memory = settings, store, models, memory
        able = [a for a in agents if a.small or not all(self.is_small(role) for role in a.roles)]
        if not able:
            raise UsageError(f"{', '.join(names)} can do nothing on a model as small as those configured")
        self.agents: dict[str, Agent] = {agent.name: agent for agent in able}
        self.playbook, self.skills = Playbook(store), Skills(store)
        self.ledger = Ledger(store)
        self._in_hand: dict[str, RunInHand] = {}
        self.arms: dict[str, ArmSpec] = {arm.name: arm for agent in able for arm in self._arms_of(agent)}
        self.router = Router(
            [self._router_arm(arm) for arm in self.arms.values()],
            policy=settings.router.policy,
            budget_per_request=settings.router.usd_per_request,
            seed=settings.router.seed,
            store=store,
            name="team",
            settings=RouterSettings(latency_weight=LATENCY_WEIGHT),
        )

    def _arms_of(self, agent: Agent) -> list[ArmSpec]:
        """One arm per distinct model behind the agent's roles and per mode."""
        models: dict[str, str] = {}
        for role in agent.roles if agent.small else [role for role in agent.roles if not self.is_small(role)]:
            models.setdefault(self.models.client(role).name, role)
        # without tools there is nothing to loop over
        modes: list[Mode] = [mode for mode in agent.modes if agent.tools or mode != "agentic"]
        if not modes:
            raise UsageError(f"agent {agent.name!r} has no tools, so the agentic mode alone can not work")
        return [
            ArmSpec(f"{agent.name}/{model}/{mode}", agent, mode, role, model)
            for model, role in models.items()
            for mode in modes
        ]

    def _router_arm(self, arm: ArmSpec) -> Arm:
        client = self.models.client(arm.role)
        return Arm(
            arm.name,
            usd_per_mtok=(client.price.prompt, client.price.completion),
            expected_tokens=_TYPICAL[arm.mode][:2],
            expected_seconds=_TYPICAL[arm.mode][2],
            description=" ".join([arm.agent.instructions, *arm.agent.described_capabilities().values()]),
        )

    def take_in_hand(self, run_id: str, account: Account, *, limited: bool, created: float) -> None:
        """A run begins here."""
        self._in_hand[run_id] = RunInHand(account, limited, fresh=True, created=created)

    def in_hand(self, run_id: str) -> RunInHand:
        """A run that this process works on; one that another began is looked up."""
        known = self._in_hand.get(run_id)
        if known is None:
            account = self.ledger.open(run_id)
            limited = any(value is not None for value in asdict(account.remaining()).values())
            row = self.store.row(select(runs.c.created).where(runs.c.id == run_id))
            created = time.time() if row is None else float(row["created"])
            known = self._in_hand[run_id] = RunInHand(account, limited, fresh=False, created=created)
        return known

    def let_go(self, run_id: str) -> None:
        """The run has ended or stopped: whoever works on it next asks the store."""
        self._in_hand.pop(run_id, None)

    def capabilities(self) -> dict[str, str]:
        """What the team can be asked for: name → description."""
        found: dict[str, str] = {}
        for agent in self.agents.values():
            for name, text in agent.described_capabilities().items():
                if name != ANYTHING:
                    found.setdefault(name, text)
        return found

    def candidates(self, capability: str, *, again: bool = False) -> list[str]:
        """Names of the arms that may do a capability.

        Agents for anything come in where the specialists leave fewer than three arms to choose from, and when a
        specialist has failed (``again``); not beside an agent that does whole tasks.

        Raises:
            UsageError: no agent has the capability.
        """
        special, general = (
            [arm.name for arm in self.arms.values() if wanted in arm.agent.described_capabilities()]
            for wanted in (capability, ANYTHING)
        )
        alone = any(self.arms[name].agent.whole for name in special)
        able = special + general if not alone and (again or len(special) < LEAST_ARMS) else special
        if not able:
            raise UsageError(
                f"no agent has the capability {capability!r}; there are {', '.join(self.capabilities())}"
            )
        return able

    def has_specialist(self, capability: str) -> bool:
        """Whether an agent with tools has the capability: then answers must rest on evidence."""
        return any(agent.tools and capability in agent.described_capabilities() for agent in self.agents.values())

    async def fits(self, text: str, context: ToolContext) -> Mapping[str, float]:
        """How well a piece of text fits each capability: the best of the agents that have it.

        Where one fits wholly, as expressions and dates do, those after it are not asked: they may have a large
        folder to read first.
        """
        scores = dict.fromkeys(self.capabilities(), 0.0)
        for agent in self.agents.values():
            score = await agent.fits(text, context)
            for name in agent.described_capabilities():
                if name in scores:
                    scores[name] = max(scores[name], score)
            if score >= WHOLLY:
                break
        return scores

    def sure(self, role: str) -> float:
        """How much of a question a reading must account for, to be taken without asking the model of a role."""
        kind = self.settings.run.readings
        if kind == "auto":
            return 0.0 if self.is_small(role) else SURE
        return 0.0 if kind == "always" else 2.0

    async def whole(self) -> str:
        """The capability of an agent that does a task of several steps by itself, where that is better than a plan
        of rules: the planner's model plans no better than they. Empty otherwise.
        """
        for agent in self.agents.values() if not self.plans("planner") else ():
            if agent.whole is not None and await asyncio.to_thread(agent.whole):
                return next(iter(agent.described_capabilities()))
        return ""

    def is_small(self, role: str) -> bool:
        """Whether the model of a role says that it is a small one (``EmbeddedClient.small``)."""
        return bool(getattr(self.models.client(role), "small", False))

    def plans(self, role: str) -> bool:
        """Whether the model of a role does not say that rules plan better than it (``EmbeddedClient.plans``)."""
        return not self.is_small(role) and bool(getattr(self.models.client(role), "plans", True))

    def is_trained(self, role: str, run_id: str | None) -> bool:
        """Whether an adapter serves a role in a run: it was trained for what the role is asked."""
        made = getattr(self.models.client(role), "version", "")  # of a client that somebody opened with an adapter
        return bool(made) or self.models.adapter(role, run_id) is not None

    def tool_context(self, root: str | None, thread: str | None) -> ToolContext:
        """What tools may use in a run."""
        return ToolContext(root=None if root is None else Path(root), memory=Unasked(self.memory), thread=thread)

    async def aclose(self) -> None:
        """Store what is buffered, keep the router's state, close the models."""
        self.router.keep()
        await self.models.aclose()
        self.store.flush()


def prompt_of(system: str, user: str) -> list[Message]:
    """A system and a user message."""
    return [Message(role="system", content=system), Message(role="user", content=user)]
