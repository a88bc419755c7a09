"""The fields of a stored job, however they were spelled, made into a `Job`, a `Run` or an `ErrorInfo`.

Fields come as a mapping from name, as `job-type`, to value. Absent ones have the job's defaults, unknown ones
are left alone: a newer version may have written them. Raises Undecodable for one that is not what it must be.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from wagoe_jobs.core.job import EPOCH, ErrorInfo, Job, Priority, Status
from wagoe_jobs.core.transit_types import Keyword
from wagoe_jobs.errors import Undecodable

T = TypeVar("T")
Fields = Mapping[str, Any]
STATUSES = {str(status): status for status in Status}
PRIORITIES = {str(priority): priority for priority in Priority}


class Run(NamedTuple):
    """What a worker needs of a job; `id` is the canonical text of the UUID, `args` and `metadata` are fresh."""

    id: str
    type: str
    args: Any
    retry_count: int
    max_retries: int
    metadata: Mapping[str, object]


def job_of(fields: Fields) -> Job:
    return Job(
        id=_uuid(fields),
        type=_name(fields, "job-type"),
        queue=_name(fields, "queue", "default"),
        args=fields.get("args", {}),
        status=_choice(STATUSES, fields, "status", Status.PENDING),
        priority=_choice(PRIORITIES, fields, "priority", Priority.NORMAL),
        retry_count=_count(fields, "retry-count", 0),
        max_retries=_count(fields, "max-retries", 3),
        execute_at=_instant(fields, "execute-at"),
        created_at=_instant(fields, "created-at") or EPOCH,
        updated_at=_instant(fields, "updated-at") or EPOCH,
        started_at=_instant(fields, "started-at"),
        completed_at=_instant(fields, "completed-at"),
        result=fields.get("result"),
        error=_error(fields.get("error")),
        metadata=metadata_of(fields.get("metadata", {})),
    )


def run_of(job: Job) -> Run:
    """The part of a job that a worker needs."""
    return Run(str(job.id), job.type, job.args, job.retry_count, job.max_retries, job.metadata)


def error_of(value: object) -> ErrorInfo:
    """The error of a map with keyword keys, or with plain ones."""
    if type(value) is not dict:
        raise Undecodable("the error is not a map")
    fields = named(value)
    return ErrorInfo(
        type=_name(fields, "type", "unknown"),
        message=_text(fields, "message") or "",
        exception_class=_text(fields, "exception-class"),
        stacktrace=_text(fields, "stacktrace"),
        details=fields.get("details"),
    )


def metadata_of(value: object) -> dict[str, object]:
    """Metadata by plain names. Whatever is tagged can stand in its place."""
    if type(value) is not dict:
        raise Undecodable("metadata is not a map")
    return named(value)


def named(entries: Mapping[Any, Any]) -> dict[str, Any]:
    """A map by the names of its keys: of keywords as of strings."""
    fields = {_plain(key): value for key, value in entries.items()}
    if len(fields) < len(entries):
        raise Undecodable("a field is there twice")
    return fields


def _plain(key: object) -> str:
    if type(key) is Keyword:
        return str(key)
    if type(key) is str:
        return key
    raise Undecodable("the name of a field is no keyword")


def _error(value: object) -> ErrorInfo | None:
    return None if value is None else error_of(value)


def _uuid(fields: Fields) -> UUID:
    value = fields.get("id")
    if type(value) is not UUID:
        raise Undecodable("id is not a UUID")
    return value


def _name(fields: Fields, field: str, default: str = "") -> str:
    value = fields.get(field, default)
    name = str(value) if type(value) is Keyword else value
    if type(name) is not str or not name:
        raise Undecodable(f"{field} is not a name")
    return name


def _text(fields: Fields, field: str) -> str | None:
    value = fields.get(field)
    if value is not None and type(value) is not str:
        raise Undecodable(f"{field} is not a string")
    return value


def _count(fields: Fields, field: str, default: int) -> int:
    value = fields.get(field, default)
    if type(value) is not int or value < 0:
        raise Undecodable(f"{field} is not a whole number from 0")
    return value


def _instant(fields: Fields, field: str) -> datetime | None:
    value = fields.get(field)
    if value is not None and type(value) is not datetime:
        raise Undecodable(f"{field} is not an instant")
    return value


def _choice(choices: Mapping[str, T], fields: Fields, field: str, default: T) -> T:
    if field not in fields:
        return default
    name = _name(fields, field)
    if name not in choices:
        raise Undecodable(f"{field} is none that this version knows")
    return choices[name]
