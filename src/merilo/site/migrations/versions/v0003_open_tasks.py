"""An index of the open tasks of a study; the earlier one was not used, because it did not begin with the study."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Replace the index."""
    op.drop_index("ix_response_due", "response")
    is_open = sa.text("state = 'open'")
    op.create_index(
        "ix_response_open", "response", ["study", "due"], sqlite_where=is_open, postgresql_where=is_open
    )
