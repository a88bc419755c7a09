"""What to tell someone whose value cannot be stored: where it is, and what to give instead."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum

from wagoe_jobs.core.told import TOLD_LIMIT, told

_PATH_ENDS = 6  # of a long path, as one through a circle is, only the ends are told


def path_of(root: str, steps: Sequence[str]) -> str:
    """The path from `root` along `steps`, the last one first, as `args["to"][2]`."""
    ordered = list(reversed(steps))
    if len(ordered) > 2 * _PATH_ENDS:
        ordered[_PATH_ENDS:-_PATH_ENDS] = [" ... "]
    return root + "".join(ordered)


def key_step(key: object) -> str:
    """One step of a path: the entry of a map under `key`, or the member `key` of a set."""
    return f"[{json.dumps(key) if type(key) is str and len(key) <= TOLD_LIMIT else told(key)}]"


def advice(value: object) -> str:
    """Why a value of this type is refused, and what to do; the value itself is not quoted.

    Only its type is asked: a lazy proxy would look for what it stands for, and may raise.
    """
    kind = type(value)
    return f"a value of type {kind.__module__}.{kind.__qualname__} cannot be stored: {_instead(kind)}"


def _instead(kind: type) -> str:
    if issubclass(kind, Enum):
        return "give its .value"
    if issubclass(kind, (bytearray, memoryview)):
        return "give bytes(...) of it"
    if hasattr(kind, "__fspath__"):
        return "give str(...) of it"
    if issubclass(kind, tuple) and hasattr(kind, "_asdict"):
        return "give tuple(...) or ._asdict() of it"
    if hasattr(kind, "model_dump"):
        return "give .model_dump() of it"
    return "give dataclasses.asdict(...) of it" if is_dataclass(kind) else _as_builtin(kind)


def _as_builtin(kind: type) -> str:
    for builtin in kind.__mro__[1:-1]:
        if builtin.__module__ in ("builtins", "datetime", "decimal", "uuid"):
            return f"only exact types come back as they were, give a plain {builtin.__name__}"
    if issubclass(kind, Mapping):
        return "give dict(...) of it"
    if issubclass(kind, Iterator):
        return "give list(...) of it"
    return (
        "give plain data (None, bool, numbers, str, bytes, lists, dicts, sets, dates, UUIDs) that the handler can use"
    )
