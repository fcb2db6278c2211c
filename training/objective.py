"""The loss of GRPO and its relatives, over flat tensors: one entry per trained token, no padding.

For token t of sequence i (one model call), with new, old and served log-probabilities ℓ, ℓ° and ℓˢ:

- **ratio**: per token w = exp(ℓ − ℓ°) (Shao et al., "DeepSeekMath", 2024, eq. 3), or per sequence
  w = exp(mean_t(ℓ − ℓ°)) (Zheng et al., "Group Sequence Policy Optimization", 2025, eq. 7).
- **clip**: −min(w·A, clip(w, 1 − ε_low, 1 + ε_high)·A), with ε_high > ε_low so that unlikely good tokens can grow
  (Yu et al., "DAPO", 2025, eq. 8).
- **truncated importance sampling**: times min(exp(ℓ° − ℓˢ), C), as the server that sampled is another numeric stack
  than the trainer (Yao et al., "Your Efficient RL Framework Secretly Brings You Off-Policy RL Training", 2025).
  Clipping bounds the step, this corrects the sampling; they are two ratios.
- **KL** to a reference, optional: the estimator k3, exp(ℓʳ − ℓ) − (ℓʳ − ℓ) − 1 (Schulman, 2020; DeepSeekMath,
  eq. 4), times the token's ratio exp(ℓ − ℓ°): only then is its gradient that of the KL (DeepSeek-V3.2, 2025).
- **aggregation**: ``token``: the mean over all tokens of the step (DAPO); ``sequence``: the mean over tokens in
  each sequence, then over sequences (DeepSeekMath); ``constant``: the sum over (sequences × ``length``), by which a
  token weighs the same whatever the length of its answer (Liu et al., "Understanding R1-Zero-Like Training", 2025).

The denominators are those of the whole optimiser step (``Totals``), so that a step in one piece and the same step
in many micro-batches have the same gradient.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from pointwork.errors import UsageError


@dataclass(frozen=True)
class Objective:
    """What is minimised.

    Attributes:
        ratio: level of the ratio new over old, ``token`` or ``sequence``.
        aggregation: ``token``, ``sequence`` or ``constant``.
        clip_low, clip_high: ε_low, ε_high.
        tis_cap: C of the truncated importance sampling; None turns it off.
        kl: weight of the KL term; 0 turns it off.
        length: tokens by which ``constant`` divides, usually the longest answer allowed.
    """

    ratio: Literal["token", "sequence"] = "token"
    aggregation: Literal["token", "sequence", "constant"] = "token"
    clip_low: float = 0.2
    clip_high: float = 0.28
    tis_cap: float | None = 2.0
    kl: float = 0.0
    length: int | None = None

    def __post_init__(self) -> None:
        if self.aggregation == "constant" and (self.length is None or self.length < 1):
            raise UsageError("aggregation 'constant' divides by a length from 1: give Objective(length=...)")
        if not 0 <= self.kl < math.inf:
            raise UsageError(f"the weight of the KL term must be a number from 0, not {self.kl}")
        if not (0 < self.clip_low < 1 and self.clip_high > 0):
            raise UsageError(f"clips must be 0 < low < 1 and high > 0, not {self.clip_low}, {self.clip_high}")
        if self.tis_cap is not None and not self.tis_cap > 0:
            raise UsageError(f"tis_cap must be positive or None, not {self.tis_cap}")


@dataclass(frozen=True)
class Totals:
    """Size of the whole optimiser step: trained tokens, and sequences that have any."""

    tokens: int
    sequences: int


# exp() of it is a float32 still, far above any clip.
_LARGEST = 60.0

# Of ``Stats``, what does not add over micro-batches.
_MAXIMA = ("ratio_max", "gap_max")


@dataclass
class Stats:
    """Sums over trained tokens; they add over micro-batches. ``report`` makes means of them.

    Attributes:
        tokens, sequences: how many.
        loss: of this part; the parts add up to the step's loss.
        entropy, kl, ratio: sums over tokens. clipped_low, clipped_high: tokens whose gradient was clipped away.
        served: tokens that came with serving logprobs; tis: the sum of their (capped) weights; capped: how many
        were; gap: Σ|ℓ° − ℓˢ|.
    """

    tokens: int = 0
    sequences: int = 0
    loss: float = 0.0
    entropy: float = 0.0
    kl: float = 0.0
    ratio: float = 0.0
    ratio_max: float = 0.0
    clipped_low: float = 0.0
    clipped_high: float = 0.0
    served: int = 0
    tis: float = 0.0
    capped: float = 0.0
    gap: float = 0.0
    gap_max: float = 0.0

    def add(self, other: "Stats") -> None:
        """Take another micro-batch in."""
        for name in vars(self):
            mine, others = getattr(self, name), getattr(other, name)
            setattr(self, name, max(mine, others) if name in _MAXIMA else mine + others)

    def report(self) -> dict[str, float]:
        """Loss, and means per token: entropy (nat), KL, ratio, clip rate; of the served ones, weight, gap (nat)."""
        n, s = max(self.tokens, 1), max(self.served, 1)
        found = {
            "loss": self.loss,
            "tokens": float(self.tokens),
            "sequences": float(self.sequences),
            "entropy": self.entropy / n,
            "kl": self.kl / n,
            "ratio": self.ratio / n,
            "ratio_max": self.ratio_max,
            "clip_rate": (self.clipped_low + self.clipped_high) / n,
            "clip_low": self.clipped_low / n,
            "clip_high": self.clipped_high / n,
        }
        if self.served:
            found |= {"tis_mean": self.tis / s, "tis_capped": self.capped / s}
            found |= {"serving_gap": self.gap / s, "serving_gap_max": self.gap_max}
        return found


def policy_loss(
    new: Tensor,
    old: Tensor,
    advantage: Tensor,
    sequence: Tensor,
    sequences: int,
    totals: Totals,
    objective: Objective,
    *,
    served: Tensor | None = None,
    reference: Tensor | None = None,
    entropy: Tensor | None = None,
) -> tuple[Tensor, Stats]:
    """Loss of a micro-batch, as its part in the loss of the step.

    Args:
        new: (T,) log-probabilities under the policy, with gradient; nat.
        old: (T,) the same under the policy that the step began with, without gradient.
        advantage: (T,) of each token's sequence.
        sequence: (T,) which sequence, 0 … ``sequences`` − 1. The tokens of a sequence are all here.
        sequences: how many there are in this micro-batch (B).
        totals: of the whole step.
        objective: what to minimise.
        served: (T,) as the server gave them; NaN where it gave none.
        reference: (T,) under the reference, for the KL.
        entropy: (T,) of the policy at each token, for the report.

    Returns:
        A scalar, and what is worth knowing about the tokens.

    Raises:
        UsageError: ``objective.kl`` is set and there is no reference.
    """
    old = old.detach()
    counts = torch.zeros(sequences, dtype=new.dtype, device=new.device).index_add_(
        0, sequence, torch.ones_like(new)
    )
    log_ratio = of_token = new - old
    if objective.ratio == "sequence":
        sums = torch.zeros_like(counts).index_add(0, sequence, log_ratio)
        log_ratio = (sums / counts.clamp(min=1.0))[sequence]
    # A ratio that overflows is clipped away where the advantage is not negative; its gradient would be 0 · inf.
    ratio = torch.where(advantage >= 0, log_ratio.clamp(max=_LARGEST), log_ratio).exp()
    bounded = ratio.clamp(1.0 - objective.clip_low, 1.0 + objective.clip_high)
    losses = -torch.minimum(ratio * advantage, bounded * advantage)

    stats = Stats(tokens=new.numel(), sequences=int((counts > 0).sum()))
    if served is not None and objective.tis_cap is not None:
        losses = losses * _truncated(old, served, objective.tis_cap, stats)
    if objective.kl:
        if reference is None:
            raise UsageError("a KL term needs the reference's log-probabilities")
        apart = reference.detach() - new
        kl = of_token.exp() * (apart.exp() - apart - 1.0)
        losses = losses + objective.kl * kl
        stats.kl = float(kl.detach().sum())
    loss = aggregated(losses, sequence, counts, totals, objective)

    with torch.no_grad():
        stats.loss = float(loss)
        stats.ratio, stats.ratio_max = float(ratio.sum()), float(ratio.max()) if ratio.numel() else 0.0
        stats.clipped_low = float(((ratio < 1.0 - objective.clip_low) & (advantage < 0)).sum())
        stats.clipped_high = float(((ratio > 1.0 + objective.clip_high) & (advantage > 0)).sum())
        stats.entropy = float(entropy.sum()) if entropy is not None else 0.0
    return loss, stats


def _truncated(old: Tensor, served: Tensor, cap: float, stats: Stats) -> Tensor:
    """min(exp(ℓ° − ℓˢ), C), (T,); 1 where the server gave nothing."""
    known = ~torch.isnan(served)
    apart = torch.where(known, old - served, torch.zeros_like(old))
    weights = apart.exp().clamp(max=cap)
    stats.served = int(known.sum())
    if stats.served:
        stats.tis = float(weights[known].sum())
        stats.capped = float((apart[known].exp() > cap).sum())
        stats.gap, stats.gap_max = float(apart.abs().sum()), float(apart.abs().max())
    return weights


def aggregated(losses: Tensor, sequence: Tensor, counts: Tensor, totals: Totals, objective: Objective) -> Tensor:
    """Losses of tokens, (T,), to this micro-batch's part in the loss of the step: a scalar.

    Args:
        losses: (T,).
        sequence: (T,) which sequence each belongs to.
        counts: (B,) tokens of each sequence.
        totals: of the whole step.
        objective: how to.
    """
    if objective.aggregation == "token":
        return losses.sum() / max(totals.tokens, 1)
    if objective.aggregation == "constant":
        assert objective.length is not None
        return losses.sum() / (max(totals.sequences, 1) * objective.length)
    return (losses / counts[sequence]).sum() / max(totals.sequences, 1)
