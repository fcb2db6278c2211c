"""What calls with effects wrote, found by name; filled from the calls that are stored."""

import sqlalchemy as sa
from alembic import op

from pointwork.store.types import Json
from pointwork.store.writes import rows_of_stored

revision = "0010"
down_revision = "0009"

_BATCH = 500


def upgrade() -> None:
    writes = op.create_table(
        "tool_writes",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("call_id", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("untrusted", sa.Boolean(), nullable=False),
        sa.Column("unasked", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tool_writes")),
    )
    op.create_index(op.f("ix_tool_writes_name"), "tool_writes", ["name"], unique=False)
    texts, values = ("id", "run_id"), ("arguments", "taint")
    calls = sa.table(
        "tool_calls",
        *(sa.column(name, sa.String()) for name in texts),
        *(sa.column(name, Json()) for name in values),
    )
    last = ""
    while True:
        batch = sa.select(calls).where(calls.c.id > last).order_by(calls.c.id).limit(_BATCH)
        found = [dict(row) for row in op.get_bind().execute(batch).mappings()]
        # with the live code: a name must be spelled as the look-up will spell it
        rows = list(rows_of_stored(found))
        if rows:
            op.bulk_insert(writes, rows)
        if len(found) < _BATCH:
            return
        last = found[-1]["id"]


def downgrade() -> None:
    op.drop_table("tool_writes")
