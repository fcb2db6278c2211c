"""The forest: it tells apart what a linear model can not, keeps to its sizes, and survives its file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointwork.errors import UsageError
from pointwork.router import Arm, Router
from pointwork.router.policies.trees import Array, Trees, grow, read_forest, write_forest


def crossed(count: int, seed: int) -> tuple[Array, Array]:
    """Requests (n, 3) and quality (n, 2): arm 0 is good where the signs of two features agree."""
    rng = np.random.default_rng(seed)
    contexts = rng.uniform(-1, 1, (count, 3))
    agree = contexts[:, 0] * contexts[:, 1] > 0
    return contexts, np.column_stack((agree, ~agree)).astype(np.float64)


def test_it_learns_what_no_line_can_say():
    forest = grow(("a", "b"), *crossed(2000, 0), trees=30)
    contexts, quality = crossed(500, 1)
    chosen = forest.quality(contexts).argmax(axis=1)
    assert quality[np.arange(500), chosen].mean() > 0.9
    line, *_ = np.linalg.lstsq(*crossed(2000, 0), rcond=None)
    assert quality[np.arange(500), (contexts @ line).argmax(axis=1)].mean() < 0.65


@given(st.integers(0, 99), st.integers(1, 9), st.integers(2, 60))
@settings(max_examples=25, deadline=None)
def test_what_it_says_is_the_mean_of_the_leaves_and_those_have_enough(seed: int, leaf: int, count: int):
    rng = np.random.default_rng(seed)
    contexts, quality = rng.normal(size=(count, 4)).round(1), rng.random((count, 2))
    forest = grow(("a", "b"), contexts, quality, seed, trees=3, leaf=leaf)
    said, sizes = np.zeros((count, 2)), dict[int, list[int]]()
    for row, context in enumerate(contexts):
        for root in forest.roots.tolist():
            node = root
            while forest.feature[node] >= 0:
                left = context[forest.feature[node]] <= forest.threshold[node]
                node = int((forest.left if left else forest.right)[node])
            said[row] += forest.value[node] / 3
            sizes.setdefault(node, []).append(row)
    np.testing.assert_allclose(forest.quality(contexts), said)
    for node, rows in sizes.items():
        assert len(rows) >= min(leaf, count)
        np.testing.assert_allclose(forest.value[node], quality[rows].mean(axis=0))


def test_the_same_seed_grows_the_same_forest():
    one, same, other = (grow(("a", "b"), *crossed(200, 0), seed, trees=4) for seed in (1, 1, 2))
    contexts = crossed(50, 3)[0]
    assert (one.quality(contexts) == same.quality(contexts)).all()
    assert (one.quality(contexts) != other.quality(contexts)).any()


def test_a_router_serves_it_and_keeps_it(tmp_path: Path):
    path = tmp_path / "forest.npz"
    contexts, quality = crossed(2000, 0)
    arms = [Arm("a"), Arm("b"), Arm("unknown to it")]
    router = Router(arms, "linucb")
    given = np.array([[0.5, 0.5, 0.0], [-0.5, 0.5, 0.0]])
    inner = router._core.prepare(3)  # pyright: ignore[reportPrivateUsage]
    scaled = np.array([inner.of_values(row) for row in contexts])
    write_forest(path, grow(("a", "b"), scaled, quality, trees=30))
    router = Router(arms, "trees", policy_options={"path": str(path)})
    said = [router.decide(features=row).propensities for row in given]
    assert said[0]["a"] > 0.9
    assert said[1]["b"] > 0.9
    router.save(tmp_path / "router.npz")
    again = Router.load(tmp_path / "router.npz")
    assert again.decide(features=given[0]).propensities["a"] > 0.9
    assert Trees(str(path)).version != Trees().version
    with pytest.raises(UsageError, match="reads 3 features, but contexts have 2"):
        Router(arms, "trees", policy_options={"path": str(path)}).decide(features=[1.0, 2.0])


def test_a_file_that_is_none_is_refused(tmp_path: Path):
    path, forest = tmp_path / "forest.npz", grow(("a", "b"), *crossed(200, 0), trees=2)
    path.write_bytes(b"no forest")
    with pytest.raises(UsageError, match="does not hold a forest"):
        read_forest(str(path))
    write_forest(path, replace(forest, left=np.zeros_like(forest.left)))  # a way without an end
    with pytest.raises(UsageError, match="do not fit together"):
        read_forest(str(path))
    write_forest(path, forest)
    contexts = crossed(20, 1)[0]
    assert (read_forest(str(path)).quality(contexts) == forest.quality(contexts)).all()
    with pytest.raises(UsageError, match="needs contexts"):
        grow(("a",), *crossed(20, 0))
