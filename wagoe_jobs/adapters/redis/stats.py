"""Counts for people and dashboards: each queue's are of one moment, read by one script; not meant for a hot path."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from heapq import merge
from typing import NamedTuple

from wagoe_jobs.adapters.redis.candidates import Candidates
from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.rows import CHUNK, IDS, Rows, in_chunks, refusing, worker_of
from wagoe_jobs.adapters.redis.scripts import script
from wagoe_jobs.core.durations import SAMPLE, durations_of
from wagoe_jobs.core.job import PRIORITIES, Job
from wagoe_jobs.ports import QueueStats, StatsTotals

_US = timedelta(microseconds=1)


class _Counted(NamedTuple):
    stats: QueueStats
    completed: int


class RedisJobStats:
    """JobStats. `oldest_ready` is exact among the first hundred of each priority."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._rows = Rows(redis)
        self._candidates = Candidates(redis)

    def job_stats(self) -> StatsTotals:
        [known] = self._redis.ask(("SMEMBERS", self._redis.keys.queues))
        counted = [self._of(queue) for queue in sorted(known)]
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
            return self._of(queue).stats

    def job_history(self, type: str, limit: int = 50) -> Sequence[Job]:
        """Two indexes, read side by side from their ends: dead letters are kept longer than the others."""
        history: list[Job] = []
        with refusing("type"):
            for ids in in_chunks(self._last_ended(type), max(1, min(limit, CHUNK))):
                history += [job for job in self._rows.jobs(ids) if job.type == type and job.status.terminal]
                if len(history) >= limit:
                    break
        return history[: max(0, limit)]

    def _of(self, queue: str) -> _Counted:
        oldest, *told = self._redis.run(script("queue_stats"), queue, SAMPLE)
        waiting, (scheduled, in_flight, completed, failed, cancelled), runs = told[:4], told[4:9], told[9:]
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
        for queue in queues:
            for ids in in_chunks(self._candidates.members(self._redis.keys.in_flight(queue)), IDS):
                replies = self._redis.ask(*(("HGET", self._redis.keys.job(id), "at") for id in ids))
                holders.update(name for name in map(worker_of, replies) if name is not None)
        return sorted(holders)


def _is_used(stats: QueueStats) -> bool:
    """Whether the queue holds work or history."""
    return bool(stats.to_do + stats.processed)
