"""Studies on a panel: the visits of people, the completion codes, the bonuses."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the columns and the tables."""
    op.add_column("person", sa.Column("session", sa.Text(), nullable=True))
    op.add_column("person", sa.Column("panel", sa.Text(), nullable=True))
    op.create_table(
        "panel",
        sa.Column("study", sa.Integer(), sa.ForeignKey("study.id"), primary_key=True, autoincrement=False),
        sa.Column("external", sa.String(length=64), nullable=False),
        sa.Column("codes", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "bonus",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("study", sa.Integer(), sa.ForeignKey("study.id"), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("cents", sa.Integer(), nullable=False),
        sa.Column("payment", sa.String(length=64), nullable=False),
        sa.Column("asked", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_bonus_study", "bonus", ["study"])
