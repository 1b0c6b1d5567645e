"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study", sa.Integer(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("what", sa.String(length=32), nullable=False),
        sa.Column("detail", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_event_study", "event", ["study", "id"], unique=False)
    op.create_table(
        "setting",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "study",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=40), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("content", sa.String(length=64), nullable=False),
        sa.Column("paused", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key", name="uq_study_key"),
    )
    op.create_table(
        "person",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study", sa.Integer(), nullable=False),
        sa.Column("pseudonym", sa.String(length=24), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("external", sa.Text(), nullable=True),
        sa.Column("stage", sa.String(length=12), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("language", sa.String(length=2), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("controls", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("controls_right", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("trained", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("trained_right", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("flagged", sa.Text(), nullable=True),
        sa.Column("completion", sa.String(length=24), nullable=True),
        sa.ForeignKeyConstraint(
            ["study"],
            ["study.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("study", "pseudonym", name="uq_person_study"),
        sa.UniqueConstraint("study", "source", "external", name="uq_person_external"),
    )
    op.create_table(
        "task",
        sa.Column("study", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("needed", sa.Integer(), nullable=False),
        sa.Column("open", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("dialogue", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("turn", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint("open >= 0", name="ck_task_open"),
        sa.ForeignKeyConstraint(
            ["study"],
            ["study.id"],
        ),
        sa.PrimaryKeyConstraint("study", "number"),
    )
    op.create_index(
        "ix_task_open",
        "task",
        ["study", "rank"],
        unique=False,
        sqlite_where=sa.text("open > 0"),
        postgresql_where=sa.text("open > 0"),
    )
    op.create_table(
        "invitation",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("study", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("person", sa.Integer(), nullable=True),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("revoked", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.ForeignKeyConstraint(
            ["person"],
            ["person.id"],
        ),
        sa.ForeignKeyConstraint(
            ["study"],
            ["study.id"],
        ),
        sa.PrimaryKeyConstraint("hash"),
    )
    op.create_table(
        "response",
        sa.Column("study", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("person", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("task", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("counts", sa.Boolean(), nullable=False),
        sa.Column("given", sa.BigInteger(), nullable=True),
        sa.Column("due", sa.BigInteger(), nullable=True),
        sa.Column("late", sa.BigInteger(), nullable=True),
        sa.Column("answered", sa.BigInteger(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("right", sa.Boolean(), nullable=True),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["person"],
            ["person.id"],
        ),
        sa.PrimaryKeyConstraint("study", "person", "task"),
        sa.UniqueConstraint("study", "person", "place", name="uq_response_place"),
    )
    op.create_index(
        "ix_response_due",
        "response",
        ["due"],
        unique=False,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_index("ix_response_task", "response", ["study", "task"], unique=False)
