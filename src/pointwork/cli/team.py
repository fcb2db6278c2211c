"""Opening a team or the store for a command. A team's weights come first, with a progress bar."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from pointwork.cli.output import err
from pointwork.models import requantizing, weights
from pointwork.models.weights import ModelFile, ensure, path_of, present
from pointwork.roles import ROLES

if TYPE_CHECKING:
    from pointwork.agents import Team
    from pointwork.settings import Settings
    from pointwork.store import Store


@contextmanager
def open_team(
    *, quiet: bool = False, models: bool = True, root: str | os.PathLike[str] | None = None
) -> "Generator[Team, None, None]":
    """The team of the configuration, closed at the end.

    Args:
        quiet: no progress bar.
        root: the folder that agents may read; None is the current one.
        models: whether models will be called; then the embedded model's weights are brought if they are needed.
    """
    from pointwork.agents import Team
    from pointwork.settings import load

    settings = load()
    if models:
        for file in dict.fromkeys(weights.of_spec(settings.model_for(role).model) for role in ROLES):
            if file is not None:
                pull_weights(file, quiet=quiet)
    with Team.default(config=settings, root=root) as team:
        yield team


def own_store(settings: "Settings | None" = None) -> "Store":
    """The store that the configuration names, else the user's."""
    from pointwork.settings import load
    from pointwork.store import default_url, open_store

    return open_store((settings or load()).store or default_url())


def pull_weights(file: ModelFile = weights.SMOLLM2_135M, *, quiet: bool = False) -> str:
    """Bring an embedded model's weights into the cache if they are not there, ready to be loaded; their path."""
    if present(file) and requantizing.at_hand(file) == requantizing.path_of(file):
        return str(path_of(file))
    if quiet:
        requantizing.ready(file)
        return str(path_of(file))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err) as progress:
        bar = progress.add_task(f"model {file.name}", total=None)

        def told(done: int, total: int | None) -> None:
            progress.update(bar, completed=done, total=total)

        path = ensure(file, progress=told)
        if file.requantized:
            progress.update(bar, description=f"{file.name} in 8 bits, which are read faster")
            requantizing.ready(file, progress=told)
    err.print(f"[dim]model in {escape(str(path))}[/dim]")
    return str(path)
