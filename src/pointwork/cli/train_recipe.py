"""``pointwork train recipe``: the adapters that come with the package, made again."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from pointwork.cli.output import out, print_json
from pointwork.errors import UsageError

EPILOG = "Example: [bold]pointwork train recipe planner --out planner[/bold]"


def recipe(
    role: Annotated[str, typer.Argument(help="planner, worker-small, reader, querier, decomposer or reckoner.")],
    folder: Annotated[Path, typer.Option("--out", help="Gets checkpoints, curves and the adapter (final).")],
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with gsm8k/train.jsonl, for worker-small; without: our own problems."),
    ] = None,
    epochs: Annotated[
        float | None, typer.Option(min=0.01, help="Passes over the examples; default: 2, of a reckoner 1.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Peak learning rate; default: 6e-4, with --trials 1e-4.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of everything drawn.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many examples: to see that it works.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Examples of a step: more on a GPU.")] = None,
    parent: Annotated[
        str | None,
        typer.Option(help="Adapter to go on from: peft's folder, a .gguf file, or shipped. Default: a new one."),
    ] = None,
    trials: Annotated[
        int,
        typer.Option(min=0, help="Draw so many answers to each task, and learn from which are right; 0: imitate."),
    ] = 0,
    ship: Annotated[bool, typer.Option(help="Put it where the package looks for it, with its card.")] = False,
    base: Annotated[str, typer.Option(help="A Hugging Face folder or .gguf file instead.")] = "embedded",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train a role's adapter on worked examples, and say what it is worth on those that it never saw.

    Ctrl-C keeps what is done; the same command goes on. To bring it into use: pointwork models publish.
    """
    from pointwork.training.recipes.making import make
    from pointwork.training.recipes.roles import Role
    from pointwork.training.recipes.shipping import ship as put

    if role not in get_args(Role):
        raise UsageError(f"there is no recipe for the role {role!r}; there are {', '.join(get_args(Role))}")
    made = make(
        cast(Role, role),
        folder,
        data=data,
        base=base,
        epochs=epochs,
        lr=rate,
        seed=seed,
        limit=limit,
        batch=batch,
        parent=parent,
        trials=trials,
        show=not json,
    )
    card = put(made, base=base) if ship and made.stopped == "finished" else None
    if json:
        print_json({**asdict(made), "card": None if card is None else str(card)})
        return
    out.print(
        f"{made.role}: {made.examples} examples, {made.epochs:g} epochs, {made.stopped}; right on {made.held_out} "
        f"held-out examples {made.before:.0%} → {made.after:.0%}; adapter in {made.folder}"
    )
    if card is not None:
        out.print(f"shipped: {card}")
