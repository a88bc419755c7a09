"""Storing new jobs: encoded and measured before anything is sent, then all of them in one step or none.

A bulk is several short runs of one script inside one MULTI, so that the server does each quickly and a connection
that breaks half-way leaves nothing. Repeating the whole is safe: an id that is there is left as it is.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.rows import refusing
from wagoe_jobs.adapters.redis.scripts import script
from wagoe_jobs.adapters.redis.sizes import checked_size
from wagoe_jobs.core.codec import encode_job
from wagoe_jobs.core.job import Job, checked_bulk, to_micros
from wagoe_jobs.errors import InvalidJob
from wagoe_jobs.ports import Claimed, Taken

Row = tuple[str | int, ...]

JOBS = 250
"""How many jobs one run of the script stores, and how many characters of them before another one begins."""
CHARACTERS = 2_000_000
BULK_CHARACTERS = 256_000_000
"""The most that is sent as one step: the server holds all of it before it does any."""
_US = timedelta(microseconds=1)


class Enqueuer:
    """What stores jobs."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._insert = script("enqueue")
        self._once = script("enqueue_once")

    def one(self, job: Job, delay: timedelta | None = None) -> bool:
        """Whether it was new. Raises InvalidJob, PayloadTooLarge."""
        row = self._rows([job])[0]
        with refusing("job"):
            return bool(self._redis.run(self._insert, _micros(delay), *row) == "1")

    def many(self, jobs: Sequence[Job], delay: timedelta | None) -> list[bool]:
        """Whether each was new, in order."""
        rows = self._rows(checked_bulk(jobs))
        if not rows:
            return []
        calls = [(_micros(delay), *words) for words in _chunks(rows)]
        with refusing("job"):
            replies = (
                self._redis.run_all(self._insert, calls) if calls[1:] else [self._redis.run(self._insert, *calls[0])]
            )
        return [digit == "1" for digit in "".join(replies)]

    def once(self, scope: str, key: str, job: Job, ttl: timedelta, delay: timedelta | None) -> Claimed | Taken:
        row = self._rows([job])[0]
        with refusing("job"):
            taken = self._redis.run(self._once, scope, key, ttl // _US, _micros(delay), *row)
        return Claimed() if taken is None else Taken(taken)

    def _rows(self, jobs: Iterable[Job]) -> list[Row]:
        """Raises InvalidJob for what the server would not take, alone or all together."""
        rows = [_row(job) for job in jobs]
        with refusing("job"):
            checked_size(self._redis, (str(row[-1]) for row in rows))
        size = sum(len(str(row[-1])) for row in rows)
        if size > BULK_CHARACTERS:
            raise InvalidJob(
                "jobs", f"{size:,} characters in one call, at most {BULK_CHARACTERS:,} are stored together"
            )
        return rows


def _row(job: Job) -> Row:
    due = "" if job.execute_at is None else to_micros(job.execute_at)
    tenant = "" if job.tenant is None else f"={job.tenant}"
    budget = job.max_retries - job.retry_count
    return str(job.id), job.type, job.queue, job.priority.rank, budget, due, tenant, encode_job(job)


def _chunks(rows: Sequence[Row]) -> Iterator[list[str | int]]:
    """The words of each run."""
    words: list[str | int] = []
    jobs = size = 0
    for row in rows:
        length = len(str(row[-1]))
        if jobs and (jobs == JOBS or size + length > CHARACTERS):
            yield words
            words, jobs, size = [], 0, 0
        words += row
        jobs, size = jobs + 1, size + length
    yield words


def _micros(delay: timedelta | None) -> str | int:
    return "" if delay is None else delay // _US
