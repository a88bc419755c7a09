"""What to tell someone whose value cannot be stored: where it is, and what to give instead."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum

_PATH_ENDS = 6  # of a long path, as one through a circle is, only the ends are told
_KEY_LIMIT = 80


def path_of(root: str, steps: Sequence[str]) -> str:
    """The path from `root` along `steps`, the last one first, as `args["to"][2]`."""
    ordered = list(reversed(steps))
    if len(ordered) > 2 * _PATH_ENDS:
        ordered[_PATH_ENDS:-_PATH_ENDS] = [" ... "]
    return root + "".join(ordered)


def key_step(key: object) -> str:
    """One step of a path: the entry of a map under `key`, or the member `key` of a set."""
    told = json.dumps(key) if type(key) is str else repr(key)
    return f"[{told if len(told) <= _KEY_LIMIT else told[:_KEY_LIMIT] + '...'}]"


def advice(value: object) -> str:
    """Why a value of this type is refused, and what to do; the value itself is not quoted."""
    kind = type(value)
    return f"a value of type {kind.__module__}.{kind.__qualname__} cannot be stored: {_instead(value)}"


def _instead(value: object) -> str:
    match value:
        case Enum():
            return "give its .value"
        case bytearray() | memoryview():
            return "give bytes(...) of it"
        case _ if hasattr(value, "__fspath__"):
            return "give str(...) of it"
        case tuple() if hasattr(value, "_asdict"):
            return "give tuple(...) or ._asdict() of it"
        case _ if hasattr(value, "model_dump"):
            return "give .model_dump() of it"
        case _ if is_dataclass(value):
            return "give dataclasses.asdict(...) of it"
        case _:
            return _as_builtin(value)


def _as_builtin(value: object) -> str:
    for builtin in type(value).__mro__[1:-1]:
        if builtin.__module__ in ("builtins", "datetime", "decimal", "uuid"):
            return f"only exact types come back as they were, give a plain {builtin.__name__}"
    if isinstance(value, Mapping):
        return "give dict(...) of it"
    if isinstance(value, Iterator):
        return "give list(...) of it"
    return (
        "give plain data (None, bool, numbers, str, bytes, lists, dicts, sets, dates, UUIDs) that the handler can use"
    )
