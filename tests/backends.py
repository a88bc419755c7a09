"""Every adapter as the contract's `Backend`, over an empty store: a new memory, or one database that is wiped."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from itertools import chain, count

from redis import Redis
from sqlalchemy import Connection, Engine, MetaData, create_engine, delete

from wagoe_jobs.adapters import memory, redis, sql
from wagoe_jobs.clock import ClockOffset
from wagoe_jobs.testing.backend import Backend

NAMES = ("memory", "sqlite", "sqlite-portable", "postgres", "postgres-portable", "mariadb", "mariadb-portable", "redis")


@contextmanager
def memory_backend() -> Iterator[Backend]:
    """A new state; `second` is another set of parts over it."""
    offset = ClockOffset()
    state = memory.MemoryState(clock_offset=offset)

    def client() -> Backend:
        return Backend(
            name="memory",
            queue=memory.job_queue(state),
            store=memory.job_store(state),
            stats=memory.job_stats(state),
            idempotency=memory.idempotency_store(state),
            recurring=memory.recurring_state(state),
            presence=memory.worker_presence(state),
            clock_offset=offset,
            second=client,
        )

    yield client()


class SqlStore:
    """One database with the tables in it, for many tests after one another. `close` it.

    Its clients outlive a test, as those of a node outlive a job: making them anew costs more than most cases.
    """

    def __init__(self, url: str, **options: object) -> None:
        self.engine = create_engine(url, pool_size=20, **options)
        self._other_engine = create_engine(url, pool_size=20, **options)
        self._clock_offset = ClockOffset()
        self._clients: dict[str, list[Backend]] = {name: [] for name in NAMES}
        sql.create_jobs_table(self.engine)
        sql.create_recurring_tables(self.engine)
        sql.create_presence_table(self.engine)
        self._tables = MetaData()
        self._tables.reflect(self.engine)

    def close(self) -> None:
        for client in chain.from_iterable(self._clients.values()):
            client.queue.close()
        self.engine.dispose()
        self._other_engine.dispose()

    @contextmanager
    def backend(self, name: str) -> Iterator[Backend]:
        """The wiped database; `second` is over an engine of its own, as another process would have it."""
        self._wipe()
        self._clock_offset.us = 0
        numbers = count()

        def client() -> Backend:
            return replace(self._client(name, next(numbers)), second=client)

        yield client()

    def _client(self, name: str, number: int) -> Backend:
        clients = self._clients[name]
        if number == len(clients):
            clients.append(self._make(name, self._other_engine if number else self.engine))
        return clients[number]

    def _make(self, name: str, engine: Engine) -> Backend:
        offset, strategy = self._clock_offset, "portable" if name.endswith("-portable") else "best"
        return Backend(
            name=name,
            queue=sql.job_queue(engine, clock_offset=offset, claim_strategy=strategy),
            store=sql.job_store(engine, clock_offset=offset),
            stats=sql.job_stats(engine, clock_offset=offset),
            idempotency=sql.idempotency_store(engine, clock_offset=offset),
            recurring=sql.recurring_state(engine, clock_offset=offset),
            presence=sql.worker_presence(engine, clock_offset=offset),
            clock_offset=offset,
            second=_nobody,
            transaction=self._transaction,
        )

    def _transaction(self) -> AbstractContextManager[Connection]:
        return self.engine.begin()

    def _wipe(self) -> None:
        with self.engine.begin() as tx:
            for table in self._tables.tables.values():
                if not table.name.endswith("job_schema"):  # its row names the store
                    tx.execute(delete(table))


class RedisStore:
    """One database of redis, for many tests after one another. `close` it."""

    def __init__(self, url: str) -> None:
        self._client = Redis.from_url(url)
        self._clock_offset = ClockOffset()
        self._opened = ExitStack()
        self._clients: list[Backend] = []

    def close(self) -> None:
        self._opened.close()
        self._client.close()

    @contextmanager
    def backend(self, name: str) -> Iterator[Backend]:
        """The wiped database; `second` has connections of its own, as another process would."""
        self._client.flushdb()
        self._clock_offset.us = 0
        numbers = count()

        def client() -> Backend:
            return replace(self._numbered(next(numbers)), second=client)

        yield client()

    def _numbered(self, number: int) -> Backend:
        if number == len(self._clients):
            self._clients.append(self._make())
        return self._clients[number]

    def _make(self) -> Backend:
        parts = redis.open_redis(self._client, clock_offset=self._clock_offset)
        self._opened.callback(parts.close)
        queue = redis.job_queue(parts)
        self._opened.callback(queue.close)
        return Backend(
            name="redis",
            queue=queue,
            store=redis.job_store(parts),
            stats=redis.job_stats(parts),
            idempotency=redis.idempotency_store(parts),
            recurring=redis.recurring_state(parts),
            presence=redis.worker_presence(parts),
            clock_offset=self._clock_offset,
            second=_nobody,
        )


def _nobody() -> Backend:
    raise AssertionError("a client is replaced with one that knows its own store")
