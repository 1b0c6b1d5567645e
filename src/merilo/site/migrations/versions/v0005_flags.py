"""Suspicious speed is computed when it is shown, and not stored."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Drop the column."""
    op.drop_column("person", "flagged")
