"""Async callers on real drivers: transactions, refusals, cancellation, many at once, a loop that goes on turning."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import create_engine, event, make_url, text
from sqlalchemy.ext.asyncio import (
    AsyncConnection,
    AsyncEngine,
    AsyncSession,
    async_scoped_session,
    async_sessionmaker,
    create_async_engine,
)

from tests.noise import noisy
from tests.proxy import Proxy
from wagoe_jobs import Jobs, NotATransaction, new_job, open_runtime
from wagoe_jobs.adapters import sql
from wagoe_jobs.errors import BackendUnavailable

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg"}
BUSINESS = text("CREATE TABLE orders (n INTEGER)")
ORDER = text("INSERT INTO orders VALUES (1)")
ORDERS = text("SELECT COUNT(*) FROM orders")


@asynccontextmanager
async def async_engine(url: str, **options: Any) -> AsyncIterator[AsyncEngine]:
    """An asynchronous engine on the database of `url`, disposed of in its own loop, with nothing left checked out."""
    parsed = make_url(url)
    engine = create_async_engine(parsed.set(drivername=DRIVERS[parsed.get_backend_name()]), **options)
    try:
        yield engine
        assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    finally:
        await engine.dispose()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """A database of each kind that an asynchronous driver is installed for, with a table of the application's."""
    given: str = request.getfixturevalue(f"{request.param}_url")
    engine = create_engine(given)
    with engine.begin() as tx:
        tx.execute(BUSINESS)
    engine.dispose()
    return given


@pytest.fixture
def jobs(url: str) -> Iterator[Jobs]:
    with open_runtime({"provider": "db", "db": {"url": url}}) as runtime:
        yield Jobs(runtime)


@asynccontextmanager
async def connection(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    async with engine.connect() as opened:
        await opened.begin()
        yield opened


@asynccontextmanager
async def session(engine: AsyncEngine) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(engine) as opened:
        await opened.begin()
        yield opened


@asynccontextmanager
async def scoped(engine: AsyncEngine) -> AsyncIterator[async_scoped_session[AsyncSession]]:
    opened = async_scoped_session(async_sessionmaker(engine), scopefunc=asyncio.current_task)
    await opened.begin()
    yield opened
    await opened.remove()


async def orders(engine: AsyncEngine) -> int:
    async with engine.connect() as conn:
        return (await conn.execute(ORDERS)).scalar_one()


@pytest.mark.fault(51)
@pytest.mark.parametrize("opened", [connection, session, scoped])
def test_a_job_shares_the_fate_of_an_asynchronous_transaction(url: str, jobs: Jobs, opened: Any) -> None:
    async def host() -> None:
        async with async_engine(url) as engine:
            async with opened(engine) as tx:
                await tx.execute(ORDER)
                lost = [await jobs.aenqueue("x", {"n": 1}, tx=tx), *await jobs.aenqueue_many(["x", "x"], tx=tx)]
                dropped = await jobs.aenqueue("x", key="k", tx=tx)
                await tx.rollback()
            assert (await orders(engine), (await jobs.afind()).jobs) == (0, [])
            async with opened(engine) as tx:
                await tx.execute(ORDER)
                kept = [await jobs.aenqueue("x", {"n": 1}, tx=tx), *await jobs.aenqueue_many(["x"] * 3, tx=tx)]
                once = await jobs.aenqueue("x", key="k", tx=tx, delay=60)
                assert (await jobs.afind()).jobs == []
                assert jobs.runtime.queue.claim("default", "ann", 10) == []
                await tx.commit()
            assert await orders(engine) == 1
            assert {job.id for job in (await jobs.afind()).jobs} == {*kept, once}
            assert not {*lost, dropped} & {*kept, once}
            again = await jobs.aenqueue("x", key="k")
            assert (again, again.duplicate) == (once, True)

    asyncio.run(host())


def test_what_a_savepoint_takes_back_is_not_stored(url: str, jobs: Jobs) -> None:
    async def host() -> None:
        async with async_engine(url) as engine, AsyncSession(engine) as session, session.begin():
            kept = await jobs.aenqueue("x", tx=session)
            savepoint = await session.begin_nested()
            await jobs.aenqueue("x", tx=session)
            await savepoint.rollback()
            await session.commit()
            assert [job.id for job in (await jobs.afind()).jobs] == [kept]

    asyncio.run(host())


async def of_the_engine(engine: AsyncEngine) -> Any:
    return engine


async def not_begun(engine: AsyncEngine) -> Any:
    return await engine.connect()


async def not_opened(engine: AsyncEngine) -> Any:
    return engine.connect()


async def ended(engine: AsyncEngine) -> Any:
    conn = await engine.connect()
    await (await conn.begin()).commit()
    return conn


async def closed(engine: AsyncEngine) -> Any:
    conn = await engine.connect()
    await conn.begin()
    await conn.close()
    return conn


async def autocommit(engine: AsyncEngine) -> Any:
    conn = await engine.connect()
    await conn.execution_options(isolation_level="AUTOCOMMIT")
    await conn.begin()
    return conn


async def session_not_begun(engine: AsyncEngine) -> Any:
    return AsyncSession(engine)


async def session_closed(engine: AsyncEngine) -> Any:
    session = AsyncSession(engine)
    await session.execute(ORDER)
    await session.close()
    return session


async def session_of_nothing(engine: AsyncEngine) -> Any:
    session = AsyncSession()
    await session.begin()
    return session


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (of_the_engine, "AsyncEngine: .*AsyncConnection or AsyncSession in a transaction"),
        (not_begun, "no open transaction"),
        (not_opened, "AsyncConnection is not open"),
        (ended, "no open transaction"),
        (closed, "is closed"),
        (autocommit, "AUTOCOMMIT"),
        (session_not_begun, "no open transaction"),
        (session_closed, "no open transaction"),
        (session_of_nothing, "binds no engine"),
    ],
)
def test_what_is_no_asynchronous_transaction_is_refused(url: str, jobs: Jobs, made: Any, reason: str) -> None:
    async def host() -> None:
        async with async_engine(url) as engine:
            tx = await made(engine)
            for call in (
                lambda: jobs.aenqueue("x", tx=tx),
                lambda: jobs.aenqueue("x", tx=tx, key="k"),
                lambda: jobs.aenqueue_many(["x"], tx=tx),
            ):
                with pytest.raises(NotATransaction, match=reason):
                    await call()
            if made not in (of_the_engine, not_opened):
                await tx.close()
            assert (await jobs.afind()).jobs == []

    asyncio.run(host())


@pytest.mark.parametrize("opened", [connection, session])
def test_a_synchronous_call_in_an_asynchronous_transaction_is_told_the_way(url: str, jobs: Jobs, opened: Any) -> None:
    async def host() -> None:
        async with async_engine(url) as engine, opened(engine) as tx:
            await tx.execute(ORDER)
            with pytest.raises(NotATransaction, match=r"is asynchronous: await jobs\.aenqueue"):
                jobs.enqueue("x", tx=tx)
            await tx.rollback()

    asyncio.run(host())


def test_a_transaction_of_another_database_is_refused_and_goes_on(
    url: str, jobs: Jobs, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Of another kind, of the same kind with tables of jobs, and without."""
    others = [f"sqlite:///{tmp_path / name}.sqlite" for name in ("bare", "made")]
    made = create_engine(others[1])
    sql.create_jobs_table(made)
    made.dispose()
    if "postgres" in url:
        with request.getfixturevalue("postgres").database() as another:
            _refused(jobs, [another, *others])
    else:
        _refused(jobs, others)


def _refused(jobs: Jobs, urls: list[str]) -> None:
    async def host() -> None:
        for other in urls:
            async with async_engine(other) as engine:
                async with engine.begin() as tx:
                    await tx.execute(BUSINESS)
                    await tx.execute(ORDER)
                    for _ in range(2):
                        with pytest.raises(NotATransaction, match="another database"):
                            await jobs.aenqueue("x", tx=tx)
                assert await orders(engine) == 1
        assert (await jobs.afind()).jobs == []

    asyncio.run(host())


def test_a_transaction_may_be_used_from_the_loop_of_another_thread(url: str, jobs: Jobs) -> None:
    """One at a time, as any transaction: neither driver binds an idle connection to the loop that opened it."""

    async def host() -> None:
        async with async_engine(url) as engine, AsyncSession(engine) as session:
            await session.execute(ORDER)
            id = await asyncio.to_thread(asyncio.run, asyncio.wait_for(jobs.aenqueue("x", tx=session), 10))
            assert await jobs.aget(id) is None
            await session.commit()
            assert await jobs.aget(id) is not None

    asyncio.run(host())


@pytest.mark.parametrize("begins", [True, False])
def test_aiosqlites_own_connection_tells_whether_a_transaction_is_open(sqlite_url: str, begins: bool) -> None:
    """The driver begins nothing by itself here, as SQLAlchemy's recipe for savepoints has it."""

    async def host(jobs: Jobs) -> None:
        async with async_engine(sqlite_url) as engine:
            event.listen(engine.sync_engine, "connect", lambda raw, _: setattr(raw, "isolation_level", None))
            if begins:
                event.listen(engine.sync_engine, "begin", lambda conn: conn.exec_driver_sql("BEGIN"))
            async with engine.connect() as tx:
                await tx.begin()
                if begins:
                    lost = await jobs.aenqueue("x", tx=tx)
                    await tx.rollback()
                    assert await jobs.aget(lost) is None
                else:
                    with pytest.raises(NotATransaction, match="AUTOCOMMIT"):
                        await jobs.aenqueue("x", tx=tx)

    with open_runtime({"provider": "db", "db": {"url": sqlite_url}}) as runtime:
        asyncio.run(host(Jobs(runtime)))


def test_a_store_that_fails_in_a_transaction_raises_no_driver_error(postgres: Any, postgres_url: str) -> None:
    async def host(proxy: Proxy) -> None:
        async with async_engine(through(proxy, postgres_url)) as engine, engine.connect() as tx:
            await tx.begin()
            await jobs.aenqueue("x", tx=tx)
            proxy.cut()
            with pytest.raises(BackendUnavailable):
                await jobs.aenqueue("x", tx=tx)
            with pytest.raises(NotATransaction, match="was lost"):
                await jobs.aenqueue("x", tx=tx)

    with open_runtime({"provider": "db", "db": {"url": postgres_url}}) as runtime, Proxy(postgres.port) as proxy:
        jobs = Jobs(runtime)
        asyncio.run(host(proxy))
        assert jobs.find().jobs == []


def through(proxy: Proxy, url: str) -> str:
    return make_url(url).set(port=proxy.port).render_as_string(hide_password=False)


class Cancelling:
    """Calls that are cancelled at some moment of their life, and afterwards repeated by id."""

    def __init__(self, jobs: Jobs, call: Callable[[UUID], Awaitable[object]]) -> None:
        self._jobs = jobs
        self._call = call
        self.ids = [new_job("x").id for _ in range(30)]
        self.cancelled = 0

    async def run(self) -> None:
        """Let a call take its time once; cancel the others at moments spread over twice that time."""
        await self._call(self.ids[0])
        began = time.monotonic()
        await self._call(self.ids[1])
        took = time.monotonic() - began
        for number, id in enumerate(self.ids[2:]):
            task = asyncio.ensure_future(self._call(id))
            await asyncio.sleep(2 * took * number / len(self.ids))
            task.cancel()
            try:
                await asyncio.wait_for(task, 10)
            except asyncio.CancelledError:
                self.cancelled += 1
        assert self.cancelled > 5

    async def repeat(self) -> None:
        for id in self.ids:
            assert await self._jobs.aenqueue("x", id=id) == id
        found = [job.id for job in (await self._jobs.afind(limit=1_000)).jobs]
        assert sorted(found) == sorted(self.ids)


@pytest.mark.fault(57, 58)
def test_a_cancelled_enqueue_leaks_nothing_and_is_safe_to_repeat(postgres: Any, postgres_url: str) -> None:
    async def host(jobs: Jobs) -> None:
        async def enqueue(id: UUID) -> object:
            return await jobs.aenqueue("x", id=id)

        calls = Cancelling(jobs, enqueue)
        await calls.run()
        await calls.repeat()

    with Proxy(postgres.port) as proxy:
        engine = create_engine(through(proxy, postgres_url), pool_size=4)
        with open_runtime({"provider": "db"}, engine) as runtime:
            proxy.delay = 0.01
            asyncio.run(host(Jobs(runtime)))
            assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]
        engine.dispose()


@pytest.mark.fault(57, 58)
@pytest.mark.parametrize("opened", [connection, session])
def test_a_cancelled_enqueue_in_a_transaction_leaves_nothing_of_it(
    postgres: Any, postgres_url: str, opened: Any
) -> None:
    async def host(jobs: Jobs, proxy: Proxy) -> None:
        async with async_engine(through(proxy, postgres_url), pool_size=2, max_overflow=0) as engine:
            await _cancel_in_transactions(jobs, engine, opened)

    made = create_engine(postgres_url)
    with made.begin() as tx:
        tx.execute(BUSINESS)
    with open_runtime({"provider": "db", "db": {"url": postgres_url}}) as runtime, Proxy(postgres.port) as proxy:
        proxy.delay = 0.01
        asyncio.run(host(Jobs(runtime), proxy))
    with made.connect() as conn:
        idle = conn.execute(text("SELECT COUNT(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"))
        assert idle.scalar_one() == 0
    made.dispose()


async def _cancel_in_transactions(jobs: Jobs, engine: AsyncEngine, opened: Any) -> None:
    async def enqueue(id: UUID) -> object:
        async with opened(engine) as tx:
            await tx.execute(ORDER)
            await jobs.aenqueue("x", id=id, tx=tx)
            await tx.commit()

    calls = Cancelling(jobs, enqueue)
    await calls.run()
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    stored = len((await jobs.afind(limit=1_000)).jobs)
    assert stored == await orders(engine), "a job without its order, or the other way round"
    assert stored >= len(calls.ids) - calls.cancelled
    await calls.repeat()


@pytest.mark.parametrize("opened", [connection, session])
def test_a_cancelled_wait_for_the_lock_of_sqlite_leaves_nothing(sqlite_url: str, opened: Any) -> None:
    async def enqueue(engine: AsyncEngine, jobs: Jobs, id: UUID) -> None:
        async with opened(engine) as tx:
            await tx.execute(ORDERS)
            await jobs.aenqueue("x", id=id, tx=tx)

    async def host(jobs: Jobs) -> None:
        busy = {"timeout": 0.5}  # the driver's own wait for the lock, which no cancellation cuts short
        async with async_engine(sqlite_url, pool_size=2, max_overflow=0, connect_args=busy) as engine:
            ids = [new_job("x").id for _ in range(5)]
            for id in ids:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(enqueue(engine, jobs, id), 0.05)
            holder.rollback()
            async with opened(engine) as tx:
                assert [await jobs.aenqueue("x", id=id, tx=tx) for id in ids] == ids
                await tx.commit()
            assert len((await jobs.afind()).jobs) == len(ids)

    before = set(threading.enumerate())
    made = create_engine(sqlite_url)
    with made.begin() as tx:
        tx.execute(BUSINESS)
    with open_runtime({"provider": "db", "db": {"url": sqlite_url}}) as runtime, made.connect() as holder:
        holder.exec_driver_sql("BEGIN IMMEDIATE")
        asyncio.run(host(Jobs(runtime)))
    made.dispose()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert set(threading.enumerate()) <= before


async def _five_hundred_at_once(jobs: Jobs) -> None:
    """In a loop whose executor has two threads."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
    enqueues = [jobs.aenqueue("x", {"n": n}) for n in range(400)]
    same = [jobs.aenqueue("once", key="k") for _ in range(100)]
    ids = await asyncio.wait_for(asyncio.gather(*enqueues, *same), 120)
    assert len(set(ids)) == 401
    assert sum(not id.duplicate for id in ids) == 401
    found = await asyncio.wait_for(asyncio.gather(*[jobs.aget(id) for id in ids]), 120)
    assert [job and job.id for job in found] == ids


def test_five_hundred_enqueues_share_two_threads(database_url: str) -> None:
    engine = create_engine(database_url, pool_size=4, max_overflow=0)
    with open_runtime({"provider": "db"}, engine) as runtime:
        asyncio.run(_five_hundred_at_once(Jobs(runtime)))
        assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    engine.dispose()


def test_five_hundred_enqueues_share_two_threads_in_memory() -> None:
    with open_runtime({"provider": "memory"}) as runtime:
        asyncio.run(_five_hundred_at_once(Jobs(runtime)))


def test_many_transactions_at_once_wait_for_a_small_pool(url: str, jobs: Jobs) -> None:
    async def host() -> None:
        async with async_engine(url, pool_size=2, max_overflow=0) as engine:

            async def one() -> UUID:
                async with AsyncSession(engine) as session, session.begin():
                    await session.execute(ORDER)
                    return await jobs.aenqueue("x", tx=session)

            ids = await asyncio.wait_for(asyncio.gather(*[one() for _ in range(100)]), 120)
            assert {job.id for job in (await jobs.afind(limit=1_000)).jobs} == set(ids)
            assert await orders(engine) == len(ids) == 100

    asyncio.run(host())


class Beating:
    """A task on the loop that notes how long the loop did not turn."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def __aenter__(self) -> "Beating":
        self._task = asyncio.create_task(self._beat())
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _beat(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.002)
            now = time.monotonic()
            self.longest, last = max(self.longest, now - last), now


@noisy
@pytest.mark.timed
@pytest.mark.parametrize("opened", [connection, session])
def test_a_slow_store_does_not_hold_up_the_loop(postgres: Any, postgres_url: str, opened: Any) -> None:
    async def host(jobs: Jobs, proxy: Proxy) -> None:
        async with async_engine(through(proxy, postgres_url)) as engine:
            async with opened(engine) as tx:
                await tx.execute(text("SELECT 1"))
            proxy.delay = 0.1
            async with Beating() as loop:
                began = time.monotonic()
                async with opened(engine) as tx:
                    id = await jobs.aenqueue("x", {"n": 1}, tx=tx)
                    await jobs.aenqueue_many([("x", {"n": n}) for n in range(100)], tx=tx)
                    await tx.commit()
                other = await jobs.aenqueue("x", {"n": 2})
                assert await jobs.aget(id) is not None
                assert await jobs.acancel(other)
                assert await jobs.await_(other) is not None
                assert time.monotonic() - began > 1, "it was not slow"
            assert loop.longest < 0.05

    with (
        Proxy(postgres.port) as proxy,
        open_runtime({"provider": "db", "db": {"url": through(proxy, postgres_url)}}) as runtime,
    ):
        asyncio.run(host(Jobs(runtime), proxy))


@noisy
@pytest.mark.timed
def test_the_lock_of_another_does_not_hold_up_the_loop(sqlite_url: str) -> None:
    async def host(jobs: Jobs) -> None:
        async with async_engine(sqlite_url) as engine, connection(engine) as tx:
            await tx.execute(text("SELECT 1"))
            asyncio.get_running_loop().call_later(0.5, holder.rollback)
            async with Beating() as loop:
                began = time.monotonic()
                await asyncio.gather(jobs.aenqueue("x"), jobs.aenqueue("x", tx=tx), jobs.aget(new_job("x").id))
                assert time.monotonic() - began > 0.4, "it did not wait"
            await tx.rollback()
            assert loop.longest < 0.05

    made = create_engine(sqlite_url)
    with open_runtime({"provider": "db", "db": {"url": sqlite_url}}) as runtime, made.connect() as holder:
        holder.exec_driver_sql("BEGIN IMMEDIATE")
        asyncio.run(host(Jobs(runtime)))
    made.dispose()


WITHOUT_GREENLET = """
import asyncio, sys
sys.modules["greenlet"] = None
import wagoe_jobs, wagoe_jobs.containers, wagoe_jobs.cli
from wagoe_jobs import Jobs, open_runtime
with open_runtime({"provider": "db", "db": {"url": sys.argv[1]}}) as runtime:
    jobs = Jobs(runtime)
    print(jobs.get(jobs.enqueue("x")).status, jobs.get(asyncio.run(jobs.aenqueue("x"))).status)
"""


def test_all_but_asynchronous_transactions_does_without_greenlet(sqlite_url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_GREENLET, sqlite_url], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.split(), done.stderr) == (["pending", "pending"], "")
