"""Why memory found what it found."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pointwork.errors import UsageError
from pointwork.extras import require
from pointwork.memory.episodic import replace_refused
from pointwork.memory.memory import Memory
from pointwork.memory.modules import BOOSTERS


def explained(
    memory: Memory,
    question: str,
    *,
    k: int = 10,
    thread: str | None = None,
    tiers: Mapping[str, str] | str | None = None,
) -> dict[str, Any]:
    """A recall with what each module gave each item and what it took, as plain JSON types.

    ``found_by`` says whether words, meaning, a mention in another item or what a model wanted to look for brought
    it in; ``share`` is the share of what the question asks that the item holds; the middle modules show what their
    rules (tier Low) would give; ``ranker`` is the re-ranker's score in log-odds.
    """
    recall = memory.recall(question, k=k, thread=thread, tiers=tiers)
    items: list[dict[str, Any]] = []
    for item in recall.items:
        why = recall.why[item.id]
        how = "words" if why.get("filter", 0.0) > 0 else "meaning"
        how = next((name for name in ("mention", "model") if why.get(name)), how)
        items.append(
            {
                "id": item.id,
                "text": item.text,
                "source": item.source,
                "trust": item.trust,
                "score": item.score,
                "found_by": how,
                "share": why.get("filter", 0.0),
                **{module: why.get(module, 0.0) for module in BOOSTERS},
                "ranker": why.get("ranker"),
            }
        )
    return {
        "question": question,
        "tiers": dict(recall.tiers),
        "items": items,
        "costs": {
            module: {"seconds": cost.seconds, "tokens": cost.tokens, "usd": cost.usd}
            for module, cost in recall.costs.items()
        },
        "seconds": recall.cost.seconds,
    }


def draw(found: Mapping[str, Any], path: Path) -> None:
    """What each module gave each item, as bars, and what each module took.

    Raises:
        ImportError: matplotlib is not installed; the message names the extra.
        UsageError: the picture can not be written.
    """
    backend: Any = require("matplotlib.backends.backend_agg")
    figures: Any = require("matplotlib.figure")
    figure: Any = figures.Figure(figsize=(10, 1.6 + 0.4 * max(4, len(found["items"]))), layout="constrained")
    backend.FigureCanvasAgg(figure)
    items, took = figure.subplots(1, 2, width_ratios=(3, 1))
    labels = [replace_refused(" ".join(item["text"].split())[:48]) for item in found["items"]]
    places = list(range(len(labels)))
    left = [0.0] * len(labels)
    for name in ("share", *BOOSTERS):
        values = [float(item[name] or 0.0) for item in found["items"]]
        items.barh(places, values, left=left, label=name)
        left = [a + b for a, b in zip(left, values, strict=True)]
    # what costs $5 is no formula
    items.set_yticks(places, labels, fontsize="small", parse_math=False)
    items.invert_yaxis()
    items.legend(fontsize="small")
    items.set_title(replace_refused(found["question"][:80]), fontsize="medium", parse_math=False)
    modules = list(found["costs"])
    took.bar(modules, [found["costs"][module]["seconds"] * 1e3 for module in modules])
    took.set_ylabel("ms")
    took.tick_params(axis="x", rotation=60)
    try:
        figure.savefig(path, dpi=150, format=path.suffix[1:] or "png")
    except (OSError, ValueError) as error:  # ValueError: no kind of picture ends like this
        raise UsageError(f"can not write {path}: {getattr(error, 'strerror', None) or error}") from error
