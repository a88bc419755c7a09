"""How long to wait between two looks at a job, and what is said when the time is up. Nobody sleeps here."""

import time
from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

from wagoe_jobs.client.making import checked_span
from wagoe_jobs.core.job import Job, Status

_FIRST_PAUSE = 0.002
_LAST_PAUSE = 0.25


def pauses(timeout: timedelta | float) -> Iterator[float]:
    """Seconds to wait between looks, growing, until the time is up; the last look has no wait after it."""
    deadline, pause = time.monotonic() + checked_span("timeout", timeout).total_seconds(), _FIRST_PAUSE
    while (left := deadline - time.monotonic()) > 0:
        yield min(pause, left)
        pause = min(pause * 1.5, _LAST_PAUSE)
    yield 0


def not_ended(job: Job | None, id: UUID | str, timeout: timedelta | float) -> TimeoutError:
    """What a wait raises, with where the job was when it was last seen: most often nobody runs its queue."""
    seen = "" if job is None else f": it is {job.status} in the queue {job.queue!r}"
    hint = "; does a worker run that?" if job is not None and job.status is Status.PENDING else ""
    return TimeoutError(f"job {id} has not ended after {timeout}{seen}{hint}")
