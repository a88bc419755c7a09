"""Acting on many jobs, one after the other: an answer for each id, and dead letters redriven page by page."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from wagoe_jobs.cli.progress import Ended, work_through
from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.ports import JobFilter, JobStore, Runtime

PAGE = 200


class Told(NamedTuple):
    """What became of one id; `state` says in a word or two how the job is, or that there is none."""

    id: UUID
    done: bool
    state: str


def retry_each(runtime: Runtime, ids: Sequence[UUID]) -> tuple[Sequence[Told], Ended]:
    """Redrive each dead letter; whatever is none is left as it is and told."""
    return _each(ids, lambda id: _retried(runtime.store, id), "retrying")


def cancel_each(runtime: Runtime, ids: Sequence[UUID]) -> tuple[Sequence[Told], Ended]:
    """End each job that waits, and ask the holder of each that runs to stop."""
    return _each(ids, lambda id: _cancelled(runtime, id), "cancelling")


@dataclass(slots=True)
class Redriven:
    """How many dead letters got another chance, and how many were none any more when their turn came."""

    retried: int = 0
    skipped: int = 0


def redrive(store: JobStore, wanted: JobFilter, *, total: int | None) -> tuple[Redriven, Ended]:
    """Redrive every dead letter that is wanted, each once, whatever becomes of it meanwhile; so this ends."""
    done = Redriven()

    def act(job: Job) -> None:
        if store.retry(job.id):
            done.retried += 1
        else:
            done.skipped += 1

    ended = work_through(_dead_letters(store, wanted), act, what="retrying", total=total)
    return done, ended


def _dead_letters(store: JobStore, wanted: JobFilter) -> Iterator[Job]:
    """Page by page, ids falling: one that fails again keeps its id, which has been passed by."""
    page = store.search(wanted, limit=PAGE)
    yield from page.jobs
    while page.cursor is not None:
        page = store.search(wanted, limit=PAGE, cursor=page.cursor)
        yield from page.jobs


def _each(ids: Sequence[UUID], act: Callable[[UUID], Told], what: str) -> tuple[Sequence[Told], Ended]:
    told: list[Told] = []
    ended = work_through(ids, lambda id: told.append(act(id)), what=what, total=len(ids))
    return told, ended


def _retried(store: JobStore, id: UUID) -> Told:
    if store.retry(id):
        return Told(id, True, "retried")
    job = store.find(id)
    return Told(id, False, "unknown" if job is None else f"not a dead letter ({job.status.value})")


def _cancelled(runtime: Runtime, id: UUID) -> Told:
    done = runtime.queue.cancel(id)
    job = runtime.store.find(id)
    if done:
        return Told(id, True, "cancelled" if job is None or job.status is Status.CANCELLED else "asked to stop")
    return Told(id, False, "unknown" if job is None else f"has ended already ({job.status.value})")
