"""Statements that run at every answer, compiled once.

SQLAlchemy's own execution of a statement costs several times what SQLite needs for it. These statements are written with SQLAlchemy, compiled
for the database's dialect, and run on the driver's cursor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.sql.expression import ClauseElement


class HotStatement:
    """A statement that is compiled once for each dialect.

    Args:
        statement: the statement; its parameters are `bindparam`s that are given at every run.
    """

    def __init__(self, statement: ClauseElement) -> None:
        self._statement = statement
        self._texts: dict[str, tuple[str, dict[str, Any]]] = {}

    def run(self, connection: Connection, parameters: Mapping[str, object]) -> Any:  # noqa: ANN401 - the driver's cursor
        """Run the statement on the connection's transaction.

        Args:
            connection: the connection.
            parameters: the values of the parameters by name, as the driver takes them.

        Returns:
            The driver's cursor: `fetchone` gives tuples, `rowcount` the number of changed rows.
        """
        name = connection.dialect.name
        if name not in self._texts:
            self._texts[name] = self._compiled(connection)
        text, constants = self._texts[name]
        cursor = connection.connection.cursor()
        cursor.execute(text, {**constants, **parameters})
        return cursor

    def _compiled(self, connection: Connection) -> tuple[str, dict[str, Any]]:
        style = "named" if connection.dialect.name == "sqlite" else "pyformat"
        dialect = type(connection.dialect)(paramstyle=style)  # type: ignore[call-arg]
        compiled = self._statement.compile(dialect=dialect)
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        return str(compiled), constants
