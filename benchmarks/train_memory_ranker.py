"""Remake memory's re-ranker, memory/ranker.npz, and that of tier High, memory/ranker_high.npz.

    python benchmarks/train_memory_ranker.py features DATA /tmp/features.npz     # where pointwork is installed
    python benchmarks/train_memory_ranker.py train /tmp/features.npz             # where torch is (CPU, 3 minutes)
    python benchmarks/train_memory_ranker.py second DATA /tmp/features.npz       # after these, with torch
    python benchmarks/train_memory_ranker.py deep DATA /tmp/deep.npz             # with the extra embed, after these
    python benchmarks/train_memory_ranker.py train /tmp/deep.npz

Trained on LoCoMo's dialogues 0-7 (turns) and the first 50 questions of the Hotpot file (documents); what else is in
these files is not looked at. For each question its candidates as recall finds them, one row of features each; two
small networks (two hidden layers, five seeds averaged) learn to put the evidence first: a softmax of each piece of
evidence against all that is none, and a little cross-entropy, so that scores compare between questions. The
features of each module are left out at random, as they are when the module works at tier Low. The line of the
second look at turns is fitted by the same softmax on scores of networks that had not seen the dialogue.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = Path(__file__).parents[1] / "memory"
LEFT_OUT = 0.12  # probability that a module's features are left out of a question
SEEDS = 5
LARGE: dict[str, Any] = {"hidden": 32, "dropout": 0.4, "decay": 1e-3, "epochs": 30}
SMALL: dict[str, Any] = {"hidden": 16, "dropout": 0.4, "decay": 0.3, "epochs": 200}
FOLD = 2  # dialogues left out at once, for scores of networks that have not seen them
SHRUNK = 0.01  # by which the weights of the second look are, but that of the first's score


def main() -> None:
    """Make the features (``deep``: of tier High), train on them, or fit the second look."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("features", "deep", "train", "second"))
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=PACKAGE)
    given = parser.parse_args()
    if given.what == "features":
        np.savez_compressed(given.paths[1], **features(given.paths[0]))
    elif given.what == "deep":
        np.savez_compressed(given.paths[1], **deep_features(given.paths[0]))
    elif given.what == "second":
        out = given.out / "ranker.npz"
        np.savez_compressed(out, **dict(np.load(out)) | second_look(given.paths[0], dict(np.load(given.paths[1]))))
    else:
        data = dict(np.load(given.paths[0]))
        out = given.out / ("ranker_high.npz" if "deep_rows" in data else "ranker.npz")
        np.savez_compressed(out, **train_all(data))
        print(f"{out}: {out.stat().st_size / 1e3:.0f} kB")


def features(data: Path) -> dict[str, Any]:
    """Arrays of all training questions: rows of features, which are evidence, where each question ends."""
    from pointwork.bench.memory_sets import hotpot, locomo
    from pointwork.memory import Memory, features

    found: dict[str, Any] = {"turn_columns": features.TURN, "document_columns": features.DOCUMENT}
    found.update({f"group_{name}": sorted(columns) for name, columns in features.GROUPS.items()})
    for kind, sets in (("turn", locomo(data)[:8]), ("document", [hotpot(data, 0, 50)])):
        rows: list[Any] = []
        labels: list[bool] = []
        ends: list[int] = []
        of: list[int] = []  # which set each question is of
        for number, one in enumerate(sets):
            print(f"{kind} {number}: {len(one.questions)} questions", flush=True)
            memory = Memory(encoder="static")
            memory.add_many(one.entries)
            for question in one.questions:
                view, numbers = memory.measured(question.text, now=one.now)
                if numbers[kind] is None:
                    continue
                rows.append(numbers[kind])
                labels.extend(known.item.source in question.gold for known in view.known)
                ends.append(len(labels))
                of.append(number)
        found |= {f"{kind}_rows": np.concatenate(rows), f"{kind}_labels": labels, f"{kind}_ends": ends}
        found[f"{kind}_of"] = of
    return found


def deep_features(data: Path) -> dict[str, Any]:
    """The same of the turns that tier High reads closely: those that Mid's ranker puts first."""
    from pointwork.bench.memory_sets import locomo
    from pointwork.memory import Memory, features, high

    found: dict[str, Any] = {"deep_columns": high.COLUMNS}
    found.update({f"group_{name}": sorted(columns) for name, columns in {**features.GROUPS, **high.GROUPS}.items()})
    rows: list[Any] = []
    labels: list[bool] = []
    ends: list[int] = []
    for number, one in enumerate(locomo(data)[:8]):
        print(f"dialogue {number}: {len(one.questions)} questions", flush=True)
        memory = Memory(encoder="minilm")
        memory.add_many(one.entries)
        for question in one.questions:
            view, numbers = memory.measured(question.text, now=one.now)
            chosen, deep = numbers["deep"]
            rows.append(deep)
            labels.extend(view.known[n].item.source in question.gold for n in chosen)
            ends.append(len(labels))
    return {**found, "deep_rows": np.concatenate(rows), "deep_labels": labels, "deep_ends": ends}


def train_all(data: dict[str, Any]) -> dict[str, Any]:
    """The networks as arrays."""
    made: dict[str, Any] = {}
    for kind in ("turn", "document", "deep"):
        if f"{kind}_rows" not in data:
            continue
        columns = data[f"{kind}_columns"].tolist()
        groups = _groups(data, columns)
        questions = np.split(np.arange(len(data[f"{kind}_labels"])), data[f"{kind}_ends"][:-1])
        made[f"{kind}_columns"] = data[f"{kind}_columns"]
        small = kind == "document"
        settings = SMALL if small else LARGE
        arrays = train(data[f"{kind}_rows"], data[f"{kind}_labels"], questions, groups, **settings)
        if small:
            rows, labels = data[f"{kind}_rows"], data[f"{kind}_labels"]
            arrays["line"] = line(rows, labels, questions, columns, arrays["mean"], arrays["spread"])
        else:
            arrays["line"] = np.zeros(len(columns), np.float32)
        made.update({f"{kind}_{name}": array for name, array in arrays.items()})
    return made


def second_look(folder: Path, data: dict[str, Any]) -> dict[str, Any]:
    """The line of the second look at turns, as arrays."""
    from pointwork.bench.memory_sets import locomo
    from pointwork.memory import Memory, second

    unseen = iter(unseen_scores(data))
    seen = iter(np.split(data["turn_rows"], data["turn_ends"][:-1]))
    rows: list[Any] = []
    labels: list[Any] = []
    for number, one in enumerate(locomo(folder)[:8]):
        print(f"second {number}: {len(one.questions)} questions", flush=True)
        memory = Memory(encoder="static")
        memory.add_many(one.entries)
        for question in one.questions:
            view, _ = memory.measured(question.text, now=one.now)
            every = np.ones(len(view.known), bool)
            chosen, some = second.second_rows(view, next(unseen), every, next(seen))
            rows.append(some)
            labels.append(np.array([view.known[n].item.source in question.gold for n in chosen]))
    made = second_line(rows, labels, list(second.COLUMNS))
    return {"second_columns": second.COLUMNS, **{f"second_{name}": array for name, array in made.items()}}


def unseen_scores(data: dict[str, Any]) -> list[Any]:
    """Each question's scores by networks that were trained on other dialogues."""
    from pointwork.memory.ranker import Network

    rows, labels, of = data["turn_rows"], data["turn_labels"], data["turn_of"]
    groups = _groups(data, data["turn_columns"].tolist())
    questions = np.split(np.arange(len(labels)), data["turn_ends"][:-1])
    found: list[Any] = [None] * len(questions)
    for first in range(0, max(of) + 1, FOLD):
        left_out = (of >= first) & (of < first + FOLD)
        print(f"without dialogues {first} to {first + FOLD - 1}", flush=True)
        some = [q for q, out in zip(questions, left_out, strict=True) if not out]
        kept = np.concatenate(some)
        some = np.split(np.arange(len(kept)), np.cumsum([len(q) for q in some])[:-1])
        arrays = train(rows[kept], labels[kept], some, groups, **LARGE)
        network = Network(**arrays, line=np.zeros(rows.shape[1], np.float32))
        for n in np.flatnonzero(left_out):
            found[n] = network.scores(rows[questions[n]])
    return found


def second_line(rows: list[Any], labels: list[Any], columns: list[str]) -> dict[str, Any]:
    """Weights by the softmax of evidence against what is none, on the scale of the first score."""
    import torch

    table = np.concatenate(rows)
    mean, spread = table.mean(axis=0), table.std(axis=0)
    spread[spread < 1e-6] = 1e9
    some = [(r, y) for r, y in zip(rows, labels, strict=True) if y.any() and not y.all()]
    x = torch.zeros(len(some), max(len(y) for _, y in some), len(columns))
    y, there = torch.zeros(x.shape[:2]), torch.zeros(x.shape[:2], dtype=torch.bool)
    for n, (r, gold) in enumerate(some):
        x[n, : len(r)] = torch.tensor(np.clip((r - mean) / spread, -5, 5))
        y[n, : len(r)] = torch.tensor(gold.astype(np.float32))
        there[n, : len(r)] = True
    share = y / y.sum(1, keepdim=True)
    shrunk = torch.tensor([float(name != "score") for name in columns])
    weights = torch.zeros(len(columns), requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        scores = (x @ weights).masked_fill(~there, -1e4)
        others = scores.masked_fill(y > 0, -1e4).logsumexp(1, keepdim=True)
        ranked = ((torch.logaddexp(scores, others) - scores) * share).sum(1).mean()
        found = ranked + SHRUNK * (shrunk * weights**2).sum()
        found.backward()
        return found

    optimizer.step(loss)
    made = weights.detach().numpy()
    scores, first = np.clip((table - mean) / spread, -5, 5) @ made, table[:, columns.index("score")]
    made = made * (first.std() / scores.std())
    added = first.mean() - (np.clip((table - mean) / spread, -5, 5) @ made).mean()
    return {
        name: np.float32(a) for name, a in {"mean": mean, "spread": spread, "weights": made, "added": added}.items()
    }


def train(
    rows: Any,
    labels: Any,
    questions: list[Any],
    groups: list[list[int]],
    *,
    hidden: int,
    dropout: float,
    decay: float,
    epochs: int,
) -> dict[str, Any]:
    """One network, as arrays with a leading axis for the seeds."""
    import torch
    from torch import nn
    from torch.nn import functional

    torch.set_num_threads(1)
    mean, spread = np.nanmean(rows, axis=0), np.nanstd(rows, axis=0)
    spread[spread < 1e-6] = 1e9  # what never differed there must say nothing elsewhere
    scaled = np.nan_to_num(np.clip((rows - mean) / spread, -5, 5))
    questions = [q for q in questions if labels[q].any() and not labels[q].all()]
    longest = max(map(len, questions))
    x = torch.zeros(len(questions), longest, rows.shape[1])
    y, there = torch.zeros(len(questions), longest), torch.zeros(len(questions), longest, dtype=torch.bool)
    for n, q in enumerate(questions):
        x[n, : len(q)] = torch.tensor(scaled[q])
        y[n, : len(q)] = torch.tensor(labels[q].astype(np.float32))
        there[n, : len(q)] = True
    made: dict[str, list[Any]] = {}
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        net = nn.Sequential(
            *(nn.Linear(rows.shape[1], hidden), nn.ReLU(), nn.Dropout(dropout)),
            *(nn.Linear(hidden, hidden // 2), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden // 2, 1)),
        )
        optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=decay)
        steps = epochs * (len(questions) // 32 + 1)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
        for _ in range(epochs):
            for batch in torch.randperm(len(questions)).split(32):
                kept = torch.ones(len(batch), 1, rows.shape[1])
                for group in groups:
                    out = torch.rand(len(batch)) < LEFT_OUT
                    kept[out.nonzero(), 0, torch.tensor(group)] = 0
                scores = net(x[batch] * kept)[..., 0].masked_fill(~there[batch], -1e4)
                share = y[batch] / y[batch].sum(1, keepdim=True)
                others = scores.masked_fill(y[batch] > 0, -1e4).logsumexp(1, keepdim=True)
                ranked = ((torch.logaddexp(scores, others) - scores) * share).sum(1).mean()
                each = functional.binary_cross_entropy_with_logits(scores, y[batch], reduction="none")
                loss = ranked + 0.03 * (each * there[batch]).sum(1).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
        for name, value in net.state_dict().items():
            made.setdefault(name.replace(".", "_"), []).append(value.numpy())
    names = {"0_weight": "w1", "0_bias": "b1", "3_weight": "w2", "3_bias": "b2", "6_weight": "w3", "6_bias": "b3"}
    arrays = {short: np.stack(made[name]).astype(np.float32) for name, short in names.items()}
    return {"mean": mean.astype(np.float32), "spread": spread.astype(np.float32), **arrays}


def line(rows: Any, labels: Any, questions: list[Any], columns: list[str], mean: Any, spread: Any) -> Any:
    """Weights of a linear score that never falls when a good sign rises: what 50 questions can teach safely.

    Added to the network's, which has seen only what Hotpot's paragraphs are like.
    """
    import torch

    inputs = torch.tensor(np.nan_to_num(np.clip((rows - mean) / spread, -5, 5)).astype(np.float32))
    gold = torch.tensor(labels)
    good = torch.tensor([name not in ("rank", "length", "mentions") for name in columns])
    bad = torch.tensor([name == "rank" for name in columns])
    weights = torch.zeros(len(columns), requires_grad=True)
    optimizer = torch.optim.AdamW([weights], lr=1e-2, weight_decay=0.5)
    torch.manual_seed(0)
    for _ in range(150):
        for batch in torch.randperm(len(questions)).split(16):
            optimizer.zero_grad()
            for n in batch.tolist():
                scores, evidence = inputs[questions[n]] @ weights, gold[questions[n]]
                if evidence.any() and not evidence.all():
                    others = scores[~evidence].logsumexp(0)
                    found = (torch.logaddexp(scores[evidence], others) - scores[evidence]).mean()
                    (found / len(batch)).backward()
            optimizer.step()
            with torch.no_grad():
                weights[good & (weights < 0)] = 0
                weights[bad & (weights > 0)] = 0
    return weights.detach().numpy()


def _groups(data: dict[str, Any], columns: list[str]) -> list[list[int]]:
    keys = [key for key in data if key.startswith("group_")]
    return [[columns.index(name) for name in data[key].tolist() if name in columns] for key in keys]


if __name__ == "__main__":
    main()
