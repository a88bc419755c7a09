"""Servers, databases and engines for tests. What is missing fails the run; nothing is skipped.

`postgres`, `mariadb` and `redis_server` are one private server each for the whole run. A test gets a database of
its own: `postgres_url`, `mariadb_url`, `redis_url`, or `sqlite_path` for a file; `database_url` runs a test against
each kind of SQL database. `engines` makes engines and disposes of them. `backend` runs a test of the contract
against every adapter.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import Engine, create_engine

pytest.register_assert_rewrite("wagoe_jobs.testing")

from tests import backends  # noqa: E402  after the line above, which must come before the import it is about
from tests.servers import MariaDbServer, PostgresServer, RedisServer, place  # noqa: E402
from wagoe_jobs.testing import contract  # noqa: E402
from wagoe_jobs.testing.contract import Backend  # noqa: E402

Engines = Callable[..., Engine]
Backends = Callable[[str], AbstractContextManager[Backend]]
Store = backends.SqlStore | backends.RedisStore


def pytest_configure(config: pytest.Config) -> None:
    """Let SIGTERM end the run through its fixtures, so that servers stop and folders go."""
    signal.signal(signal.SIGTERM, _exit)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the contract's matrix after a run of it; here, since a parallel run shows nothing that a test prints."""
    passed = terminalreporter.stats.get("passed", [])
    if any(report.nodeid.startswith("tests/test_contract.py") for report in passed):
        terminalreporter.section("cases of the contract by method and state of the job")
        terminalreporter.write_line(contract.matrix())


def _exit(number: int, _: object) -> None:
    pytest.exit(f"ended by {signal.Signals(number).name}", returncode=128 + number)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """A new, empty database."""
    with postgres.database() as url:
        yield url


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDbServer]:
    with MariaDbServer() as server:
        yield server


@pytest.fixture
def mariadb_url(mariadb: MariaDbServer) -> Iterator[str]:
    """A new, empty database."""
    with mariadb.database() as url:
        yield url


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> Iterator[str]:
    """An empty database."""
    with redis_server.database() as url:
        yield url


@pytest.fixture
def sqlite_path(tmp_path: Path) -> Path:
    """Where a database file may be made."""
    return tmp_path / "jobs.sqlite"


@pytest.fixture
def sqlite_url(sqlite_path: Path) -> str:
    return f"sqlite:///{sqlite_path}"


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def database_url(request: pytest.FixtureRequest) -> str:
    """An empty database of each kind that is supported."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def engines() -> Iterator[Engines]:
    """`engines(url, **options)` makes an engine that is disposed of after the test."""
    made: list[Engine] = []

    def make(url: str, **options: object) -> Engine:
        made.append(create_engine(url, **options))
        return made[-1]

    yield make
    for engine in made:
        engine.dispose()


@pytest.fixture
def engine(engines: Engines, database_url: str) -> Engine:
    """One engine on `database_url`."""
    return engines(database_url)


@pytest.fixture
def postgres_engine(engines: Engines, postgres_url: str) -> Engine:
    return engines(postgres_url)


@pytest.fixture
def mariadb_engine(engines: Engines, mariadb_url: str) -> Engine:
    return engines(mariadb_url)


@pytest.fixture
def sqlite_engine(engines: Engines, sqlite_url: str) -> Engine:
    return engines(sqlite_url)


@pytest.fixture(scope="session")
def sqlite_store() -> Iterator[backends.SqlStore]:
    """One file for all tests of the contract; each finds it empty."""
    with TemporaryDirectory(prefix="wagoe-jobs-", dir=place()) as folder:
        store = backends.SqlStore(f"sqlite:///{folder}/jobs.sqlite")
        yield store
        store.close()


@pytest.fixture(scope="session")
def postgres_store(postgres: PostgresServer) -> Iterator[backends.SqlStore]:
    """One database for all tests of the contract; each finds it empty."""
    with postgres.database() as url:
        store = backends.SqlStore(url)
        yield store
        store.close()


@pytest.fixture(scope="session")
def mariadb_store(mariadb: MariaDbServer) -> Iterator[backends.SqlStore]:
    """One database for all tests of the contract; each finds it empty."""
    with mariadb.database() as url:
        store = backends.SqlStore(url)
        yield store
        store.close()


@pytest.fixture(scope="session")
def redis_store(redis_server: RedisServer) -> Iterator[backends.RedisStore]:
    """One database for all tests of the contract; each finds it empty."""
    with redis_server.database() as url:
        store = backends.RedisStore(url)
        yield store
        store.close()


@pytest.fixture
def open_backend(request: pytest.FixtureRequest) -> Backends:
    """`open_backend(name)` is a block in which the backend's store is empty."""

    def opened(name: str) -> AbstractContextManager[Backend]:
        if name == "memory":
            return backends.memory_backend()
        store: backends.SqlStore | backends.RedisStore = request.getfixturevalue(
            f"{name.removesuffix('-portable')}_store"
        )
        return store.backend(name)

    return opened


@pytest.fixture(params=backends.NAMES)
def backend(request: pytest.FixtureRequest, open_backend: Backends) -> Iterator[Backend]:
    """An empty store of every kind, as the contract's cases take it."""
    with open_backend(request.param) as opened:
        yield opened
