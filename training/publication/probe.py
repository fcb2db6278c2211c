"""Did the weights arrive? Asked of the server's own log-probabilities, answered with the noise in view.

A server says that it has loaded an adapter; whether it serves *these* weights is another matter (it may have kept
the previous ones, scaled them otherwise, lost them in a restart, or read another file of the same name). So the
same tokens are scored on both sides. With s, t the server's and the trainer's log-probabilities (nat per token) and

    d = t_new - t_prev                      what the step should have changed
    y = (s - s_base) - (t_prev - t_base)    what the server shows beyond the previous version

the coefficient is c = <y, d> / |d|²: 1 if the new version serves, 0 if the previous one still does. Differences to
the base model cancel what the two stacks disagree on anyway (other kernels, bfloat16, 4-bit weights).

**Noise.** What does not cancel is e = (offset under the adapter) - (offset of the base). The base's offsets
b = s_base - t_base are measured with every probe; taking the two offsets for independent, e has twice b's variance,
which is an upper bound unless the adapter makes the server's arithmetic worse. The standard error of c is the
larger of √2·σ_b / |d| and the same clustered by probe text, √(2·Σ_g (Σ_{i in g} d_i b_i)²) / |d|² (tokens of one
text are not independent; Liang & Zeger, Biometrika 1986, the sandwich estimator with one regressor).

**Three answers.** Where Z standard errors reach over ½, 0 and 1 can not be told apart: *indistinguishable*. Else
*delivered* if c is within max(Z·error, ``SLACK``) of 1 and what is left, (s - s_base) - (t_new - t_base), is no
more than twice the noise or a quarter of the step; else *not delivered*, and ``named`` says what serves instead:
the candidates (previous version, base, this adapter at another scale) are compared by what each leaves unexplained.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pointwork.errors import UsageError

Answer = Literal["delivered", "not delivered", "indistinguishable"]
Scores = Sequence[Sequence[float]]
"""Log-probabilities in nat: per probe text, per token of it."""

Z = 4.0
"""Standard errors: a wrong answer either way in 1 of 30,000 probes, were the noise normal."""
SLACK = 0.2
"""Two stacks do not show quite the same effect of an adapter, however many tokens are read. A wrong scale of less
than this is not seen."""
_EXCESS = 2.0  # times the noise: what may be left under an adapter that is the right one
_SHARE = 0.25  # … or this share of the step, where the step is far above the noise
_ALIKE = 0.85  # cosine from which another adapter is this one at another scale
_FLOOR = 1e-3  # nat: servers round


@dataclass(frozen=True)
class Verdict:
    """What a probe showed.

    Attributes:
        answer: see the module.
        named: what serves: ``new``, ``previous version``, ``base model``, ``wrong scale``, ``part of it``,
            ``another adapter``, ``unknown`` (indistinguishable).
        coefficient: 1 if delivered, 0 if the previous version serves; ``error``: its standard error.
        scale: of the whole adapter, <s - s_base, t_new - t_base> / |t_new - t_base|²; 1 if delivered.
        step: root mean square of t_new - t_prev, nat per token.
        noise: of a token's difference to base between the two stacks, nat.
        residual: root mean square of what the new version leaves unexplained, nat per token.
        tokens: that were scored.
        why: the answer in a sentence.
    """

    answer: Answer
    named: str
    coefficient: float
    error: float
    scale: float
    step: float
    noise: float
    residual: float
    tokens: int
    why: str

    @property
    def delivered(self) -> bool:
        """Whether the new version serves beyond doubt."""
        return self.answer == "delivered"


def explained(
    verdict: Verdict, server: Scores, server_base: Scores, base: Scores, suspects: Mapping[str, Scores]
) -> Verdict:
    """The verdict with what serves named by the suspect that explains it, if one does.

    A doubled scale has not twice the effect where the effect is large; so the trainer computes what each suspect
    would show, and the nearest is named if it leaves no more than noise, or a tenth of what there is.

    Args:
        verdict: ``not delivered``.
        server, server_base, base: as ``judge`` had them.
        suspects: the trainer's log-probabilities of what might serve instead, by name.
    """
    seen, at = _flat(server) - _flat(server_base), _flat(base)
    left = {name: _rms(seen - (_flat(scores) - at)) for name, scores in suspects.items()}
    if not left:
        return verdict
    name = min(left, key=lambda one: left[one])
    if left[name] > min(verdict.residual, max(_EXCESS * verdict.noise, 0.1 * _rms(seen))):
        return verdict
    why = verdict.why.replace(f"looks like: {verdict.named}", f"looks like: {name}")
    return replace(verdict, named=name, why=why)


def judge(server: Scores, server_base: Scores, new: Scores, previous: Scores, base: Scores) -> Verdict:
    """Decide whether a server serves the new version.

    Args:
        server, server_base: of the server, under the name of the new version and of the base model.
        new, previous, base: of the trainer; ``previous`` is ``base`` if nothing was published before.

    Raises:
        UsageError: they are not of the same texts and tokens, or a number is not finite.
    """
    s: NDArray[np.float64]
    s_base: NDArray[np.float64]
    t_new: NDArray[np.float64]
    t_prev: NDArray[np.float64]
    t_base: NDArray[np.float64]
    groups: NDArray[np.int64]
    s, s_base, t_new, t_prev, t_base, groups = _aligned(server, server_base, new, previous, base)
    step, whole, seen, offset = t_new - t_prev, t_new - t_base, s - s_base, s_base - t_base
    noise = max(_FLOOR, math.sqrt(2) * _rms(offset))
    length = float(step @ step)
    left = seen - whole
    if length == 0.0:
        return _verdict("indistinguishable", "unknown", math.nan, math.inf, step, whole, seen, noise)
    coefficient = float((seen - (t_prev - t_base)) @ step) / length
    clustered = math.sqrt(2 * float((np.bincount(groups, step * offset) ** 2).sum())) / length
    error = max(clustered, noise / math.sqrt(length))
    if error * Z > 0.5:
        return _verdict("indistinguishable", "unknown", coefficient, error, step, whole, seen, noise)
    near = max(Z * error, SLACK)
    if abs(coefficient - 1) <= near and _rms(left) <= max(_EXCESS * noise, _SHARE * _rms(step)):
        return _verdict("delivered", "new", coefficient, error, step, whole, seen, noise)
    named = _name(seen, whole, t_prev - t_base, noise)
    return _verdict("not delivered", named, coefficient, error, step, whole, seen, noise)


def tokens_needed(verdict: Verdict) -> int:
    """About how many tokens would tell 0 from 1 for a step of this size."""
    if not verdict.step:
        return 0
    if not math.isfinite(verdict.error):
        return verdict.tokens
    return math.ceil(verdict.tokens * (verdict.error * Z / 0.5) ** 2)


def _name(seen: NDArray[np.float64], whole: NDArray[np.float64], prev: NDArray[np.float64], noise: float) -> str:
    candidates = {"base model": np.zeros_like(whole), "previous version": prev}
    if not prev.any():
        del candidates["previous version"]
    name, expected = min(candidates.items(), key=lambda item: _rms(seen - item[1]))
    if _rms(seen - expected) <= max(_EXCESS * noise, 0.1 * _rms(whole - expected)):
        return name
    size = float(np.linalg.norm(seen) * np.linalg.norm(whole))
    cosine = float(seen @ whole) / size if size else 0.0
    scale = float(seen @ whole) / float(whole @ whole) if whole.any() else 0.0
    if cosine >= _ALIKE and abs(scale - 1) > SLACK:
        return "part of it" if scale < 1 and cosine < 0.97 else "wrong scale"
    return "part of it" if 0.1 < scale < 1 and cosine >= 0.5 else "another adapter"


def _verdict(
    answer: Answer,
    named: str,
    coefficient: float,
    error: float,
    step: NDArray[np.float64],
    whole: NDArray[np.float64],
    seen: NDArray[np.float64],
    noise: float,
) -> Verdict:
    size = float(whole @ whole)
    scale = float(seen @ whole) / size if size else math.nan
    shown = f"coefficient {coefficient:.2f} ± {error:.2f}, scale {scale:.2f}"
    noisy = f"step {_rms(step):.3f}, noise {noise:.3f} nat per token, {len(step)} tokens"
    why = {
        "delivered": f"the new version serves ({shown}; {noisy})",
        "not delivered": f"the new version does not serve; what does looks like: {named} ({shown}; {noisy})",
        "indistinguishable": f"the step is too small for the noise, new and previous look alike ({shown}; {noisy})",
    }[answer]
    residual = _rms(seen - whole)
    return Verdict(answer, named, coefficient, error, scale, _rms(step), noise, residual, len(step), why)


def _aligned(*scores: Scores) -> tuple[Any, ...]:
    lengths = [[len(text) for text in one] for one in scores]
    if any(other != lengths[0] for other in lengths) or sum(lengths[0]) < 2:
        raise UsageError(
            "a probe compares the same tokens of the same texts on both sides (at least two), not "
            + " and ".join(f"{sum(one)} tokens in {len(one)} texts" for one in lengths)
        )
    flat = [_flat(one) for one in scores]
    if not all(np.isfinite(one).all() for one in flat):
        raise UsageError("a log-probability of the probe is not finite: an adapter or a server is broken")
    return *flat, np.repeat(np.arange(len(lengths[0])), lengths[0])


def _flat(scores: Scores) -> NDArray[np.float64]:
    return np.array([value for text in scores for value in text], np.float64)


def _rms(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(values * values)))
