"""What a database complains of, in words that say what to do."""

import re
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError, StatementError

from pointwork.errors import StoreError

BUSY_SECONDS = 30.0

# SQLite; a server, or a session, that only reads; a user who was not allowed to write
_READ_ONLY = ("readonly database", "25006", "42501")

# In the order of trying: what the message or the SQLSTATE (PostgreSQL) holds -> what to do.
_ADVICE: tuple[tuple[tuple[str, ...], str], ...] = (
    (("database is locked", "55P03"), "Another process has held a lock for over {busy:g} s."),
    (
        ("disk is full", "disk I/O error", "53100"),
        "Free some space and run the command again; what was stored before is kept.",
    ),
    (("not a database", "malformed"), "The file is not a Pointwork store; choose another with POINTWORK_STORE."),
    (("25006", "42501"), "Let this user of the server do it (GRANT), or set POINTWORK_STORE."),
    (
        ("unable to open", "readonly database"),
        "Check that the file and its folder can be written, or set POINTWORK_STORE.",
    ),
    (("53300", "too many clients"), "The server has no connection left: raise its max_connections."),
    (("3D000", "does not exist"), "Create the database first: createdb NAME."),
    (("28",), "Check user and password in the address."),
    (("57P", "08"), "The server ended the connection; nothing of this transaction was stored. Try again."),
)


class Unwritable(StoreError):
    """The database can be read, and not written."""


class CommitUnknown(StoreError):
    """The connection ended during a commit: the transaction may be stored, or not."""


@contextmanager
def explained(url: URL) -> Generator[None, None, None]:
    """Turn the database's errors into StoreError."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise explain(error, url) from error


def explain(error: Exception, url: URL) -> StoreError:
    """A database error in words that say what to do."""
    original = getattr(error, "orig", None)
    cause = " ".join(str(original or error).split())
    if isinstance(error, StatementError) and not isinstance(error, DBAPIError) and error.statement:
        # a value that the column types refused: nothing was sent
        cause = f"{cause} (in: {error.statement[:60]}…)"
    state = str(getattr(original, "sqlstate", None) or "")
    for signs, advice in _ADVICE:
        if any(_is(sign, state, cause) for sign in signs):
            kind = Unwritable if any(_is(sign, state, cause) for sign in _READ_ONLY) else StoreError
            return kind(f"store {url!r}: {cause}. {advice.format(busy=BUSY_SECONDS)}")
    if isinstance(error, DBAPIError) and (error.connection_invalidated or re.search("connect", cause)):
        return StoreError(f"store {url!r}: {cause}. Is the server running, and the address right?")
    return StoreError(f"store {url!r}: {cause}")


def _is(sign: str, state: str, cause: str) -> bool:
    if re.fullmatch("[0-9A-Z]{2,5}", sign):
        return state.startswith(sign)
    return sign in cause


def commit_unknown(error: SQLAlchemyError, url: URL) -> CommitUnknown:
    """The error of a commit that nobody answered."""
    return CommitUnknown(
        f"store {url!r}: the connection ended during a commit ({getattr(error, 'orig', error)}). Whether it was "
        "stored is not known, so it is not repeated. Look at what is there before you try again."
    )
