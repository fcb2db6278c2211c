"""The learned router: which arm (agent × model × mode) does this request best for the money.

    from pointwork.router import Arm, Outcome, Router

    router = Router([Arm("small", usd_per_mtok=(0.1, 0.4)), Arm("large", usd_per_mtok=(3, 15))],
                    budget_per_request=2.3e-4)
    decision = router.decide("What is 17 % of 2,340?")
    router.learn(decision.id, Outcome(quality=1.0, usd=1.2e-4, seconds=0.8))

A contextual bandit over discounted ridge regressions per arm, with cost priced so that mean spend meets a budget.
numpy only; the store (SQLAlchemy) is loaded when a router is given one.
"""

from pointwork.router.arms import Arm
from pointwork.router.decisions import Decision, Outcome
from pointwork.router.policies import POLICIES, Policy, View
from pointwork.router.router import Router
from pointwork.router.settings import Settings

__all__ = ["POLICIES", "Arm", "Decision", "Outcome", "Policy", "Router", "Settings", "View"]
