"""Facts with their sources, and skills."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "facts",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=256), nullable=False),
        sa.Column("head", sa.String(length=64), nullable=False),
        sa.Column("tail", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("relation", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("valid_from", sa.Float(), nullable=True),
        sa.Column("valid_to", sa.Float(), nullable=True),
        sa.Column("trust", sa.String(length=32), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_facts")),
    )
    for column in ("key", "head", "tail"):
        op.create_index(op.f(f"ix_facts_{column}"), "facts", [column], unique=False)
    op.create_table(
        "fact_sources",
        sa.Column("fact_id", sa.String(length=64), nullable=False),
        sa.Column("source", sa.String(length=256), nullable=False),
        sa.PrimaryKeyConstraint("fact_id", "source", name=op.f("pk_fact_sources")),
    )
    op.create_index(op.f("ix_fact_sources_source"), "fact_sources", ["source"], unique=False)
    op.create_table(
        "skills",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("shape", sa.Text(), nullable=False),
        sa.Column("examples", sa.JSON(), nullable=False),
        sa.Column("sources", sa.JSON(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("updated", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_skills")),
    )


def downgrade() -> None:
    for table in ("skills", "fact_sources", "facts"):
        op.drop_table(table)
