"""Discounted ridge regressions, one per arm, that cost microseconds to ask and to update.

Per arm, with the router's decisions as the clock t and a discount 0 < γ ≤ 1 (discounted LinUCB: Russac, Vernade,
Cappé, "Weighted Linear Bandits for Non-Stationary Environments", 2019, with a prior mean that does not decay):

    G_t = Σ_i γ^(t − t_i) x_i x_iᵀ        b_t = Σ_i γ^(t − t_i) r_i x_i        θ_t = (G_t + ρI)⁻¹ b_t

where r_i is the target less its prior mean, t_i the time of the *decision*, whenever its outcome came, and ρ the
ridge. Several targets that always come together are several heads (rows of b and θ) over one G.

Nothing is touched as time passes: G and b are kept as they were at a reference time s, a decision of time t_i
enters with weight γ^(s − t_i), and P = (G_s + ρI)⁻¹ follows by Sherman and Morrison. At a later time t,

    (G_t + ρI)⁻¹ = (γ^Δ G_s + ρI)⁻¹ ⪯ γ^−Δ P,    and ⪯ I/ρ,    Δ = t − s,

so the lesser of both bounds the variance of a prediction. (γ^−Δ P is the exact inverse for the ridge γ^Δ ρ, so θ
between two refreshes is the ridge estimate with a slightly smaller ridge.) When γ^−Δ passes ``STALE`` the arm is
refreshed: moved to the present and inverted exactly.

An arm that has changed is aged: its own clock is put forward, so that decisions from before count less, also those
whose outcomes are still to come.
"""

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# Largest γ^−Δ before an arm is refreshed.
STALE = 2.0
# Sherman–Morrison updates before an arm is refreshed for the sake of rounding.
UPDATES = 2000


class Regression:
    """``arms`` regressions over contexts of length ``dims``, stacked in contiguous arrays.

    Args:
        arms: how many (K).
        dims: length of a context (d).
        heads: targets that come together (h).
        ridge: ρ > 0.
        gamma: discount per decision of the router, 0 < γ ≤ 1.

    Attributes:
        gram: (K, d, d); inverse: (K, d, d); moments: (K, h, d), the b; weights: (K, h, d), the θ;
        since: (K,), reference times; updates: (K,), since the last refresh; ahead: (K,), how far an arm's own
        clock is before the router's; jumps: (n, 3), when which arm's clock was put forward by how much.
    """

    def __init__(self, arms: int, dims: int, heads: int, *, ridge: float, gamma: float) -> None:
        self.ridge = ridge
        self.gamma = gamma
        self._span = math.inf if gamma == 1.0 else math.log(STALE) / -math.log(gamma)
        self.dims = dims
        self.heads = heads
        self.gram = np.zeros((arms, dims, dims))
        self.inverse = np.repeat(np.eye(dims)[None] / ridge, arms, axis=0)
        self.moments = np.zeros((arms, heads, dims))
        self.weights = np.zeros((arms, heads, dims))
        self.since = np.zeros(arms)
        self.updates = np.zeros(arms, np.int64)
        self.ahead = np.zeros(arms)
        self.jumps = np.zeros((0, 3))
        self._next = 0

    def grow(self, clock: float) -> None:
        """Add an arm that knows nothing."""
        fresh = Regression(1, self.dims, self.heads, ridge=self.ridge, gamma=self.gamma)
        fresh.since[:] = clock
        for name in ARRAYS:
            setattr(self, name, np.concatenate((getattr(self, name), getattr(fresh, name))))

    def predict(self, contexts: Array, arms: npt.NDArray[np.intp] | None = None) -> Array:
        """Predicted residuals, shape (n, h), of contexts (n, d) on these arms; None: all, in order."""
        weights = self.weights if arms is None else self.weights[arms]
        return np.matmul(weights, contexts[:, :, None])[:, :, 0]

    def variances(self, contexts: Array, clock: float, arms: npt.NDArray[np.intp] | None = None) -> Array:
        """Upper bounds of xᵀ(G_t + ρI)⁻¹x, shape (n,), for contexts (n, d); tight right after a refresh."""
        if arms is None:
            inverse, since = self.inverse, self.since - self.ahead
        else:
            inverse, since = self.inverse[arms], self.since[arms] - self.ahead[arms]
        columns, rows = contexts[:, :, None], contexts[:, None, :]
        bound = np.matmul(rows, np.matmul(inverse, columns))[:, 0, 0]
        if self.gamma != 1.0:
            bound *= np.exp(math.log(self.gamma) * np.minimum(since - clock, 0.0))
        return np.minimum(bound, np.matmul(rows, columns)[:, 0, 0] / self.ridge)

    def variance(self, arm: int, context: Array, clock: float) -> float:
        """The same for one arm and one context (d,)."""
        bound = float(context @ (self.inverse[arm] @ context))
        if self.gamma != 1.0:
            bound *= self.gamma ** min(0.0, float(self.since[arm] - self.ahead[arm]) - clock)
        return min(bound, float(context @ context) / self.ridge)

    def add(self, arm: int, context: Array, clock: float, residuals: Array) -> None:
        """Learn one observation.

        Args:
            arm: index.
            context: x, shape (d,).
            clock: time of the decision, not of the outcome.
            residuals: targets less their prior means, shape (h,).
        """
        if self._local(arm, clock) - self.since[arm] > self._span or self.updates[arm] >= UPDATES:
            self.refresh(arm, clock)
        weight = self._weight(arm, clock)
        inverse, weights, gram, moments = self.inverse[arm], self.weights[arm], self.gram[arm], self.moments[arm]
        gain = inverse @ context
        scaled = (weight / (1.0 + weight * float(gain @ context))) * gain
        weights += (residuals - weights @ context)[:, None] * scaled
        inverse -= gain[:, None] * scaled
        weighted = weight * context
        gram += context[:, None] * weighted
        moments += residuals[:, None] * weighted
        self.updates[arm] += 1

    def correct(self, arm: int, context: Array, clock: float, change: Array) -> None:
        """Replace the targets of an observation learnt before: only b changes, by ``change`` (h,) · x."""
        weighted = (self._weight(arm, clock) * change)[:, None]
        self.moments[arm] += weighted * context
        self.weights[arm] += weighted * (self.inverse[arm] @ context)

    def refresh(self, arm: int, clock: float) -> None:
        """Move an arm to this time and invert exactly. O(d³)."""
        now = max(clock + float(self.ahead[arm]), float(self.since[arm]))
        decay = self.gamma ** (now - float(self.since[arm]))
        self.gram[arm] *= decay
        self.moments[arm] *= decay
        inverse = inverted(self.gram[arm] + self.ridge * np.eye(self.dims))
        self.inverse[arm] = (inverse + inverse.T) / 2
        self.weights[arm] = self.moments[arm] @ self.inverse[arm]
        self.since[arm] = now
        self.updates[arm] = 0

    def tidy(self, clock: float) -> None:
        """Look at one arm, in turn, and refresh it if it is stale: so idle arms forget too."""
        arm = self._next = (self._next + 1) % len(self.since)
        if clock + self.ahead[arm] - self.since[arm] > self._span:
            self.refresh(arm, clock)

    def age(self, arm: int, clock: float, keep: float) -> None:
        """From now on, decisions of this arm from before this time count ``keep`` (0 to 1) of what they did."""
        if self.gamma == 1.0:
            return
        jump = math.log(keep) / math.log(self.gamma)
        self.ahead[arm] += jump
        self.jumps = np.vstack((self.jumps, np.array([arm, clock, jump])))
        self.refresh(arm, clock)

    def _local(self, arm: int, clock: float) -> float:
        """A time of the router on the arm's own clock."""
        if not self.ahead[arm]:
            return clock
        mine = self.jumps[(self.jumps[:, 0] == arm) & (self.jumps[:, 1] <= clock)]
        return clock + float(mine[:, 2].sum())

    def _weight(self, arm: int, clock: float) -> float:
        return 1.0 if self.gamma == 1.0 else self.gamma ** (float(self.since[arm]) - self._local(arm, clock))

    def state(self) -> dict[str, npt.NDArray[np.generic]]:
        """All arrays, by name, to be kept."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        return {**arrays, "jumps": self.jumps, "next": np.array(self._next)}

    def restore(self, state: dict[str, npt.NDArray[np.generic]]) -> None:
        """Take the arrays of ``state`` back.

        Raises:
            ValueError: their shapes are not those of this regression.
        """
        for name in ARRAYS:
            mine: npt.NDArray[np.generic] = getattr(self, name)
            kept = state[name]
            if kept.shape != mine.shape:
                raise ValueError(f"{name} has shape {kept.shape}, not {mine.shape}")
            setattr(self, name, kept.astype(mine.dtype))
        self.jumps = state["jumps"].astype(np.float64)
        self._next = int(state["next"])


def inverted(matrix: Array) -> Array:
    """Inverse of a symmetric positive definite matrix, by blocks (Schur complement).

    As fast as LAPACK's on the whole, and no block is large enough for a threaded BLAS to start threads: where
    cores are busy, waiting for those took 100 times as long as the work.
    """
    size = len(matrix)
    if size <= BLOCK:
        return np.asarray(np.linalg.inv(matrix), np.float64)
    half = size // 2
    top, side = inverted(matrix[:half, :half]), matrix[:half, half:]
    through = top @ side
    bottom = inverted(matrix[half:, half:] - side.T @ through)
    corner = through @ bottom
    inverse = np.empty_like(matrix)
    inverse[:half, :half] = top + corner @ through.T
    inverse[:half, half:] = -corner
    inverse[half:, :half] = -corner.T
    inverse[half:, half:] = bottom
    return inverse


BLOCK = 64
ARRAYS = ("gram", "inverse", "moments", "weights", "since", "updates", "ahead")
