"""First schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("parent_id", sa.String(length=64), nullable=True),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=256), nullable=False),
        sa.Column("deadline", sa.Float(), nullable=True),
        sa.Column("limit_usd_nano", sa.BigInteger(), nullable=True),
        sa.Column("limit_tokens", sa.BigInteger(), nullable=True),
        sa.Column("limit_tool_calls", sa.BigInteger(), nullable=True),
        sa.Column("limit_turns", sa.BigInteger(), nullable=True),
        sa.Column("spent_usd_nano", sa.BigInteger(), nullable=False),
        sa.Column("spent_tokens", sa.BigInteger(), nullable=False),
        sa.Column("spent_tool_calls", sa.BigInteger(), nullable=False),
        sa.Column("spent_turns", sa.BigInteger(), nullable=False),
        sa.Column("reserved_usd_nano", sa.BigInteger(), nullable=False),
        sa.Column("reserved_tokens", sa.BigInteger(), nullable=False),
        sa.Column("reserved_tool_calls", sa.BigInteger(), nullable=False),
        sa.Column("reserved_turns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["parent_id"], ["accounts.id"], name=op.f("fk_accounts_parent_id_accounts")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
    )
    op.create_index(op.f("ix_accounts_parent_id"), "accounts", ["parent_id"], unique=False)
    op.create_index(op.f("ix_accounts_run_id"), "accounts", ["run_id"], unique=False)
    op.create_table(
        "decisions",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("subtask", sa.String(length=64), nullable=True),
        sa.Column("router", sa.String(length=128), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("clock", sa.BigInteger(), nullable=False),
        sa.Column("policy", sa.String(length=64), nullable=False),
        sa.Column("policy_version", sa.String(length=128), nullable=False),
        sa.Column("features_version", sa.String(length=64), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("context", sa.JSON(), nullable=False),
        sa.Column("candidates", sa.JSON(), nullable=False),
        sa.Column("arm", sa.String(length=256), nullable=False),
        sa.Column("propensity", sa.Float(), nullable=False),
        sa.Column("propensities", sa.JSON(), nullable=False),
        sa.Column("scores", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decisions")),
    )
    op.create_index(op.f("ix_decisions_router_clock"), "decisions", ["router", "clock"], unique=False)
    op.create_index(op.f("ix_decisions_run_id"), "decisions", ["run_id"], unique=False)
    op.create_table(
        "memory_items",
        sa.Column(
            "serial", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("layer", sa.String(length=32), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("trust", sa.String(length=32), nullable=False),
        sa.Column("thread", sa.String(length=256), nullable=True),
        sa.Column("speaker", sa.String(length=256), nullable=True),
        sa.Column("time", sa.Float(), nullable=True),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("parent_id", sa.String(length=64), nullable=True),
        sa.Column("start", sa.BigInteger(), nullable=True),
        sa.Column("end", sa.BigInteger(), nullable=True),
        sa.Column("covers", sa.JSON(), nullable=True),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("meta", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("serial", name=op.f("pk_memory_items")),
        sa.UniqueConstraint("id", name=op.f("uq_memory_items_id")),
    )
    op.create_index(op.f("ix_memory_items_parent_id"), "memory_items", ["parent_id"], unique=False)
    op.create_index(op.f("ix_memory_items_source"), "memory_items", ["source"], unique=False)
    op.create_index(op.f("ix_memory_items_thread_serial"), "memory_items", ["thread", "serial"], unique=False)
    op.create_table(
        "memory_usage",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("subtask", sa.String(length=64), nullable=True),
        sa.Column("question", sa.Text(), nullable=True),
        sa.Column("tiers", sa.JSON(), nullable=False),
        sa.Column("items", sa.JSON(), nullable=False),
        sa.Column("credit", sa.Float(), nullable=True),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("usd_nano", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memory_usage")),
    )
    op.create_index(op.f("ix_memory_usage_run_id"), "memory_usage", ["run_id"], unique=False)
    op.create_table(
        "models",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=64), nullable=False),
        sa.Column("version", sa.String(length=128), nullable=False),
        sa.Column("base", sa.String(length=256), nullable=False),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=True),
        sa.Column("parent_id", sa.String(length=64), nullable=True),
        sa.Column("metrics", sa.JSON(), nullable=True),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_models")),
        sa.UniqueConstraint("role", "version", name=op.f("uq_models_role_version")),
    )
    op.create_table(
        "playbook",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("section", sa.String(length=128), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("helpful", sa.BigInteger(), nullable=False),
        sa.Column("harmful", sa.BigInteger(), nullable=False),
        sa.Column("sources", sa.JSON(), nullable=True),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("updated", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_playbook")),
    )
    op.create_table(
        "router_versions",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("router", sa.String(length=128), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("policy", sa.String(length=64), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.Column("clock", sa.BigInteger(), nullable=False),
        sa.Column("parent_id", sa.String(length=64), nullable=True),
        sa.Column("metrics", sa.JSON(), nullable=True),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_router_versions")),
        sa.UniqueConstraint("router", "version", name=op.f("uq_router_versions_router_version")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("thread", sa.String(length=256), nullable=True),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("root", sa.Text(), nullable=True),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("finished", sa.Float(), nullable=True),
        sa.Column("budget", sa.JSON(), nullable=True),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("package_version", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_created"), "runs", ["created"], unique=False)
    op.create_index(op.f("ix_runs_thread_created"), "runs", ["thread", "created"], unique=False)
    op.create_table(
        "tool_calls",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("subtask", sa.String(length=64), nullable=True),
        sa.Column("tool", sa.String(length=256), nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("arguments_hash", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("taint", sa.JSON(), nullable=True),
        sa.Column("started", sa.Float(), nullable=False),
        sa.Column("finished", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tool_calls")),
    )
    op.create_index(op.f("ix_tool_calls_run_id"), "tool_calls", ["run_id"], unique=False)
    op.create_table(
        "ledger",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("reservation_id", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("by", sa.String(length=128), nullable=False),
        sa.Column("model", sa.String(length=256), nullable=True),
        sa.Column("model_version", sa.String(length=128), nullable=True),
        sa.Column("usd_nano", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("tool_calls", sa.BigInteger(), nullable=False),
        sa.Column("turns", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("lease_until", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_ledger_account_id_accounts")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger")),
        sa.UniqueConstraint("reservation_id", "kind", name=op.f("uq_ledger_reservation_id_kind")),
    )
    op.create_index(op.f("ix_ledger_account_id"), "ledger", ["account_id"], unique=False)
    op.create_index(op.f("ix_ledger_run_id"), "ledger", ["run_id"], unique=False)
    op.create_table(
        "outcomes",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("decision_id", sa.String(length=64), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("quality", sa.Float(), nullable=True),
        sa.Column("usd", sa.Float(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["decision_id"], ["decisions.id"], name=op.f("fk_outcomes_decision_id_decisions")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outcomes")),
    )
    op.create_index(op.f("ix_outcomes_decision_id_id"), "outcomes", ["decision_id", "id"], unique=False)
    op.create_table(
        "steps",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("subtask", sa.String(length=64), nullable=True),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("agent", sa.String(length=128), nullable=True),
        sa.Column("role", sa.String(length=64), nullable=True),
        sa.Column("model", sa.String(length=256), nullable=True),
        sa.Column("model_version", sa.String(length=128), nullable=True),
        sa.Column("input", sa.JSON(), nullable=True),
        sa.Column("output", sa.JSON(), nullable=True),
        sa.Column("token_ids", sa.JSON(), nullable=True),
        sa.Column("logprobs", sa.JSON(), nullable=True),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=True),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=True),
        sa.Column("usd_nano", sa.BigInteger(), nullable=True),
        sa.Column("started", sa.Float(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_steps_run_id_runs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_steps")),
    )
    op.create_index(op.f("ix_steps_run_id_id"), "steps", ["run_id", "id"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_steps_run_id_id"), table_name="steps")
    op.drop_table("steps")
    op.drop_index(op.f("ix_outcomes_decision_id_id"), table_name="outcomes")
    op.drop_table("outcomes")
    op.drop_index(op.f("ix_ledger_run_id"), table_name="ledger")
    op.drop_index(op.f("ix_ledger_account_id"), table_name="ledger")
    op.drop_table("ledger")
    op.drop_index(op.f("ix_tool_calls_run_id"), table_name="tool_calls")
    op.drop_table("tool_calls")
    op.drop_index(op.f("ix_runs_thread_created"), table_name="runs")
    op.drop_index(op.f("ix_runs_created"), table_name="runs")
    op.drop_table("runs")
    op.drop_table("router_versions")
    op.drop_table("playbook")
    op.drop_table("models")
    op.drop_index(op.f("ix_memory_usage_run_id"), table_name="memory_usage")
    op.drop_table("memory_usage")
    op.drop_index(op.f("ix_memory_items_thread_serial"), table_name="memory_items")
    op.drop_index(op.f("ix_memory_items_source"), table_name="memory_items")
    op.drop_index(op.f("ix_memory_items_parent_id"), table_name="memory_items")
    op.drop_table("memory_items")
    op.drop_index(op.f("ix_decisions_run_id"), table_name="decisions")
    op.drop_index(op.f("ix_decisions_router_clock"), table_name="decisions")
    op.drop_table("decisions")
    op.drop_index(op.f("ix_accounts_run_id"), table_name="accounts")
    op.drop_index(op.f("ix_accounts_parent_id"), table_name="accounts")
    op.drop_table("accounts")
