"""One statement for many rows, compiled once: SQLAlchemy's own work for each row costs more than SQLite's."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, CursorResult
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.dml import UpdateBase


class Many:
    """A statement whose parameters all have names, and values that the driver takes as they are."""

    def __init__(self, statement: UpdateBase, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._text = str(compiled)
        self._names = tuple(compiled.positiontup or ())

    def run(self, conn: Connection, rows: Sequence[Mapping[str, Any]]) -> CursorResult[Any]:
        """Execute it for every row, in order; rows may hold more than is named."""
        if self._names:
            return conn.exec_driver_sql(self._text, [tuple([row[name] for name in self._names]) for row in rows])
        return conn.exec_driver_sql(self._text, rows)
