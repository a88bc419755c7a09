"""Jobs that wait: looking at them, counting them, and ending them."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from uuid import UUID

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.rows import CHUNK, Rows, in_chunks, refusing
from wagoe_jobs.adapters.redis.scripts import script
from wagoe_jobs.core.job import Job, Status

_ASKED_TOGETHER = 500


class Waiting:
    """What the queue answers about waiting jobs; each change is one script."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._rows = Rows(redis)

    def peek(self, queue: str, limit: int = 1) -> Sequence[Job]:
        """The first in line, leaving out ids without a job, and what was claimed while this looked."""
        peeked: list[Job] = []
        with refusing("queue"):
            for ids in self._line(queue, limit):
                peeked += [job for job in self._rows.jobs(ids) if job.status is Status.PENDING]
                if len(peeked) >= limit:
                    break
        return peeked[: max(0, limit)]

    def delete(self, id: UUID) -> bool:
        return bool(self._redis.run(script("delete"), str(id)))

    def cancel(self, id: UUID) -> bool:
        return bool(self._redis.run(script("cancel"), str(id)))

    def size(self, queue: str) -> int:
        with refusing("queue"):
            return sum(self._redis.ask(*(("ZCARD", line) for line in self._redis.keys.lines(queue))))

    def list_queues(self) -> Sequence[str]:
        [known] = self._redis.ask(("SMEMBERS", self._redis.keys.queues))
        working: list[str] = []
        for some in in_chunks(known, _ASKED_TOGETHER):
            working += self._redis.run(script("working"), *some)
        return sorted(working)

    def next_due(self) -> timedelta | None:
        left = self._redis.run(script("next_due"))
        return None if left is None else timedelta(microseconds=int(left))

    def _line(self, queue: str, limit: int) -> Iterator[Sequence[str]]:
        """The ids in line, a few at a time."""
        size = max(1, min(limit, CHUNK))
        for line in self._redis.keys.lines(queue):
            first = 0
            while True:
                [ids] = self._redis.ask(("ZRANGE", line, first, first + size - 1))
                if ids:
                    yield ids
                if len(ids) < size:
                    break
                first += size
