"""Memory's search index in the store: segments of documents, their postings and vectors."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "memory_segments",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False, autoincrement=True),
        sa.Column("first", sa.BigInteger(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("docs", sa.BigInteger(), nullable=False),
        sa.Column("numbers", sa.LargeBinary(), nullable=False),
        sa.Column("speakers", sa.Text(), nullable=True),
        sa.Column("embedder", sa.String(length=64), nullable=True),
        sa.Column("codes", sa.LargeBinary(), nullable=True),
        sa.Column("vectors", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memory_segments")),
        sa.UniqueConstraint("first", name=op.f("uq_memory_segments_first")),
    )
    op.create_table(
        "memory_postings",
        sa.Column("token", sa.String(length=256), nullable=False),
        sa.Column("segment", sa.BigInteger(), nullable=False),
        sa.Column("docs", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("token", "segment", name=op.f("pk_memory_postings")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("memory_postings")
    op.drop_table("memory_segments")
