"""How jobs and statistics look: as a JSON document of a stable shape, and as lines for people."""

from collections.abc import Mapping
from datetime import datetime

from wagoe_jobs.cli.output import Output
from wagoe_jobs.core.job import ErrorInfo, Job
from wagoe_jobs.ports import QueueStats, StatsTotals

JOB_COLUMNS = ("id", "type", "queue", "status", "repeats", "ended", "error")
QUEUE_COLUMNS = (
    "queue",
    "critical",
    "high",
    "normal",
    "low",
    "scheduled",
    "in flight",
    "processed",
    "failed",
    "mean ms",
    "p95 ms",
    "oldest s",
)


def job_document(job: Job) -> Mapping[str, object]:
    """One job; every key is always there. Instants are ISO 8601 in UTC."""
    return {
        "id": str(job.id),
        "type": job.type,
        "queue": job.queue,
        "status": job.status.value,
        "priority": job.priority.value,
        "args": job.args,
        "retry_count": job.retry_count,
        "abandoned": job.abandoned,
        "max_retries": job.max_retries,
        "execute_at": job.execute_at,
        "created_at": job.created_at,
        "updated_at": job.updated_at,
        "started_at": job.started_at,
        "completed_at": job.completed_at,
        "result": job.result,
        "error": None if job.error is None else _error_document(job.error),
        "metadata": job.metadata,
    }


def stats_document(stats: StatsTotals) -> Mapping[str, object]:
    return {
        "processed": stats.processed,
        "succeeded": stats.succeeded,
        "failed": stats.failed,
        "workers": list(stats.workers),
        "queues": [_queue_document(queue) for queue in stats.queues],
    }


def show_job(job: Job, output: Output) -> None:
    document = job_document(job)
    for name in ("id", "type", "queue", "status", "priority", "retry_count", "abandoned", "max_retries"):
        output.line(f"{name:13} {document[name]}")
    for name in ("created_at", "execute_at", "started_at", "completed_at"):
        instant = document[name]
        if isinstance(instant, datetime):
            output.line(f"{name:13} {instant.isoformat()}")
    output.line(f"{'args':13} {job.args!r}")
    if job.result is not None:
        output.line(f"{'result':13} {job.result!r}")
    if job.metadata:
        output.line(f"{'metadata':13} {dict(job.metadata)!r}")
    if job.error is not None:
        _show_error(job.error, output)


def show_jobs(jobs: list[Job], output: Output) -> None:
    output.table(JOB_COLUMNS, [_job_row(job) for job in jobs])


def show_stats(stats: StatsTotals, output: Output) -> None:
    output.line(f"processed {stats.processed:,}, of which {stats.succeeded:,} succeeded and {stats.failed:,} failed")
    output.line(f"workers   {', '.join(stats.workers) or 'none holds a job now'}")
    if stats.queues:
        output.table(QUEUE_COLUMNS, [_queue_row(queue) for queue in stats.queues])


def _error_document(error: ErrorInfo) -> Mapping[str, object]:
    return {
        "type": error.type,
        "message": error.message,
        "exception_class": error.exception_class,
        "stacktrace": error.stacktrace,
        "details": error.details,
    }


def _show_error(error: ErrorInfo, output: Output) -> None:
    output.line(f"{'error':13} {error.type}: {error.message}")
    if error.exception_class:
        output.line(f"{'raised':13} {error.exception_class}")
    if error.stacktrace:
        output.lines(error.stacktrace)


def _job_row(job: Job) -> tuple[object, ...]:
    ended = job.completed_at.isoformat(timespec="seconds") if job.completed_at else None
    error = f"{job.error.type}: {job.error.message}"[:200] if job.error else None
    return (job.id, job.type, job.queue, job.status.value, job.repeats, ended, error)


def _queue_document(stats: QueueStats) -> Mapping[str, object]:
    return {
        "queue": stats.queue,
        "waiting": dict(stats.waiting),
        "scheduled": stats.scheduled,
        "in_flight": stats.in_flight,
        "oldest_ready_s": stats.oldest_ready,
        "processed": stats.processed,
        "failed": stats.failed,
        "mean_s": stats.mean,
        "p95_s": stats.p95,
    }


def _queue_row(stats: QueueStats) -> tuple[object, ...]:
    return (
        stats.queue,
        *(stats.waiting.get(priority, 0) for priority in ("critical", "high", "normal", "low")),
        stats.scheduled,
        stats.in_flight,
        stats.processed,
        stats.failed,
        None if stats.mean is None else round(stats.mean.total_seconds() * 1000, 1),
        None if stats.p95 is None else round(stats.p95.total_seconds() * 1000, 1),
        None if stats.oldest_ready is None else round(stats.oldest_ready.total_seconds(), 1),
    )
