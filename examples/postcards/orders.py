"""Reads the customers' file. A row that cannot be used is told with its line and the reason, and the others go on."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from uuid import UUID, uuid5

_ORDERS = UUID("7f1c1f0e-6c1b-4f2e-9d54-0c3f5a0b7e11")


@dataclass(frozen=True, slots=True)
class Order:
    """One postcard to print and send; every field is text as the customer typed it."""

    order: str
    name: str
    town: str
    country: str
    paper: str
    message: str

    @property
    def id(self) -> UUID:
        """The job's id, made from the order's number: reading the file again enqueues nothing twice."""
        return uuid5(_ORDERS, self.order)

    def args(self) -> Mapping[str, str]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Unusable:
    """A row that is no order; `line` is where it ends in the file, counted from 1."""

    line: int
    reason: str


COLUMNS = tuple(field.name for field in fields(Order))


def read_orders(path: Path) -> Iterator[Order | Unusable]:
    """The file's rows in order. Raises ValueError when its first row does not name the columns."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        header = next(rows, [])
        if tuple(header) != COLUMNS:
            raise ValueError(f"{path} must begin with the row {','.join(COLUMNS)}")
        for row in rows:
            yield _order(row, rows.line_num)


def _order(row: list[str], line: int) -> Order | Unusable:
    if len(row) != len(COLUMNS):
        return Unusable(line, f"has {len(row)} columns instead of {len(COLUMNS)}")
    order = Order(*row)
    missing = [name for name in ("order", "name", "town") if not getattr(order, name).strip()]
    return Unusable(line, f"has no {missing[0]}") if missing else order
