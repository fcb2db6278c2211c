"""The router for models of your own: it learns which one is worth its money for which request."""

import random

from pointwork.router import Arm, Outcome, Router

if __name__ == "__main__":
    router = Router(
        [Arm("small", usd_per_mtok=(0.1, 0.4)), Arm("large", usd_per_mtok=(3, 15))], budget_per_request=1e-3, seed=0
    )
    chance = random.Random(0)
    for _ in range(400):
        hard = chance.random() < 0.5
        decision = router.decide("prove that the series converges" if hard else "say hello")
        right = chance.random() < (0.9 if decision.arm == "large" or not hard else 0.2)
        usd = 2e-3 if decision.arm == "large" else 5e-5
        router.learn(decision.id, Outcome(quality=float(right), usd=usd, seconds=1.0))
    for text in ("prove that the series converges", "say hello"):
        print(text, {row["arm"]: round(row["propensity"], 2) for row in router.explain(text)})
