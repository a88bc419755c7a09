"""The private servers end with the block and with the process; outages keep port and data."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine, create_engine, inspect, text
from sqlalchemy.exc import OperationalError

from tests.proxy import Proxy
from tests.servers import MissingServer, PostgresServer

HOLD = """
import sys, time
from tests.servers import PostgresServer
with PostgresServer() as server:
    print(server.port, server.folder, flush=True)
    time.sleep(60)
"""


def answers(port: int) -> bool:
    try:
        psycopg.connect(f"host=127.0.0.1 port={port} user=jobs dbname=postgres connect_timeout=2").close()
    except psycopg.OperationalError:
        return False
    return True


def test_data_survives_a_kill_on_the_same_port() -> None:
    with PostgresServer() as server:
        engine = create_engine(server.url(), pool_pre_ping=True)
        with engine.begin() as tx:
            tx.execute(text("CREATE TABLE kept AS SELECT 1 AS one"))
        server.kill()
        with pytest.raises(OperationalError), engine.connect():
            pass
        server.start()
        with engine.connect() as connection:
            assert connection.scalar(text("SELECT one FROM kept")) == 1
        engine.dispose()
        port, folder = server.port, server.folder
    assert not answers(port)
    assert not folder.exists()


def test_it_runs_with_full_durability(postgres_engine: Engine) -> None:
    with postgres_engine.connect() as connection:
        settings = [connection.scalar(text(f"SHOW {name}")) for name in ("fsync", "synchronous_commit")]
    assert settings == ["on", "on"]


def test_a_server_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    port, folder = holder.stdout.readline().split()
    assert answers(int(port))
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    assert until(lambda: not answers(int(port)) and not list(Path(folder).glob("*")))


def test_a_missing_binary_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(MissingServer, match="apt-get install postgresql"):
        PostgresServer().binary("no-such-server", "usr/lib/postgresql/*/bin")


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
