"""Policies by name."""

from collections.abc import Callable, Mapping

from pointwork.errors import UsageError
from pointwork.router.policies.base import Policy
from pointwork.router.policies.linucb import LinUCB
from pointwork.router.policies.neural import Neural
from pointwork.router.policies.random import Random
from pointwork.router.policies.static import Static
from pointwork.router.policies.thompson import Thompson
from pointwork.router.policies.trees import Trees

POLICIES: dict[str, Callable[..., Policy]] = {
    "linucb": LinUCB,
    "neural": Neural,
    "random": Random,
    "static": Static,
    "thompson": Thompson,
    "trees": Trees,
}


def make(policy: str | Policy, options: Mapping[str, object] | None = None) -> Policy:
    """A policy by its name, with its own options; a ready ``Policy`` is returned as it is.

    Raises:
        UsageError: no policy has this name, or it does not know an option.
    """
    if not isinstance(policy, str):
        if not callable(getattr(policy, "propose", None)):
            raise UsageError(
                f"{policy!r} is no policy, nor the name of one; there are {', '.join(sorted(POLICIES))}"
            )
        return policy
    if policy not in POLICIES:
        raise UsageError(f"no policy is called {policy!r}; there are {', '.join(sorted(POLICIES))}")
    try:
        return POLICIES[policy](**(options or {}))
    except TypeError as error:
        raise UsageError(f"policy {policy!r} does not take these options: {error}") from error
