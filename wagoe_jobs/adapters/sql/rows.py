"""Between jobs and rows: what is written for a job, and how a row of either table is read back."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Row,
    Select,
    String,
    Table,
    Text,
    case,
    cast,
    literal_column,
    null,
    select,
    type_coerce,
)

from wagoe_jobs.adapters.sql.tables import SCHEDULED, Tables
from wagoe_jobs.core.codec import encode_job
from wagoe_jobs.core.job import Job, Status, to_micros
from wagoe_jobs.core.stored import Stored, read_job

_STATUS = {
    "ready": Status.PENDING,
    "scheduled": Status.PENDING,
    "processing": Status.RUNNING,
    **{str(status): status for status in Status},
}


def job_values(job: Job, delay: timedelta | None) -> dict[str, Any]:
    """The parameters of an insert; a delay comes before `execute_at`. Raises InvalidJob, PayloadTooLarge."""
    return {
        "p_id": str(job.id),
        "p_queue": job.queue,
        "p_rank": job.priority.rank,
        "p_type": job.type,
        "p_tenant": job.tenant,
        "p_budget": job.max_retries - job.retry_count,
        "p_payload": encode_job(job),
        "p_execute_at": None if job.execute_at is None else to_micros(job.execute_at),
        "p_delay": None if delay is None else micros(delay),
    }


def micros(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1)


def queue_rows(tables: Tables) -> Select[*tuple[Any, ...]]:
    """The columns of `Stored`, in its order, of work still to do."""
    q, none = tables.queue.c, cast(null(), Text)
    status = case(
        (q.status == SCHEDULED, case((q.retrying, literal_column("'retrying'")), else_=q.status)), else_=q.status
    )
    return _columns(tables.queue, status, q.locked_at, cast(null(), BigInteger), none, none)


def history_rows(tables: Tables) -> Select[*tuple[Any, ...]]:
    """The same of what has ended."""
    s = tables.store.c
    return _columns(tables.store, s.status, s.started_at, s.completed_at, s.result, s.error)


def stored(row: Row[Any]) -> Stored:
    found = Stored._make(row)
    return found._replace(status=_STATUS[found.status])


def jobs_of(rows: Iterable[Row[Any]]) -> list[Job]:
    return [read_job(stored(row)) for row in rows]


def _columns(
    table: Table,
    status: ColumnElement[Any],
    started: ColumnElement[Any],
    completed: ColumnElement[Any],
    result: ColumnElement[Any],
    error: ColumnElement[Any],
) -> Select[*tuple[Any, ...]]:
    t = table.c
    return select(
        t.id.label("id"),
        t.type.label("type"),
        t.queue.label("queue"),
        type_coerce(status, String).label("status"),
        t.priority_rank.label("priority_rank"),
        t.payload.label("payload"),
        t.created_at.label("created_at"),
        t.updated_at.label("updated_at"),
        t.execute_at.label("execute_at"),
        type_coerce(started, BigInteger).label("started_at"),
        type_coerce(completed, BigInteger).label("completed_at"),
        t.abandoned.label("abandoned"),
        type_coerce(result, String).label("result"),
        type_coerce(error, String).label("error"),
    )
