"""What people say of themselves."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0006"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "background",
        sa.Column("person", sa.Integer(), sa.ForeignKey("person.id"), primary_key=True, autoincrement=False),
        sa.Column("question", sa.String(length=40), primary_key=True),
        sa.Column("answer", sa.SmallInteger(), nullable=True),
    )
