"""Decisions are numbered as they are stored; those of before have none, so that no row is written anew."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("decisions", sa.Column("number", sa.BigInteger(), nullable=True))
    op.create_index(op.f("ix_decisions_number"), "decisions", ["number"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_decisions_number"), "decisions")
    op.drop_column("decisions", "number")
