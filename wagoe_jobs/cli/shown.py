"""How jobs, queues and workers look to people: lines and tables; what programs read is in `documents`."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from wagoe_jobs.cli.documents import place_of
from wagoe_jobs.cli.output import Output, plain
from wagoe_jobs.cli.tables import Column
from wagoe_jobs.cli.times import ago, millis, span
from wagoe_jobs.clock import Clock
from wagoe_jobs.core.job import PRIORITIES, ErrorInfo, Job, from_micros
from wagoe_jobs.ports import PresentWorker, QueueStats, StatsTotals
from wagoe_jobs.registry import Handler

MOST_SHOWN = 4_000
"""How many characters of a value are shown; --json has all of it."""
MOST_TOLD = 200
"""How many characters of an error stand in a row."""

_JOBS = (
    Column("id"),
    Column("type", 10),
    Column("queue", 7),
    Column("status", state=True),
    Column("repeats", spare=True),
    Column("created"),
    Column("ended", spare=True),
    Column("error", 16, spare=True),
)
_DEAD_LETTERS = (
    Column("id"),
    Column("type", 10),
    Column("queue", 7, spare=True),
    Column("repeats", spare=True),
    Column("ended"),
    Column("error", 16),
)
_QUEUES = (
    Column("queue", 10),
    *(Column(priority.value) for priority in PRIORITIES),
    Column("scheduled"),
    Column("running"),
    Column("oldest"),
    Column("workers", state=True),
    Column("failed"),
    Column("processed", spare=True),
    Column("mean ms", spare=True),
    Column("p95 ms", spare=True),
)
_WORKERS = (
    Column("worker", 16),
    Column("host", 8, spare=True),
    Column("pid"),
    Column("version", spare=True),
    Column("queues", 10),
    Column("slots"),
    Column("running"),
    Column("heard of"),
    Column("state", state=True),
    Column("polled", spare=True),
    Column("types", 10, spare=True),
)
_RUNNING = (Column("running job"), Column("type", 10), Column("since"), Column("worker", 12))
_TYPES = (
    Column("type", 12),
    Column("function", 20),
    Column("kind"),
    Column("queue", 7),
    Column("retries"),
    Column("timeout"),
    Column("args", 10, spare=True),
    Column("jobs", spare=True),
)


class Polled(NamedTuple):
    """A queue and how many workers poll it; None where the store keeps no list of them."""

    stats: QueueStats
    workers: int | None


def show_job(job: Job, output: Output) -> None:
    for name, value in (
        ("id", job.id),
        ("type", job.type),
        ("queue", job.queue),
        ("status", job.status.value),
        ("priority", job.priority.value),
        ("repeats", f"{job.repeats} of {job.max_retries}" + (f", {job.abandoned} abandoned" if job.abandoned else "")),
        ("tenant", job.tenant),
        ("created", _instant(job.created_at, output)),
        ("due", _instant(job.execute_at, output)),
        ("started", _instant(job.started_at, output)),
        ("updated", _instant(job.updated_at, output)),
        ("ended", _instant(job.completed_at, output)),
        ("ran", _ran(job)),
    ):
        if value is not None:
            output.line(f"{name:13} {value}")
    _show_value("args", job.args, output)
    if job.result is not None:
        _show_value("result", job.result, output)
    if job.metadata:
        _show_value("metadata", job.metadata, output)
    if job.error is not None:
        _show_error(job.error, output)


def show_holder(worker: PresentWorker, output: Output) -> None:
    output.line(f"{'worker':13} {worker.card.name} (pid {worker.card.pid} on {worker.card.host})")


def show_jobs(jobs: Sequence[Job], output: Output) -> None:
    output.table(
        _JOBS,
        [
            (
                job.id,
                job.type,
                job.queue,
                job.status.value,
                job.repeats,
                _moment(job.created_at, output),
                _moment(job.completed_at, output),
                _in_a_row(job.error),
            )
            for job in jobs
        ],
    )


def show_dead_letters(jobs: Sequence[Job], output: Output) -> None:
    output.table(
        _DEAD_LETTERS,
        [
            (job.id, job.type, job.queue, job.repeats, _moment(job.completed_at, output), _in_a_row(job.error))
            for job in jobs
        ],
    )


def show_stats(stats: StatsTotals, queues: Sequence[Polled], output: Output) -> None:
    cancelled = stats.processed - stats.succeeded - stats.failed
    ended = f"{stats.succeeded:,} succeeded, {stats.failed:,} failed, {cancelled:,} cancelled"
    output.line(f"processed {stats.processed:,}: {ended}")
    output.line(f"workers   {', '.join(stats.workers) or 'none holds a job now'}")
    if queues:
        show_queues(queues, output)


def show_queues(queues: Sequence[Polled], output: Output) -> None:
    output.table(_QUEUES, [_queue_row(queue, output) for queue in queues])


def show_workers(workers: Sequence[PresentWorker], stale: Sequence[bool], output: Output) -> None:
    output.table(_WORKERS, [_worker_row(worker, old, output) for worker, old in zip(workers, stale, strict=True)])
    running = [
        (job.id, job.type, _moment(from_micros(job.since_us), output), worker.card.name)
        for worker in workers
        for job in worker.running
    ]
    if running:
        output.line("")
        output.table(_RUNNING, running)


def show_types(handlers: Sequence[Handler], jobs: Mapping[str, int] | None, output: Output) -> None:
    output.table(
        _TYPES,
        [
            (
                handler.type,
                place_of(handler.function),
                "async" if handler.is_async else "sync",
                handler.queue or "default",
                3 if handler.max_retries is None else handler.max_retries,
                "none" if handler.timeout is None else span(handler.timeout),
                "any" if handler.args_model is None else handler.args_model.__qualname__,
                None if jobs is None else jobs.get(handler.type, 0),
            )
            for handler in handlers
        ],
    )


def counted(number: int, what: str) -> str:
    """`1 job`, `1,204 jobs`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _show_value(name: str, value: object, output: Output) -> None:
    text = json.dumps(plain(value), indent=2, ensure_ascii=False, sort_keys=True)
    first, *others = text[:MOST_SHOWN].splitlines()
    output.line(f"{name:13} {first}")
    for line in others:
        output.line(f"{'':13} {line}")
    if len(text) > MOST_SHOWN:
        output.line(f"{'':13} ... {len(text) - MOST_SHOWN:,} characters more: --json has them")


def _show_error(error: ErrorInfo, output: Output) -> None:
    output.line(f"{'error':13} {_told(error)}")
    if error.exception_class:
        output.line(f"{'raised':13} {error.exception_class}")
    if error.details is not None:
        _show_value("details", error.details, output)
    for line in (error.stacktrace or "").splitlines():  # set in, so that none of them can pose as a line of ours
        output.line(f"{'':13} {line}")


def _ran(job: Job) -> str | None:
    if job.started_at is None or job.completed_at is None:
        return None
    return f"{millis(job.completed_at - job.started_at)} ms"


def _instant(instant: datetime | None, output: Output) -> str | None:
    if instant is None:
        return None
    return instant.isoformat() + (f" ({ago(instant, Clock().now())})" if output.terminal else "")


def _moment(instant: datetime | None, output: Output) -> str | None:
    if instant is None:
        return None
    return ago(instant, Clock().now()) if output.terminal else instant.isoformat(timespec="seconds")


def _in_a_row(error: ErrorInfo | None) -> str | None:
    return None if error is None else _told(error)[:MOST_TOLD]


def _told(error: ErrorInfo) -> str:
    """`handler-error: KeyError: 'article'`; the message of an exception that has none is its class already."""
    name = (error.exception_class or "").rpartition(".")[2]
    raised = f"{name}: " if name and name != error.message else ""
    return f"{error.type}: {raised}{error.message}"


def _queue_row(queue: Polled, output: Output) -> tuple[object, ...]:
    stats, oldest = queue.stats, queue.stats.oldest_ready
    return (
        stats.queue,
        *(stats.waiting.get(priority, 0) for priority in PRIORITIES),
        stats.scheduled,
        stats.in_flight,
        None if oldest is None else span(oldest) if output.terminal else round(oldest.total_seconds(), 1),
        None if queue.workers is None else queue.workers or "nobody",
        stats.failed,
        stats.processed,
        millis(stats.mean),
        millis(stats.p95),
    )


def _worker_row(worker: PresentWorker, stale: bool, output: Output) -> tuple[object, ...]:
    card = worker.card
    return (
        card.name,
        card.host,
        card.pid,
        card.version,
        ",".join(card.queues),
        card.slots,
        worker.running_count,
        f"{span(worker.age)} ago" if output.terminal else round(worker.age.total_seconds(), 1),
        "stale" if stale else "ok",
        None if worker.polled_us is None else _moment(from_micros(worker.polled_us), output),
        ",".join(card.job_types),
    )
