"""How often an enqueue and its kin cross the network, and what becomes of them on a connection that has died."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import make_url

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
