"""Memory's writers follow each other."""

from sqlalchemy import Connection, func, select

_LOCK = 0x6D656D6F7279  # "memory": the key of an advisory lock


def take_turn(connection: Connection) -> None:
    """Let memory's writers follow each other, so that serial numbers become visible in their order.

    SQLite has one writer anyway. On PostgreSQL a row could otherwise be seen after one with a higher number, and an
    index that had passed it would never hear of it.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
