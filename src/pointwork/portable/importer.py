"""Bringing records into the store: each whole or not at all, each once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from sqlalchemy import Column, select
from sqlalchemy.exc import DataError, IntegrityError, InternalError, OperationalError, StatementError

from pointwork.errors import UsageError
from pointwork.portable import canonical
from pointwork.portable.rows import INSERTS, Row, Wrong
from pointwork.store import Store

# A transaction holds so many records, or so many bytes: a commit costs as much as dozens of small records.
BATCH = 200
BATCH_BYTES = 8_000_000

# So many broken records are described; all are counted.
TOLD = 20

Record = tuple[str, Any, int]
"""Where it is, its value (or what is wrong with it), how long it was."""


class Newer(Wrong):
    """A record of a format that only a later version of the package can read."""


@dataclass(frozen=True)
class Prepared:
    """A record, checked and ready.

    Attributes:
        id: by which it is known in the store.
        rows: by name of the table, owners first.
        line: the record as an export would write it, to compare with; None: made of a foreign one.
    """

    id: str
    rows: Mapping[str, Sequence[Row]]
    line: Callable[[], bytes] | None = None


@dataclass
class Report:
    """What an import did.

    Attributes:
        imported: records that are now in the store.
        unchanged: records that were in it before.
        differing: records that were in it before with other content; the store's was kept.
        broken: records that could not be read and were skipped.
        problems: what was wrong with the first of them.
    """

    imported: int = 0
    unchanged: int = 0
    differing: int = 0
    broken: int = 0
    problems: list[str] = field(default_factory=list[str])


class Importer:
    """Takes records in.

    Args:
        store: to write to.
        what: what a record is called, for messages: ``run``, ``decision``.
        key: the column by which a record is known to be in the store.
        lines_of: exports records of the store by id, to compare them with.
        skip_broken: go on after a broken record.
    """

    def __init__(
        self,
        store: Store,
        what: str,
        key: Column[Any],
        lines_of: Callable[[Store, Sequence[str]], Mapping[str, bytes]],
        *,
        skip_broken: bool = False,
    ) -> None:
        self.report = Report()
        self._store, self._what, self._key, self._lines_of = store, what, key, lines_of
        self._skip_broken = skip_broken
        self._waiting: dict[str, tuple[str, Prepared]] = {}
        self._bytes = 0
        self._name = ""

    def take(self, name: str, records: Iterable[Record], convert: Callable[[Any], Prepared]) -> Report:
        """Import records in their order.

        Args:
            name: of the file, for messages.
            records: to import.
            convert: makes rows of a record's value; raises ``Wrong``.

        Raises:
            UsageError: a record is broken and broken ones are not to be skipped, or is of a later version. Nothing
                of it is stored; all before it are.
            StoreError: the database refused.
        """
        self._name = name
        for place, value, size in records:
            try:
                if isinstance(value, Wrong):
                    raise value
                prepared = convert(value)
            except Wrong as wrong:
                self._flush()
                self._broken(place, wrong)
                continue
            if prepared.id in self._waiting:
                self._flush()  # so that the second is compared with the first
            self._waiting[prepared.id] = (place, prepared)
            self._bytes += size
            if len(self._waiting) >= BATCH or self._bytes >= BATCH_BYTES:
                self._flush()
        self._flush()
        return self.report

    def _broken(self, place: str, wrong: Wrong) -> None:
        if isinstance(wrong, Newer):
            raise UsageError(f"{self._name}, {place}: {wrong}") from wrong
        if not self._skip_broken:
            before = self.report.imported
            raise UsageError(
                f"{self._name}, {place}: {wrong}. Nothing of it was stored ({before} "
                f"{self._what}{'' if before == 1 else 's'} before it {'was' if before == 1 else 'were'}). "
                "Mend it, or leave broken ones out with --skip-broken."
            ) from wrong
        self.report.broken += 1
        if len(self.report.problems) < TOLD:
            self.report.problems.append(f"{place}: {wrong}")

    def _flush(self) -> None:
        batch, self._waiting, self._bytes = list(self._waiting.values()), {}, 0
        if not batch:
            return
        try:
            self._insert(batch)
        except _Refused:
            for place, prepared in batch:  # which one was it?
                try:
                    self._insert([(place, prepared)])
                except _Refused as refused:
                    self._broken(place, Wrong("", f"the store can not take it: {refused}"))

    def _insert(self, batch: Sequence[tuple[str, Prepared]]) -> None:
        ids = [prepared.id for _, prepared in batch]
        with self._store.write() as connection:
            found = connection.execute(select(self._key).where(self._key.in_(ids))).scalars()
            known = set(cast(Iterable[str], found))
            new = [prepared for _, prepared in batch if prepared.id not in known]
            tables: dict[str, list[Row]] = {}
            for prepared in new:
                for name, rows in prepared.rows.items():
                    tables.setdefault(name, []).extend(rows)
            self._store.number_in_turn(connection)
            try:
                for name, rows in tables.items():
                    if rows:
                        connection.execute(INSERTS[name], rows)
            except (IntegrityError, DataError, StatementError) as error:
                if isinstance(error, OperationalError | InternalError):
                    raise
                # past the store's own handler, which would take it for its fault
                raise _Refused(" ".join(str(error.orig or error).split())) from error
        self.report.imported += len(new)
        self._compare([prepared for _, prepared in batch if prepared.id in known])

    def _compare(self, present: Sequence[Prepared]) -> None:
        ours = {prepared.id: prepared.line for prepared in present if prepared.line is not None}
        lines = self._lines_of(self._store, list(ours))
        differing = sum(line() != lines.get(id_) for id_, line in ours.items())
        self.report.differing += differing
        self.report.unchanged += len(present) - differing


class _Refused(Exception):
    """The database will not have a row, for what is in it."""


def line_records(lines: Iterable[tuple[int, bytes]]) -> Iterator[Record]:
    """The JSON values of numbered lines."""
    for number, line in lines:
        try:
            value = canonical.load(line)
        except ValueError as error:
            cut = "" if line.endswith(b"\n") else " (the last line has no end: was the file cut off?)"
            value = Wrong("", f"{error}{cut}")
        yield f"line {number}", value, len(line)


def check_format(line: Mapping[str, Any], name: str, version: int) -> None:
    """Whether a line says that it is of this format and of a version that is known.

    Raises:
        Wrong: it is not.
    """
    if line.get("format") != name:
        raise Wrong("format", f"must be {name!r}, not {line.get('format')!r}{_hint(line)}")
    given = line.get("version")
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise Wrong("version", f"must be a whole number from 1, not {given!r}")
    if given > version:
        raise Newer(
            "version",
            f"is {given}, and this pointwork reads {name!r} up to {version}: upgrade pointwork to read it",
        )


def _hint(line: Mapping[str, Any]) -> str:
    if line.get("format") == "pointwork.run":
        return "; this is a run: use 'pointwork runs import'"
    if line.get("format") == "pointwork.decision" or "choice" in line:
        return "; this is a routing log: use 'pointwork router import'"
    if "messages" in line:
        return "; it looks like a chat: use --format openai-chat"
    if "traj" in line:
        return "; it looks like a tau-bench log: use --format tau-bench"
    return ""
