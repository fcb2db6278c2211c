"""``pointwork feedback``."""

from typing import Annotated

import typer

from pointwork.cli.output import out, print_json
from pointwork.cli.team import open_team

EXAMPLE = "Example: [bold]pointwork feedback 019a3f 1.0[/bold]   (the beginning of a run's id is enough)"


def feedback(
    run_id: Annotated[str, typer.Argument(help="The run; an unambiguous beginning of its id is enough.")],
    reward: Annotated[float, typer.Argument(help="0 (wrong) to 1 (right).")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say how good a run's answer was; the router learns it. May come late, and may be corrected."""
    with open_team(models=False) as team:
        credited = team.feedback(run_id, reward)
    if json:
        print_json({"run_id": run_id, "reward": reward, "decisions": credited})
    else:
        out.print(
            f"{credited} decision{'s' if credited != 1 else ''} of run {run_id} learned the reward {reward:g}"
        )
