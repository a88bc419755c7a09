"""Many rows as one parameter a column: the text of an array, which the server takes apart.

The driver's own adaptation of lists costs several times as much, and a row a parameter more still.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Text, bindparam, cast, column, func
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import TypeEngine


def unnested(arrays: Sequence[tuple[str, TypeEngine[Any]]]) -> Any:
    """The parameters, named and typed, side by side as a table; a shorter one is filled up with NULL."""
    columns: list[ColumnElement[Any]] = [cast(bindparam(name, type_=Text), ARRAY(kind)) for name, kind in arrays]
    names = (column(name, kind) for name, kind in arrays)
    return func.unnest(*columns).table_valued(*names, name="given").render_derived()


def array(values: Iterable[object]) -> str:
    """The array of ids, names without quotes or commas, and numbers; None is NULL."""
    return "{" + ",".join(["NULL" if value is None else str(value) for value in values]) + "}"


def texts(values: Sequence[str | None]) -> str:
    """The array of any texts; one of nothing but None is empty, since `unnested` fills up."""
    if not any(value is not None for value in values):
        return "{}"
    return "{" + ",".join(["NULL" if value is None else _quoted(value) for value in values]) + "}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
