"""Learn the tool index's strict ranking from the development half of Seal-Tools; writes tools/ranker.json.

    python benchmarks/train_tool_ranker.py --data DIR
    python benchmarks/train_tool_ranker.py --data DIR --encoder minilm      # tools/ranker_minilm.json

Prints recall and completeness in five-fold cross-validation. The test half is not read.
"""

import argparse
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from pointwork.bench.tools_data import seal_tools
from pointwork.tools.index import ToolIndex
from pointwork.tools.ranker import FEATURES
from pointwork.tools.requests import read_request

OUT = Path(__file__).resolve().parents[1] / "tools"
FOLDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", choices=("static", "minilm"), default="static")
    given = parser.parse_args()
    folder, out = given.data, OUT / ("ranker.json" if given.encoder == "static" else "ranker_minilm.json")
    tools, asked = seal_tools(folder, "dev")
    index = ToolIndex(tools, embedder=given.encoder)
    names = [tool["name"] for tool in tools]
    rows: list[tuple[Any, Any, Any, list[str]]] = []
    for request, wanted in asked:
        read = read_request(request)
        candidates, features = index._ranker.features(index._signals([read.text, *read.parts]))
        gold = [choice[0] for choice in wanted]
        rows.append((candidates, features, np.array([names[n] in gold for n in candidates]), gold))
    order = list(range(len(rows)))
    random.Random(0).shuffle(order)
    recall: list[float] = []
    complete: list[bool] = []
    for fold in range(FOLDS):
        held = order[fold::FOLDS]
        model = _fit([rows[i] for i in order if i not in set(held)])
        for i in held:
            candidates, features, _, gold = rows[i]
            best = candidates[np.argsort(-model.decision_function(features))[:5]]
            found = [name in {names[n] for n in best} for name in gold]
            recall.append(float(np.mean(found)))
            complete.append(all(found))
    print(f"cross-validated on dev: R@5 {np.mean(recall):.3f}, C@5 {np.mean(complete):.3f}")
    model = _fit(rows)
    weights = {name: round(float(value), 4) for name, value in zip(FEATURES, model.coef_[0], strict=True)}
    out.write_text(
        json.dumps({"weights": weights, "intercept": round(float(model.intercept_[0]), 4)}, indent=1) + "\n"
    )
    print(f"wrote {out}")


def _fit(rows: list[Any]) -> Any:
    x, y = np.concatenate([row[1] for row in rows]), np.concatenate([row[2] for row in rows])
    return LogisticRegression(C=3.0, max_iter=5000).fit(x, y)


if __name__ == "__main__":
    main()
