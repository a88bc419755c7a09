"""Finding a job by the beginning of its id, and the name that was meant by one that nobody knows."""

import re
from collections.abc import Iterable, Sequence
from uuid import UUID

import typer

from wagoe_jobs.cli.arguments import read_id
from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.errors import InvalidJob
from wagoe_jobs.ports import JobFilter, JobStore, PresentWorker, Runtime
from wagoe_jobs.registry import nearest

SAMPLE = 1_000
"""How many of the newest jobs are looked at to learn which types there are."""
_DIGITS = 32
_LEAST_DIGITS = 4


def jobs_beginning(store: JobStore, text: str) -> Sequence[Job]:
    """The jobs whose id begins so, some of them if there are many; a whole id means that job alone.

    Raises BadParameter for what can begin no id.
    """
    digits = text.replace("-", "").lower()
    if len(digits) >= _DIGITS or not re.fullmatch(f"[0-9a-f]{{{_LEAST_DIGITS},}}", digits):
        found = store.find(read_id(text))
        return [] if found is None else [found]
    lowest, highest = (UUID(digits.ljust(_DIGITS, end)) for end in "0f")
    # a page begins below its cursor, which is an id: one after the highest that can be meant
    above = None if highest.int == 2**128 - 1 else str(UUID(int=highest.int + 1))
    try:
        page = store.search(limit=5, cursor=above)
    except InvalidJob:  # a store of someone else, whose cursors are no ids
        raise typer.BadParameter(f"{text!r}: this store finds a job by its whole id only") from None
    return [job for job in page.jobs if job.id >= lowest]


def holder_of(runtime: Runtime, job: Job) -> PresentWorker | None:
    """The worker that tells that it runs this job; None where none does, or the store keeps no list of them."""
    if job.status is not Status.RUNNING:
        return None
    wanted = str(job.id)
    return next((one for one in workers_of(runtime) if any(each.id == wanted for each in one.running)), None)


def workers_of(runtime: Runtime) -> Sequence[PresentWorker]:
    return () if runtime.presence is None else runtime.presence.list()


def doubts(runtime: Runtime, wanted: JobFilter) -> Sequence[str]:
    """Why nothing may have been found: names that nothing here knows, each with the nearest that something does."""
    told: list[str] = []
    if wanted.queue is not None:
        told += _unknown("queue", wanted.queue, known_queues(runtime))
    if wanted.type is not None:
        told += _unknown("type", wanted.type, known_types(runtime))
    return told


def known_queues(runtime: Runtime) -> Sequence[str]:
    """Those that hold work or history, and those that a worker polls."""
    polled = (queue for worker in workers_of(runtime) for queue in worker.card.queues)
    return sorted({*(queue.queue for queue in runtime.stats.job_stats().queues), *polled})


def known_types(runtime: Runtime) -> Sequence[str]:
    """Those of the newest jobs, and those that a worker has a handler for."""
    handled = (type for worker in workers_of(runtime) for type in worker.card.job_types)
    return sorted({*(job.type for job in runtime.store.search(limit=SAMPLE).jobs), *handled})


def _unknown(what: str, name: str, known: Iterable[str]) -> Sequence[str]:
    known = list(known)
    return [] if name in known else [f"nothing here knows the {what} {name!r}{nearest(name, known)}"]
