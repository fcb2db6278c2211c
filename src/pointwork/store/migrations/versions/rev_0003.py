"""Who works on a run, so that nobody else resumes it meanwhile."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("runs", sa.Column("owner", sa.String(length=256), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "owner")
