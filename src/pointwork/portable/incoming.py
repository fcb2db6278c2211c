"""Imports: what a file holds becomes rows of the store."""

from collections.abc import Callable
from typing import Any, Literal, get_args

from sqlalchemy import func, select

from pointwork.errors import UsageError
from pointwork.portable import openai_chat, routing_logs, tau_bench, trajectories
from pointwork.portable.conversation import Chat, Names, prepared
from pointwork.portable.files import Input, Progress, Source
from pointwork.portable.importer import Importer, Prepared, Report, line_records
from pointwork.store import Store
from pointwork.store.tables import decisions, runs

Format = Literal["pointwork", "tau-bench", "openai-chat"]
FORMATS: tuple[Format, ...] = get_args(Format)


def import_runs(
    store: Store,
    source: Source,
    *,
    format: str = "pointwork",
    model: str | None = None,
    dataset: str | None = None,
    skip_broken: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Bring runs into a store: our own exports, or logs of other programs.

    Each run is stored whole or not at all, and once: runs that are there already are left as they are. Records of
    other programs have no ids; they are known by their content, dataset and model.

    Args:
        store: to write to.
        source: a path, ``-`` for standard input, or a binary stream.
        format: ``pointwork`` (lines of ``runs export``), ``tau-bench`` or ``openai-chat``.
        model: who answered in a foreign log; default: as the record says, else the dataset's name.
        dataset: what a foreign log is called; default: the file's name without its ending.
        skip_broken: leave broken records out and count them, instead of stopping at the first.
        progress: told how many bytes were read, of how many (None: not known).

    Raises:
        UsageError: the file can not be read, a record is broken (names its place and field), or was written in a
            version of the format that is not known here. Nothing of such a record is stored; those before it are.
        StoreError: the database refused; what was stored before stays.
    """
    if format not in FORMATS:
        raise UsageError(f"unknown format {format!r}; known are {', '.join(FORMATS)}")
    if format == "pointwork" and (model is not None or dataset is not None):
        raise UsageError("model and dataset name foreign logs; our own say themselves")
    importer = Importer(store, "run", runs.c.id, trajectories.lines_of, skip_broken=skip_broken)
    with Input(source, progress) as opened:
        if format == "pointwork":
            return importer.take(opened.name, line_records(opened.lines()), trajectories.parsed_run)
        dataset = dataset or opened.stem
        if format == "tau-bench":
            convert = _chats(store, format, lambda value: tau_bench.chat_of(value, dataset, model))
            return importer.take(opened.name, tau_bench.records(opened), convert)
        numbered = openai_chat.Trials()
        convert = _chats(store, format, lambda value: openai_chat.chat_of(value, dataset, model, numbered))
        return importer.take(opened.name, line_records(opened.lines()), convert)


def _chats(store: Store, format: Format, chat_of: Callable[[Any], Chat]) -> Callable[[Any], Prepared]:
    """From a record of another program to the rows of a run."""
    names = Names(format)
    of_format = select(func.count().label("n")).where(decisions.c.router == f"import:{format}")
    row = store.row(of_format.select_from(decisions))
    number = 0 if row is None else int(row["n"])

    def convert(value: Any) -> Prepared:
        nonlocal number
        chat = chat_of(value)
        number += 1
        return prepared(chat, names.of([chat.dataset, chat.model, value]), number - 1)

    return convert


def import_decisions(
    store: Store,
    source: Source,
    *,
    router: str | None = None,
    skip_broken: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Bring a routing log into a store, for replay: our own exports, or another program's.

    Args:
        store: to write to.
        source: a path, ``-`` for standard input, or a binary stream.
        router: the name for decisions that do not say whose they are; default: the file's name. Decisions without
            features get ``import:`` before it, so that no router at work takes them for its own.
        skip_broken: leave broken lines out and count them, instead of stopping at the first.
        progress: told how many bytes were read, of how many (None: not known).

    Raises:
        UsageError: the file can not be read, or a line is broken (names it and the field). Nothing of such a line
            is stored; those before it are.
        StoreError: the database refused; what was stored before stays.
    """
    importer = Importer(store, "decision", decisions.c.id, routing_logs.lines_of, skip_broken=skip_broken)
    with Input(source, progress) as opened:
        reader = routing_logs.Reader(store, router or f"{routing_logs.IMPORTED}{opened.stem}")
        return importer.take(opened.name, line_records(opened.lines()), reader.prepared)
