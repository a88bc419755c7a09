"""What every node with a pool does for the store besides running jobs: promote due jobs, reclaim abandoned ones.

One thread a pool. Each chore goes on in bounded steps while they come back full, and is then due again after
its interval, a little earlier each time by chance so that nodes do not march in step.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from random import uniform
from threading import Event, Thread
from time import monotonic
from types import TracebackType
from typing import Self

from wagoe_jobs.outage import Outage, part_from
from wagoe_jobs.ports import BATCH_LIMIT, LeasedJobQueue, Reclaimed

log = logging.getLogger("wagoe_jobs")

GLANCE = timedelta(milliseconds=40)
"""How often a pool without a lookout asks for due jobs: one of high priority must not wait for a backlog."""
UNPOLLED_REMINDER = 3600.0
"""Seconds between two warnings about one queue that nobody here polls."""


class Chore:
    """Something to be done every so often, whatever happens to it. `step` does one bounded piece of it."""

    def __init__(self, what: str, every: timedelta, step: Callable[[], bool]) -> None:
        """`step` answers whether there is more to do at once."""
        self._every = every.total_seconds()
        self._step = step
        self._outage = Outage(what)
        self.due = monotonic() + uniform(0, 0.1) * self._every

    def run(self, closing: Event) -> None:
        """Do it, and set when it is due again. Raises nothing."""
        try:
            while self._step() and not closing.is_set():
                pass
            self._outage.over()
            self.due = monotonic() + uniform(0.9, 1.0) * self._every
        except Exception as exc:  # noqa: BLE001 - the loop outlives whatever its store does
            self.due = monotonic() + min(self._outage.failed(exc), self._every)


class Housekeeper:
    """The thread; a context manager that joins it."""

    def __init__(
        self,
        queue: LeasedJobQueue,
        polled: Sequence[str],
        *,
        name: str,
        promote_every: timedelta,
        reclaim_every: timedelta,
        on_ready: Callable[[], None],
        unwatched: Callable[[], bool],
    ) -> None:
        """`on_ready` is called when jobs have become ready; `polled` are the queues that are served here.

        `unwatched` answers whether all slots are at work, so that none of them looks out for due jobs.
        """
        self._queue = queue
        self._polled = frozenset(polled)
        self._on_ready = on_ready
        self._unwatched = unwatched
        self._closing = Event()
        self._told = 0.0
        self._warned: dict[str, float] = {}
        self._chores = [
            Chore("promoting due jobs", promote_every, self._promote),
            Chore("promoting due jobs under load", min(promote_every, GLANCE), self._glance),
            Chore("reclaiming abandoned jobs", reclaim_every, self._reclaim),
            Chore("looking for queues that nobody polls", reclaim_every, self._report_unpolled),
        ]
        self._thread = Thread(target=self._run, name=f"{name}-housekeeping", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        part_from(self._thread, self._told)

    def stop(self) -> None:
        """Begin nothing more; what has begun goes on."""
        self._told = self._told or monotonic()
        self._closing.set()

    def _run(self) -> None:
        while not self._closing.wait(max(0.0, min(chore.due for chore in self._chores) - monotonic())):
            for chore in self._chores:
                if chore.due <= monotonic() and not self._closing.is_set():
                    chore.run(self._closing)

    def _promote(self) -> bool:
        promoted = self._queue.process_scheduled(BATCH_LIMIT)
        if promoted:
            self._on_ready()
        return promoted >= BATCH_LIMIT

    def _glance(self) -> bool:
        if not self._unwatched():
            return False
        due = self._queue.next_due()  # a read: the write below would be in the way of those who work
        return due is not None and due <= timedelta(0) and self._promote()

    def _reclaim(self) -> bool:
        reclaimed = self._queue.reclaim_abandoned(BATCH_LIMIT)
        for job in reclaimed:
            _tell(job)
        if reclaimed:
            self._on_ready()
        return len(reclaimed) >= BATCH_LIMIT

    def _report_unpolled(self) -> bool:
        now = monotonic()
        for name in self._queue.list_queues():
            if name not in self._polled and now - self._warned.get(name, -UNPOLLED_REMINDER) >= UNPOLLED_REMINDER:
                self._warned[name] = now
                log.warning("queue %r holds jobs, and no pool of this node polls it", name)
        return False


def _tell(job: Reclaimed) -> None:
    if job.buried:
        log.error(
            "job %s (%s) failed for good, a dead letter now: its worker died %d times", job.id, job.type, job.abandoned
        )
    else:
        log.warning("job %s (%s) was abandoned by its worker and is ready again", job.id, job.type)
