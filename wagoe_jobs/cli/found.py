"""Finding a job by the beginning of its id, and the worker that runs it."""

import re
from collections.abc import Sequence
from uuid import UUID

import typer

from wagoe_jobs.cli.arguments import read_id
from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.errors import InvalidJob
from wagoe_jobs.ports import JobStore, PresentWorker, Runtime

_DIGITS = 32
_LEAST_DIGITS = 4


def jobs_beginning(store: JobStore, text: str) -> Sequence[Job]:
    """The jobs whose id begins so, some of them if there are many; a whole id means that job alone.

    Raises BadParameter for what can begin no id.
    """
    digits = text.replace("-", "").lower()
    if not re.fullmatch(f"[0-9a-f]{{{_LEAST_DIGITS},}}", digits):
        raise typer.BadParameter(f"{text!r} begins no job id: give at least {_LEAST_DIGITS} of its digits, 0-9 and a-f")
    if len(digits) >= _DIGITS:
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
