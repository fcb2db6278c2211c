"""The commands' tree and how errors become messages and exit codes."""

import os
import sys
from typing import Annotated

import typer
from rich.markup import escape

import pointwork
from pointwork.cli import (
    bench,
    bench_routing,
    chat,
    doctor,
    feedback,
    listing,
    measuring,
    memory,
    models,
    router,
    running,
    runs,
    serve,
    tools,
    train,
)
from pointwork.cli.output import BUDGET, FAILED, USAGE, err, take_any_text
from pointwork.errors import BudgetExceeded, ConfigError, PointworkError, UsageError
from pointwork.extras import explained

app = typer.Typer(
    name="pointwork",
    help="Multi-agent orchestration with learned routing: nothing learned goes live before it has proved its gain.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pointwork {pointwork.__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    store: Annotated[
        str | None,
        typer.Option(
            help="SQLAlchemy URL of the store; goes before the configuration's, that before POINTWORK_STORE.",
            envvar="POINTWORK_STORE",
            show_envvar=False,
        ),
    ] = None,
    config: Annotated[
        str | None, typer.Option(help="Path of a pointwork.toml.", envvar="POINTWORK_CONFIG", show_envvar=True)
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of all commands."""
    # every command and library call below reads the same two variables
    source = context.get_parameter_source("store")
    if source is not None and source.name == "COMMANDLINE":
        from pointwork.settings import say_store

        say_store(store)
        context.call_on_close(lambda: say_store(None))
    if store:
        os.environ["POINTWORK_STORE"] = store
    if config:
        os.environ["POINTWORK_CONFIG"] = config


app.command("run", epilog=running.EXAMPLE)(running.run)
app.command("chat", epilog=chat.EXAMPLE)(chat.chat)
app.command("serve", epilog=serve.EXAMPLE)(serve.serve)
app.command("agents", epilog="Example: [bold]pointwork agents --json[/bold]")(listing.agents)
app.command("feedback", epilog=feedback.EXAMPLE)(feedback.feedback)
app.command("doctor", epilog="Example: [bold]pointwork doctor --json[/bold]")(doctor.doctor)
app.add_typer(tools.app, name="tools")
app.add_typer(memory.app, name="memory")
app.add_typer(runs.app, name="runs")
app.add_typer(router.app, name="router")
app.add_typer(train.app, name="train")
app.add_typer(models.app, name="models")
bench.app.command("routing", epilog="Example: [bold]pointwork bench routing --data DIR --part classic[/bold]")(
    bench_routing.routing
)
bench.app.command("tools", epilog="Example: [bold]pointwork bench tools --data data --json[/bold]")(
    measuring.bench_tools
)
bench.app.command("safety", epilog="Example: [bold]pointwork bench safety[/bold]")(measuring.bench_safety)
app.add_typer(bench.app, name="bench")


def _say(error: Exception | str) -> None:
    err.print(f"[red]error:[/red] {escape(str(error))}")


def run_app(arguments: list[str] | None = None) -> int:
    """Run a command line; its exit code."""
    try:
        app(arguments, prog_name="pointwork")
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else FAILED
    except (UsageError, ConfigError) as error:
        _say(error)
        return USAGE
    except BudgetExceeded as error:
        _say(error)
        return BUDGET
    except ImportError as error:
        _say(explained(error))
        return FAILED
    except PointworkError as error:
        _say(error)
        return FAILED
    return 0


def run() -> None:
    """Entry point: run the process's command line and exit."""
    take_any_text()
    sys.exit(run_app())
