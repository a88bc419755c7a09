"""The shared state of the memory adapter: all rows, the lines they stand in, the lock, the clock, and who waits.

Every transition of a row is a method here, to be called with the lock held; none blocks. A row is in `rows`
wherever it is, history included, so that an id is known for as long as anything of it is kept.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from itertools import count
from typing import NamedTuple

from wagoe_jobs.adapters.memory.line import Line, Row, leave
from wagoe_jobs.clock import ClockOffset
from wagoe_jobs.core.job import Status
from wagoe_jobs.ports import Beat, Schedule, WorkerCard


class Heard(NamedTuple):
    """A worker's card and the last that was heard of it."""

    card: WorkerCard
    heard_us: int
    polled_us: int | None = None
    beat: Beat = Beat()


class MemoryState:
    """What all parts of one store share. Its clock starts at the host's time and is monotonic from there."""

    def __init__(self, *, clock_offset: ClockOffset | None = None) -> None:
        self.clock_offset = clock_offset or ClockOffset()
        self.lock = threading.Lock()
        self.rows: dict[str, Row] = {}
        self.ready: dict[str, Line] = defaultdict(Line)
        self.scheduled = Line()
        self.in_flight = Line()
        self.keys: dict[tuple[str, str], tuple[int, str]] = {}
        self.schedules: dict[str, Schedule] = {}
        self.ticker: tuple[str, int] | None = None
        self.workers: dict[str, Heard] = {}
        self.tokens = count(1)
        self._sequence = count(1)
        self._ends = count(1)
        self._epoch_ns = time.time_ns() - time.monotonic_ns()
        self._waiting: dict[str, set[threading.Event]] = defaultdict(set)

    def now_us(self) -> int:
        """The store's time in microseconds since 1970."""
        return (self._epoch_ns + time.monotonic_ns()) // 1000 + self.clock_offset.us

    def arrive(self, row: Row, now_us: int) -> None:
        """Let the row wait: in line behind all others, or until it is due when that is later than now."""
        if row.due_us is not None and row.due_us > now_us:
            self.scheduled.add(row, row.due_us, next(self._sequence))
        else:
            row.status = Status.PENDING
            row.seq = next(self._sequence)
            self.ready[row.queue].add(row, row.rank, row.seq)

    def take(self, row: Row, token: str, worker: str, now_us: int, lease_us: int) -> None:
        """Put the row in flight under this claim."""
        row.status = Status.RUNNING
        row.token = token
        row.worker = worker
        row.started_us = row.updated_us = now_us
        self.extend(row, now_us + lease_us)

    def extend(self, row: Row, lease_until_us: int) -> None:
        row.lease_until_us = lease_until_us
        self.in_flight.add(row, lease_until_us, row.seq)

    def release(self, row: Row) -> None:
        """End the claim; the caller says where the row goes."""
        row.token = row.worker = None
        row.interrupted = row.cancel_requested = False

    def put_back(self, row: Row, now_us: int) -> None:
        """Return the row to its old place in the line."""
        self.release(row)
        row.status = Status.PENDING
        row.started_us = None
        row.updated_us = now_us
        self.ready[row.queue].add(row, row.rank, row.seq)

    def end(self, row: Row, status: Status, now_us: int) -> None:
        """Let the row be history."""
        leave(row)
        self.release(row)
        row.status = status
        row.ended = next(self._ends)
        row.completed_us = row.updated_us = now_us

    def forget(self, row: Row) -> None:
        leave(row)
        del self.rows[row.id]

    def watch(self, queue: str) -> threading.Event:
        """An event that is set when work arrives in the queue, until `unwatch`."""
        event = threading.Event()
        with self.lock:
            self._waiting[queue].add(event)
        return event

    def unwatch(self, queue: str, event: threading.Event) -> None:
        with self.lock:
            self._waiting[queue].discard(event)

    def tell(self, queues: Iterable[str]) -> None:
        """Wake those who wait for work in these queues."""
        for queue in queues:
            for event in self._waiting.get(queue, ()):
                event.set()
