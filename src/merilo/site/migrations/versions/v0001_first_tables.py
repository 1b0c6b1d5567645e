"""The first tables; a new database gets the present ones from `merilo.site.schema`."""

from __future__ import annotations

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Change nothing: a database of this version has its tables."""
