"""Opening a team for a command: the model's weights come first, with a progress bar."""

import os
from collections.abc import Generator
from contextlib import contextmanager

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from pointwork.agents import Team
from pointwork.cli.output import err
from pointwork.models.weights import SMOLLM2_135M, ensure, path_of, present
from pointwork.settings import EMBEDDED, ROLES, load


@contextmanager
def open_team(
    *, quiet: bool = False, models: bool = True, root: str | os.PathLike[str] | None = None
) -> Generator[Team, None, None]:
    """The team of the configuration, closed at the end.

    Args:
        quiet: no progress bar.
        root: the folder that agents may read; None is the current one.
        models: whether models will be called; then the embedded model's weights are brought if they are needed.
    """
    settings = load()
    if models and any(settings.model_for(role).model == EMBEDDED for role in ROLES):
        pull_weights(quiet=quiet)
    with Team.default(config=settings, root=root) as team:
        yield team


def pull_weights(*, quiet: bool = False) -> str:
    """Bring the embedded model's weights into the cache if they are not there; their path."""
    if present(SMOLLM2_135M):
        return str(path_of(SMOLLM2_135M))
    if quiet:
        return str(ensure(SMOLLM2_135M))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err) as progress:
        bar = progress.add_task(f"model {SMOLLM2_135M.name}", total=None)
        path = ensure(SMOLLM2_135M, progress=lambda done, total: progress.update(bar, completed=done, total=total))
    err.print(f"[dim]model in {path}[/dim]")
    return str(path)
