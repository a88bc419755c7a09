"""What --json answers: shapes that stay, every key always there. Instants are ISO 8601 in UTC, durations seconds."""

from collections.abc import Mapping, Sequence

from wagoe_jobs.cli.many import Told
from wagoe_jobs.core.job import ErrorInfo, Job, from_micros
from wagoe_jobs.ports import Page, PresentWorker, QueueStats, RunningJob, StatsTotals
from wagoe_jobs.registry import Handler

Document = Mapping[str, object]


def job_document(job: Job) -> Document:
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


def page_document(page: Page) -> Document:
    return {"jobs": [job_document(job) for job in page.jobs], "cursor": page.cursor}


def told_document(told: Sequence[Told], *, complete: bool) -> Document:
    jobs = [{"id": str(one.id), "done": one.done, "state": one.state} for one in told]
    return {"jobs": jobs, "complete": complete}


def stats_document(stats: StatsTotals) -> Document:
    return {
        "processed": stats.processed,
        "succeeded": stats.succeeded,
        "failed": stats.failed,
        "workers": list(stats.workers),
        "queues": [queue_document(queue) for queue in stats.queues],
    }


def queue_document(stats: QueueStats) -> Mapping[str, object]:
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


def worker_document(worker: PresentWorker, *, stale: bool) -> Document:
    card = worker.card
    return {
        "name": card.name,
        "host": card.host,
        "pid": card.pid,
        "version": card.version,
        "queues": list(card.queues),
        "types": list(card.job_types),
        "slots": card.slots,
        "started_at": from_micros(card.started_us),
        "polled_at": None if worker.polled_us is None else from_micros(worker.polled_us),
        "age_s": worker.age,
        "stale": stale,
        "running_count": worker.running_count,
        "running": [_running_document(job) for job in worker.running],
    }


def handler_document(handler: Handler) -> Document:
    model = handler.args_model
    return {
        "type": handler.type,
        "function": place_of(handler.function),
        "async": handler.is_async,
        "queue": handler.queue,
        "max_retries": handler.max_retries,
        "timeout_s": handler.timeout,
        "args_model": None if model is None else place_of(model),
    }


def place_of(thing: object) -> str:
    """Where a function or class is from, as `shop.receipts.print_one`; an object that is called tells its class."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}.{getattr(named, '__qualname__', '?')}"


def _running_document(job: RunningJob) -> Document:
    return {"id": job.id, "type": job.type, "since": from_micros(job.since_us)}


def _error_document(error: ErrorInfo) -> Document:
    return {
        "type": error.type,
        "message": error.message,
        "exception_class": error.exception_class,
        "stacktrace": error.stacktrace,
        "details": error.details,
    }
