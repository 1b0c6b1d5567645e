"""Signals of help by AI with an answer, and what a person declares at the end."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("response", sa.Column("signals", sa.Text(), nullable=True))
    op.add_column("person", sa.Column("declared", sa.String(length=4), nullable=True))
