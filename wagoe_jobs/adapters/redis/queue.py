"""The queue in redis: every port method in one look, each one script but for plain reads.

What a step does is in the modules beside this one and in `lua/`.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.enqueue import Enqueuer
from wagoe_jobs.adapters.redis.exchange import Exchange, report_dropped
from wagoe_jobs.adapters.redis.inflight import InFlight
from wagoe_jobs.adapters.redis.scripts import script
from wagoe_jobs.adapters.redis.waiting import Waiting
from wagoe_jobs.adapters.redis.wakeup import TokenWatch
from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.errors import NotATransaction
from wagoe_jobs.ports import (
    BATCH_LIMIT,
    Answer,
    Claim,
    Claimed,
    Hold,
    Reclaimed,
    Settlement,
    Taken,
    WakeUp,
)

_US = timedelta(microseconds=1)


class RedisJobQueue:
    """JobQueue with leases, keys and wake-up."""

    def __init__(self, redis: Redis, lease: timedelta, *, owner: bool = False) -> None:
        """An owner closes the connections of `redis` as well."""
        self.redis = redis
        self._lease = lease
        self._owner = owner
        self._enqueuer = Enqueuer(redis)
        self._in_flight = InFlight(redis, lease // _US)
        self._exchange = Exchange(redis, lease // _US, self._in_flight)
        self._waiting = Waiting(redis)

    @property
    def lease(self) -> timedelta:
        return self._lease

    def enqueue(self, job: Job) -> bool:
        return self._enqueuer.one(job)

    def schedule(self, job: Job, delay: timedelta) -> bool:
        return self._enqueuer.one(job, delay)

    def enqueue_many(self, jobs: Sequence[Job], *, delay: timedelta | None = None) -> Sequence[bool]:
        return self._enqueuer.many(jobs, delay)

    def enqueue_once(
        self, scope: str, key: str, job: Job, ttl: timedelta, *, delay: timedelta | None = None, tx: object = None
    ) -> Claimed | Taken:
        if tx is not None:
            raise NotATransaction("redis takes no part in transactions of a database")
        return self._enqueuer.once(scope, key, job, ttl, delay)

    def claim(self, queue: str, worker: str, limit: int) -> Sequence[Claim]:
        return self._exchange.exchange([], queue, worker, limit)[1]

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[Answer]:
        return self._exchange.settle(settlements)

    def exchange(
        self, settlements: Sequence[Settlement], queue: str, worker: str, limit: int
    ) -> tuple[Sequence[Answer], Sequence[Claim]]:
        return self._exchange.exchange(settlements, queue, worker, limit)

    def ack(self, claim: Claim) -> bool:
        return self.settle([Settlement(claim, Status.COMPLETED)])[0] is Answer.APPLIED

    def hand_back(self, claims: Sequence[Claim]) -> int:
        return self._in_flight.hand_back(claims)

    def interrupt(self, claims: Sequence[Claim]) -> int:
        return self._in_flight.interrupt(claims)

    def renew(self, claims: Sequence[Claim]) -> Mapping[Claim, Hold]:
        return self._in_flight.renew(claims)

    def reclaim_abandoned(self, limit: int = BATCH_LIMIT) -> Sequence[Reclaimed]:
        return self._in_flight.reclaim(limit)

    def process_scheduled(self, limit: int = BATCH_LIMIT) -> int:
        promoted, dropped = self.redis.run(script("promote"), min(limit, BATCH_LIMIT))
        report_dropped(dropped, "the scheduled jobs")
        return int(promoted)

    def peek(self, queue: str, limit: int = 1) -> Sequence[Job]:
        return self._waiting.peek(queue, limit)

    def delete(self, id: UUID) -> bool:
        return self._waiting.delete(id)

    def cancel(self, id: UUID) -> bool:
        return self._waiting.cancel(id)

    def size(self, queue: str) -> int:
        return self._waiting.size(queue)

    def list_queues(self) -> Sequence[str]:
        return self._waiting.list_queues()

    def next_due(self) -> timedelta | None:
        return self._waiting.next_due()

    def wake_up(self, queue: str) -> WakeUp:
        return TokenWatch(self.redis, queue)

    def close(self) -> None:
        self._in_flight.close()
        if self._owner:
            self.redis.close()
