"""``pointwork router``: show; export and import are in ``portable``."""

from typing import Annotated

import typer

from pointwork.cli import portable
from pointwork.cli.output import money, out, print_json, table
from pointwork.cli.team import open_team

app = typer.Typer(help="The router: what it has learned about each arm.", no_args_is_help=True)
app.command("export", epilog=portable.EXPORT_ROUTER)(portable.export_decisions)
app.command("import", epilog=portable.IMPORT_ROUTER)(portable.import_decisions)


@app.command(epilog='Example: [bold]pointwork router show "What is 12 * 7?"[/bold]')
def show(
    text: Annotated[str, typer.Argument(help="A request to show the scores for.")] = "What is 12 * 7?",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show each arm's mean, bonus, predicted cost, health and propensity for a request."""
    with open_team(models=False) as team:
        rows = team.router.explain(text)
        policy = team.settings.router.policy
    if json:
        print_json({"policy": policy, "text": text, "arms": rows})
        return
    out.print(f"[bold]{policy}[/bold] for: {text}")
    table(
        ("arm", "p", "score", "mean", "bonus", "cost", "health", "seen"),
        [
            (
                row["arm"],
                f"{row['propensity']:.2f}",
                f"{row['score']:.3f}",
                f"{row['mean']:.3f}",
                f"{row['bonus']:.3f}",
                money(row["cost"]),
                row["health"],
                row["seen"],
            )
            for row in rows
        ],
        "no arms",
    )
