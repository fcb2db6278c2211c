"""Every candidate with the same probability: what the learned policies must beat."""

import numpy as np

from pointwork.router.policies.base import Array, View, scores_of


class Random:
    """The uniform distribution."""

    name = "random"
    version = "random-1"

    def propose(self, view: View, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        count = len(view.names)
        return scores_of(view, view.mean), np.zeros(count), np.full(count, 1.0 / count)
