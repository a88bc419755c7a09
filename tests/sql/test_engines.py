"""An engine of our own is bounded in everything it waits for, and a lent one is looked at before it is used."""

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import NullPool, QueuePool, StaticPool, make_url, text

from tests.conftest import Engines
from tests.proxy import Proxy
from tests.servers import MariaDbServer
from tests.sql.conftest import LINE, Parts, new_job
from wagoe_jobs.adapters import sql
from wagoe_jobs.errors import BackendUnavailable, SettingsError
from wagoe_jobs.ports import WakingJobQueue

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:x?mode=memory&cache=shared&uri=true"]
)
def test_sqlite_in_memory_is_refused_with_the_provider_to_use(url: str) -> None:
    with pytest.raises(SettingsError, match='provider = "memory"') as refusal:
        sql.open_engine(url)
    assert refusal.value.path == "jobs.db.url"


def test_sqlite_in_a_folder_that_is_not_there_is_away_and_names_it(tmp_path: Path) -> None:
    with pytest.raises(BackendUnavailable, match=rf"jobs\.db\.url: the folder {tmp_path}/none is not there"):
        sql.open_engine(f"sqlite:///{tmp_path}/none/jobs.sqlite")


@pytest.mark.parametrize(
    "url", ["", "no url", "oracle://x/y", "postgresql+pg8000://u:s3cret@h/d", "mysql+nothing://u:s3cret@h/d"]
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        sql.open_engine(url)
    assert refusal.value.path == "jobs.db.url"
    assert "s3cret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgres://u:s3cret@h/d", "postgres is not supported: use sqlite, postgresql"),
        ("no url", "is not a database URL, as postgresql"),
        ("postgresql+psycopg://u:s3cret@h:port/d", "is not a database URL, as postgresql"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_with_what_can(url: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told) as refusal:
        sql.open_engine(url)
    assert "s3cret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("url", "package", "extra"),
    [
        ("postgresql+psycopg://h/d", "psycopg", "postgres"),
        ("mysql+pymysql://h/d", "pymysql", "mysql"),
        ("mariadb+pymysql://h/d", "pymysql", "mysql"),
    ],
)
def test_a_driver_that_is_not_installed_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, url: str, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SettingsError, match=f"the package {package}, which the extra {extra}"):
        sql.open_engine(url)


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"pool_size": 2, "max_overflow": 1}, 3),
        ({"pool_size": 5, "max_overflow": 10}, 15),
        ({"poolclass": StaticPool}, 1),
        ({"pool_size": 1, "max_overflow": -1}, None),
        ({"poolclass": NullPool}, None),
    ],
)
def test_a_pool_that_is_too_small_is_refused_with_the_figure(
    engines: Engines, sqlite_url: str, options: dict[str, Any], most: int | None
) -> None:
    engine = engines(sqlite_url, **options)
    sql.check_pool(engine, most or 1_000)
    if most is not None:
        with pytest.raises(SettingsError, match=f"{most} connections, this node needs {most + 1}"):
            sql.check_pool(engine, most + 1)


def test_the_figure_is_enough(database_url: str, engines: Engines, open_parts: Callable[..., Parts]) -> None:
    needed = sql.connections_needed(1)
    parts = open_parts(engines(database_url, pool_size=needed, max_overflow=0, pool_timeout=1))
    parts.queue.enqueue(new_job())
    news = parts.queue.wake_up(LINE) if isinstance(parts.queue, WakingJobQueue) else nullcontext()
    with news:
        claims = parts.queue.claim(LINE, "w", 1)
        parts.queue.renew(claims)
        assert parts.queue.ack(claims[0])


def unreachable(proxy: Proxy) -> None:
    proxy.refuse()
    proxy.cut()


def mute(proxy: Proxy) -> None:
    proxy.drop_replies()


METHODS: dict[str, Callable[[Parts], object]] = {
    "enqueue": lambda parts: parts.queue.enqueue(new_job()),
    "claim": lambda parts: parts.queue.claim(LINE, "w", 1),
    "renew": lambda parts: parts.queue.renew([]),
    "next_due": lambda parts: parts.queue.next_due(),
    "process_scheduled": lambda parts: parts.queue.process_scheduled(),
    "reclaim": lambda parts: parts.queue.reclaim_abandoned(),
    "search": lambda parts: parts.store.search(),
}


def given_up(call: Callable[[Parts], object], parts: Parts) -> float:
    """How many seconds it took until the call said that the database is gone."""
    began = time.monotonic()
    with pytest.raises(BackendUnavailable) as failure:
        call(parts)
    assert failure.value.backend == "db"
    return time.monotonic() - began


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
@pytest.mark.parametrize("outage", [unreachable, mute], ids=lambda outage: outage.__name__)
def test_a_database_that_does_not_answer_is_given_up_in_time(
    kind: str, request: pytest.FixtureRequest, open_parts: Callable[..., Parts], outage: Callable[[Proxy], None]
) -> None:
    url = make_url(request.getfixturevalue(f"{kind}_url"))
    with Proxy(url.port or 0) as proxy:
        engine = sql.open_engine(url.set(port=proxy.port), timeout=SECOND)
        parts = open_parts(engine)
        for call in METHODS.values():
            call(parts)
        outage(proxy)
        with ThreadPoolExecutor(len(METHODS)) as threads:
            took = list(threads.map(lambda call: given_up(call, parts), METHODS.values()))
        assert max(took) < 4, dict(zip(METHODS, took, strict=True))
        proxy.refuse(False)
        proxy.drop_replies(False)
        for call in METHODS.values():
            call(parts)
        job = new_job()
        assert parts.queue.enqueue(job)
        assert parts.store.find(job.id) is not None
        parts.queue.close()
        engine.dispose()


def test_a_statement_that_takes_too_long_is_given_up(postgres_url: str, open_parts: Callable[..., Parts]) -> None:
    engine = sql.open_engine(postgres_url, timeout=SECOND)
    parts = open_parts(engine)
    with engine.connect() as other:
        other.execute(text("lock table job_queue in access exclusive mode"))
        began = time.monotonic()
        with pytest.raises(BackendUnavailable):
            parts.queue.size(LINE)
        assert time.monotonic() - began < 3
    assert parts.queue.size(LINE) == 0
    parts.queue.close()
    engine.dispose()


def test_settings_of_kept_connections_never_reach_the_pool(postgres_url: str, engines: Engines) -> None:
    engine = engines(postgres_url, pool_size=3, max_overflow=0)
    sql.create_jobs_table(engine)
    queue = sql.job_queue(engine)
    queue.claim(LINE, "w", 1)
    with queue.wake_up(LINE):
        queue.renew([])
    queue.close()
    assert isinstance(engine.pool, QueuePool)
    assert engine.pool.checkedout() == 0
    connections = [engine.connect() for _ in range(3)]
    for conn in connections:
        assert conn.execute(text("show enable_seqscan")).scalar() == "on"
        assert conn.execute(text("show plan_cache_mode")).scalar() == "auto"
        assert conn.execute(text("select count(*) from pg_listening_channels()")).scalar() == 0
        conn.close()


def test_a_connection_that_came_over_a_fork_is_refused(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    parts.queue.enqueue(new_job())
    monkeypatch.setattr("wagoe_jobs.adapters.sql.connections.os.getpid", lambda: -1)
    with pytest.raises(BackendUnavailable, match="fork"):
        parts.queue.claim(LINE, "w", 1)


FORKED = """
import os, sys
from tests.sql.conftest import LINE, Parts, new_job
from sqlalchemy import create_engine
from wagoe_jobs.errors import BackendUnavailable
parts = Parts(engine=create_engine(sys.argv[1]))
parts.queue.enqueue(new_job())
claims = parts.queue.claim(LINE, "w", 1)
parts.queue.renew(claims)
child = os.fork()
if not child:
    try:
        parts.queue.enqueue(new_job())
    except BackendUnavailable:
        parts.queue.close()
        os._exit(7)
    os._exit(0)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), parts.queue.renew(claims), parts.queue.ack(claims[0]))
parts.queue.close()
"""


@pytest.mark.fault(71)
def test_a_child_that_is_refused_leaves_the_parent_its_connections(database_url: str) -> None:
    command = [sys.executable, "-c", FORKED, database_url]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=60)
    assert done.stderr == ""
    assert done.stdout.startswith("7 ")
    assert "Hold.HELD" in done.stdout
    assert done.stdout.rstrip().endswith("True")


def test_a_password_with_an_at_sign_is_not_taken_for_a_host_and_told() -> None:
    with pytest.raises(SettingsError, match="written as %40") as caught:
        sql.open_engine("postgresql+psycopg://ann:a@hunter2@127.0.0.1/jobs")
    assert "hunter2" not in str(caught.value)
    sql.open_engine("postgresql+psycopg://ann:a%40hunter2@127.0.0.1/jobs").dispose()


def test_a_mariadb_that_hangs_is_given_up_in_time_and_used_again(open_parts: Callable[..., Parts]) -> None:
    with MariaDbServer() as server, server.database() as url:
        engine = sql.open_engine(url, timeout=SECOND)
        parts = open_parts(engine)
        for call in METHODS.values():
            call(parts)
        server.pause()
        with ThreadPoolExecutor(len(METHODS)) as threads:
            took = list(threads.map(lambda call: given_up(call, parts), METHODS.values()))
        assert max(took) < 4, dict(zip(METHODS, took, strict=True))
        server.kill()
        server.start()
        job = new_job()
        assert parts.queue.enqueue(job)
        assert parts.store.find(job.id) is not None
        assert parts.queue.claim(LINE, "w", 5)
        parts.queue.close()
        engine.dispose()


def test_a_lock_of_mariadb_that_is_held_too_long_is_given_up(
    mariadb_url: str, open_parts: Callable[..., Parts]
) -> None:
    engine = sql.open_engine(mariadb_url, timeout=2 * SECOND)
    parts = open_parts(engine)
    object.__setattr__(parts.queue._db, "patience", 2 * SECOND)
    parts.queue.enqueue(new_job())
    (claim,) = parts.queue.claim(LINE, "w", 1)
    with engine.begin() as other:
        other.execute(text("select id from job_queue for update"))
        began = time.monotonic()
        with pytest.raises(BackendUnavailable, match="another transaction keeps the job locked"):
            parts.queue.ack(claim)
        assert time.monotonic() - began < 6
    assert parts.queue.ack(claim)
    parts.queue.close()
    engine.dispose()
