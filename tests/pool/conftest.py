"""Houses over every adapter. `house` has the default lease; `open_house(lease)` makes one with another."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from tests.pool.house import House, Ledger, memory_house, sql_house, wipe
from tests.servers import PostgresServer

OpenHouse = Callable[..., House]


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + 5
    while (left := set(threading.enumerate()) - before) and time.monotonic() < deadline:
        for thread in left:
            thread.join(0.1)
    assert not left


@pytest.fixture(scope="session")
def shared_url(postgres: PostgresServer) -> Iterator[str]:
    """One database for many tests: making one takes longer than most of them."""
    with postgres.database() as url:
        yield url


@pytest.fixture
def wiped_postgres_url(shared_url: str) -> str:
    """The shared database, without what an earlier test left in it."""
    wipe(shared_url)
    return shared_url


@pytest.fixture(params=["memory", "sqlite", "wiped_postgres"], ids=["memory", "sqlite", "postgres"])
def open_house(request: pytest.FixtureRequest) -> Iterator[OpenHouse]:
    yield from _opener(request, request.param)


@pytest.fixture(params=["sqlite", "postgres"])
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
    with ExitStack() as opened:

        def open_one(lease: timedelta = timedelta(seconds=60)) -> House:
            if kind == "memory":
                return opened.enter_context(memory_house(lease))
            return opened.enter_context(sql_house(request.getfixturevalue(f"{kind}_url"), lease))

        yield open_one
