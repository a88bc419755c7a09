"""Names that nothing here knows, and the nearest that something does: of a search, and of a job that was just stored.

A doubt is a line for people and refuses nothing. What workers tell of themselves is some minutes old at most; what
the store holds says only who ran jobs before.
"""

from collections.abc import Iterable, Iterator, Sequence

from wagoe_jobs.cli.found import workers_of
from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.ports import JobFilter, Runtime
from wagoe_jobs.registry import nearest
from wagoe_jobs.settings import JobsSettings

SAMPLE = 1_000
"""How many of the newest jobs are looked at to learn which types there are."""


def doubts_of_search(runtime: Runtime, wanted: JobFilter) -> Iterator[str]:
    """Why nothing may have been found."""
    if wanted.queue is not None:
        yield from _unknown("queue", wanted.queue, _known_queues(runtime))
    if wanted.type is not None:
        yield from _unknown("type", wanted.type, _known_types(runtime))


def doubts_of_job(runtime: Runtime, job: Job, settings: JobsSettings, handled: Sequence[str] | None) -> Iterator[str]:
    """Why a job that waits may wait for ever; `handled` are the application's types, None if it was not imported."""
    yield from _unpolled(runtime, job.queue, settings)
    yield from _unhandled(runtime, job.type, handled)


def _unpolled(runtime: Runtime, queue: str, settings: JobsSettings) -> Iterator[str]:
    polled = {*(settings.workers.polled if settings.workers.count else ()), *_polled(runtime)}
    if queue in polled:
        return
    known = polled | set(_served(runtime))
    if queue not in known:
        yield f"nobody is known to poll the queue {queue!r}{nearest(queue, known)}"


def _unhandled(runtime: Runtime, type: str, handled: Sequence[str] | None) -> Iterator[str]:
    """Silent about a type that is like none: another node may know it, one that is not up or not asked."""
    known = {*(handled or ()), *_announced(runtime)}
    if type in known:
        return
    known |= {job.type for job in runtime.store.search(JobFilter(status=Status.COMPLETED), limit=SAMPLE).jobs}
    if type not in known and (meant := nearest(type, known)):
        who = "no worker is known to have a handler" if handled is None else "no handler here"
        yield f"{who} for {type!r}{meant}"


def _polled(runtime: Runtime) -> Iterator[str]:
    return (queue for worker in workers_of(runtime) for queue in worker.card.queues)


def _announced(runtime: Runtime) -> Iterator[str]:
    return (type for worker in workers_of(runtime) for type in worker.card.job_types)


def _served(runtime: Runtime) -> Iterator[str]:
    """Queues of which a job was taken; one that jobs only wait in may be the same slip, made before."""
    for queue in runtime.stats.job_stats().queues:
        if queue.in_flight or queue.failed or queue.mean is not None:
            yield queue.queue


def _known_queues(runtime: Runtime) -> Iterable[str]:
    """Those that hold work or history, and those that a worker polls."""
    return {*(queue.queue for queue in runtime.stats.job_stats().queues), *_polled(runtime)}


def _known_types(runtime: Runtime) -> Iterable[str]:
    """Those of the newest jobs, and those that a worker has a handler for."""
    return {*(job.type for job in runtime.store.search(limit=SAMPLE).jobs), *_announced(runtime)}


def _unknown(what: str, name: str, known: Iterable[str]) -> Iterator[str]:
    if name not in known:
        yield f"nothing here knows the {what} {name!r}{nearest(name, known)}"
