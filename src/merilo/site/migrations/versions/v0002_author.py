"""What the author's pages need: whom an event concerns, and the stage of a person before they were excluded."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("event", sa.Column("person", sa.Integer(), nullable=True))
    op.create_index("ix_event_person", "event", ["person"], unique=False)
    op.add_column("person", sa.Column("before", sa.String(length=12), nullable=True))
