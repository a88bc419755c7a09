"""All parts of one redis, its clock, and a client that looks at the keys themselves."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from redis import Redis as Client

from wagoe_jobs.adapters import redis
from wagoe_jobs.adapters.redis import Keep, Keys
from wagoe_jobs.clock import Clock, ClockOffset, Ids
from wagoe_jobs.core.job import Job, Status, make_job
from wagoe_jobs.ports import Claim, IdempotencyStore, JobStats, JobStore, LeasedJobQueue, Settlement

LINE = "line"
DAY = timedelta(days=1)

_ids = Ids()


def new_job(type: str = "greet", **changes: Any) -> Job:
    """A job of a known shape in queue LINE, its id higher than all before."""
    given = {"id": _ids.new(), "now": Clock().now(), "queue": LINE, **changes}
    return make_job(type, {"to": "ann"}, **given)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """`client` is a driver's own, with text both ways."""

    client: Any
    keys: Keys
    clock_offset: ClockOffset
    queue: LeasedJobQueue
    store: JobStore
    stats: JobStats
    idempotency: IdempotencyStore

    def put(self, type: str = "greet", **changes: Any) -> Job:
        job = new_job(type, **changes)
        assert self.queue.enqueue(job)
        return job

    def end(self, status: Status, *, queue: str = LINE, limit: int = 100) -> list[Claim]:
        """Claim what is ready and end it."""
        claims = list(self.queue.claim(queue, "ann", limit))
        self.queue.settle([Settlement(claim, status, ran_us=1_000) for claim in claims])
        return claims

    def vanish(self, job: Job) -> None:
        """Take a job away behind the store's back, as an eviction would."""
        assert self.client.delete(self.keys.job(str(job.id))) == 1


@contextmanager
def open_parts(url: str, keep: Keep = Keep()) -> Iterator[Parts]:
    clock_offset = ClockOffset()
    with (
        Client.from_url(url, decode_responses=True) as client,
        closing(redis.open_redis(client, keep=keep, clock_offset=clock_offset)) as server,
        closing(redis.job_queue(server)) as queue,
    ):
        yield Parts(
            client=client,
            keys=server.keys,
            clock_offset=clock_offset,
            queue=queue,
            store=redis.job_store(server),
            stats=redis.job_stats(server),
            idempotency=redis.idempotency_store(server),
        )
