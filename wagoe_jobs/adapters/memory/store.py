"""Every job in memory, wherever it is: reads, search, and the redrive of dead letters."""

from collections.abc import Callable
from heapq import nlargest
from uuid import UUID

from wagoe_jobs.adapters.memory.line import Row
from wagoe_jobs.adapters.memory.state import MemoryState
from wagoe_jobs.core.job import Job, Status, checked_instant, to_micros
from wagoe_jobs.core.stored import checked_cursor, checked_page, next_life, read_job
from wagoe_jobs.ports import JobFilter, Page


class MemoryJobStore:
    """JobStore over a `MemoryState`."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def find(self, id: UUID) -> Job | None:
        with self._state.lock:
            row = self._state.rows.get(str(id))
            stored = None if row is None else row.stored()
        return None if stored is None else read_job(stored)

    def search(self, wanted: JobFilter = JobFilter(), *, limit: int = 50, cursor: str | None = None) -> Page:
        matches = _matcher(wanted, None if cursor is None else checked_cursor(cursor))
        limit = checked_page(limit)
        with self._state.lock:
            found = (row for row in self._state.rows.values() if matches(row))
            stored = [row.stored() for row in nlargest(limit + 1, found, key=lambda row: row.id)]
        jobs = [read_job(row) for row in stored[:limit]]
        return Page(jobs, str(jobs[-1].id) if jobs and len(stored) > limit else None)

    def failed_jobs(self, queue: str | None = None, *, limit: int = 50, cursor: str | None = None) -> Page:
        return self.search(JobFilter(status=Status.FAILED, queue=queue), limit=limit, cursor=cursor)

    def retry(self, id: UUID) -> bool:
        with self._state.lock:
            row = self._state.rows.get(str(id))
            if row is None or row.status is not Status.FAILED:
                return False
            dead, seen = row.stored(), row.ended
        text, budget = next_life(dead)
        with self._state.lock:
            if self._state.rows.get(row.id) is not row or row.status is not Status.FAILED or row.ended != seen:
                return False
            _requeue(self._state, row, text or dead.payload, budget)
            return True


def _matcher(wanted: JobFilter, below: str | None) -> Callable[[Row], bool]:
    since = None if wanted.since is None else to_micros(checked_instant("since", wanted.since))
    until = None if wanted.until is None else to_micros(checked_instant("until", wanted.until))

    def matches(row: Row) -> bool:
        return (
            (below is None or row.id < below)
            and wanted.status in (None, row.status)
            and wanted.type in (None, row.type)
            and wanted.queue in (None, row.queue)
            and wanted.tenant in (None, row.tenant)
            and (since is None or row.created_us >= since)
            and (until is None or row.created_us < until)
        )

    return matches


def _requeue(state: MemoryState, row: Row, payload: str, budget: int) -> None:
    now = state.now_us()
    row.payload = payload
    row.budget = budget
    row.abandoned = 0
    row.result = None
    row.due_us = row.started_us = row.completed_us = None
    row.updated_us = now
    state.arrive(row, now)
    state.tell([row.queue])
