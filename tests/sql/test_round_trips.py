"""How often an enqueue and its kin cross the network, and what becomes of them on a connection that has died."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from itertools import chain
from threading import Event
from uuid import UUID

import pytest
from sqlalchemy import make_url, text

from tests.conftest import Engines
from tests.proxy import Proxy
from tests.servers import MariaDbServer, PostgresServer
from tests.sql.conftest import LINE, Parts, new_job
from tests.until import until
from wagoe_jobs.adapters import sql
from wagoe_jobs.errors import BackendUnavailable

Proxied = tuple[Parts, Proxy]


@pytest.fixture
def proxied(postgres_url: str, open_parts: Callable[..., Parts]) -> Iterator[Proxied]:
    url = make_url(postgres_url)
    with Proxy(url.port or 0) as proxy:
        engine = sql.open_engine(url.set(port=proxy.port))
        parts = open_parts(engine)
        yield parts, proxy
        parts.queue.close()
        engine.dispose()


def trips(proxy: Proxy, call: Callable[[], object]) -> int:
    """How many round trips the call takes, once everything is warm: what it sends on while a reply comes is none."""
    counts = []
    for _ in range(8):
        before = proxy.trips
        call()
        counts.append(proxy.trips - before)
    return min(counts[1:])


def test_an_enqueue_is_one_round_trip(proxied: Proxied) -> None:
    parts, proxy = proxied
    known = new_job()
    assert trips(proxy, lambda: parts.queue.enqueue(new_job())) == 1
    assert trips(proxy, lambda: parts.queue.enqueue(known)) == 1
    assert trips(proxy, lambda: parts.queue.schedule(new_job(), timedelta(hours=1))) == 1
    assert trips(proxy, lambda: parts.queue.enqueue_many([new_job(), new_job()])) == 1
    assert parts.queue.size(LINE) == 8 + 1 + 16


def test_an_enqueue_on_mariadb_is_five_round_trips(mariadb_url: str, open_parts: Callable[..., Parts]) -> None:
    url = make_url(mariadb_url)
    with Proxy(url.port or 0) as proxy:
        engine = sql.open_engine(url.set(port=proxy.port))
        parts = open_parts(engine)
        # the place, its rollback, the job, a look at what is new, the commit
        assert trips(proxy, lambda: parts.queue.enqueue(new_job())) == 5
        assert parts.queue.size(LINE) == 8
        parts.queue.close()
        engine.dispose()


def test_what_fails_leaves_no_transaction_open_on_mariadb(mariadb_url: str) -> None:
    engine = sql.open_engine(mariadb_url, pool_size=1)
    sql.create_jobs_table(engine)
    with suppress(ZeroDivisionError), engine.connect() as conn:
        conn.execute(text("DELETE FROM job_queue"))
        1 / 0  # noqa: B018
    with engine.connect() as conn:
        there = text("SELECT count(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = connection_id()")
        assert conn.execute(there).scalar_one() == 0
    engine.dispose()


def test_a_look_at_a_job_is_one_round_trip(proxied: Proxied) -> None:
    parts, proxy = proxied
    job = new_job()
    parts.queue.enqueue(job)
    assert trips(proxy, lambda: parts.store.find(job.id)) == 1
    assert trips(proxy, lambda: parts.queue.size(LINE)) == 1


def test_an_enqueue_on_an_engine_that_is_lent_is_one_too(
    postgres_url: str, engines: Engines, open_parts: Callable[..., Parts]
) -> None:
    url = make_url(postgres_url)
    with Proxy(url.port or 0) as proxy:
        for level in ("AUTOCOMMIT", "SERIALIZABLE"):
            parts = open_parts(engines(str(url.set(port=proxy.port)), isolation_level=level))
            assert trips(proxy, lambda: parts.queue.enqueue(new_job())) == 1  # noqa: B023
            parts.engine.dispose()


@pytest.mark.parametrize("ended", [False, True])
def test_a_duplicate_tells_nobody_and_leaves_the_row_that_is_there(proxied: Proxied, ended: bool) -> None:
    parts, _ = proxied
    job = new_job()
    parts.queue.enqueue(job)
    if ended:
        assert parts.queue.ack(*parts.queue.claim(LINE, "w", 1))
    before = parts.rows()
    with parts.queue.wake_up(LINE) as news:
        assert not parts.queue.enqueue(job)
        # what has ended was stored for a moment, so that idle pools may hear of it
        assert ended or not news.wait(timedelta(milliseconds=50))
    assert parts.rows() == before


@pytest.mark.parametrize("server", [PostgresServer, MariaDbServer])
def test_the_first_call_after_a_restart_of_the_server_succeeds(
    server: type[PostgresServer | MariaDbServer], open_parts: Callable[..., Parts]
) -> None:
    with server() as running, running.database() as url:
        engine = sql.open_engine(url)
        parts = open_parts(engine)
        with engine.connect(), engine.connect():
            pass  # several that wait in the pool
        calls: list[Callable[[], object]] = [
            lambda: parts.queue.enqueue(new_job()),
            lambda: parts.queue.enqueue_many([new_job(), new_job()]),
            lambda: parts.store.find(new_job().id) is None,
        ]
        for call in calls:
            assert call()
            running.restart()
            assert call()
        assert parts.queue.size(LINE) == 6
        parts.queue.close()
        engine.dispose()


def test_an_enqueue_that_may_have_happened_is_not_called_a_duplicate(
    proxied: Proxied, engines: Engines, postgres_url: str, open_parts: Callable[..., Parts]
) -> None:
    parts, proxy = proxied
    aside, job = open_parts(engines(postgres_url)), new_job()
    parts.queue.enqueue(new_job())
    proxy.drop_replies()
    with ThreadPoolExecutor(1) as threads:
        late = threads.submit(parts.queue.enqueue, job)
        until(lambda: aside.queue.size(LINE) == 2)
        proxy.drop_replies(False)
        proxy.cut()
        with pytest.raises(BackendUnavailable):
            late.result()
    assert parts.queue.enqueue(job) is False


END_THE_WAITING = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")


def test_a_session_that_is_ended_amid_an_enqueue_is_let_go_without_a_trace(
    postgres_parts: Parts, engines: Engines, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    queue = sql.job_queue(engines(postgres_url, pool_size=1, max_overflow=0))

    def ended() -> bool:
        with postgres_parts.engine.connect() as conn:
            return bool(conn.execute(END_THE_WAITING).all())

    with ThreadPoolExecutor(1) as threads, postgres_parts.engine.connect() as other:
        other.execute(text("LOCK TABLE job_queue IN ACCESS EXCLUSIVE MODE"))
        waiting = threads.submit(queue.enqueue, new_job())
        until(lambda: ended() or waiting.done())
        until(lambda: ended() or waiting.done())  # it is tried once more
        other.rollback()
        with suppress(BackendUnavailable):
            waiting.result()
    assert [record for record in caplog.records if record.name.startswith("sqlalchemy")] == []
    assert queue.enqueue(new_job())
    queue.close()


def test_nothing_is_lost_or_told_wrong_while_sessions_are_ended(
    postgres_parts: Parts, engines: Engines, postgres_url: str
) -> None:
    queue = sql.job_queue(engines(postgres_url, pool_size=4))
    done = Event()

    def enqueue(_: int) -> tuple[list[UUID], int]:
        stored, doubtful = list[UUID](), 0
        while not done.is_set():
            job = new_job()
            try:
                assert queue.enqueue(job), "called a duplicate"
                stored.append(job.id)
            except BackendUnavailable:
                doubtful += 1
        return stored, doubtful

    ended = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                 "AND pid <> pg_backend_pid() ORDER BY random() LIMIT 2")  # fmt: skip
    with ThreadPoolExecutor(4) as threads:
        told = threads.map(enqueue, range(4))
        for _ in range(100):
            with postgres_parts.engine.connect() as conn:
                conn.execute(ended)
        done.set()
        stored, doubtful = zip(*told, strict=True)
    there = [job.id for job in queue.peek(LINE, 1_000_000)]
    assert set(chain.from_iterable(stored)) <= set(there)
    assert len(there) == len(set(there)) <= sum(map(len, stored)) + sum(doubtful)
    queue.close()
