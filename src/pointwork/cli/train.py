"""``pointwork train``: data, router, tiers; model and loop are in ``train_model``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pointwork.cli import train_model, train_recipe
from pointwork.cli.output import FAILED, err, out, print_json, table
from pointwork.cli.router import finite, opened_router, report_trial
from pointwork.cli.team import own_store
from pointwork.cli.train_report import check_roles, show_report

app = typer.Typer(
    help="Train from the log: the router, memory's tiers, local models. Nothing goes live without proof.",
    no_args_is_help=True,
)
app.command("model", epilog=train_model.MODEL)(train_model.model)
app.command("loop", epilog=train_model.LOOP)(train_model.loop)
app.command("recipe", epilog=train_recipe.EPILOG)(train_recipe.recipe)


class Policy(StrEnum):
    """What can be learnt from the router's log."""

    neural = "neural"
    trees = "trees"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]


@app.command(epilog="Example: [bold]pointwork train data --role worker-small[/bold]")
def data(
    role: Annotated[list[str] | None, typer.Option(help="Only turns of this role; may be repeated.")] = None,
    imported_as: Annotated[str, typer.Option(help="The role of turns in imported logs, which know none.")] = "",
    json: Json = False,
) -> None:
    """Show what the store holds to train on: groups, turns, tokens; and what was dropped, and why."""
    from pointwork.settings import load
    from pointwork.training.data import collect
    from pointwork.training.origins import own_models

    with err.status("reading runs …"):
        settings = load()
        store = own_store(settings)
        check_roles(store, role or (), imported_as)
        found = collect(store, roles=role, imported_as=imported_as, models=own_models(settings))
        report = found.report.as_json()
    if json:
        print_json(report)
        return
    show_report(report)


@app.command(epilog="Example: [bold]pointwork train router --dry-run[/bold]")
def router(
    router: Annotated[
        str, typer.Option("--router", help="Whose decisions: the team's, or those of an imported log.")
    ] = "team",
    train: Annotated[
        float, typer.Option(min=0.05, max=0.95, help="The part of the log, the oldest, that is learnt from.")
    ] = 0.5,
    policy: Annotated[
        Policy, typer.Option(help="neural: a network (needs the extra 'train'); trees: a forest.")
    ] = Policy.neural,
    seed: Annotated[int, typer.Option(min=0, help="Of everything drawn.")] = 0,
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="Folder for the file; default: in the user's data folder.")
    ] = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Train a network or a forest from the router's log; live only if the log proves it.

    It learns from the older part of the decisions; the newer part judges it, by the gate of [bold]router
    promote[/bold]. Exit code 1 if it was not promoted.
    """
    import platformdirs

    from pointwork.training.routing import promote_router, train_router

    folder = out_dir or Path(platformdirs.user_data_dir("pointwork")) / "routers"
    with opened_router(router) as opened:
        if dry_run:
            learnt = opened.lessons(train=train)
            _plan_router(len(learnt.logged), learnt.of, folder, policy, json)
            return
        with err.status("training …") as status:
            trained = train_router(
                opened,
                folder,
                policy=policy.value,
                train=train,
                seed=seed,
                tell=lambda done, of: status.update(f"training: network {done} of {of}"),
            )
            status.update("judging …")
            trial = promote_router(opened, trained, train=train)
    if json:
        from dataclasses import asdict

        verdict: dict[str, Any] = finite(asdict(trial.verdict))
        print_json({"trained": trained.as_json(), "judged": trial.judged, "verdict": verdict})
    else:
        out.print(
            f"trained on {trained.decisions} decisions; squared error {trained.prediction:.4f}, of the arms' means "
            f"{trained.usual:.4f}; {trained.path}"
        )
        report_trial(trial, json=False, promoting=True)
    if not trial.verdict.passed:
        raise typer.Exit(FAILED)


def _plan_router(usable: int, older: int, folder: Path, policy: Policy, json: bool) -> None:
    from pointwork.router.offline import LEAST_LEARNT
    from pointwork.router.policies.trees import TREES

    # measured, one core: 8 s for 5,500 decisions and five networks, 5 to 12 s for a forest
    if policy is Policy.trees:
        what, seconds = f"grow {TREES} trees", round(1 + 2e-3 * usable, 1)
    else:
        from pointwork.training.policies import Recipe

        networks = Recipe().networks
        what, seconds = f"train {networks} networks", round(1 + 1.5e-3 * usable * networks / 5, 1)
    plan = {"decisions": older, "usable": usable, "needed": LEAST_LEARNT, "folder": str(folder), "seconds": seconds}
    if json:
        print_json(plan)
        return
    out.print(
        f"would {what} on {usable} of the {older} older decisions (of known quality; {LEAST_LEARNT} are needed), "
        f"which takes {seconds:g} s or so, write to {folder}, and judge on the newer ones"
    )


@app.command(epilog="Example: [bold]pointwork train tiers --dry-run[/bold]")
def tiers(
    questions: Annotated[
        Path | None,
        typer.Option(help='Lines of JSON, {"question": …, "sources": […]}; default: the answers that the log has.'),
    ] = None,
    price: Annotated[float, typer.Option(min=0, help="Quality that a second of processor time is worth.")] = 4.0,
    seed: Annotated[int, typer.Option(min=0, help="Of everything drawn.")] = 0,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Train memory's tier policy: each question is asked again at all tiers, and the network picks among them.

    It learns from the older half; the newer half judges it beside what is live, at a one-sided 99 % bound. Exit
    code 1 if it was not promoted.
    """
    from pointwork.training.policies import Recipe
    from pointwork.training.tiers import labelled, promote_tiers, questions_of

    store = own_store()
    asked = questions_of(store) if questions is None else labelled(questions)
    if dry_run:
        plan = {"questions": len(asked), "recalls": 6 * len(asked), "seconds": round(0.1 * len(asked))}
        if json:
            print_json(plan)
        else:
            out.print(
                f"would ask {len(asked)} questions at all tiers, about {plan['seconds']} s, and train on half"
            )
        return
    with err.status("asking …") as status:
        done = promote_tiers(
            store,
            asked,
            price=price,
            recipe=Recipe(seed=seed),
            tell=lambda n, of: status.update(f"asking: {n} of {of}"),
        )
    if json:
        print_json(done.as_json())
    else:
        out.print(f"trained on {done.trained} questions, judged on {done.judged}")
        table(("tiers", "worth"), [(name, f"{value:.3f}") for name, value in done.worth.items()], "nothing")
        out.print("it is live now" if done.promoted else f"not promoted: {done.reason}")
    if not done.promoted:
        raise typer.Exit(FAILED)
