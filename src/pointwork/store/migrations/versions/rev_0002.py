"""Open reservations of a run are found by their lease: it is NULL once they are settled, released or expired."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_index(op.f("ix_ledger_run_id_lease_until"), "ledger", ["run_id", "lease_until"], unique=False)
    op.drop_index(op.f("ix_ledger_run_id"), table_name="ledger")
    op.execute(
        "UPDATE ledger SET lease_until = NULL WHERE kind = 'reserve' AND EXISTS (SELECT 1 FROM ledger AS closing "
        "WHERE closing.reservation_id = ledger.reservation_id AND closing.kind <> 'reserve')"
    )


def downgrade() -> None:
    op.create_index(op.f("ix_ledger_run_id"), "ledger", ["run_id"], unique=False)
    op.drop_index(op.f("ix_ledger_run_id_lease_until"), table_name="ledger")
