"""The private servers end with the block and with the process; outages keep port and data."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from redis import Redis, RedisCluster
from redis.exceptions import AuthenticationError
from redis.exceptions import ConnectionError as RedisConnectionError
from sqlalchemy import Engine, NullPool, create_engine, inspect, text
from sqlalchemy.exc import OperationalError

from tests.proxy import Proxy
from tests.servers import MariaDbServer, MissingServer, PostgresServer, RedisServer

HOLD = """
import sys, time
from tests import servers
with getattr(servers, sys.argv[1])() as server:
    print(server.port, server.folder, flush=True)
    time.sleep(60)
"""

KINDS = [PostgresServer, MariaDbServer, RedisServer]
Kind = type[PostgresServer] | type[MariaDbServer] | type[RedisServer]


def note(url: str) -> None:
    """Have the server keep something."""
    if url.startswith("redis"):
        with Redis.from_url(url) as client:
            client.set("kept", 1)
    else:
        ask(url, "CREATE TABLE kept AS SELECT 1 AS one")


def noted(url: str) -> bool:
    if url.startswith("redis"):
        with Redis.from_url(url) as client:
            return bool(client.exists("kept"))
    return ask(url, "SELECT one FROM kept") == 1


def ask(url: str, statement: str) -> object:
    with create_engine(url, poolclass=NullPool).begin() as tx:
        done = tx.execute(text(statement))
        return done.scalar() if done.returns_rows else None


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_data_survives_a_kill_on_the_same_port(kind: Kind) -> None:
    with kind() as server, server.database() as url:
        note(url)
        server.kill()
        assert not server.answers()
        server.start()
        assert noted(url)
        server.restart()
        assert noted(url)
        port, folder = server.port, server.folder
    assert not listens(port)
    assert not folder.exists()


@pytest.mark.parametrize(
    "kind", [MariaDbServer, RedisServer]
)  # PostgreSQL serves its clients from processes of their own
def test_a_paused_server_hangs_and_goes_on(kind: Kind) -> None:
    with kind() as server, ThreadPoolExecutor(1) as thread:
        server.pause()
        asked = thread.submit(server.answers)
        with pytest.raises(TimeoutError):
            asked.result(timeout=0.2)
        server.resume()
        assert asked.result(timeout=10)


@pytest.mark.parametrize("kind", [PostgresServer, MariaDbServer])
def test_a_transaction_left_open_does_not_keep_a_database(kind: type[PostgresServer] | type[MariaDbServer]) -> None:
    with kind() as server:
        with server.database() as url:
            note(url)
            left = create_engine(url)
            connection = left.connect()
            connection.execute(text("SELECT one FROM kept"))
        with pytest.raises(OperationalError):
            connection.execute(text("SELECT one FROM kept"))
        connection.close()
        left.dispose()
        with pytest.raises(OperationalError):
            ask(url, "SELECT 1")


def test_postgres_runs_with_full_durability(postgres_engine: Engine) -> None:
    with postgres_engine.connect() as connection:
        settings = [connection.scalar(text(f"SHOW {name}")) for name in ("fsync", "synchronous_commit")]
    assert settings == ["on", "on"]


def test_mariadb_runs_with_full_durability_and_takes_every_character(mariadb_engine: Engine) -> None:
    with mariadb_engine.connect() as connection:
        variables = ("innodb_flush_log_at_trx_commit", "innodb_doublewrite", "character_set_database", "time_zone")
        assert [connection.scalar(text(f"SELECT @@{name}")) for name in variables] == [1, 1, "utf8mb4", "+09:00"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_ends_with_a_process_that_is_killed(kind: Kind) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, kind.__name__], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    port, folder = holder.stdout.readline().split()
    assert listens(int(port))
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    assert until(lambda: not listens(int(port)) and not Path(folder).exists())


def test_its_data_is_where_one_says(monkeypatch: pytest.MonkeyPatch) -> None:
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # a server's user comes through
        monkeypatch.setenv("SERVERS_FOLDER", folder)
        with RedisServer() as server:
            note(server.url())
            server.kill()
            server.start()
            assert noted(server.url())
            assert server.folder.parent == Path(folder)
        assert list(Path(folder).iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_binary_names_the_package_to_install(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(MissingServer, match=f"apt-get install {kind.package} "):
        kind().binary("no-such-server", "usr/lib/postgresql/*/bin")


def test_a_database_of_redis_is_empty_and_nobody_elses(redis_server: RedisServer) -> None:
    with redis_server.database() as one, redis_server.database() as other:
        note(one)
        assert not noted(other)
        redis_server.wipe(int(one.rpartition("/")[2]))
        assert not noted(one)


def test_redis_without_persistence_forgets() -> None:
    with RedisServer(persistent=False) as server:
        note(server.url())
        server.restart()
        assert not noted(server.url())


def test_one_redis_can_be_a_cluster_that_covers_all_slots() -> None:
    with RedisServer(cluster=True) as server, RedisCluster.from_url(server.url()) as cluster:
        assert cluster.set("{one}:a", 1)
        assert cluster.set("{other}:a", 1)


def test_redis_asks_for_trust_and_for_its_password() -> None:
    with RedisServer(tls=True, password="p:w@d/1") as server:
        note(server.url())
        assert noted(server.url())
        for left_out, error in (("ssl_ca_certs", RedisConnectionError), ("password", AuthenticationError)):
            known = {"password": server.password, "ssl_ca_certs": str(server.ca_file)}
            del known[left_out]
            with Redis("127.0.0.1", server.port, ssl=True, retry=None, **known) as client, pytest.raises(error):
                client.ping()


def test_redis_takes_more_settings() -> None:
    with RedisServer(settings={"maxmemory": "10mb", "save": "60 1"}) as server, server.client() as client:
        assert client.config_get("maxmemory", "save") == {"maxmemory": str(10 * 2**20), "save": "60 1"}


def test_the_proxy_cuts_and_refuses(postgres: PostgresServer) -> None:
    with Proxy(postgres.port) as proxy:
        url = f"host=127.0.0.1 port={proxy.port} user=jobs dbname=postgres"
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
            assert proxy.cut() == 1
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
        proxy.refuse()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url)


def test_the_proxy_swallows_the_reply_of_what_was_done(postgres: PostgresServer, postgres_engine: Engine) -> None:
    database = postgres_engine.url.database
    with Proxy(postgres.port) as proxy, ThreadPoolExecutor(1) as thread:
        url = f"host=127.0.0.1 port={proxy.port} user=jobs dbname={database}"
        with psycopg.connect(url, autocommit=True) as connection:
            proxy.drop_replies()
            asked = thread.submit(connection.execute, "CREATE TABLE done ()")
            assert until(lambda: inspect(postgres_engine).has_table("done"))
            assert not asked.done()
            proxy.cut()
            with pytest.raises(psycopg.OperationalError):
                asked.result(timeout=10)


def until(holds: Callable[[], bool], seconds: float = 10) -> bool:
    """Whether it holds before the time is up."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
