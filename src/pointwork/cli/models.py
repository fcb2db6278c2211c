"""``pointwork models``: list and pull."""

from typing import Annotated, Any

import typer

from pointwork.cli.output import out, print_json, table
from pointwork.settings import EMBEDDED, ROLES, load

app = typer.Typer(help="The models behind the roles; the embedded model's weights.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def described_roles() -> list[dict[str, Any]]:
    """Each role with its model, price and where it comes from."""
    from pointwork.models.weights import SMOLLM2_135M, path_of, present

    settings = load()
    rows: list[dict[str, Any]] = []
    for role in ROLES:
        model = settings.model_for(role)
        note = ""
        if model.model == EMBEDDED:
            path = path_of(SMOLLM2_135M) if present(SMOLLM2_135M) else None
            note = f"{SMOLLM2_135M.name}, {'in ' + str(path) if path else 'not pulled yet: pointwork models pull'}"
        source = "configuration" if role in settings.models else "default"
        if source == "default" and model.api_key_env:
            source = f"key in {model.api_key_env}"
        rows.append({"role": role, "model": model.model, "from": source, "note": note})
    return rows


@app.command("list", epilog="Example: [bold]pointwork models list[/bold]")
def list_(json: Json = False) -> None:
    """List the roles and the models that serve them."""
    rows = described_roles()
    if json:
        print_json(rows)
    else:
        table(("role", "model", "from", "note"), [tuple(row.values()) for row in rows], "no roles")


@app.command(epilog="Example: [bold]pointwork models pull[/bold]")
def pull(json: Json = False) -> None:
    """Bring the embedded model's weights (98 MB) into the cache; checks what is there."""
    from pointwork.cli.team import pull_weights

    path = pull_weights(quiet=json)
    if json:
        print_json({"path": path})
    else:
        out.print(path)
