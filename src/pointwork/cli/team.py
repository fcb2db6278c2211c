"""Opening a team for a command: the model's weights come first, with a progress bar."""

import os
from collections.abc import Generator
from contextlib import contextmanager

from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from pointwork.agents import Team
from pointwork.cli.output import err
from pointwork.models import weights
from pointwork.models.weights import ModelFile, ensure, path_of, present
from pointwork.settings import ROLES, load


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
    if models:
        for file in dict.fromkeys(weights.of_spec(settings.model_for(role).model) for role in ROLES):
            if file is not None:
                pull_weights(file, quiet=quiet)
    with Team.default(config=settings, root=root) as team:
        yield team


def pull_weights(file: ModelFile = weights.SMOLLM2_135M, *, quiet: bool = False) -> str:
    """Bring an embedded model's weights into the cache if they are not there; their path."""
    if present(file):
        return str(path_of(file))
    if quiet:
        return str(ensure(file))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err) as progress:
        bar = progress.add_task(f"model {file.name}", total=None)
        path = ensure(file, progress=lambda done, total: progress.update(bar, completed=done, total=total))
    err.print(f"[dim]model in {escape(str(path))}[/dim]")
    return str(path)
