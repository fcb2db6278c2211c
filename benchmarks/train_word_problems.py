"""Remake ``agents/readings/problems.npz``: what is computed with the numbers of a word problem.

    python benchmarks/train_word_problems.py --data BENCH_DATA            # prints what it is worth, writes nothing
    python benchmarks/train_word_problems.py --data BENCH_DATA --write    # some minutes of one core

Learnt from nine tenths of our own word problems (``training/recipes/*_problems.jsonl``) and GSM8K's training
half (Cobbe et al. 2021, MIT), those whose solution takes each number of the text at most once and no other.
Measured on the other tenth of ours, all of it, on problems of GSM8K's test half, and on the arithmetic tasks of the
starter suite's train half. The weighing is learnt on expressions that were found by models that had not seen the
problem.
"""

import argparse
import ast
import json
import math
import random
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from pointwork.agents.readings.linear import Linear, store
from pointwork.agents.readings.problem_text import Leaf, Node, Problem, Quantity, Tree
from pointwork.agents.readings.problems import (
    PAIR_CLASSES,
    SHARE_CLASSES,
    SHARES,
    Weights,
    candidates,
    solved,
    weighed,
)

ROOT = Path(__file__).parent.parent
OUT = ROOT / "agents/readings/problems.npz"
NAMES = ("word", "simple", "longer", "everyday", "household", "working", "hurried")
OWN = [ROOT / f"training/recipes/{name}_problems.jsonl" for name in NAMES]
SUITE = ROOT / "src/pointwork/bench/starter/tasks.train.jsonl"
STRENGTH = 0.3  # of the regressions' prior (scikit-learn's C)
WEIGHING = 0.1  # the same of the weighing
FOLDS = 4
OWN_WEIGHT = 3.0  # a problem of ours counts as three of GSM8K's: there are ten times as many of those
RARE = 2  # features that fewer problems have are left out

Example = tuple[Problem, Tree, float, float]
"""A problem, its expression, the value of that, and how much it counts."""


def parsed(expression: str) -> Any:
    """An expression as nested (operation, left, right) over numbers; None inside where it is anything else."""

    def tree(node: ast.AST) -> Any:
        if isinstance(node, ast.BinOp):
            names = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
            name = names.get(type(node.op))
            return None if name is None else (name, tree(node.left), tree(node.right))
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return float(node.value)
        return tree(node.args[0]) if isinstance(node, ast.Call) and node.args else None

    try:
        return tree(ast.parse(expression, mode="eval").body)
    except SyntaxError:
        return None


def annotated(solution: str) -> Any:
    """GSM8K's steps ``<<48/2=24>>`` as one expression: what a step made stands for itself in later ones."""
    made: dict[float, Any] = {}
    last: Any = None

    def filled(tree: Any) -> Any:
        if isinstance(tree, tuple):
            return (tree[0], filled(tree[1]), filled(tree[2]))
        return made.get(round(tree, 4), tree) if tree is not None else None

    for expression, value in re.findall(r"<<([^=>]+)=([^>]+)>>", solution):
        last = filled(parsed(re.sub(r"(\d+(?:\.\d+)?)%", r"(\1/100)", expression.replace(",", ""))))
        try:
            made[round(float(value.replace(",", "").replace("%", "")), 4)] = last
        except ValueError:
            return None
    return last


def shares(tree: Any) -> Any:
    """``x - x * p`` as ``x * (1 - p)``: each number once."""
    if not isinstance(tree, tuple):
        return tree
    name, left, right = tree[0], shares(tree[1]), shares(tree[2])
    if name == "+" and isinstance(left, tuple) and (right in left[1:]):
        left, right = right, left
    if name in ("+", "-") and isinstance(right, tuple):
        if right[0] == "*" and left in right[1:]:
            return ("*", left, (f"1{name}", right[2] if right[1] == left else right[1]))
        if right[0] == "/" and right[1] == left:
            return ("*", left, (f"1{name}", ("/", 1.0, right[2])))
    return (name, left, right)


def folded(tree: Any) -> Any:
    """``x * 2 / 5`` as ``x * .4``: of two fifths the text says one number."""
    if not isinstance(tree, tuple):
        return tree
    name, left, right = tree[0], folded(tree[1]), folded(tree[2])
    if name == "/" and isinstance(left, tuple) and left[0] == "*" and isinstance(right, float) and right:
        for share, other in ((left[2], left[1]), (left[1], left[2])):
            if isinstance(share, float):
                return ("*", other, share / right)
    return (name, left, right)


class Grounding:
    """Puts the numbers of a text in place of an expression's, each once.

    Raises:
        LookupError: from ``of``, where a number of the expression stands nowhere in the text.
    """

    def __init__(self, quantities: Sequence[Quantity]) -> None:
        self.quantities = quantities
        self.used: set[int] = set()

    def of(self, tree: Any) -> Tree:
        if not isinstance(tree, tuple):
            return self._number(tree)
        if len(tree) == 2:
            return Leaf(tree[0], self._share(tree_value(tree[1]), SHARES))
        name, left, right = tree
        if name == "/" and right == 100.0:  # of 20 % the text says 20
            if isinstance(left, float):
                return Leaf("q", self._share(left / 100, "p"))
            for number, other in ((left[1], left[2]), (left[2], left[1])) if left and left[0] == "*" else ():
                place = self._find(number / 100, "p") if isinstance(number, float) else None
                if place is not None:
                    return Node("*", self.of(other), Leaf("q", place))
        if name == "/" and isinstance(right, float) and self._peek(right) is None:  # "a third of" is / 3
            place = self._find(1 / right if right else 0.0, "f")
            if place is not None:
                return Node("*", self.of(left), Leaf("q", place))
        return Node(name, self.of(left), self.of(right))

    def _number(self, value: Any) -> Tree:
        if not isinstance(value, float):
            raise LookupError
        if (place := self._find(value)) is not None:
            return Leaf("q", place)
        for name, inner in (("1-", 1 - value), ("1+", value - 1)):
            if (place := self._find(inner, SHARES)) is not None:
                return Leaf(name, place)
        raise LookupError

    def _share(self, value: float | None, kinds: str) -> int:
        place = self._find(value, kinds) if value is not None else None
        if place is None:
            raise LookupError
        return place

    def _peek(self, value: float, kinds: str = "") -> int | None:
        for place, quantity in enumerate(self.quantities):
            if (
                place not in self.used
                and abs(quantity.value - value) < 1e-6
                and (not kinds or quantity.kind in kinds)
            ):
                return place
        return None

    def _find(self, value: float, kinds: str = "") -> int | None:
        place = self._peek(value, kinds)
        if place is not None:
            self.used.add(place)
        return place


def tree_value(tree: Any) -> float | None:
    if isinstance(tree, tuple) and len(tree) == 3:
        left, right = tree_value(tree[1]), tree_value(tree[2])
        if left is None or right is None or (tree[0] == "/" and not right):
            return None
        return {"+": left + right, "-": left - right, "*": left * right}.get(
            tree[0], left / right if right else 0.0
        )
    return tree if isinstance(tree, float) else None


def value_of(tree: Tree, quantities: Sequence[Quantity]) -> float:
    if isinstance(tree, Leaf):
        value = quantities[tree.place].value
        return {"q": value, "1-": 1 - value, "1+": 1 + value}[tree.form]
    found = tree_value((tree.name, value_of(tree.left, quantities), value_of(tree.right, quantities)))
    return math.nan if found is None else found


def right(value: float, answer: float) -> bool:
    """Equal to half a cent or two in a thousand; things that are bought whole may be rounded up or down."""
    if abs(value - answer) < max(0.006, abs(answer) * 0.002):
        return True
    return float(answer).is_integer() and value != int(value) and answer in (math.floor(value), math.ceil(value))


def examples(rows: Iterable[tuple[str, Any, float]], weight: float) -> list[Example]:
    """Those whose expression takes each number of the text at most once and no other."""
    found: list[Example] = []
    for text, tree, answer in rows:
        problem = Problem(text)
        if problem.factor > 1:
            if not isinstance(tree, tuple) or tree[0] != "*" or 100.0 not in tree[1:]:
                continue
            tree, answer = (tree[2] if tree[1] == 100.0 else tree[1]), answer / 100
        grounded = _grounded(problem.quantities, tree)
        if grounded is None or isinstance(grounded, Leaf) or len(problem.quantities) > 9:
            continue
        value = value_of(grounded, problem.quantities)  # before it is rounded, as the answer may be
        if abs(value - answer) < max(0.02, abs(answer) * 0.02) or right(value, answer):
            found.append((problem, grounded, value, weight))
    return found


def _grounded(quantities: Sequence[Quantity], tree: Any) -> Tree | None:
    for form in (shares(tree), shares(folded(tree))):
        try:
            return Grounding(quantities).of(form)
        except LookupError:
            continue
    return None


def leaves(tree: Tree, pairs: dict[tuple[int, int], str]) -> list[Leaf]:
    """The numbers of an expression; which operation joins each two goes into ``pairs``."""
    if isinstance(tree, Leaf):
        return [tree]
    left, others = leaves(tree.left, pairs), leaves(tree.right, pairs)
    for a in (leaf.place for leaf in left):
        for b in (leaf.place for leaf in others):
            pairs[min(a, b), max(a, b)] = tree.name if a < b or tree.name in "+*" else f"r{tree.name}"
    return left + others


def fitted(rows: Sequence[Sequence[str]], labels: Sequence[int], weights: Sequence[float]) -> Linear:
    """A regression on features that are there or not, the rare ones left out."""
    vectorizer = DictVectorizer(sparse=True)
    matrix = vectorizer.fit_transform([dict.fromkeys(row, 1) for row in rows])
    common = np.flatnonzero(np.asarray((matrix != 0).sum(0)).ravel() >= RARE)
    names = [str(vectorizer.feature_names_[place]) for place in common]
    model = LogisticRegression(C=STRENGTH, max_iter=400).fit(matrix[:, common], labels, weights)
    return linear(names, model)


def linear(names: Sequence[str], model: LogisticRegression, *, two: bool = True) -> Linear:
    weights, bias = model.coef_.T, model.intercept_
    if two and weights.shape[1] == 1:  # of two classes scikit-learn keeps the difference
        weights, bias = np.hstack([np.zeros_like(weights), weights]), np.array([0.0, bias[0]])
    return Linear({name: row for row, name in enumerate(names)}, weights, bias)


def regressions(found: Sequence[Example]) -> Weights:
    """All but the weighing."""
    pair: tuple[list[list[str]], list[int], list[float]] = ([], [], [])
    needed: tuple[list[list[str]], list[int], list[float]] = ([], [], [])
    share: tuple[list[list[str]], list[int], list[float]] = ([], [], [])
    for problem, tree, _, weight in found:
        pairs: dict[tuple[int, int], str] = {}
        used = {leaf.place: leaf.form for leaf in leaves(tree, pairs)}
        for (i, j), name in pairs.items():
            _add(pair, problem.pair(i, j), PAIR_CLASSES.index(name), weight)
        for i, quantity in enumerate(problem.quantities):
            _add(needed, problem.single(i), int(i in used), weight)
            if quantity.kind in ("p", "f") and i in used:
                _add(share, problem.share(i), SHARE_CLASSES.index(used[i]), weight)
    return Weights(fitted(*pair), fitted(*needed), fitted(*share), Linear({}, np.zeros((0, 1)), np.zeros(1)))


def _add(
    rows: tuple[list[list[str]], list[int], list[float]], features: list[str], label: int, weight: float
) -> None:
    for column, value in zip(rows, (features, label, weight), strict=True):
        column.append(value)  # type: ignore[arg-type]


def trained(found: Sequence[Example]) -> Weights:
    """The regressions, and the weighing of what they find for problems that they have not seen."""
    rows: list[dict[str, float]] = []
    labels: list[int] = []
    counts: list[float] = []
    for fold in range(FOLDS):
        weights = regressions([one for place, one in enumerate(found) if place % FOLDS != fold])
        for problem, _, answer, weight in found[fold::FOLDS]:
            for measured, features in weighed(problem, candidates(problem, weights)):
                rows.append(features)
                labels.append(int(abs(measured.value - answer) < max(0.006, abs(answer) * 0.002)))
                counts.append(weight)
        print(
            f"fold {fold + 1} of {FOLDS}: {len(rows)} expressions weighed, {np.mean(labels):.3f} right", flush=True
        )
    vectorizer = DictVectorizer(sparse=True)
    matrix = vectorizer.fit_transform(rows)
    model = LogisticRegression(C=WEIGHING, max_iter=3000).fit(matrix, labels, counts)
    result = linear(vectorizer.feature_names_, model, two=False)
    all_ = regressions(found)
    return Weights(all_.pair, all_.needed, all_.share, result)


def measured(name: str, problems: Sequence[tuple[str, float]], weights: Weights) -> None:
    """How many are right of all, and of those above each probability."""
    rated: list[tuple[float, bool]] = []
    for text, answer in problems:
        found = solved(text, weights, least=0.0)
        value = math.nan if found is None else float(eval(found.arguments["expression"]))
        rated.append((0.0 if found is None else found.score, not math.isnan(value) and right(value, answer)))
    above = [
        f"≥ {least}: {sum(ok for sure, ok in rated if sure >= least)}/{sum(sure >= least for sure, _ in rated)}"
        for least in (0.5, 0.3, 0.2, 0.1)
    ]
    print(f"{name:18} {sum(ok for _, ok in rated)}/{len(rated)}  {'  '.join(above)}", flush=True)


def gsm8k(path: Path) -> list[tuple[str, Any, float]]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        (row["question"], annotated(row["answer"]), float(row["answer"].split("####")[1].strip().replace(",", "")))
        for row in rows
    ]


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    held_out: dict[str, list[tuple[str, Any, float]]] = {}
    rows: list[tuple[str, Any, float]] = []
    for file in OWN:  # a tenth of each, whatever others there are
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        random.Random(0).shuffle(lines)
        own = [(row["task"], parsed(row["expression"]), float(row["answer"])) for row in lines]
        held_out[file.stem] = own[: len(own) // 10]
        rows += own[len(own) // 10 :]
    test = gsm8k(arguments.data / "gsm8k/test.jsonl")
    random.Random(1).shuffle(test)
    ours, theirs = examples(rows, OWN_WEIGHT), examples(gsm8k(arguments.data / "gsm8k/train.jsonl"), 1.0)
    print(f"learnt from {len(ours)} of {len(rows)} of ours and {len(theirs)} of GSM8K's")
    found = [*ours, *theirs]
    random.Random(3).shuffle(found)
    weights = trained(found)
    suite = [json.loads(line) for line in SUITE.read_text().splitlines()]
    for name, problems in held_out.items():
        measured(name, [(text, answer) for text, _, answer in problems], weights)
    measured("GSM8K test", [(text, answer) for text, _, answer in test[:300]], weights)
    arithmetic = [(row["task"], float(row["answer"])) for row in suite if row["kind"] == "arithmetic"]
    measured("suite, train half", arithmetic, weights)
    if arguments.write:
        names = ("pair", "needed", "share", "result")
        store(OUT, {name: getattr(weights, name) for name in names})
        print(f"{OUT}: {OUT.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
