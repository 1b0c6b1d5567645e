"""A site's database as an earlier version left it: what later migrations add is taken away again."""

from sqlalchemy import Connection

#: Version -> the tables and the columns (table, column) that its migration adds.
ADDED = {
    "0009": ((), (("response", "signals"), ("person", "declared"))),
    "0008": (("background",), ()),
    "0006": (("session", "author"), ()),
}


def take_back(connection: Connection, version: str) -> None:
    """Take a database of the present version back to an earlier one, not before 0004."""
    for later, (tables, columns) in ADDED.items():
        if later > version:
            for table, column in columns:
                connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
            for table in tables:
                connection.exec_driver_sql(f"DROP TABLE {table}")
    connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version}'")
