"""From what a source gave to tables of the right shape, and from what pydantic found wrong to one SettingsError.

Names are folded, values stay as they are. What has the wrong kind is refused with the kind that was given and
an example of the setting, in the spelling of the source that gave it; never with the value, which may be a secret.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from wagoe_jobs.errors import SettingsError
from wagoe_jobs.settings.examples import written
from wagoe_jobs.settings.names import Refused, Table, folded, joined, keyed_table_in, names_of, quoted, table_in


def tree(table: type[Table], given: object, path: str) -> dict[str, object]:
    """`given` with every setting name below it in snake_case, values untouched; raises SettingsError."""
    if isinstance(given, Table):
        given = given.model_dump(by_alias=True, exclude_unset=True)
    if not isinstance(given, Mapping):
        raise SettingsError(path, f"must be a table, not {kind_of(given)}: write {written(table, path, ())}")
    try:
        level = folded(table, given)
    except Refused as refused:
        raise SettingsError(joined(path, refused.key), refused.reason) from None
    annotations = names_of(table)
    return {name: _branch(annotations[name], value, joined(path, name)) for name, value in level.items()}


def _branch(annotation: Any, value: object, path: str) -> object:
    if (inner := table_in(annotation)) is not None:
        return tree(inner, value, path)
    if (keyed := keyed_table_in(annotation)) is not None and isinstance(value, Mapping):
        return {key: tree(keyed, entry, joined(path, quoted(key))) for key, entry in value.items()}
    return value


def as_settings_error(
    error: ValidationError,
    root: str,
    table: type[Table] | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> SettingsError:
    """The first thing that is wrong, under its full path; with our `table`, wrong kinds get an example.

    `variables` are the names in the environment of what it gave, by path.
    """
    first = error.errors(include_url=False)[0]
    context, path = first.get("ctx", {}), _path(root, first["loc"])
    match context.get("error"):
        case Refused(key=key, reason=reason):
            return SettingsError(joined(path, key), reason)
        case ValueError() as cause:
            return SettingsError(path, str(cause))
    kind, reason = first["type"], _reason(first["type"], first["msg"], context)
    if kind in _KINDS or (kind == "literal_error" and not isinstance(first["input"], str)):
        reason += f", not {kind_of(first['input'])}"
    if kind in _EXAMPLED and table is not None:
        reason += f": write {written(table, root, first['loc'], variables)}"
    return SettingsError(path, reason)


def _path(root: str, steps: Iterable[int | str]) -> str:
    path = root
    for step in steps:
        if step != "[key]":  # pydantic's mark that the key itself is wrong, which the path shows anyway
            path = f"{path}[{step}]" if isinstance(step, int) else joined(path, quoted(step))
    return path


def kind_of(given: object) -> str:
    """What kind of value that is, as a reader of settings would call it."""
    for types, name in _NAMES:
        if isinstance(given, types):
            return name
    return f"a Python object of type {type(given).__name__}"


_NAMES: tuple[tuple[Any, str], ...] = (
    (type(None), "None"),
    (bool, "true or false"),
    (str, "text"),
    (int, "a whole number"),
    (float, "a number with a point"),
    ((datetime, date, time), "a date or time"),
    (Mapping, "a table"),
    ((list, tuple), "a list"),
)


def _reason(kind: str, message: str, context: Mapping[str, object]) -> str:
    match kind:
        case "greater_than_equal":
            return f"must be at least {context['ge']}"
        case "greater_than":
            return f"must be more than {context['gt']}"
        case "less_than_equal":
            return f"must be at most {context['le']}"
        case "literal_error":
            return f"must be {context['expected']}"
        case _:
            return _KINDS.get(kind) or _REASONS.get(kind, message)


_KINDS = {
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
}
_REASONS = {
    "finite_number": "must be a finite number",
    "string_too_short": "must not be empty",
    "missing": "is missing",
}
_EXAMPLED = {*_KINDS, "finite_number", "literal_error", "missing"}
