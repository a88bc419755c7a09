"""A store with what tests of workers do to it, and a file that counts runs."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from redis import Redis
from sqlalchemy import Engine, create_engine, inspect, text

from tests.until import until
from wagoe_jobs.adapters import memory, redis, sql
from wagoe_jobs.clock import Clock, ClockOffset, Ids
from wagoe_jobs.core.job import Job, Status, make_job
from wagoe_jobs.core.retry import Backoff
from wagoe_jobs.pool import WorkerPool
from wagoe_jobs.ports import DEFAULT_LEASE, LeasedJobQueue, Runtime
from wagoe_jobs.registry import Registry

SOON = Backoff(initial=timedelta(milliseconds=20), max_delay=timedelta(milliseconds=50))


class Ledger:
    """A file of one line a run. A line is one write, so that it survives whatever comes next."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, line: object) -> None:
        os.write(self._file, f"{line}\n".encode())

    def lines(self) -> list[str]:
        return self.path.read_text().splitlines()

    def runs(self) -> Counter[str]:
        return Counter(self.lines())

    def close(self) -> None:
        os.close(self._file)


@dataclass(frozen=True, kw_only=True)
class House:
    """One store; `sample` reads when each lease in flight ends, from the rows themselves."""

    runtime: Runtime
    offset: ClockOffset
    sample: Callable[[], Mapping[str, int]]
    url: str = ""
    ids: Ids = field(default_factory=Ids)

    @property
    def queue(self) -> LeasedJobQueue:
        return self.runtime.queue

    def with_queue(self, queue: LeasedJobQueue) -> "House":
        return replace(self, runtime=replace(self.runtime, queue=queue))

    def new(self, type: str = "work", args: object = None, **options: Any) -> Job:
        return make_job(type, args, id=self.ids.new(), now=Clock().now(), **options)

    def enqueue(
        self, type: str = "work", args: object = None, *, delay: timedelta | None = None, **options: Any
    ) -> UUID:
        job = self.new(type, args, **options)
        assert self.queue.enqueue_many([job], delay=delay) == [True]
        return job.id

    def enqueue_numbers(self, count: int, type: str = "work", **options: Any) -> list[UUID]:
        """Jobs with args {"n": 0}, {"n": 1} ..."""
        jobs = [self.new(type, {"n": n}, **options) for n in range(count)]
        assert all(self.queue.enqueue_many(jobs))
        return [job.id for job in jobs]

    def job(self, id: UUID) -> Job:
        job = self.runtime.store.find(id)
        assert job is not None
        return job

    def ended(self, id: UUID, within: float = 20.0) -> Job:
        """The job, once it has ended."""
        until(lambda: self.job(id).status.terminal, within)
        return self.job(id)

    def counts(self) -> Mapping[Status, int]:
        """How many jobs there are of each status, whatever their queue."""
        return Counter(job.status for job in self.all())

    def all(self) -> list[Job]:
        jobs: list[Job] = []
        cursor = None
        while True:
            page = self.runtime.store.search(limit=500, cursor=cursor)
            jobs += page.jobs
            cursor = page.cursor
            if cursor is None:
                return jobs

    def pool(self, handlers: object, **options: Any) -> WorkerPool:
        """A pool that retries and reclaims soon."""
        options = {"backoff": SOON, "reclaim_interval": timedelta(milliseconds=200)} | options
        registry = handlers if isinstance(handlers, Registry) else Registry(handlers)
        return WorkerPool(self.runtime, registry, **options)


@contextmanager
def memory_house(lease: timedelta = DEFAULT_LEASE) -> Iterator[House]:
    offset = ClockOffset()
    state = memory.MemoryState(clock_offset=offset)
    runtime = Runtime(
        provider="memory",
        queue=memory.job_queue(state, lease=lease),
        store=memory.job_store(state),
        stats=memory.job_stats(state),
        presence=memory.worker_presence(state),
    )

    def sample() -> Mapping[str, int]:
        with state.lock:
            return {id: row.lease_until_us for id, row in state.rows.items() if row.token is not None}

    yield House(runtime=runtime, offset=offset, sample=sample)


def durable_house(url: str, lease: timedelta = DEFAULT_LEASE) -> AbstractContextManager[House]:
    """The store that the URL names, as another process would open it."""
    return redis_house(url, lease) if url.startswith("redis") else sql_house(url, lease)


@contextmanager
def sql_house(url: str, lease: timedelta = DEFAULT_LEASE) -> Iterator[House]:
    offset = ClockOffset()
    with ExitStack() as opened:
        engine = create_engine(url, pool_size=20)
        opened.callback(engine.dispose)
        for create in (sql.create_jobs_table, sql.create_recurring_tables, sql.create_presence_table):
            create(engine)
        queue = sql.job_queue(engine, lease=lease, clock_offset=offset)
        opened.callback(queue.close)
        runtime = Runtime(
            provider="db",
            queue=queue,
            store=sql.job_store(engine, clock_offset=offset),
            stats=sql.job_stats(engine, clock_offset=offset),
            presence=sql.worker_presence(engine, clock_offset=offset),
        )
        yield House(runtime=runtime, offset=offset, sample=lambda: _leases(engine), url=url)


@contextmanager
def redis_house(url: str, lease: timedelta = DEFAULT_LEASE) -> Iterator[House]:
    offset = ClockOffset()
    with Redis.from_url(url) as client, closing(redis.open_redis(client, clock_offset=offset)) as parts:
        queue = redis.job_queue(parts, lease=lease)
        runtime = Runtime(
            provider="redis",
            queue=queue,
            store=redis.job_store(parts),
            stats=redis.job_stats(parts),
            presence=redis.worker_presence(parts),
        )
        with closing(queue):
            yield House(runtime=runtime, offset=offset, sample=lambda: _scores(client), url=url)


def wipe(url: str) -> None:
    """Empty the tables of jobs, if they are there."""
    engine = create_engine(url)
    try:
        with engine.begin() as tx:
            if inspect(tx).has_table("job_queue"):
                for table in ("job_queue", "job_store", "job_idempotency_keys", "job_workers"):
                    tx.execute(text(f"DELETE FROM {table}"))
    finally:
        engine.dispose()


def _scores(client: Redis) -> Mapping[str, int]:
    keys = redis.Keys()
    queues = [queue.decode() for queue in client.smembers(keys.queues)]
    found = [client.zrange(keys.in_flight(queue), 0, -1, withscores=True) for queue in queues]
    return {id.decode(): int(score) for row in found for id, score in row}


def _leases(engine: Engine) -> Mapping[str, int]:
    with engine.connect() as db:
        rows = db.execute(text("SELECT id, lease_until FROM job_queue WHERE status = 'processing'"))
        return {str(row.id): row.lease_until for row in rows}
