"""From a trained adapter to what comes with the package: ``adapters/<role>/adapter.gguf`` and its card."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pointwork.models.adapters import CARD, FILE, adapters_dir
from pointwork.training.bases import directory_of
from pointwork.training.lora import lora_of
from pointwork.training.publication.gguf_lora import write_gguf
from pointwork.training.publication.target import file_digest
from pointwork.training.recipes.making import Made

_DATA = {
    "planner": "training/recipes/plans.jsonl: tasks and plans of our own making",
    "worker-small": "training/recipes/word_problems.jsonl: problems of our own making; "
    "GSM8K's training half (MIT), the shortest problems of up to 3 calculations",
    "reader": "training/recipes/reading_comprehension.jsonl, reading_entries.jsonl: texts and questions of our own",
    "querier": "training/recipes/table_questions.jsonl: tables, questions and queries of our own making",
    "decomposer": "training/recipes/task_steps.jsonl, task_steps_around.jsonl: tasks and steps of our own making",
    "reckoner": "training/recipes/task_steps_facts.jsonl, task_steps.jsonl: tasks and steps of our own making",
}


def ship(
    made: Made, folder: Path | None = None, measured: dict[str, Any] | None = None, base: str = "embedded"
) -> Path:
    """Write a role's adapter where the package looks for it, with its card.

    Args:
        made: what ``make`` gave.
        folder: of all roles' adapters; default: the package's own.
        measured: what else the card should say, such as the starter suite with and without.
        base: the model that it was trained on; what ships is for the embedded one.

    Returns:
        The card.

    Raises:
        TrainingError: the adapter can not be written for llama.cpp.
    """
    place = (folder or adapters_dir()) / made.role
    place.mkdir(parents=True, exist_ok=True)
    trials = f" --trials {made.trials}" if made.trials else ""
    going_on = f" --parent {_named(made.parent, place / CARD)}" if made.parent else ""
    form = lora_of(Path(made.folder))
    file = write_gguf(made.folder, directory_of(base), place / FILE)
    digest = file_digest(file)
    told = {key: value for key, value in asdict(made).items() if key not in ("folder", "stopped", "base")}
    card = {
        "version": f"{made.role}-{digest[:12]}",
        "base": made.base,
        "sha256": digest,
        "licence": "Apache-2.0",
        "form": f"LoRA, rank {form.rank}, alpha {form.alpha:g}, on {', '.join(form.targets)}, 16-bit",
        "data": _DATA[made.role],
        "made_by": f"pointwork train recipe {made.role} --epochs {made.epochs:g} --rate {made.lr:g} "
        f"--batch {made.batch} --seed {made.seed}{trials}{going_on} --ship",
        "training": told,
        "measured": measured or {},
    }
    path = place / CARD
    path.write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    return path


def _named(parent: str, card: Path) -> str:
    """How a command names the adapter that was gone on from: what ships until now by that word.

    Another has no name, only a version: it stands in the card.
    """
    shipped = json.loads(card.read_text(encoding="utf-8"))["version"] if card.is_file() else ""
    return "shipped" if parent == shipped else "ADAPTER"
