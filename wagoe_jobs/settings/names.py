"""How settings are spelled: every table is a frozen pydantic model that takes kebab-case and snake_case names alike.

Only setting names are folded. Keys that are names of something else (job types, queues, args) are left as
they are written. Whatever is wrong with a name is a `Refused`, which the readers turn into a SettingsError
with the full path. No reason ever quotes a value: it may be a secret.
"""

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, model_validator

_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Refused(ValueError):
    """A table that cannot be used because of `key`, a dotted path inside it; "" for the table itself."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key}: {reason}" if key else reason)
        self.key = key
        self.reason = reason


class Table(BaseModel):
    """A settings table: unknown names refused, no value coerced, no input shown in an error."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        hide_input_in_errors=True,
        allow_inf_nan=False,
        ser_json_inf_nan="null",
    )

    @model_validator(mode="before")
    @classmethod
    def _fold(cls, given: object) -> object:
        return folded(cls, given) if isinstance(given, Mapping) else given


def names_of(table: type[Table]) -> dict[str, Any]:
    """The table's setting names in snake_case, with the annotation of each."""
    return {field.alias or name: field.annotation for name, field in table.model_fields.items()}


def folded(table: type[Table], given: Mapping[Any, object]) -> dict[str, object]:
    """`given` with its names in snake_case; raises Refused for one that is unknown or given twice."""
    known = names_of(table)
    spelled: dict[str, str] = {}
    for key in given:
        name = fold(key)
        if name not in known:
            raise Refused(quoted(key), hint(str(key), table))
        if name in spelled:
            raise Refused(quoted(key), f"is given twice: as {spelled[name]} and as {key}")
        spelled[name] = key
    return {name: given[key] for name, key in spelled.items()}


def fold(key: object) -> str:
    return key.replace("-", "_") if isinstance(key, str) else ""


def quoted(key: object) -> str:
    """A key as TOML would write it in a dotted path."""
    text = str(key)
    return text if _BARE.fullmatch(text) else json.dumps(text)


def joined(*keys: object) -> str:
    return ".".join(str(key) for key in keys if key != "")


def hint(key: str, table: type[Table]) -> str:
    """Why `key` is refused: with the nearest of the table's names, or one further down, or all of them."""
    known = sorted(names_of(table))
    near = get_close_matches(fold(key).lower(), known, n=1, cutoff=0.6)
    below = [joined(*path) for path, _ in leaves(table) if path[-1] == fold(key)]
    for name in near + below:
        return f"did you mean {name}?"
    return f"there is no such setting; there are {', '.join(known)}"


def table_in(annotation: Any) -> type[Table] | None:
    """The table class that an annotation is, None when it is something else."""
    plain = plain_type(annotation)
    return plain if isinstance(plain, type) and issubclass(plain, Table) else None


def keyed_table_in(annotation: Any) -> type[Table] | None:
    """The class of the tables in a mapping keyed by job type, None when the annotation is no such mapping."""
    plain = plain_type(annotation)
    return table_in(get_args(plain)[1]) if get_origin(plain) is dict else None


def plain_type(annotation: Any) -> Any:
    """An annotation without its `| None` and its constraints."""
    if get_origin(annotation) is Annotated:
        return plain_type(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        return plain_type(kinds[0]) if len(kinds) == 1 else annotation
    return annotation


def leaves(table: type[Table], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every setting below `table` that is not a table of settings itself: its path and annotation."""
    for name, annotation in names_of(table).items():
        inner = table_in(annotation)
        if inner is None:
            yield (*path, name), annotation
        else:
            yield from leaves(inner, (*path, name))
