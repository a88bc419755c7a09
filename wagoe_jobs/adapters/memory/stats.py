"""Counts over the memory store, taken under the lock so that they belong to one moment."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from heapq import nlargest

from wagoe_jobs.adapters.memory.line import Row
from wagoe_jobs.adapters.memory.state import MemoryState
from wagoe_jobs.core.durations import SAMPLE, durations_of
from wagoe_jobs.core.job import PRIORITIES, Job, Priority, Status
from wagoe_jobs.core.stored import read_job
from wagoe_jobs.ports import QueueStats, StatsTotals

_US = timedelta(microseconds=1)


class MemoryJobStats:
    """JobStats over a `MemoryState`."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def job_stats(self) -> StatsTotals:
        with self._state.lock:
            rows = list(self._state.rows.values())
            queues = [self._of_queue(name, rows) for name in sorted({row.queue for row in rows})]
            statuses = Counter(row.status for row in rows)
            workers = sorted({row.worker for row in rows if row.worker is not None})
        return StatsTotals(
            processed=sum(each.processed for each in queues),
            succeeded=statuses[Status.COMPLETED],
            failed=statuses[Status.FAILED],
            queues=queues,
            workers=workers,
        )

    def queue_stats(self, queue: str) -> QueueStats:
        with self._state.lock:
            return self._of_queue(queue, self._state.rows.values())

    def job_history(self, type: str, limit: int = 50) -> Sequence[Job]:
        with self._state.lock:
            ended = (row for row in self._state.rows.values() if row.ticket is None and row.type == type)
            stored = [row.stored() for row in nlargest(limit, ended, key=lambda row: row.ended)]
        return [read_job(row) for row in stored]

    def _of_queue(self, queue: str, rows: Iterable[Row]) -> QueueStats:
        mine = [row for row in rows if row.queue == queue]
        ready = list(self._state.ready[queue].rows()) if queue in self._state.ready else []
        ranks = Counter(row.rank for row in ready)
        in_flight = sum(row.token is not None for row in mine)
        ended = [row for row in mine if row.ticket is None]
        mean, p95 = _durations(ended)
        return QueueStats(
            queue=queue,
            waiting={str(Priority.of_rank(rank)): ranks[rank] for rank in range(len(PRIORITIES))},
            scheduled=len(mine) - len(ready) - in_flight - len(ended),
            in_flight=in_flight,
            oldest_ready=self._age(ready),
            processed=len(ended),
            failed=sum(row.status is Status.FAILED for row in ended),
            mean=mean,
            p95=p95,
        )

    def _age(self, ready: Sequence[Row]) -> timedelta | None:
        oldest = min((row.created_us for row in ready), default=None)
        return None if oldest is None else (self._state.now_us() - oldest) * _US


def _durations(ended: Iterable[Row]) -> tuple[timedelta | None, timedelta | None]:
    completed = (row for row in ended if row.status is Status.COMPLETED)
    return durations_of(row.ran_us for row in nlargest(SAMPLE, completed, key=lambda row: row.ended))
