"""``pointwork models``: list, pull, serve, publish, check and roll back."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointwork.cli.model_server import serve
from pointwork.cli.output import ago, err, out, print_json, table
from pointwork.cli.team import own_store
from pointwork.errors import UsageError
from pointwork.roles import ROLES

if TYPE_CHECKING:
    from pointwork.store import Store
    from pointwork.training.publication.publisher import Publication, Publisher

app = typer.Typer(help="The models behind the roles, their adapters, and servers of them.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Role = Annotated[str, typer.Argument(metavar="ROLE", help=f"{', '.join(ROLES)}.")]
Base = Annotated[
    str | None,
    typer.Option("--base", help="The weights under the adapter: a Hugging Face directory or a GGUF file."),
]
Urls = Annotated[
    list[str] | None, typer.Option("--url", help="A replica of the role's vLLM server; repeat for several.")
]


def described_roles() -> list[dict[str, Any]]:
    """Each role with its model, where that comes from, and the adapter that serves beside it."""
    from pointwork.models.adapters import adapter_for
    from pointwork.models.weights import of_spec, path_of, present
    from pointwork.settings import load

    settings = load()
    store = own_store(settings)
    rows: list[dict[str, Any]] = []
    for role in ROLES:
        model = settings.model_for(role)
        note = ""
        file = of_spec(model.model)
        if file is not None:
            missing = f"not pulled yet: pointwork models pull {file.name}"
            note = f"{file.name}, {'in ' + str(path_of(file)) if present(file) else missing}"
        source = "configuration" if role in settings.models else "default"
        if source == "default" and model.api_key_env:
            source = f"key in {model.api_key_env}"
        adapter = adapter_for(store, role, model.model) if settings.adapters else None
        rows.append(
            {
                "role": role,
                "model": model.model,
                "from": source,
                "note": note,
                "serving": None if adapter is None else adapter.version,
            }
        )
    return rows


def described_versions(store: "Store", role: str) -> list[dict[str, Any]]:
    """The versions of a role, newest first, with their parents by name."""
    from pointwork.training.publication.versions import Versions

    rows = Versions(store).all(role)
    names = {row["id"]: row["version"] for row in rows}
    kept = ("version", "state", "base", "path", "sha256", "created", "metrics")
    return [{**{name: row[name] for name in kept}, "parent": names.get(row["parent_id"])} for row in rows]


@app.command("list", epilog="Example: [bold]pointwork models list[/bold]")
def list_(json: Json = False) -> None:
    """List the roles, the models that serve them, and the versions of their adapters."""
    store = own_store()
    rows = [{**row, "versions": described_versions(store, row["role"])} for row in described_roles()]
    if json:
        print_json(rows)
        return
    table(
        ("role", "model", "adapter", "from", "note"),
        [(row["role"], row["model"], row["serving"], row["from"], row["note"]) for row in rows],
        "no roles",
    )
    for row in rows:
        for version in row["versions"]:
            idle = version["state"] == "live" and version["version"] != row["serving"]
            out.print(_line(version, f" (for {version['base']}; serves nothing now)" if idle else ""), markup=False)


def _line(version: dict[str, Any], note: str) -> str:
    metrics: dict[str, Any] = version["metrics"] or {}
    probe: list[dict[str, Any]] = metrics.get("probe") or []
    worst = min((one["coefficient"] for one in probe if one["coefficient"] is not None), default=None)
    said = "" if worst is None else f"; {probe[0]['answer']}, coefficient {worst:.2f}"
    if worst is None and metrics.get("refused"):
        said = f"; refused: {metrics['refused'][:80]}"
    numbers = {name: value for name, value in metrics.items() if isinstance(value, int | float)}
    shown = "".join(f"; {name} {value:.3g}" for name, value in numbers.items())
    made = f"{version['version']}  {version['state']}{note}, from {version['parent'] or 'the base'}"
    return f"{made}, {ago(version['created'])}{said}{shown}"


@app.command(epilog="Example: [bold]pointwork models pull large[/bold]")
def pull(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="small (98 MB, the default), large (1.1 GB), or a full name.")
    ] = "small",
    json: Json = False,
) -> None:
    """Bring an embedded model's weights into the cache; checks what is there.

    A role is given the large one by model = "local:large" under \\[models.worker-large] in pointwork.toml.
    """
    from pointwork.cli.team import pull_weights
    from pointwork.models import weights

    file = weights.named(name)
    if file is None:
        known = ", ".join([*weights.SHORT, *weights.FILES])
        raise UsageError(f"there is no embedded model {name!r}; there are {known}")
    path = pull_weights(file, quiet=json)
    if json:
        print_json({"path": path})
    else:
        out.print(path, markup=False)


app.command(epilog="Example: [bold]pointwork models serve planner --dry-run[/bold]")(serve)


@app.command(epilog="Example: [bold]pointwork models publish runs/planner/adapter --role planner[/bold]")
def publish(
    adapter: Annotated[Path, typer.Argument(metavar="DIR", help="What peft saved.", exists=True, file_okay=False)],
    role: Annotated[str, typer.Option("--role", help="The role that it shall serve.")],
    base: Base = None,
    url: Urls = None,
    json: Json = False,
) -> None:
    """Load an adapter into the role's server, prove that it serves, and make it live; else nothing changes.

    Runs that have begun end with the version that they began with; the next ones take the new one.
    """
    with _publisher(role, base, url) as publisher, err.status("publishing …"):
        done = publisher.publish(adapter, role)
    _said(done, json, "is live")


@app.command(epilog="Example: [bold]pointwork models check planner --repair[/bold]")
def check(
    role: Role,
    repair: Annotated[bool, typer.Option("--repair", help="Load it again if it does not serve.")] = False,
    base: Base = None,
    url: Urls = None,
    json: Json = False,
) -> None:
    """Prove again that what is live serves; after a restart a server has forgotten its adapters."""
    with _publisher(role, base, url) as publisher, err.status("asking the server …"):
        done = publisher.check(role, repair=repair)
    _said(done, json, "serves")


@app.command(epilog="Example: [bold]pointwork models rollback planner[/bold]")
def rollback(
    role: Role,
    unproved: Annotated[
        bool,
        typer.Option("--unproved", help="At once, without asking the server whether it has the version before."),
    ] = False,
    base: Base = None,
    url: Urls = None,
    json: Json = False,
) -> None:
    """Return to the version before the live one, once it is proved to serve."""
    if unproved:
        from pointwork.training.publication.versions import Versions

        versions = Versions(own_store())
        row = versions.live(_known(role))
        if row is None:
            raise UsageError(f"no version of {role!r} is live: the base model serves it")
        before = versions.by_id(row["parent_id"])
        versions.roll_back(role, row["id"], None if before is None else before["id"])
        name = None if before is None else str(before["version"])
    else:
        with _publisher(role, base, url) as publisher, err.status("asking the server …"):
            name = publisher.rollback(role)
    if json:
        print_json({"role": role, "version": name})
    else:
        out.print(f"{name or 'the base model'} serves {role} again")


@contextmanager
def _publisher(role: str, base: str | None, urls: list[str] | None) -> "Generator[Publisher, None, None]":
    from pointwork.settings import load
    from pointwork.training.publication.opening import publisher_for

    _known(role)
    store = own_store()
    publisher = publisher_for(store, load(), role, base=base, urls=urls or ())
    try:
        yield publisher
    finally:
        publisher.target.close()


def _known(role: str) -> str:
    if role not in ROLES:
        raise UsageError(f"no role {role!r}; there are {', '.join(ROLES)}")
    return role


def _said(done: "Publication", json: bool, what: str) -> None:
    if json:
        print_json(done.as_json())
        return
    out.print(f"[bold]{done.version}[/bold] {what}: {done.worst.why}")
    out.print(f"[dim]{', '.join(f'{name} {value:.2f} s' for name, value in done.seconds.items())}[/dim]")
