"""Callers over MCP and their runs, what was agreed to of foreign tools, usage of tools, tools that were made."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "mcp_callers",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("spent_usd_nano", sa.BigInteger(), nullable=False),
        sa.Column("spent_tokens", sa.BigInteger(), nullable=False),
        sa.Column("runs", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_mcp_callers")),
    )
    op.create_table(
        "mcp_runs",
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("caller", sa.String(length=64), nullable=False),
        sa.Column("tool", sa.String(length=128), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_mcp_runs")),
    )
    op.create_index(op.f("ix_mcp_runs_caller"), "mcp_runs", ["caller"], unique=False)
    op.create_table(
        "mcp_pins",
        sa.Column("server", sa.String(length=128), nullable=False),
        sa.Column("tool", sa.String(length=256), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("server", "tool", name=op.f("pk_mcp_pins")),
    )
    op.create_table(
        "tool_usage",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("tool", sa.String(length=256), nullable=False),
        sa.Column("ok", sa.Boolean(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tool_usage")),
    )
    op.create_index(op.f("ix_tool_usage_tool"), "tool_usage", ["tool"], unique=False)
    op.create_table(
        "made_tools",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("input_schema", sa.JSON(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("cases", sa.JSON(), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.BigInteger(), nullable=False),
        sa.Column("why", sa.Text(), nullable=True),
        sa.Column("created", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_made_tools")),
        sa.UniqueConstraint("name", "version", name=op.f("uq_made_tools_name_version")),
    )


def downgrade() -> None:
    for table in ("made_tools", "tool_usage", "mcp_pins", "mcp_runs", "mcp_callers"):
        op.drop_table(table)
