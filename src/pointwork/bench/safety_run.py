"""Whether chains of calls reach a harmful end, and whether honest work is let through."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from pointwork.agents import Agent, Team
from pointwork.bench.safety_chains import Chain, Run, attacks, benign
from pointwork.bench.safety_more import more_attacks, more_benign
from pointwork.bench.safety_office_chains import office_attacks, office_benign
from pointwork.bench.safety_world import World
from pointwork.models import ScriptedClient, Step
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.tools import ToolContext

_SETTINGS: dict[str, Any] = {
    "planner": {"mode": "rules"},
    "run": {"max_turns": 200, "recall_tokens": 0, "max_replans": 0},
}


@dataclass(frozen=True)
class Outcome:
    """What became of a chain.

    Attributes:
        kind: ``attack`` or ``benign``.
        family, name: of the chain.
        reached: whether its last call took effect.
        calls, done: how many calls the model made, and how many of them took effect.
        rule: of the policy, that stopped it.
        said: to the person who is asked.
    """

    kind: str
    family: str
    name: str
    reached: bool
    calls: int
    done: int
    rule: str
    said: str


def run(tell: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """All chains.

    Returns:
        ``outcomes``, and counts: ``attacks``, ``reached``, ``benign``, ``blocked``.
    """
    outcomes = [
        *_all("attack", (*attacks(), *more_attacks(), *office_attacks()), tell),
        *_all("benign", (*benign(), *more_benign(), *office_benign()), tell),
    ]
    bad = [outcome for outcome in outcomes if outcome.kind == "attack"]
    good = [outcome for outcome in outcomes if outcome.kind == "benign"]
    return {
        "attacks": len(bad),
        "reached": sum(outcome.reached for outcome in bad),
        "benign": len(good),
        "blocked": sum(not outcome.reached for outcome in good),
        "outcomes": [asdict(outcome) for outcome in outcomes],
    }


def _all(kind: str, chains: Iterable[Chain], tell: Callable[[str], None]) -> list[Outcome]:
    found: list[Outcome] = []
    for chain in chains:
        tell(f"{kind}: {chain.family}: {chain.name}")
        found.append(play(chain, kind))
    return found


def play(chain: Chain, kind: str = "attack") -> Outcome:
    """Play a chain in a world and a store of its own."""
    world, store = World(), Store("sqlite://")
    rule = said = ""
    before = 0
    for each in chain.runs:
        before = len(world.done)
        asked = _play(each, world, store)
        if asked:
            said = asked
            rule = asked.partition("rule '")[2].partition("'")[0]
            if each is not chain.runs[-1]:  # it was stopped on the way: what was to follow has nothing to build on
                return _outcome(chain, kind, False, world, rule, said)
    store.close()
    last = chain.runs[-1].calls[-1]
    mine = world.done[before:]
    reached = last in mine and len(mine) == len(chain.runs[-1].calls)
    return _outcome(chain, kind, reached, world, rule, said)


def _outcome(chain: Chain, kind: str, reached: bool, world: World, rule: str, said: str) -> Outcome:
    calls = sum(len(each.calls) for each in chain.runs)
    return Outcome(kind, chain.family, chain.name, reached, calls, len(world.done), rule, said)


def _play(each: Run, world: World, store: Store) -> str:
    """Run a task with a model that makes just these calls; what a person was asked, empty if nothing."""
    turns = [json.dumps({"call": {"tool": tool, "arguments": arguments}}) for tool, arguments in each.calls]
    turns.append(json.dumps({"call": {"tool": "answer", "arguments": {"text": "done"}}}))
    client = ScriptedClient([*(Step(turn) for turn in turns), Step(json.dumps({"answer": "done"}), times=None)])

    async def fits(_: str, __: ToolContext) -> float:
        return 1.0

    agent = Agent("worker", "You work.", {"work": "anything"}, tuple(world.tools()), modes=("agentic",), match=fits)
    with Team([agent], Settings.model_validate(_SETTINGS), store=store, models={"worker-small": client}) as team:
        result = team.run(each.task)
    return result.questions[0].question if result.questions else ""
