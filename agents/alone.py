"""A team of one of its agents."""

import copy
from dataclasses import replace

from pointwork.agents.services import ANYTHING, Services
from pointwork.errors import UsageError


def services_of(whole: Services, agent: str) -> Services:
    """The same services with one agent to choose from; it may be asked for anything that it can.

    Raises:
        UsageError: the team has no such agent.
    """
    if agent not in whole.agents:
        raise UsageError(f"no agent {agent!r} in the team; there are {', '.join(whole.agents)}")
    one = whole.agents[agent]
    able = one.described_capabilities()
    if set(able) == {ANYTHING}:
        one = replace(one, capabilities={"anything": able[ANYTHING]})
    part = copy.copy(whole)
    part.agents = {agent: one}
    part.arms = {name: replace(arm, agent=one) for name, arm in whole.arms.items() if arm.agent.name == agent}
    return part
