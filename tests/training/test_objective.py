import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from pointwork.errors import UsageError  # noqa: E402
from pointwork.training.objective import Objective, Stats, Totals, policy_loss  # noqa: E402
from pointwork.training.tensors import backward  # noqa: E402

NEW = [-1.0, -2.0, -0.5, -0.1, -3.0]
OLD = [-1.3, -1.5, -0.5, -0.9, -3.1]
SEQUENCE = [0, 0, 0, 1, 1]
ADVANTAGE = [1.0, -0.5]


def loss(objective: Objective, **extra: Any) -> tuple[float, Stats]:
    new = torch.tensor(NEW, dtype=torch.float64)
    per_token = torch.tensor([ADVANTAGE[i] for i in SEQUENCE], dtype=torch.float64)
    value, stats = policy_loss(
        new,
        torch.tensor(OLD, dtype=torch.float64),
        per_token,
        torch.tensor(SEQUENCE),
        2,
        Totals(5, 2),
        objective,
        **extra,
    )
    return value.item(), stats


def surrogate(ratio: float, advantage: float, low: float = 0.2, high: float = 0.28) -> float:
    return -min(ratio * advantage, min(max(ratio, 1 - low), 1 + high) * advantage)


def by_hand(level: str) -> list[float]:
    """−min(wA, clip(w)A) of each token, with plain floats."""
    differences = [a - b for a, b in zip(NEW, OLD, strict=True)]
    if level == "sequence":
        means = [sum(differences[:3]) / 3, sum(differences[3:]) / 2]
        differences = [means[i] for i in SEQUENCE]
    return [surrogate(math.exp(d), ADVANTAGE[i]) for d, i in zip(differences, SEQUENCE, strict=True)]


@pytest.mark.parametrize("ratio", ["token", "sequence"])
def test_closed_form_of_all_aggregations(ratio: Any) -> None:
    terms = by_hand(ratio)
    assert loss(Objective(ratio, "token"))[0] == pytest.approx(sum(terms) / 5)
    assert loss(Objective(ratio, "sequence"))[0] == pytest.approx((sum(terms[:3]) / 3 + sum(terms[3:]) / 2) / 2)
    assert loss(Objective(ratio, "constant", length=8))[0] == pytest.approx(sum(terms) / (2 * 8))


def test_the_clip_is_asymmetric_and_counted() -> None:
    # ratios: 1.35 (A > 0: clipped at 1.28), 0.61 (A > 0: not), 1, 2.23 (A < 0: not), 1.11
    _, stats = loss(Objective())
    assert (stats.clipped_low, stats.clipped_high) == (0, 1)
    assert stats.report()["clip_rate"] == pytest.approx(1 / 5)
    _, stats = loss(Objective(clip_high=0.4))
    assert stats.clipped_high == 0


def test_clipped_tokens_have_no_gradient() -> None:
    new = torch.tensor([0.5, -0.5], requires_grad=True)
    old = torch.zeros(2)
    value, _ = policy_loss(new, old, torch.tensor([1.0, -1.0]), torch.tensor([0, 1]), 2, Totals(2, 2), Objective())
    backward(value)
    assert new.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("ratio", ["token", "sequence"])
def test_a_ratio_that_overflows_is_clipped_like_any_other(ratio: Any) -> None:
    new = torch.tensor([200.0, 0.0], requires_grad=True)
    several = torch.tensor([0, 1])
    for advantage in (1.0, 0.0):
        loss, stats = policy_loss(
            new, torch.zeros(2), torch.tensor([advantage, 1.0]), several, 2, Totals(2, 2), Objective(ratio=ratio)
        )
        (gradient,) = torch.autograd.grad(loss, new)
        assert gradient.tolist() == [0.0, -0.5]
        assert loss.item() == pytest.approx(-(1.28 * advantage + 1.0) / 2)
        assert stats.clipped_high == (advantage > 0)


def test_at_ratio_one_the_gradient_is_the_policy_gradient() -> None:
    new = torch.tensor([-1.0, -2.0, -0.3], requires_grad=True)
    advantage = torch.tensor([2.0, 2.0, -1.0])
    value, _ = policy_loss(new, new, advantage, torch.tensor([0, 0, 1]), 2, Totals(3, 2), Objective())
    backward(value)
    assert new.grad.tolist() == pytest.approx([-2 / 3, -2 / 3, 1 / 3])
    assert value.item() == pytest.approx(-1.0)


def test_importance_sampling_is_truncated_and_only_where_the_server_gave_logprobs() -> None:
    served = torch.tensor([-1.3, -3.0, float("nan"), -0.4, float("nan")], dtype=torch.float64)
    terms = by_hand("token")
    weights = [1.0, 2.0, 1.0, math.exp(-0.9 + 0.4), 1.0]  # exp(1.5) is capped at 2
    value, stats = loss(Objective(tis_cap=2.0), served=served)
    assert value == pytest.approx(sum(w * t for w, t in zip(weights, terms, strict=True)) / 5)
    report = stats.report()
    assert stats.served == 3
    assert report["tis_capped"] == pytest.approx(1 / 3)
    assert report["tis_mean"] == pytest.approx((1 + 2 + math.exp(-0.5)) / 3)
    assert report["serving_gap_max"] == pytest.approx(1.5)
    assert loss(Objective(tis_cap=None), served=served)[0] == pytest.approx(sum(terms) / 5)


def test_kl_is_k3_times_the_ratio() -> None:
    reference = torch.tensor([-1.1, -2.0, -0.4, -0.3, -2.0], dtype=torch.float64)
    apart = [r - n for r, n in zip(reference.tolist(), NEW, strict=True)]
    ratios = [math.exp(n - o) for n, o in zip(NEW, OLD, strict=True)]
    k3 = [w * (math.exp(d) - d - 1) for w, d in zip(ratios, apart, strict=True)]
    value, stats = loss(Objective(kl=0.1), reference=reference)
    assert value == pytest.approx((sum(by_hand("token")) + 0.1 * sum(k3)) / 5)
    assert stats.report()["kl"] == pytest.approx(sum(k3) / 5)
    with pytest.raises(UsageError, match="reference"):
        loss(Objective(kl=0.1))


def test_the_gradient_of_the_kl_term_is_that_of_the_kl() -> None:
    """In expectation over tokens drawn from the policy: summed over all tokens with their probabilities."""
    logits = torch.tensor([0.3, -1.0, 0.7, 0.1], dtype=torch.float64, requires_grad=True)
    reference = torch.log_softmax(torch.tensor([1.0, 0.5, -0.3, 0.2], dtype=torch.float64), -1)
    policy = torch.log_softmax(logits, -1)
    (wanted,) = torch.autograd.grad((policy.exp() * (policy - reference)).sum(), logits, retain_graph=True)
    found = torch.zeros_like(logits)
    for token in range(4):
        new = policy[token : token + 1]
        nothing = torch.zeros_like(new)
        arguments = (new, new.detach(), nothing, torch.tensor([0]), 1, Totals(1, 1), Objective(kl=1.0))
        term, _ = policy_loss(*arguments, reference=reference[token : token + 1])
        found += new.exp().item() * torch.autograd.grad(term, logits, retain_graph=True)[0]
    assert found.tolist() == pytest.approx(wanted.tolist(), abs=1e-12)


def test_what_can_not_be_meant_is_refused() -> None:
    with pytest.raises(UsageError, match="length"):
        Objective(aggregation="constant")
    with pytest.raises(UsageError, match="length"):
        Objective(aggregation="constant", length=-5)  # would train away from what is good
    with pytest.raises(UsageError, match="KL"):
        Objective(kl=-0.1)
    with pytest.raises(UsageError, match="clips"):
        Objective(clip_high=float("nan"))
    with pytest.raises(UsageError, match="clips"):
        Objective(clip_low=0.0)
    with pytest.raises(UsageError, match="tis_cap"):
        Objective(tis_cap=0.0)


floats = st.floats(-4, 0)
cases = st.lists(st.tuples(floats, floats, st.integers(0, 3)), min_size=1, max_size=12)
objectives = st.builds(
    Objective,
    ratio=st.sampled_from(["token", "sequence"]),
    aggregation=st.sampled_from(["token", "sequence", "constant"]),
    length=st.just(16),
)


def tensors(case: list[tuple[float, float, int]]) -> tuple[Any, Any, Any, Totals]:
    case = sorted(case, key=lambda entry: entry[2])
    new = torch.tensor([entry[0] for entry in case], dtype=torch.float64, requires_grad=True)
    old = torch.tensor([entry[1] for entry in case], dtype=torch.float64)
    sequence = torch.tensor([entry[2] for entry in case])
    return new, old, sequence, Totals(len(case), len(set(sequence.tolist())))


@given(cases, objectives)
@settings(deadline=None)
def test_no_advantage_no_gradient(case: list[tuple[float, float, int]], objective: Objective) -> None:
    new, old, sequence, totals = tensors(case)
    value, _ = policy_loss(new, old, torch.zeros_like(old), sequence, 4, totals, objective)
    backward(value)
    assert value.item() == 0.0
    assert not new.grad.any()


@given(cases, objectives, st.lists(st.floats(-2, 2), min_size=4, max_size=4))
@settings(deadline=None)
def test_micro_batches_add_up_to_the_step(
    case: list[tuple[float, float, int]], objective: Objective, values: list[float]
) -> None:
    new, old, sequence, totals = tensors(case)
    advantage = torch.tensor(values, dtype=torch.float64)[sequence]
    whole, stats = policy_loss(new, old, advantage, sequence, 4, totals, objective)
    gradient = torch.autograd.grad(whole, new)[0]
    parts, added, found = torch.zeros(()), Stats(), torch.zeros_like(gradient)
    for half in (sequence < 2, sequence >= 2):
        if half.any():
            part, of = policy_loss(new[half], old[half], advantage[half], sequence[half], 4, totals, objective)
            parts = parts + part
            added.add(of)
            found += torch.autograd.grad(part, new)[0]
    assert parts.item() == pytest.approx(whole.item(), abs=1e-9)
    assert found.tolist() == pytest.approx(gradient.tolist(), abs=1e-9)
    assert added.report() == pytest.approx(stats.report())


@given(cases, st.lists(st.floats(-2, 2), min_size=4, max_size=4))
@settings(deadline=None)
def test_the_clipped_objective_is_a_lower_bound(case: list[tuple[float, float, int]], values: list[float]) -> None:
    new, old, sequence, totals = tensors(case)
    advantage = torch.tensor(values, dtype=torch.float64)[sequence]
    value, _ = policy_loss(new, old, advantage, sequence, 4, totals, Objective())
    unclipped = -((new - old).exp() * advantage).sum().item() / totals.tokens
    assert value.item() >= unclipped - 1e-9
