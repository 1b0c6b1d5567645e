"""Accounts and sessions of authors; the earlier password becomes that of the account `author`."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the tables and move the password."""
    author = op.create_table(
        "author",
        sa.Column("name", sa.String(length=60), primary_key=True),
        sa.Column("role", sa.String(length=12), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
    )
    op.create_table(
        "session",
        sa.Column("hash", sa.String(length=64), primary_key=True),
        sa.Column("author", sa.String(length=60), sa.ForeignKey("author.name"), nullable=False),
        sa.Column("began", sa.BigInteger(), nullable=False),
    )
    setting = sa.table("setting", sa.column("name"), sa.column("value"))
    password = op.get_bind().scalar(sa.select(setting.c.value).where(setting.c.name == "author password"))
    if password is not None:
        op.bulk_insert(author, [{"name": "author", "role": "author", "hash": password}])
    op.execute(setting.delete().where(setting.c.name.in_(["author password", "author session"])))
