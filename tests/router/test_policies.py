"""One suite that every policy passes."""

import numpy as np
import pytest

from pointwork.errors import UsageError
from pointwork.router import POLICIES, Arm, Outcome, Policy, Router, View
from pointwork.router.policies import make

NAMES = sorted(POLICIES)


def view(count: int, seed: int = 0) -> View:
    rng = np.random.default_rng(seed)
    mean, width, cost, price = rng.random((4, count))
    names = tuple(f"arm{i}" for i in range(count))
    return View(names, rng.random((count, 5)), mean, width, cost * 1e-3, price * 0.1, clock=7)


@pytest.mark.parametrize("name", NAMES)
class TestEveryPolicy:
    def test_it_is_a_policy_with_a_name_and_a_version(self, name: str):
        policy: Policy = make(name)
        assert policy.name == name
        assert policy.version.startswith(name)

    @pytest.mark.parametrize("count", [1, 2, 7])
    def test_it_proposes_a_distribution(self, name: str, count: int):
        for seed in range(5):
            scores, bonus, target = make(name).propose(view(count, seed), np.random.default_rng(seed))
            assert scores.shape == bonus.shape == target.shape == (count,)
            assert np.isfinite(scores).all()
            assert (bonus >= 0).all()
            assert (target >= 0).all()
            assert target.sum() == pytest.approx(1, abs=1e-12)

    def test_it_leaves_the_view_as_it_was(self, name: str):
        seen, untouched = view(4), view(4)
        make(name).propose(seen, np.random.default_rng(0))
        for field in ("contexts", "mean", "width", "cost", "price"):
            assert (getattr(seen, field) == getattr(untouched, field)).all()

    def test_the_same_generator_gives_the_same_answer(self, name: str):
        one, two = (make(name).propose(view(5), np.random.default_rng(3)) for _ in range(2))
        for mine, yours in zip(one, two, strict=True):
            assert (mine == yours).all()

    def test_it_refuses_options_it_does_not_know(self, name: str):
        with pytest.raises(UsageError, match="does not take"):
            make(name, {"no_such_option": 1})

    def test_a_router_runs_learns_and_survives_a_file_with_it(self, name: str, tmp_path: object):
        router = Router([Arm("a"), Arm("b", usd_per_mtok=(1, 1))], name, 1e-3)
        for i in range(20):
            decision = router.decide(f"text {i}")
            router.learn(decision.id, Outcome(quality=0.5, usd=1e-4))
        router.save(f"{tmp_path}/router.npz")
        again = Router.load(f"{tmp_path}/router.npz")
        assert again.policy.version == router.policy.version
        assert again.decide("next").arm == router.decide("next").arm

    def test_equal_candidates_are_treated_by_rule_not_by_chance_of_order(self, name: str):
        equal = View(("a", "b"), np.ones((2, 3)), np.ones(2), np.ones(2), np.ones(2), np.zeros(2), 0)
        _, _, target = make(name).propose(equal, np.random.default_rng(0))
        assert target.tolist() in ([0.5, 0.5], [1.0, 0.0]) or (name == "thompson" and target.min() > 0.3)


def test_linucb_takes_the_highest_bound():
    seen = View(("a", "b"), np.ones((2, 1)), np.array([0.6, 0.5]), np.array([0.1, 0.9]), np.ones(2), np.zeros(2), 0)
    assert make("linucb", {"alpha": 0.0}).propose(seen, np.random.default_rng(0))[2].tolist() == [1, 0]
    assert make("linucb", {"alpha": 1.0}).propose(seen, np.random.default_rng(0))[2].tolist() == [0, 1]
    with pytest.raises(UsageError, match="alpha"):
        make("linucb", {"alpha": -1.0})


def test_static_takes_the_named_the_first_or_the_cheapest():
    seen = view(4)
    rng = np.random.default_rng(0)
    assert make("static").propose(seen, rng)[2].argmax() == 0
    assert make("static", {"arm": "arm2"}).propose(seen, rng)[2].argmax() == 2
    assert make("static", {"arm": "gone"}).propose(seen, rng)[2].argmax() == 0
    assert make("static", {"by": "cheapest"}).propose(seen, rng)[2].argmax() == seen.cost.argmin()
    with pytest.raises(UsageError, match="'first' or 'cheapest'"):
        make("static", {"by": "luck"})


def test_a_policy_of_ones_own_can_be_given():
    class Last:
        name = "last"
        version = "last-1"

        def propose(self, view: View, rng: np.random.Generator):
            target = np.zeros(len(view.names))
            target[-1] = 1.0
            return view.mean, np.zeros(len(view.names)), target

    router = Router([Arm("a"), Arm("b")], Last())
    assert router.decide("x").propensities["b"] > 0.9
