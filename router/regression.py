"""Discounted ridge regressions, two per arm, that cost microseconds to ask and to update.

Each arm has two *blocks*, one for quality and one for cost and latency, as their outcomes come apart; each
block has a Gram matrix of its own and one or more *heads* (targets that share it). With the router's decisions as
the clock t and a discount 0 < γ ≤ 1 (discounted LinUCB: Russac, Vernade, Cappé, "Weighted Linear Bandits for
Non-Stationary Environments", 2019, with a prior mean that does not decay):

    G_t = Σ_i γ^(t − t_i) x_i x_iᵀ        b_t = Σ_i γ^(t − t_i) r_i x_i        θ_t = (G_t + ρI)⁻¹ b_t

where r_i is the target less its prior mean, t_i the time of the *decision*, whenever its outcome came. (ρI stands
for diag(ρ₀, ρ, …, ρ): the first entry of a context is the bias, and its ridge ρ₀ never passes ``LEVEL``, so that
an arm that was not tried stays uncertain however little the other features say.)

Nothing is touched as time passes: G and b are kept as they were at a reference time s, a decision of time t_i
enters with weight γ^(s − t_i), and P = (G_s + ρI)⁻¹ follows by Sherman and Morrison. At a later time t,

    (G_t + ρI)⁻¹ = (γ^Δ G_s + ρI)⁻¹ ⪯ γ^−Δ P,    Δ = t − s,

which bounds the variance of a prediction. (γ^−Δ P is the exact inverse for the ridge γ^Δ ρ, so θ
between two refreshes is the ridge estimate with a slightly smaller ridge.) When γ^−Δ passes ``STALE`` the arm is
refreshed: moved to the present and inverted exactly. New rows of G and b wait in a small buffer until
somebody needs them; only P and θ follow at once.

**The ridge is learnt** (MacKay, "Bayesian interpolation", 1992): ρ = σ²/s², noise over signal, of a block is one
number for all arms, re-estimated from sums that are kept anyway: γ_a = d − ρ tr P_a well-determined directions,
s² = Σ‖θ_a‖² / Σγ_a, σ² = Σ RSS_a / (n − Σγ_a). Clean rewards over telling features end at ρ ≈ 0.02, noisy judges
over sentence embeddings at ρ ≈ 3; no fixed ridge serves both.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pointwork.router.inverses import inverted, room

Array = npt.NDArray[np.float64]
Slots = npt.NDArray[np.intp]
_Waiting = tuple[Array, float, Sequence[float] | Array]  # x, weight, residuals

QUALITY, COSTS = 0, 1
BLOCKS = 2
# The block of each head: quality; log cost, log seconds.
HEADS = (QUALITY, COSTS, COSTS)
_HEADS_OF = (slice(0, 1), slice(1, 3))
# What an observation can say: blocks, heads, and the block of each of these heads among these blocks.
_PARTS = {
    "quality": (slice(0, 1), slice(0, 1), (0,)),
    "costs": (slice(1, 2), slice(1, 3), (0, 0)),
    "both": (slice(0, 2), slice(0, 3), (0, 1, 1)),
}

_BLOCKS_OF = {part: (blocks.start, blocks.stop) for part, (blocks, _, _) in _PARTS.items()}
# Largest γ^−Δ before an arm is refreshed.
STALE = 2.0
# Sherman–Morrison updates before an arm is refreshed for the sake of rounding.
UPDATES = 2000
# Rows of G that may wait.
WAITING = 64
# Belief in the first ridge, in well-determined directions; and how far off an arm's ridge may be.
BELIEF = 1.0
OFF = 1.35
# Most that the ridge of the bias may be.
LEVEL = 0.2
RIDGES = (0.01, 100.0)
# Prior of the noise: this sum of squares in one observation.
_QUIET = 0.04


class Regression:
    """``arms`` pairs of regressions over contexts of length ``dims``, stacked in contiguous arrays.

    Args:
        arms: how many (K).
        dims: length of a context (d).
        ridge: ρ > 0, to start with.
        gamma: discount per decision of the router, 0 < γ ≤ 1.
        adapt: whether ρ is learnt.

    Attributes:
        gram, inverse: (K, 2, d, d), by block; moments, weights: (K, 3, d), by head, the b and the θ;
        squares: (K, 3), Σγ r²; mass: (K, 2), Σγ; ridges: (K, 2), the ρ that ``inverse`` was made with;
        by_head, of_quality: views of weights (3, K, d) and of the inverses of quality (K, d, d);
        since: (K,), reference times; updates: (K,), since the last refresh; surveys: (K, 2), updates of a block
        after which its part in the ridge is looked at again; known: (K, 2, 6), what was seen then: well-determined
        directions, mass, and per head RSS and ‖θ‖²; goal: (2,), the ridges that all arms should have;
        noise: (3,), σ² per head; jumps: (n, 4), arm, block, clock and factor of what was made to count less;
        assumed: (K, 2, d), Σγ x of costs and latencies that were not told, and are but their prior mean.
    """

    def __init__(self, arms: int, dims: int, *, ridge: float, gamma: float, adapt: bool = True) -> None:
        self.first = ridge
        self.gamma = gamma
        self.adapt = adapt
        self._log = math.log(gamma)
        self._span = math.inf if gamma == 1.0 else math.log(STALE) / -self._log
        self.dims = dims
        self._gram = np.zeros((arms, BLOCKS, dims, dims))
        self.inverse = np.tile(self._prior(ridge), (arms, BLOCKS, 1, 1))
        self._moments = np.zeros((arms, len(HEADS), dims))
        self.weights = np.zeros((arms, len(HEADS), dims))
        self._squares = np.zeros((arms, len(HEADS)))
        self._mass = np.zeros((arms, BLOCKS))
        self.ridges = np.full((arms, BLOCKS), ridge)
        self.since, self.updates = np.zeros(arms), np.zeros(arms)
        self.counts = np.zeros((arms, BLOCKS))
        self.known = np.zeros((arms, BLOCKS, 6))
        self.assumed = np.zeros((arms, 2, dims))
        self.goal = np.full(BLOCKS, ridge)
        self.noise = np.array([0.1, 0.5, 0.5])
        self.jumps = np.zeros((0, 4))
        self._next = 0
        self._outer = np.empty((dims, dims))
        self._gains = [room(blocks, dims) for blocks in range(1, BLOCKS + 1)]
        # (heads, blocks): how far each head's θ moves along the gain of its block, and of no other
        self._steps = {part: np.zeros((len(own), max(own) + 1)) for part, (_, _, own) in _PARTS.items()}
        self._wait()

    def _wait(self) -> None:
        """Nothing waits; the arrays may be others than before, so the views of single arms are made anew."""
        count = len(self.since)
        self._waiting: list[list[list[_Waiting]]] = [[[] for _ in range(BLOCKS)] for _ in range(count)]
        self.by_head, self.of_quality = self.weights.transpose(1, 0, 2), self.inverse[:, QUALITY]
        self._inverses = [[self.inverse[arm, block] for block in range(BLOCKS)] for arm in range(count)]
        # P of a part's blocks, one below the other and each by itself, and θ of its heads
        self._views: dict[str, list[tuple[Array, list[Array], Array]]] = {}
        for part, (blocks, heads, _) in _PARTS.items():
            flat = self.inverse[:, blocks].reshape(count, -1, self.dims)
            inverses = [of_arm[blocks] for of_arm in self._inverses]
            self._views[part] = list(zip(flat, inverses, self.weights[:, heads], strict=True))
        self._scaled = -math.inf  # when ``_scale`` was made
        self._scale = np.ones(count)
        self._jumped = [[-math.inf] * BLOCKS for _ in range(count)]  # when something last was made to count less
        for arm, block, clock, _ in self.jumps.tolist():
            self._jumped[int(arm)][int(block)] = max(self._jumped[int(arm)][int(block)], clock)

    @property
    def gram(self) -> Array:
        """G, with all that waited."""
        self._flush_all()
        return self._gram

    @property
    def moments(self) -> Array:
        """b, with all that waited."""
        self._flush_all()
        return self._moments

    @property
    def squares(self) -> Array:
        """Σγ r², with all that waited."""
        self._flush_all()
        return self._squares

    @property
    def mass(self) -> Array:
        """Σγ, with all that waited."""
        self._flush_all()
        return self._mass

    def _prior(self, ridge: float) -> Array:
        """What P is of an arm that knows nothing: (d, d)."""
        return np.diag(1.0 / self._ridges_of(ridge))

    def _ridges_of(self, ridge: float) -> Array:
        ridges = np.full(self.dims, ridge)
        ridges[0] = min(ridge, LEVEL)
        return ridges

    def grow(self, clock: float) -> None:
        """Add an arm that knows nothing."""
        self._flush_all()
        fresh = Regression(1, self.dims, ridge=self.first, gamma=self.gamma)
        fresh.since[:] = clock
        fresh.ridges[:] = self.goal
        fresh.inverse[0] = np.array([self._prior(float(ridge)) for ridge in self.goal])
        for name in ARRAYS:
            setattr(self, _PLACE[name], np.concatenate((getattr(self, name), getattr(fresh, name))))
        self._wait()

    def growth(self, clock: float) -> Array | None:
        """γ^−Δ of each arm, (K,), to 0.2 %: what widens P until the arm is refreshed. None: nothing does."""
        if not self._log:
            return None
        if (clock - self._scaled) * -self._log > 0.002 or clock < self._scaled:
            self._scale = np.exp(self._log * np.minimum(self.since - clock, 0.0))
            self._scaled = clock
        return self._scale

    def variance(self, arm: int, block: int, context: Array) -> float:
        """xᵀPx of one block of one arm."""
        return float(self._inverses[arm][block].dot(context).dot(context))

    def add(self, part: str, arm: int, context: Array, clock: float, residuals: Sequence[float] | Array) -> None:
        """Learn one observation.

        Args:
            part: ``quality``, ``costs`` or ``both``: what is known.
            arm: index.
            context: x, shape (d,); must stay as it is.
            clock: time of the decision, not of the outcome.
            residuals: targets less their prior means: 1, 2 or 3 of them.
        """
        since, updates = self.since.item(arm), self.updates.item(arm)
        if clock - since > self._span or updates >= UPDATES:
            self.refresh(arm, clock)
            updates = 0.0
        self.updates[arm] = updates + 1
        first, last = _BLOCKS_OF[part]
        jumped, weight = self._jumped[arm], self._decay(arm, clock)
        weights = [
            weight if clock >= jumped[block] else weight * self._kept(arm, block, clock)
            for block in range(first, last)
        ]
        self._absorb(arm, part, context, weights, residuals)
        for place, weight in enumerate(weights):
            mine = residuals if len(weights) == 1 else residuals[_HEADS_OF[place]]
            self._noted(arm, first + place, (context, weight, mine))

    def _absorb(
        self, arm: int, part: str, context: Array, weights: Sequence[float], residuals: Sequence[float] | Array
    ) -> None:
        """Sherman and Morrison, all blocks at once; θ follows from P, which the heads of a block share."""
        flat, inverses, theta = self._views[part][arm]
        row, gains, singly = self._gains[len(weights) - 1]
        flat.dot(context, out=row)
        known, said = gains.dot(context).tolist(), theta.dot(context).tolist()
        scales = [weight / (1.0 + weight * each) for weight, each in zip(weights, known, strict=True)]
        steps, own, outer = self._steps[part], _PARTS[part][2], self._outer
        for head, block in enumerate(own):
            steps[head, block] = scales[block] * (residuals[head] - said[head])
        theta += steps.dot(gains)
        for (gain, across, along), scale, inverse in zip(singly, scales, inverses, strict=True):
            gain *= math.sqrt(scale)  # on both sides, so that P stays symmetric
            across.dot(along, out=outer)  # BLAS: a third of the time of a product by broadcasting
            inverse -= outer

    def _noted(self, arm: int, block: int, row: _Waiting) -> None:
        """What G and b still have to be told of, and whether it is time to look at the ridge again."""
        waiting = self._waiting[arm][block]
        waiting.append(row)
        if len(waiting) == WAITING:
            self._flush(arm, block)
        count = int(self.counts.item(arm, block)) + 1
        self.counts[arm, block] = count
        if self.adapt and count >= 4 and count & (count - 1) == 0:  # 4, 8, 16, …
            self._survey(arm, block)

    def _flush(self, arm: int, block: int) -> None:
        waiting = self._waiting[arm][block]
        if not waiting:
            return
        rows = np.array([context for context, _, _ in waiting])
        weights = np.array([weight for _, weight, _ in waiting])
        residuals = np.array([list(each) for _, _, each in waiting])
        waiting.clear()
        weighted = rows * weights[:, None]
        self._gram[arm, block] += weighted.T @ rows
        self._moments[arm, _HEADS_OF[block]] += residuals.T @ weighted
        self._squares[arm, _HEADS_OF[block]] += weights @ (residuals * residuals)
        self._mass[arm, block] += float(weights.sum())

    def _flush_all(self) -> None:
        for arm in range(len(self.since)):
            for block in range(BLOCKS):
                self._flush(arm, block)

    def _survey(self, arm: int, block: int) -> None:
        """Look at what an arm says about noise and signal, and set the ridge that all should have."""
        self._flush(arm, block)
        heads = _HEADS_OF[block]
        weights, moments = self.weights[arm, heads], self._moments[arm, heads]
        fitted = np.einsum("hd,de,he->h", weights, self._gram[arm, block], weights)
        rss = np.maximum(self._squares[arm, heads] - 2 * (weights * moments).sum(1) + fitted, 0.0)
        inverse = self.inverse[arm, block]
        free = float(self.ridges[arm, block] * (np.trace(inverse) - inverse[0, 0]))
        told = max(0.0, self.dims - 1 - free)
        count = len(rss)
        self.known[arm, block, :2] = told, self._mass[arm, block]
        self.known[arm, block, 2 : 2 + count] = rss
        self.known[arm, block, 4 : 4 + count] = (weights[:, 1:] ** 2).sum(1)
        total = self.known[:, block].sum(0)
        free = max(total[1] - total[0], 0.1 * total[1]) + 1.0
        noise = (total[2 : 2 + count] + _QUIET) / free
        self.noise[heads] = noise
        signal = float((total[4 : 4 + count] / noise).mean())
        goal = (total[0] + BELIEF) / (signal + BELIEF / self.first)
        self.goal[block] = min(RIDGES[1], max(RIDGES[0], goal))

    def correct(self, head: int, arm: int, context: Array, clock: float, change: float, old: float) -> None:
        """Replace a target of an observation learnt before: b changes by ``change``·x; G stays.

        Args:
            head: 0 quality, 1 log cost, 2 log seconds. arm: index. context: x (d,).
            clock: time of the decision.
            change: new target less old.
            old: the old residual.
        """
        block = HEADS[head]
        self._flush(arm, block)
        weight = self._decay(arm, clock) * self._kept(arm, block, clock)
        self._moments[arm, head] += (weight * change) * context
        self.weights[arm, head] += (weight * change) * (self.inverse[arm, block] @ context)
        self._squares[arm, head] += weight * ((old + change) ** 2 - old**2)

    def assume(self, head: int, arm: int, context: Array, clock: float, share: float) -> None:
        """A target (head 1 or 2) of an observation is but its prior mean; with ``share`` −1: no more."""
        self.assumed[arm, head - 1] += share * self._decay(arm, clock) * self._kept(arm, COSTS, clock) * context

    def refresh(self, arm: int, clock: float) -> None:
        """Move an arm to this time and invert exactly. O(d³)."""
        now = max(clock, float(self.since[arm]))
        decay = self.gamma ** (now - float(self.since[arm]))
        for block in range(BLOCKS):
            self._flush(arm, block)
        for sums in (self._gram, self._moments, self._squares, self._mass, self.assumed):
            sums[arm] *= decay
        self.since[arm] = now
        self.updates[arm] = 0
        self._scaled = -math.inf
        for block in range(BLOCKS):
            self._invert(arm, block)

    def _invert(self, arm: int, block: int) -> None:
        self._flush(arm, block)
        ridge = float(self.goal[block])
        self.ridges[arm, block] = ridge
        if self._mass[arm, block] > 0:
            inverse = inverted(self._gram[arm, block] + np.diag(self._ridges_of(ridge)))
            self.inverse[arm, block] = (inverse + inverse.T) / 2
        else:
            self.inverse[arm, block] = self._prior(ridge)
        heads = _HEADS_OF[block]
        self.weights[arm, heads] = self._moments[arm, heads] @ self.inverse[arm, block]

    def tidy(self, clock: float) -> None:
        """Look at one arm, in turn, and bring it up to date: so idle arms forget too, and ridges follow."""
        arm = self._next = (self._next + 1) % len(self.since)
        if clock - self.since.item(arm) > self._span:
            self.refresh(arm, clock)
            return
        for block in range(BLOCKS):
            ratio = self.ridges.item(arm, block) / self.goal.item(block)
            if not 1 / OFF < ratio < OFF:
                self._invert(arm, block)

    def age(self, arm: int, block: int, clock: float, keep: float) -> None:
        """From now on, observations of a block from before this time count ``keep`` (0 to 1) of what they did."""
        heads = _HEADS_OF[block]
        self._flush(arm, block)
        parts = (block, block, heads, heads)
        for sums, part in zip((self._gram, self._mass, self._moments, self._squares), parts, strict=True):
            sums[arm, part] *= keep
        self.assumed[arm] *= keep if block == COSTS else 1.0
        self.jumps = np.vstack((self.jumps, np.array([arm, block, clock, keep])))
        self._jumped[arm][block] = max(self._jumped[arm][block], clock)
        self._invert(arm, block)

    def _decay(self, arm: int, clock: float) -> float:
        """What an observation of this time counts, at the arm's reference time."""
        return 1.0 if self.gamma == 1.0 else self.gamma ** (self.since.item(arm) - clock)

    def _kept(self, arm: int, block: int, clock: float) -> float:
        """The factor by which ``age`` has made observations of this time count less."""
        if clock >= self._jumped[arm][block]:
            return 1.0
        jumps = self.jumps
        after = (jumps[:, 0] == arm) & (jumps[:, 1] == block) & (jumps[:, 2] > clock)
        return float(jumps[after, 3].prod())

    def state(self) -> dict[str, npt.NDArray[np.generic]]:
        """All arrays, by name, to be kept."""
        self._flush_all()
        return {**{name: getattr(self, name) for name in (*ARRAYS, *_SHARED)}, "next": np.array(self._next)}

    def restore(self, state: dict[str, npt.NDArray[np.generic]]) -> None:
        """Take the arrays of ``state`` back.

        Raises:
            KeyError, ValueError: one is missing, or its shape is not that of this regression.
        """
        state = {"assumed": np.zeros_like(self.assumed), **state}  # states of older packages lack it
        for name in (*ARRAYS, "goal", "noise"):
            mine: npt.NDArray[np.generic] = getattr(self, name)
            kept = state[name]
            if kept.shape != mine.shape:
                raise ValueError(f"{name} has shape {kept.shape}, not {mine.shape}")
            setattr(self, _PLACE.get(name, name), kept.astype(mine.dtype))
        self.jumps = state["jumps"].astype(np.float64).reshape(-1, 4)
        self._next = int(state["next"])
        self._wait()


_NAMES = "gram inverse moments weights squares mass ridges since updates counts known assumed"
ARRAYS = tuple(_NAMES.split())
_PLACE = {name: f"_{name}" if name in ("gram", "moments", "squares", "mass") else name for name in ARRAYS}
_SHARED = ("goal", "noise", "jumps")
