"""``pointwork router``: show, explain, replay, promote, rollback; export and import are in ``portable``."""

import math
import re
import shlex
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from pointwork.cli import portable
from pointwork.cli.output import FAILED, ago, err, money, out, print_json, table
from pointwork.cli.team import open_team, own_store
from pointwork.errors import StoreError, UsageError

if TYPE_CHECKING:
    from pointwork.router import Router
    from pointwork.router.offline import Interval, Report
    from pointwork.router.trial import Trial

app = typer.Typer(help="The router: what it has learned about each arm.", no_args_is_help=True)
app.command("export", epilog=portable.EXPORT_ROUTER)(portable.export_decisions)
app.command("import", epilog=portable.IMPORT_ROUTER)(portable.import_decisions)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[str, typer.Option("--router", help="Whose decisions: the team's, or those of an imported log.")]
PolicyName = Annotated[
    str, typer.Argument(metavar="POLICY", help="linucb, thompson, neural, trees, static or random.")
]
Option = Annotated[
    list[str] | None, typer.Option("--option", "-o", help="Option of the policy, as KEY=VALUE; may be repeated.")
]
Train = Annotated[
    float, typer.Option(min=0, max=0.95, help="The part of the log, the oldest, that the policy learns from.")
]

_RUN_ID = re.compile(r"[0-9a-f]{28}")  # no request looks like it


@app.command(epilog='Example: [bold]pointwork router show "What is 12 * 7?"[/bold]')
def show(
    text: Annotated[str, typer.Argument(help="A request to show the scores for.")] = "What is 12 * 7?",
    json: Json = False,
) -> None:
    """Show each arm's mean, bonus, predicted cost, health and propensity for a request, and how arms are doing."""
    with open_team(models=False) as team:
        rows, doing = team.router.explain(text), team.router.show()
        policy = team.router.policy.name
        versions = team.router.versions()
    seen = {row["arm"]: row["graded"] for row in doing}
    if json:
        print_json({"policy": policy, "text": text, "arms": rows, "doing": doing, "versions": versions})
        return
    out.print(f"[bold]{escape(policy)}[/bold] for: {escape(text)}")
    _draw([{**row, "seen": seen.get(row["arm"], 0)} for row in rows])


@app.command(epilog="Example: [bold]pointwork router explain RUN_ID[/bold]")
def explain(
    what: Annotated[str, typer.Argument(metavar="RUN|DECISION|TEXT", help="Of the past, or a request now.")],
    json: Json = False,
) -> None:
    """Explain why an arm was chosen: what was known of each then; or, of a text, what is known now."""
    with open_team(models=False) as team:
        decisions = team.router.decisions_of(what)
        if not decisions and _RUN_ID.fullmatch(what):
            raise UsageError(f"the router decided nothing for run {what}; see pointwork runs list")
        found = {decision: team.router.explain(decision) for decision in decisions or [what]}
    if json:
        print_json([{"of": of, "arms": rows} for of, rows in found.items()])
        return
    for of, rows in found.items():
        out.print(f"[bold]{escape(of)}[/bold]")
        _draw(rows)


@app.command(epilog="Example: [bold]pointwork router replay thompson --json[/bold]")
def replay(
    policy: PolicyName, option: Option = None, train: Train = 0.5, router: Name = "team", json: Json = False
) -> None:
    """Replay the log with another policy: what it would have earned (IPS, SNIPS, doubly robust, 95 % intervals).

    The policy learns from the older part of the decisions and is judged on the newer. Where the log can not answer,
    it says why.
    """
    with opened_router(router) as opened, err.status("replaying …"):
        trial = opened.replay(policy, _options(option), train=train)
    report_trial(trial, json)
    if trial.report.refused:
        raise typer.Exit(FAILED)


@app.command(epilog="Example: [bold]pointwork router promote linucb -o alpha=0.4[/bold]")
def promote(
    policy: PolicyName, option: Option = None, train: Train = 0.5, router: Name = "team", json: Json = False
) -> None:
    """Make a policy live if the log proves it better than the live one.

    Its gain in quality must be above 0 at a one-sided 99 % bound, and its cost not significantly above 1.02 × the
    live one's. Else nothing changes, and the exit code is 1.
    """
    with opened_router(router) as opened, err.status("replaying …"):
        trial = opened.promote(policy, _options(option), train=train)
    report_trial(trial, json, promoting=True)
    if not trial.verdict.passed:
        raise typer.Exit(FAILED)


@app.command(epilog="Example: [bold]pointwork router rollback[/bold]")
def rollback(router: Name = "team", json: Json = False) -> None:
    """Return to the version from before the last promotion, or from before a live one that is damaged."""
    from pointwork.router.kept import go_back
    from pointwork.router.log import Log

    # not by opening the router: what is damaged can not be opened
    back = go_back(Log(own_store(), router))
    version, policy = back.row["version"], back.row["policy"]
    if json:
        print_json({"version": version, "policy": policy, "damage": back.damage or None})
        return
    if back.damage:
        out.print(back.damage, markup=False)
    out.print(f"version {version} ({policy}) is live again", markup=False)


@app.command(epilog="Example: [bold]pointwork router versions[/bold]")
def versions(router: Name = "team", json: Json = False) -> None:
    """List the versions of the router that are kept, and which of them are damaged."""
    from pointwork.router.kept import listed, way_back
    from pointwork.router.log import Log

    # not by opening the router: it could not be, were the live one damaged, and may write a version
    log = Log(own_store(), router)
    rows = listed(log)
    if not rows and router != "team" and not log.any():
        raise UsageError(f"the store has no router {router!r}")
    if json:
        print_json(rows)
        return
    table(
        ("version", "state", "policy", "decisions", "made"),
        [(r["version"], _state(r), r["policy"], r["clock"], ago(r["created"])) for r in rows],
        "no versions yet",
    )
    if any(row["live"] and row["damage"] for row in rows):
        try:
            earlier = way_back(log).row["version"]
            advice = f"to go back to version {earlier}: pointwork router rollback --router {shlex.quote(router)}"
        except StoreError as error:  # there is none, or it is damaged too: this says what can be done
            advice = str(error)
        err.print(advice, markup=False)


def _state(version: Mapping[str, Any]) -> str:
    return ", ".join(word for key, word in (("live", "live"), ("damage", "damaged")) if version[key])


@contextmanager
def opened_router(name: str) -> "Generator[Router, None, None]":
    """The team's router, or one made of what a log says."""
    if name == "team":
        with open_team(models=False) as team:
            yield team.router
        return
    from pointwork.router import Router

    store = own_store()
    yield Router.of_log(store, name)
    store.flush()


def _options(pairs: list[str] | None) -> dict[str, object]:
    found: dict[str, object] = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals:
            raise typer.BadParameter(f"{pair!r} is not of the form KEY=VALUE", param_hint="--option")
        try:
            number = float(value)
            found[key] = int(number) if number.is_integer() and "." not in value else number
        except ValueError:
            found[key] = value
    return found


def _draw(rows: list[dict[str, Any]]) -> None:
    from pointwork.router.asking import MODES

    held = {mode: rows[0][mode] for mode in MODES if rows and mode in rows[0]}
    if held:
        out.print("held: " + ", ".join(f"{mode} {value:g}" for mode, value in held.items()))
    chosen = any(row.get("chosen") for row in rows)
    table(
        ("arm", "p", "score", "mean", "bonus", "cost", "λ", "health", "chosen" if chosen else "seen"),
        [
            (
                row["arm"],
                f"{row['propensity']:.3f}",
                f"{row['score']:.3f}",
                f"{row['mean']:.3f}",
                f"{row['bonus']:.3f}",
                money(row["cost"]),
                f"{row.get('price_weight', 0.0):.3g}",
                row["health"],
                ("←" if row["chosen"] else "") if chosen else row.get("seen", ""),
            )
            for row in rows
        ],
        "no arms",
    )


def report_trial(trial: "Trial", json: bool, *, promoting: bool = False) -> None:
    """What came of a trial."""
    verdict, report = trial.verdict, trial.report
    if json:
        plain = {"policy": trial.policy, "trained": trial.trained, "judged": trial.judged}
        print_json(finite({**plain, "report": asdict(report), "verdict": asdict(verdict)}))
        return
    out.print(f"[bold]{trial.policy}[/bold], trained on {trial.trained} decisions, judged on {trial.judged}")
    if report.refused:
        out.print(f"no answer: {report.refused}", markup=False)
        return
    _draw_report(report)
    gain = verdict.gain
    if not math.isnan(gain.value):
        out.print(f"against the live one: quality {gain.value:+.4f}, at least {gain.low:+.4f} (one-sided 99 %)")
    if promoting:
        out.print(
            "it is live now" if verdict.passed else "not promoted: " + "; ".join(verdict.reasons), markup=False
        )
    elif verdict.passed:
        out.print("it would be promoted")


def _draw_report(report: "Report") -> None:
    rows: list[tuple[str, str, str]] = []
    for name in ("ips", "snips", "dr"):
        usd = report.usd.get(name)
        rows.append((name, _shown(report.quality[name]), "" if usd is None else money(usd.value)))
    table(("estimator", "quality (95 %)", "cost"), rows, "nothing")
    out.print(f"logged: quality {report.logged[0]:.3f}; effective sample size {report.ess:.0f}")


def _shown(interval: "Interval") -> str:
    return f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def finite(value: Any) -> Any:
    """The same with None in place of NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
    return None if isinstance(value, float) and math.isnan(value) else value
