"""Houses over every adapter. `house` has the default lease; `open_house(lease)` makes one with another."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from tests.pool.house import House, Ledger, durable_house, memory_house, wipe
from tests.servers import MariaDbServer, PostgresServer

OpenHouse = Callable[..., House]
SOME = ("memory", "sqlite", "postgres")
DURABLE = ("sqlite", "postgres", "mariadb", "redis")
ALL = ("memory", *DURABLE)


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + 5
    while (left := set(threading.enumerate()) - before) and time.monotonic() < deadline:
        for thread in left:
            thread.join(0.1)
    assert not left


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What is timed runs alone, so of that only what shows a numbered fault takes the time of every store.

    A module may name the `STORES` that are enough for it; what is timed is then tried on the first of them.
    """
    if "open_house" in metafunc.fixturenames:
        marks = {mark.name for mark in metafunc.definition.iter_markers()}
        timed, enough = "timed" in marks, getattr(metafunc.module, "STORES", ())
        usual = SOME if timed and "fault" not in marks else ALL
        metafunc.parametrize("open_house", (enough[:1] if timed else enough) or usual, indirect=True)


@pytest.fixture(scope="session")
def shared_postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """One database for many tests: making one takes longer than most of them."""
    with postgres.database() as url:
        yield url


@pytest.fixture(scope="session")
def shared_mariadb_url(mariadb: MariaDbServer) -> Iterator[str]:
    """One database for many tests, as above."""
    with mariadb.database() as url:
        yield url


@pytest.fixture
def open_house(request: pytest.FixtureRequest) -> Iterator[OpenHouse]:
    """A store of the kind that is asked for, without what an earlier test left in it."""
    shared = request.param in ("postgres", "mariadb")
    yield from _opener(request, f"shared_{request.param}" if shared else request.param)


@pytest.fixture(params=DURABLE)
def open_durable(request: pytest.FixtureRequest) -> Iterator[OpenHouse]:
    """Only stores that outlive a process, each test's its own: it may leave processes behind for a moment."""
    yield from _opener(request, request.param)


@pytest.fixture
def house(open_house: OpenHouse) -> House:
    return open_house()


@pytest.fixture
def room() -> Iterator[House]:
    """A memory store, for what does not depend on the store."""
    with memory_house() as house:
        yield house


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = Ledger(tmp_path / "runs")
    yield ledger
    ledger.close()


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """What the library has logged so far."""
    caplog.set_level(logging.INFO, logger="wagoe_jobs")
    return lambda: "\n".join(record.getMessage() for record in caplog.records)


def _opener(request: pytest.FixtureRequest, kind: str) -> Iterator[OpenHouse]:
    url = "" if kind == "memory" else request.getfixturevalue(f"{kind}_url")
    if kind.startswith("shared"):
        wipe(url)
    with ExitStack() as opened:

        def open_one(lease: timedelta = timedelta(seconds=60)) -> House:
            return opened.enter_context(durable_house(url, lease) if url else memory_house(lease))

        yield open_one
