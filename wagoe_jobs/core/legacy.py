"""Jobs as the generation before transit stored them: a plain JSON object, as {"id": "...", "job-type": "send-email"}.

Names are plain strings, in kebab-case or snake_case, and so are what were keywords: type, queue, status, priority
and an error's type. Instants are milliseconds since 1970, or RFC 3339 text. Args, result and other metadata are
JSON as it stands: a string that begins with `~` is that string.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from wagoe_jobs.core import transit_scalars as scalars
from wagoe_jobs.core.job import FIRST_MISSING_AT, MISSES, TENANT_ID
from wagoe_jobs.core.transit_types import DEPTH_LIMIT
from wagoe_jobs.errors import Undecodable

_INSTANTS = ("execute-at", "created-at", "updated-at", "started-at", "completed-at")


def is_legacy(node: object) -> bool:
    """Whether parsed JSON is a job of that generation: transit would write the key `~:id`."""
    return type(node) is dict and "id" in node and "~:id" not in node


def legacy_fields(node: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of such a job by name, null ones left out. Raises Undecodable, ValueError or OverflowError."""
    fields = _kebab(node)
    for values in node.values():
        _check_depth(values)
    fields["id"] = scalars.uuid(_string(fields.get("id")))
    for name in _INSTANTS:
        if name in fields:
            fields[name] = _instant(fields[name])
    if type(fields.get("error")) is dict:
        fields["error"] = _kebab(fields["error"])
    if type(fields.get("metadata")) is dict:
        fields["metadata"] = _metadata(fields["metadata"])
    return fields


def _metadata(node: Mapping[str, Any]) -> dict[str, Any]:
    """The application's own names stay as they are; those of this library are found in either case."""
    metadata = dict(node)
    for name in (TENANT_ID, FIRST_MISSING_AT, MISSES):
        if name.replace("-", "_") in metadata:
            metadata.setdefault(name, metadata.pop(name.replace("-", "_")))
    if FIRST_MISSING_AT in metadata:
        metadata[FIRST_MISSING_AT] = _instant(metadata[FIRST_MISSING_AT])
    return metadata


def _kebab(node: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name.replace("_", "-"): value for name, value in node.items()}
    if len(fields) < len(node):
        raise Undecodable("a field is there in both cases")
    return {name: value for name, value in fields.items() if value is not None}


def _instant(value: object) -> datetime:
    if type(value) is int:
        return scalars.instant_of_millis(value)
    return scalars.instant(_string(value))


def _string(value: object) -> str:
    if type(value) is not str:
        raise Undecodable("a field of an old job is not a string")
    return value


def _check_depth(value: Any, depth: int = 0) -> None:
    if type(value) is not dict and type(value) is not list:
        return
    if depth >= DEPTH_LIMIT:
        raise Undecodable(f"containers are nested more than {DEPTH_LIMIT} deep")
    for item in value.values() if type(value) is dict else value:
        _check_depth(item, depth + 1)
