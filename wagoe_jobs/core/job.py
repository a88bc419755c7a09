"""A job as a frozen value, and the transitions of its life.

    pending -> running -> completed | failed          pending | running -> cancelled
               running -> retrying -> pending         failed -> pending (manual retry)

A transition returns a new job; it does not ask whether it is allowed: the adapters' conditional
writes do. Nothing in here reads a clock or makes an id: both come in as arguments.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from uuid import UUID

from wagoe_jobs.core.told import told
from wagoe_jobs.errors import InvalidJob

MAX_RETRIES_LIMIT = 25
NAME_LIMIT = 200
BULK_LIMIT = 10_000
"""The most jobs that are stored together."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_MISSING_AT = "first-missing-at"
MISSES = "misses"
TENANT_ID = "tenant-id"

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Status(StrEnum):
    """Where a job is in its life; the last three are terminal."""

    PENDING = "pending"
    RUNNING = "running"
    RETRYING = "retrying"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        return self in TERMINAL


TERMINAL = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED})


class Priority(StrEnum):
    """How urgent a job is; `rank` 0 is claimed first."""

    CRITICAL = "critical"
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"

    @property
    def rank(self) -> int:
        return _RANKS[self]

    @classmethod
    def of_rank(cls, rank: int) -> "Priority":
        return PRIORITIES[rank]


PRIORITIES = tuple(Priority)
_RANKS = {priority: rank for rank, priority in enumerate(Priority)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorInfo:
    """Why a run failed: `type` is a short name, as `handler-error`; the rest is for people."""

    type: str
    message: str
    exception_class: str | None = None
    stacktrace: str | None = None
    details: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One unit of work. `args` is what the enqueuer gave; instants are aware, in UTC, store time.

    `retry_count` is the number of repeats used so far, `max_retries` how many there may be after the
    first run; `abandoned` counts the workers that died over it, each of which used a repeat too.
    `result` is set on a completed job only; `error` is the last one and stays after a retry.
    """

    id: UUID
    type: str
    queue: str = "default"
    args: object = None
    status: Status = Status.PENDING
    priority: Priority = Priority.NORMAL
    retry_count: int = 0
    abandoned: int = 0
    max_retries: int = 3
    execute_at: datetime | None = None
    created_at: datetime = EPOCH
    updated_at: datetime = EPOCH
    started_at: datetime | None = None
    completed_at: datetime | None = None
    result: object = None
    error: ErrorInfo | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)

    @property
    def repeats(self) -> int:
        """Repeats used so far, whatever used them."""
        return self.retry_count + self.abandoned

    @property
    def tenant(self) -> str | None:
        """The tenant that the job belongs to, None for the default schema."""
        tenant = self.metadata.get(TENANT_ID)
        return tenant if isinstance(tenant, str) else None


def make_job(
    type: str,
    args: object = None,
    *,
    id: UUID,
    now: datetime,
    queue: str = "default",
    priority: Priority | str = Priority.NORMAL,
    max_retries: int = 3,
    execute_at: datetime | None = None,
    metadata: Mapping[str, object] | None = None,
) -> Job:
    """A pending job, checked but for its args (encoding checks those).

    `args` None means no arguments, {}. Raises InvalidJob with the path of what is wrong.
    """
    if not isinstance(id, UUID):
        raise InvalidJob("id", f"must be a UUID, not {told(id)}")
    return Job(
        id=UUID(int=id.int),  # a subclass would not come back as what it was
        type=checked_name("type", type),
        queue=checked_name("queue", queue),
        args={} if args is None else args,
        priority=_checked_priority(priority),
        max_retries=_checked_retries(max_retries),
        execute_at=None if execute_at is None else checked_instant("execute_at", execute_at),
        created_at=checked_instant("now", now),
        updated_at=checked_instant("now", now),
        metadata=_checked_metadata(metadata),
    )


def start(job: Job, *, now: datetime) -> Job:
    return replace(job, status=Status.RUNNING, started_at=now, updated_at=now)


def complete(job: Job, result: object, *, now: datetime) -> Job:
    return replace(job, status=Status.COMPLETED, result=result, completed_at=now, updated_at=now)


def fail(job: Job, error: ErrorInfo, *, now: datetime) -> Job:
    return replace(job, status=Status.FAILED, error=error, completed_at=now, updated_at=now)


def cancel(job: Job, error: ErrorInfo | None, *, now: datetime) -> Job:
    return replace(job, status=Status.CANCELLED, error=error, completed_at=now, updated_at=now)


def retry(job: Job, error: ErrorInfo) -> Job:
    """The job as it waits for its next run: one repeat used. The store knows when that is due."""
    return replace(job, status=Status.RETRYING, retry_count=job.retry_count + 1, error=error)


def park(job: Job, *, missing_since: datetime | None) -> Job:
    """The job as it waits without a repeat being used; `missing_since` is set while no node knows its type."""
    metadata = {k: v for k, v in job.metadata.items() if k not in (FIRST_MISSING_AT, MISSES)}
    if missing_since is not None:
        misses = job.metadata.get(MISSES)
        metadata[FIRST_MISSING_AT] = missing_since
        metadata[MISSES] = (misses if isinstance(misses, int) else 0) + 1
    return replace(job, status=Status.PENDING, metadata=metadata)


def redrive(job: Job) -> Job:
    """A dead letter given another chance: its budget is whole again, its last error is kept."""
    fresh = park(job, missing_since=None)
    return replace(fresh, retry_count=0, abandoned=0, result=None, execute_at=None, started_at=None, completed_at=None)


def checked_name(path: str, name: object) -> str:
    """A job type's or queue's name as it is; raises InvalidJob unless it is 1 to 200 printable characters."""
    if type(name) is not str:
        raise InvalidJob(path, f"must be a str, not {told(name)}")
    if not name or len(name) > NAME_LIMIT or name != name.strip() or _CONTROL.search(name):
        raise InvalidJob(
            path, f"must be 1 to {NAME_LIMIT} characters without control characters or outer spaces: {told(name)}"
        )
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidJob(path, "holds half a surrogate pair, which is not text") from None
    return name


def checked_bulk(jobs: Sequence[Job]) -> Sequence[Job]:
    """The same jobs; raises InvalidJob for more than `BULK_LIMIT`."""
    if len(jobs) > BULK_LIMIT:
        raise InvalidJob("jobs", f"{len(jobs):,} jobs in one call, at most {BULK_LIMIT:,} are stored together")
    return jobs


def checked_instant(path: str, instant: object) -> datetime:
    """The same instant in UTC; raises InvalidJob for a naive datetime, which has no instant."""
    if not isinstance(instant, datetime):
        raise InvalidJob(path, f"must be an aware datetime, not {told(instant)}")
    if instant.tzinfo is None or instant.utcoffset() is None:
        raise InvalidJob(path, f"{instant.isoformat()} is naive: give it a time zone, as datetime.now(UTC) has")
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise InvalidJob(path, f"{instant.isoformat()} lies outside the years 1 to 9999 in UTC") from None


def to_micros(instant: datetime) -> int:
    """Microseconds since 1970 in UTC, exact: how stores keep an instant."""
    return (instant - EPOCH) // timedelta(microseconds=1)


def from_micros(micros: int) -> datetime:
    """The instant that `to_micros` made the number of."""
    return EPOCH + timedelta(microseconds=micros)


def _checked_priority(priority: Priority | str) -> Priority:
    try:
        return Priority(priority if isinstance(priority, str) else "")
    except ValueError:
        raise InvalidJob("priority", f"must be one of {', '.join(Priority)}, not {told(priority)}") from None


def _checked_retries(max_retries: object) -> int:
    if type(max_retries) is not int or not 0 <= max_retries <= MAX_RETRIES_LIMIT:
        raise InvalidJob(
            "max_retries", f"must be a whole number from 0 to {MAX_RETRIES_LIMIT}, not {told(max_retries)}"
        )
    return max_retries


def _checked_metadata(metadata: Mapping[str, object] | None) -> Mapping[str, object]:
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidJob("metadata", f"must be a mapping, not {told(metadata)}")
    for key in metadata:
        checked_name(f"metadata[{told(key)}]", key)
    return {key: value for key, value in metadata.items() if key not in (FIRST_MISSING_AT, MISSES)}
