"""Policies: from what is known about the candidates to whom to prefer. ``make`` builds one by name."""

from pointwork.router.policies.base import Policy, View
from pointwork.router.policies.registry import POLICIES, make

__all__ = ["POLICIES", "Policy", "View", "make"]
