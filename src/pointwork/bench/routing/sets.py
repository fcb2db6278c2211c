"""Full-information sets: what every arm would have yielded for every request.

Not the project's to ship; read as their sources publish them, from the folder given by ``--data`` or
``POINTWORK_BENCH_DATA``.
"""

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pointwork.errors import UsageError
from pointwork.extras import require
from pointwork.router import Arm

Array = npt.NDArray[np.float64]

UNSEEN = "test_holdout.jsonl"


@dataclass(frozen=True)
class Full:
    """A set.

    Attributes:
        arms: K. quality, usd: (n, K).
        texts: the requests, or () when there are features. features: (n, d), or None.
        groups: of each request (domain, or train and test).
    """

    arms: tuple[Arm, ...]
    quality: Array
    usd: Array
    texts: tuple[str, ...] = ()
    features: Array | None = None
    groups: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.quality)


def paretobandit(data: Path, *, unseen: bool = False) -> Full:
    """ParetoBandit's validation prompts: judge's reward and US dollars of three models.

    Args:
        data: the folder of the sets.
        unseen: with the prompts that its authors hold out behind them (groups ``val`` and ``test``); their file
            comes with the wheel on PyPI, under ``data/examples``.
    """
    files = {"val": "val.jsonl", "test": UNSEEN} if unseen else {"val": "val.jsonl"}
    parts = {part: _lines(data / "paretobandit" / name) for part, name in files.items()}
    rows = [json.loads(line) for lines in parts.values() for line in lines]
    names = list(rows[0]["arms"])
    prices = {"llama-3.1-8b": (0.02, 0.05), "mistral-large": (0.5, 1.5), "gemini-2.5-pro": (1.25, 10.0)}
    arms = [
        Arm(name, usd_per_mtok=next((p for part, p in prices.items() if part in name), (0.0, 0.0)))
        for name in names
    ]
    return Full(
        tuple(arms),
        np.array([[row["arms"][name]["reward"] for name in names] for row in rows], np.float64),
        np.array([[row["arms"][name]["cost"] for name in names] for row in rows], np.float64),
        tuple(row["prompt"] for row in rows),
        groups=tuple(part for part, lines in parts.items() for _ in lines),
    )


def mmlu(data: Path) -> Full:
    """RouteLLM's cached MMLU answers of Mixtral and GPT-4, without contaminated prompts; groups are subjects."""
    folder = data / "routellm"
    contaminated = {json.loads(line)["eval_prompt"] for line in _lines(folder / "mmlu__contaminated_prompts.jsonl")}
    texts, right, groups = list[str](), list[list[bool]](), list[str]()
    files = sorted((folder / "mmlu").rglob("*.csv"))
    if not files:
        raise _missing(folder / "mmlu")
    for file in files:
        for row in list(csv.reader(io.StringIO(_text(file))))[1:]:
            if row[0] not in contaminated:
                texts.append(row[0])
                right.append([row[1] == "True", row[2] == "True"])
                groups.append(file.stem.removeprefix("mmlu_"))
    quality = np.array(right, np.float64)
    arms = (Arm("mixtral-8x7b", (0.6, 0.6)), Arm("gpt-4", (10.0, 30.0)))
    return Full(arms, quality, np.zeros_like(quality), tuple(texts), groups=tuple(groups))


def llmrouter(data: Path) -> Full:
    """LLMRouter's prompts with the scores of nine models, less training prompts that are also in the test."""
    folder = data / "llmrouter_uiuc"
    train, test = (json.loads(_text(folder / f"{part}.json")) for part in ("train", "test"))
    names = sorted(train[0]["scores"])
    held = {row["question"] for row in test}
    train = [row for row in train if row["question"] not in held]
    rows = [*train, *test]
    quality = np.array([[row["scores"][name] for name in names] for row in rows], np.float64)
    groups = ("train",) * len(train) + ("test",) * len(test)
    texts = tuple(row["question"] for row in rows)
    return Full(tuple(Arm(name) for name in names), quality, np.zeros_like(quality), texts, groups=groups)


def mushroom(data: Path) -> Full:
    """Edible or poisonous, from one-hot attributes."""
    packed = gzip.decompress(_bytes(data / "bandits" / "bandit_mushroom" / "mushroom.data.gz")).decode()
    columns = list(zip(*(line.split(",") for line in packed.split()), strict=True))
    hot = [np.equal.outer(np.array(column), np.unique(column)) for column in columns[1:]]
    return _classes(np.concatenate(hot, axis=1).astype(np.float64), np.array(columns[0]))


def segment(data: Path) -> Full:
    """Seven kinds of image segment from 18 standardised measurements."""
    with zipfile.ZipFile(io.BytesIO(_bytes(data / "bandits" / "river_sets" / "segment.csv.zip"))) as archive:
        rows = list(csv.reader(io.StringIO(archive.read(archive.namelist()[0]).decode())))[1:]
    values = np.array([row[:-1] for row in rows], np.float64)
    values = (values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-9)
    return _classes(values, np.array([row[-1] for row in rows]))


def digits(data: Path) -> Full:
    """scikit-learn's handwritten digits, centred."""
    pixels, labels = require("sklearn.datasets").load_digits(return_X_y=True)
    values = np.asarray(pixels, np.float64)
    values -= values.mean(axis=0)
    return _classes(values / np.linalg.norm(values, axis=1).mean(), np.asarray(labels))


def _classes(features: Array, labels: npt.NDArray[Any]) -> Full:
    kinds, index = np.unique(labels, return_inverse=True)
    quality = np.eye(len(kinds))[index]
    return Full(tuple(Arm(str(kind)) for kind in kinds), quality, np.zeros_like(quality), features=features)


def _text(path: Path) -> str:
    return _bytes(path).decode("utf-8")


def _lines(path: Path) -> list[str]:
    # not splitlines: prompts hold other characters that it takes for the end of a line
    return [line for line in _text(path).split("\n") if line.strip()]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _missing(path) from error


def _missing(path: Path) -> UsageError:
    return UsageError(
        f"{path} is not there; give the folder of the data sets with --data or POINTWORK_BENCH_DATA; "
        "docs/router.md says where each set comes from"
    )


def mixes(quality: Array, usd: Array, budget: float) -> float:
    """Mean quality of the best fixed mix of arms that costs at most the budget on average."""
    mean, cost = quality.mean(axis=0), usd.mean(axis=0)
    best = max((float(mean[i]) for i in range(len(mean)) if cost[i] <= budget), default=0.0)
    for low, high in _pairs(range(len(mean))):
        if cost[low] <= budget < cost[high]:
            part = (budget - cost[low]) / (cost[high] - cost[low])
            best = max(best, float(mean[low] + part * (mean[high] - mean[low])))
    return best


def _pairs(items: Iterable[int]) -> list[tuple[int, int]]:
    every = list(items)
    return [(one, other) for one in every for other in every if one != other]
