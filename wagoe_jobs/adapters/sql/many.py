"""One statement for many rows, compiled once: SQLAlchemy's own work for each row costs more than SQLite's."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, CursorResult
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.dml import UpdateBase

PACKET = 1_000_000
"""How many characters one statement may carry: what a server takes at once is bounded, 16 MB on MariaDB."""

_NAMED = re.compile(r"%\((\w+)\)s")


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


class Together:
    """An insert of many rows in one statement, its text made of a compiled insert of one."""

    def __init__(self, statement: UpdateBase, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._bound = compiled.params
        self._head, values, rest = str(compiled).partition(" VALUES ")
        row, duplicate, last = rest.partition(" ON DUPLICATE KEY UPDATE ")
        self._head += values
        self._row, self._names = _positional(row)
        self._tail, self._last = _positional(duplicate + last)

    def run(self, conn: Connection, rows: Sequence[Mapping[str, Any]]) -> CursorResult[Any]:
        """Insert every row, in order; rows may hold more than is named, and less where the statement has the value."""
        bound = self._bound
        given = [row[name] if name in row else bound[name] for row in rows for name in self._names]
        text = self._head + ",".join([self._row] * len(rows)) + self._tail
        return conn.exec_driver_sql(text, tuple(given + [bound[name] for name in self._last]))


def _positional(text: str) -> tuple[str, Sequence[str]]:
    """The text with its named parameters in order, and their names."""
    return _NAMED.sub("%s", text), _NAMED.findall(text)


def chunked(
    rows: Sequence[Mapping[str, Any]], most: int, text: str, packet: int = PACKET
) -> Iterator[Sequence[Mapping[str, Any]]]:
    """The rows in order, as many at once as a packet takes; `text` names the value that may be long."""
    first, size = 0, 0
    for number, row in enumerate(rows):
        size += len(row[text] or "")
        if number > first and (number - first == most or size > packet):
            yield rows[first:number]
            first, size = number, len(row[text] or "")
    if rows:
        yield rows[first:]
