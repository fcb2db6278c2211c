"""Vectors by the sentence encoder: of memory's rows, as far as they were asked for, and of tools' texts."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "memory_vectors",
        sa.Column("serial", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("encoder", sa.String(length=64), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("serial", "encoder", name=op.f("pk_memory_vectors")),
    )
    op.create_table(
        "text_vectors",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("encoder", sa.String(length=64), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("digest", "encoder", name=op.f("pk_text_vectors")),
    )


def downgrade() -> None:
    op.drop_table("text_vectors")
    op.drop_table("memory_vectors")
