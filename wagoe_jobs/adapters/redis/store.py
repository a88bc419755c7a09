"""Every job, wherever it is: found by id, searched in pages, and dead letters given another chance."""

from collections.abc import Sequence
from uuid import UUID

from wagoe_jobs.adapters.redis.candidates import Candidates
from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.rows import IDS, Found, Rows, refusing
from wagoe_jobs.adapters.redis.scripts import script
from wagoe_jobs.core.job import Job, Status, checked_instant, to_micros
from wagoe_jobs.core.stored import Stored, checked_cursor, checked_page, next_life, read_job
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
        with refusing("wanted"):
            found = self._search(wanted, below, limit + 1)
        jobs = [read_job(row) for row in found[:limit]]
        return Page(jobs, found[limit - 1].id if len(found) > limit else None)

    def failed_jobs(self, queue: str | None = None, *, limit: int = 50, cursor: str | None = None) -> Page:
        return self.search(JobFilter(status=Status.FAILED, queue=queue), limit=limit, cursor=cursor)

    def retry(self, id: UUID) -> bool:
        found = self._rows.found([str(id)])
        if not found or found[0].stored.status is not Status.FAILED:
            return False
        dead, _, seq = found[0]
        text, budget = next_life(dead)
        seen = (seq or "", dead.completed_us or 0)
        return bool(self._redis.run(script("redrive"), dead.id, *seen, budget, text or ""))

    def _search(self, wanted: JobFilter, below: str | None, most: int) -> Sequence[Stored]:
        """At most so many that are wanted, highest id first; no text of any other is read."""
        asked, everything = _asked(wanted), wanted == JobFilter()
        found: list[Stored] = []
        for ids in self._candidates.below(wanted, below, min(IDS, most) if everything else IDS):
            matching = ids if everything else self._redis.run(script("match"), *asked, *ids)
            found += self._read(wanted, matching, most - len(found))
            if len(found) == most:
                break
        return found

    def _read(self, wanted: JobFilter, matching: Sequence[str], most: int) -> Sequence[Stored]:
        """The first `most` of those that matched; one that does not any more makes room for those behind it."""
        found: list[Stored] = []
        while matching and len(found) < most:
            room = most - len(found)
            found += [row.stored for row in self._rows.found(matching[:room]) if _still(row, wanted)]
            matching = matching[room:]
        return found


def _asked(wanted: JobFilter) -> Sequence[str | int]:
    """The filter as its script takes it."""
    names = (f"={name}" if name is not None else "" for name in (wanted.type, wanted.queue, wanted.tenant))
    times = (("since", wanted.since), ("until", wanted.until))
    instants = ("" if time is None else to_micros(checked_instant(path, time)) for path, time in times)
    return (str(wanted.status or ""), *names, *instants)


def _still(found: Found, wanted: JobFilter) -> bool:
    """Whether it is as it was when it matched: it may have moved on, or be another job of the same id."""
    job, tenant, _ = found
    pairs = ((wanted.status, job.status), (wanted.type, job.type), (wanted.queue, job.queue), (wanted.tenant, tenant))
    return all(one is None or one == other for one, other in pairs)
