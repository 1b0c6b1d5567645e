"""Suspicious speed is computed when it is shown, and not stored."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Drop the column, and turn an index round that must not be taken for the one of open tasks."""
    op.drop_column("person", "flagged")
    op.drop_index("ix_response_task", "response")
    op.create_index("ix_response_task", "response", ["task", "study"])
