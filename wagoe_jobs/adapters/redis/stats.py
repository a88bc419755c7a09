"""Counts for people and dashboards: those of fifty queues are of one moment; not meant for a hot path."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from heapq import merge
from typing import Any, NamedTuple

from wagoe_jobs.adapters.redis.candidates import Candidates
from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.rows import CHUNK, IDS, Rows, in_chunks, refusing, worker_of
from wagoe_jobs.adapters.redis.scripts import script
from wagoe_jobs.core.durations import SAMPLE, durations_of
from wagoe_jobs.core.job import PRIORITIES, Job
from wagoe_jobs.ports import QueueStats, StatsTotals

TOGETHER = 50
"""How many queues are counted in one step: the server does nothing else meanwhile, about a millisecond a queue."""
_US = timedelta(microseconds=1)


class _Counted(NamedTuple):
    stats: QueueStats
    completed: int


class RedisJobStats:
    """JobStats.

    `oldest_ready` looks at the first hundred of each priority. They stand in the order in which they became ready, so
    the first is the oldest, but for jobs that came late: those that were scheduled, retried or redriven. One of these
    that stands behind a hundred others is not seen yet: the age that is told is too low until the line has moved on,
    and never too high. To be sure, each job that is ready would have to be read.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._rows = Rows(redis)
        self._candidates = Candidates(redis)

    def job_stats(self) -> StatsTotals:
        [known] = self._redis.ask(("SMEMBERS", self._redis.keys.queues))
        counted = [one for queues in in_chunks(sorted(known), TOGETHER) for one in self._of(queues)]
        used = [one for one in counted if _is_used(one.stats)]
        return StatsTotals(
            processed=sum(one.stats.processed for one in used),
            succeeded=sum(one.completed for one in used),
            failed=sum(one.stats.failed for one in used),
            queues=[one.stats for one in used],
            workers=self._workers([one.stats.queue for one in used if one.stats.in_flight]),
        )

    def queue_stats(self, queue: str) -> QueueStats:
        with refusing("queue"):
            [counted] = self._of([queue])
        return counted.stats

    def job_history(self, type: str, limit: int = 50) -> Sequence[Job]:
        """Two indexes, read side by side from their ends: dead letters are kept longer than the others."""
        history: list[Job] = []
        with refusing("type"):
            for ids in in_chunks(self._last_ended(type), max(1, min(limit, CHUNK))):
                history += [job for job in self._rows.jobs(ids) if job.type == type and job.status.terminal]
                if len(history) >= limit:
                    break
        return history[: max(0, limit)]

    def _of(self, queues: Sequence[str]) -> list[_Counted]:
        """The counts of these queues, all of one moment."""
        counts = script("queue_stats")
        if len(queues) == 1:
            replies = [self._redis.run(counts, queues[0], SAMPLE)]
        else:
            replies = self._redis.run_all(counts, [(queue, SAMPLE) for queue in queues])
        return list(map(_counted, queues, replies))

    def _last_ended(self, type: str) -> Iterator[str]:
        """Ids of this type, last ended first, each once."""
        seen: set[str] = set()
        keys = self._redis.keys
        for _, id in merge(self._from_end(keys.ended_type(type)), self._from_end(keys.failed_type(type)), reverse=True):
            if id not in seen:  # what has ended meanwhile moved those behind it on
                seen.add(id)
                yield id

    def _from_end(self, index: str) -> Iterator[tuple[int, str]]:
        first = 0
        while True:
            [flat] = self._redis.ask(("ZREVRANGE", index, first, first + IDS - 1, "WITHSCORES"))
            yield from ((int(float(ended)), id) for id, ended in zip(flat[::2], flat[1::2], strict=True))
            if len(flat) < 2 * IDS:
                return
            first += IDS

    def _workers(self, queues: Sequence[str]) -> Sequence[str]:
        """Who holds the claims of these queues."""
        holders: set[str] = set()
        keys = self._redis.keys
        for ids in in_chunks(self._candidates.members(*map(keys.in_flight, queues)), IDS):
            replies = self._redis.ask(*(("HGET", keys.job(id), "at") for id in ids))
            holders.update(name for name in map(worker_of, replies) if name is not None)
        return sorted(holders)


def _counted(queue: str, told: Sequence[Any]) -> _Counted:
    """What lua/queue_stats.lua tells."""
    oldest, waiting, runs = told[0], told[1:5], told[10:]
    scheduled, in_flight, completed, failed, cancelled = told[5:10]
    mean, p95 = durations_of(map(int, runs))
    stats = QueueStats(
        queue=queue,
        waiting={str(priority): waiting[priority.rank] for priority in PRIORITIES},
        scheduled=scheduled,
        in_flight=in_flight,
        oldest_ready=int(oldest) * _US if oldest else None,
        processed=completed + failed + cancelled,
        failed=failed,
        mean=mean,
        p95=p95,
    )
    return _Counted(stats, completed)


def _is_used(stats: QueueStats) -> bool:
    """Whether the queue holds work or history."""
    return bool(stats.to_do + stats.processed)
