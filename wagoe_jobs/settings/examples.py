"""How a setting is written: an example that is valid, made from its default, else from what its type says.

An example is spelled as TOML would, or as the variable that gave the setting. Nothing of what was given is in it.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from wagoe_jobs.settings.names import Table, joined, plain_type, table_in


def written(
    table: type[Table], root: str, steps: Sequence[int | str], variables: Mapping[str, str] | None = None
) -> str:
    """The setting that `steps` lead to from `table`, or into, as a line that sets it; `root` is the table's path."""
    path = root
    for step in steps:
        field = _field(table, step)
        inner = table_in(field.annotation)
        path, name = joined(path, step), step
        if inner is None:
            return _line(str(name), path, _example(field), variables or {})
        table = inner
    name, field = next(iter(_simple(table)))
    return f"[{path}], and below it settings as {name} = {json.dumps(_example(field))}"


def example_text(annotation: Any) -> str:
    """A value of this type as an environment variable takes it, quoted for a shell."""
    return _in_shell(_of_type(annotation))


def _field(table: type[Table], step: int | str) -> FieldInfo:
    return next(field for name, field in table.model_fields.items() if step in (name, field.alias))


def _simple(table: type[Table]) -> list[tuple[str, FieldInfo]]:
    """The table's settings that are no tables, those with a default first."""
    own = [(field.alias or name, field) for name, field in table.model_fields.items() if not table_in(field.annotation)]
    return sorted(own, key=lambda named: not named[1].default or named[1].is_required())


def _line(name: str, path: str, value: object, variables: Mapping[str, str]) -> str:
    variable = variables.get(path)
    return f"{name} = {json.dumps(value)}" if variable is None else f"{variable}={_in_shell(value)}"


def _in_shell(value: object) -> str:
    return shlex.quote(value if isinstance(value, str) else json.dumps(value))


def _example(field: FieldInfo) -> object:
    if not field.is_required() and field.default not in (None, "") and field.default_factory is None:
        return field.default
    return field.examples[0] if field.examples else _of_type(field.annotation)


def _of_type(annotation: Any) -> object:
    """A value of this type: the example that the type brings, else the plainest."""
    kind = get_origin(annotation)
    if kind is Annotated:
        brought = [mark.examples for mark in annotation.__metadata__ if isinstance(mark, FieldInfo) and mark.examples]
        return brought[-1][0] if brought else _of_type(get_args(annotation)[0])
    if kind in (Union, UnionType, tuple):
        value = _of_type(get_args(annotation)[0])
        return [value] if kind is tuple else value
    if kind is Literal:
        return get_args(annotation)[0]
    return _PLAINEST.get(plain_type(annotation), {})


_PLAINEST: Mapping[Any, object] = {bool: True, int: 1, float: 1.0, str: "text"}
