"""A job as a store keeps it: the payload, and the columns that are laid over it on reading.

The payload holds what the enqueuer gave and what the last follow-up decided; status, place, times and the
end of the last run are columns, which change without the payload being written again.
"""

import re
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from wagoe_jobs.core import codec
from wagoe_jobs.core.job import ErrorInfo, Job, Priority, Status, from_micros, redrive
from wagoe_jobs.core.outcome import UNDECODABLE
from wagoe_jobs.errors import InvalidJob, Undecodable

PAGE_LIMIT = 1_000
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Stored(NamedTuple):
    """One row, queue or history; instants in microseconds since 1970, `result` and `error` encoded."""

    id: str
    type: str
    queue: str
    status: Status
    rank: int
    payload: str
    created_us: int
    updated_us: int
    due_us: int | None = None
    started_us: int | None = None
    completed_us: int | None = None
    abandoned: int = 0
    result: str | None = None
    error: str | None = None


def read_job(row: Stored) -> Job:
    """The job that a reader sees; one that cannot be read is told as such, with its text in `args`."""
    try:
        return _laid_over(codec.decode_job(row.payload), row)
    except Undecodable as exc:
        error = ErrorInfo(type=UNDECODABLE, message=exc.reason)
        bare = Job(id=UUID(row.id), type=row.type, queue=row.queue, args=row.payload, error=error)
        return replace(_laid_over(bare, row._replace(result=None, error=None)), error=error)


def budget_of(payload: str) -> int | None:
    """How many repeats the follow-up with this text has left, None when it cannot be read."""
    try:
        run = codec.decode_run(payload)
    except Undecodable:
        return None
    return run.max_retries - run.retry_count


def next_life(row: Stored) -> tuple[str | None, int]:
    """The payload of a dead letter that is redriven, None to keep its text, and how many repeats it allows.

    What cannot be read goes round again as it is, with the repeats of a job that names none.
    """
    try:
        job = redrive(_laid_over(codec.decode_job(row.payload), row))
    except Undecodable:
        return None, read_job(row).max_retries
    return follow_up(job), job.max_retries


def checked_cursor(cursor: str) -> str:
    """The id of the last job of a page, which is its cursor. Raises InvalidJob for any other text."""
    if not isinstance(cursor, str) or not _ID.fullmatch(cursor):
        raise InvalidJob("cursor", "must be what an earlier page gave")
    return cursor


def checked_page(limit: int) -> int:
    """How many jobs a page may hold. Raises InvalidJob for what is no number from 1 to 1,000."""
    if type(limit) is not int or not 1 <= limit <= PAGE_LIMIT:
        raise InvalidJob("limit", f"must be a whole number from 1 to {PAGE_LIMIT:,}")
    return limit


def follow_up(job: Job) -> str | None:
    """The payload of a job that goes on; a large one keeps less of its error rather than lose its repeat.

    None when it cannot be written at all: its text stays as it is.
    """
    if (text := _fitting(job)) is not None or job.error is None:
        return text
    slim = replace(job.error, stacktrace=None, details=None, message=job.error.message[:200])
    return _fitting(replace(job, error=slim)) or _fitting(replace(job, error=None))


def _fitting(job: Job) -> str | None:
    try:
        return codec.encode_job(job, limit=codec.FOLLOW_UP_LIMIT)
    except InvalidJob:
        return None


def _laid_over(job: Job, row: Stored) -> Job:
    return replace(
        job,
        id=UUID(row.id),
        status=row.status,
        priority=Priority.of_rank(row.rank),
        execute_at=_instant(row.due_us),
        created_at=from_micros(row.created_us),
        updated_at=from_micros(row.updated_us),
        started_at=_instant(row.started_us),
        completed_at=_instant(row.completed_us),
        abandoned=row.abandoned,
        result=None if row.result is None else codec.decode_value(row.result),
        error=job.error if row.error is None else codec.decode_error(row.error),
    )


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
