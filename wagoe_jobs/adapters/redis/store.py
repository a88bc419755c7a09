"""Every job, wherever it is: found by id, searched in pages, and dead letters given another chance."""

from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

from wagoe_jobs.adapters.redis.candidates import Candidates
from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.rows import HEADS, Head, Rows, refusing
from wagoe_jobs.adapters.redis.scripts import script
from wagoe_jobs.core.job import Job, Status, checked_instant, redrive, to_micros
from wagoe_jobs.core.outcome import UNDECODABLE
from wagoe_jobs.core.stored import Stored, checked_cursor, checked_page, follow_up, read_job
from wagoe_jobs.ports import JobFilter, Page


class RedisJobStore:
    """JobStore. Nothing that it asks keeps the server busy for long: pages are read in many small steps."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._rows = Rows(redis)
        self._candidates = Candidates(redis)

    def find(self, id: UUID) -> Job | None:
        jobs = self._rows.jobs([str(id)])
        return jobs[0] if jobs else None

    def search(self, wanted: JobFilter = JobFilter(), *, limit: int = 50, cursor: str | None = None) -> Page:
        below = None if cursor is None else checked_cursor(cursor)
        limit = checked_page(limit)
        matches = _matcher(wanted)
        with refusing("search"):
            found = self._search(wanted, matches, below, limit + 1)
        jobs = [read_job(row) for row in found[:limit]]
        return Page(jobs, found[limit - 1].id if len(found) > limit else None)

    def failed_jobs(self, queue: str | None = None, *, limit: int = 50, cursor: str | None = None) -> Page:
        return self.search(JobFilter(status=Status.FAILED, queue=queue), limit=limit, cursor=cursor)

    def retry(self, id: UUID) -> bool:
        found = self._rows.found([str(id)])
        if not found or found[0].head.status is not Status.FAILED:
            return False
        (dead,) = found
        payload, budget = _redriven(dead.stored)
        seen = (dead.seq, dead.head.completed_us or 0)
        return bool(self._redis.run(script("redrive"), dead.head.id, *seen, budget, payload))

    def _search(
        self, wanted: JobFilter, matches: Callable[[Head], bool], below: str | None, most: int
    ) -> Sequence[Stored]:
        """At most so many that match, highest id first; what is not wanted is never read whole."""
        found: list[Stored] = []
        whole = wanted == JobFilter()
        for ids in self._candidates.below(wanted, below, min(HEADS, most) if whole else HEADS):
            named = ids if whole else [head.id for head in self._rows.heads(ids) if matches(head)]
            rows = self._rows.found(named[: most - len(found)])
            found += [row.stored for row in rows if matches(row.head)]  # it may have changed since it was named
            if len(found) == most:
                break
        return found


def _matcher(wanted: JobFilter) -> Callable[[Head], bool]:
    since = None if wanted.since is None else _micros("since", wanted.since)
    until = None if wanted.until is None else _micros("until", wanted.until)

    def matches(head: Head) -> bool:
        return (
            wanted.status in (None, head.status)
            and wanted.type in (None, head.type)
            and wanted.queue in (None, head.queue)
            and wanted.tenant in (None, head.tenant)
            and (since is None or head.created_us >= since)
            and (until is None or head.created_us < until)
        )

    return matches


def _micros(path: str, instant: datetime) -> int:
    return to_micros(checked_instant(path, instant))


def _redriven(dead: Stored) -> tuple[str, int]:
    """The text of a dead letter's next life, "" to keep the old one, and how many repeats that allows."""
    job = read_job(dead)
    if job.error is not None and job.error.type == UNDECODABLE and dead.error is None:
        return "", job.max_retries
    return follow_up(redrive(job)) or "", job.max_retries
