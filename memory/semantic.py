"""What is known rather than said: facts, skills and the playbook, and forgetting what a source gave them."""

from collections.abc import Iterator

from sqlalchemy import ColumnElement, func, select

from pointwork.memory.episodic import DELETED, of_source
from pointwork.store import Store
from pointwork.store.tables import fact_sources, memory_items, playbook, runs, skills

# What somebody typed in without saying where it is from: two such texts have nothing to do with each other.
_NOWHERE = {"user", "cli"}


def forget(store: Store, source: str) -> None:
    """Take a source out of the facts, the skills and the playbook: what rests on it alone goes."""
    from pointwork.memory.facts import Facts
    from pointwork.memory.playbook import Playbook
    from pointwork.memory.skills import Skills

    Playbook(store).forget(source)
    Facts(store).forget(source)
    Skills(store).forget(source)


def ending(store: Store, condition: ColumnElement[bool], thread: str | None = None) -> list[str]:
    """Sources that facts, skills and bullets name, and of which nothing is left once some rows have gone.

    Args:
        store: of memory, before they go.
        condition: which rows go.
        thread: the conversation that goes whole: its runs end with it, also those of which no row was kept.
    """
    there = memory_items.c.layer != DELETED
    going = {row["source"] for row in store.rows(select(memory_items.c.source).where(condition, there).distinct())}
    wholes = {whole for source in going for whole in _wholes(source)}
    named = _named(store) - _NOWHERE if going or thread is not None else set[str]()
    near = {name for name in named if name in going or name in wholes or any(w in going for w in _wholes(name))}
    ended = {name for name in near if not _left(store, name, condition)}
    if thread is not None:
        ids = store.rows(select(runs.c.id).where(runs.c.thread == thread))
        ended |= named & {f"run:{row['id']}" for row in ids}
    return sorted(ended)


def _left(store: Store, source: str, condition: ColumnElement[bool]) -> bool:
    """Whether rows of a source, of its parts or of what it is a part of, stay when those of a condition go."""
    label = memory_items.c.source
    about = (of_source(label, source) | label.in_(list(_wholes(source)))) & (memory_items.c.layer != DELETED)
    count = select(func.count().label("n")).select_from(memory_items)
    # two counts, for a row without a speaker neither is nor is not Ada's
    every, going = (store.row(count.where(some)) for some in (about, about & condition))
    return every is not None and going is not None and every["n"] > going["n"]


def _wholes(source: str) -> Iterator[str]:
    """What a source is a part of, by its name: ``notes.md`` of ``notes.md#Gate``."""
    return (source[:at] for at, sign in enumerate(source) if sign == "#")


def _named(store: Store) -> set[str]:
    """Sources of facts, skills and bullets; ids of items are not among them, for these end with their rows."""
    kept = [row["sources"] for each in (playbook, skills) for row in store.rows(select(each.c.sources))]
    item = select(memory_items.c.id).where(memory_items.c.id == fact_sources.c.source)
    labels = store.rows(select(fact_sources.c.source).where(~item.exists()).distinct())
    return {source for sources in kept for source in sources or ()} | {row["source"] for row in labels}
