"""Who works on a run, so that nobody else resumes it meanwhile; a router's latest decisions by an index."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("runs", sa.Column("owner", sa.String(length=256), nullable=True))
    op.create_index(op.f("ix_decisions_router_created"), "decisions", ["router", "created"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_decisions_router_created"), table_name="decisions")
    op.drop_column("runs", "owner")
