"""Waiting for work of one queue: for news where the store gives any, else by polling, and for the next due job.

One idle slot at a time has the role; the others park and are woken by those who have work.
"""

from contextlib import ExitStack
from datetime import timedelta
from threading import Event, Lock
from types import TracebackType
from typing import Self

from wagoe_jobs.outage import Outage
from wagoe_jobs.ports import LeasedJobQueue, WakeUp, WakingJobQueue

SHORTEST = timedelta(milliseconds=1)


class Lookout:
    """The waiting place of one queue. `role` is held by whoever looks out."""

    def __init__(self, queue: LeasedJobQueue, name: str, first: float, longest: float) -> None:
        """Without news, looks come after `first` seconds and ever more rarely, `longest` apart at most."""
        self.role = Lock()
        self._queue = queue
        self._name = name
        self._first = first
        self._longest = longest
        self._pause = first
        self._outage = Outage(f"looking out for work in queue {name!r}")
        self._stopped = Event()
        self._place: WakeUp = _Nap()
        self._closing = ExitStack()

    def open(self) -> None:
        """Raises BackendUnavailable."""
        if isinstance(self._queue, WakingJobQueue):
            self._place = self._closing.enter_context(self._queue.wake_up(self._name))

    def close(self) -> None:
        self._closing.close()

    @property
    def taken(self) -> bool:
        return self.role.locked()

    def begin(self) -> None:
        """Look often at first: the queue has only just run dry."""
        self._pause = self._first

    def wait(self) -> None:
        """Block until there may be work; makes due jobs ready. Raises nothing."""
        try:
            due = self._queue.next_due()
            if not self._promoted(due):
                news = self._place.wait(self._pause_until(due))
                self._pause = self._first if news else min(2 * self._pause, self._longest)
            self._outage.over()
        except Exception as exc:  # noqa: BLE001 - the lookout outlives whatever the store does
            self.rest(self._outage.failed(exc))

    def rest(self, seconds: float) -> None:
        """Leave the store alone for a while; `stop` ends it."""
        self._stopped.wait(seconds)

    def interrupt(self) -> None:
        """End the present or the next wait."""
        self._place.interrupt()

    def stop(self) -> None:
        self._stopped.set()
        self._place.interrupt()

    def _promoted(self, due: timedelta | None) -> bool:
        """Whether jobs have just become ready, the earliest of which was `due`."""
        return due is not None and due <= timedelta(0) and self._queue.process_scheduled() > 0

    def _pause_until(self, due: timedelta | None) -> timedelta:
        pause = timedelta(seconds=self._pause)
        return pause if due is None else min(pause, max(due, SHORTEST))


class _Nap:
    """The waiting place of a queue that gives no news."""

    def __init__(self) -> None:
        self._bell = Event()

    def wait(self, timeout: timedelta) -> bool:
        rung = self._bell.wait(timeout.total_seconds())
        self._bell.clear()
        return rung

    def interrupt(self) -> None:
        self._bell.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        return None
