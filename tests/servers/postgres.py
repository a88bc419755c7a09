"""A private PostgreSQL."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import psycopg

from tests.servers.server import Server


class PostgresServer(Server):
    """PostgreSQL with one superuser, `jobs`, and no password. Its time zone is one that naive code trips over."""

    package = "postgresql"
    user = "postgres"
    polite = signal.SIGINT
    abrupt = signal.SIGQUIT

    def __init__(self) -> None:
        super().__init__()
        self._numbers = count(1)

    def url(self, database: str = "postgres") -> str:
        """For SQLAlchemy."""
        return f"postgresql+psycopg://jobs@127.0.0.1:{self.port}/{database}"

    @contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """The URL of a database of its own, dropped at the end with whoever still uses it."""
        with self.named_database(f"test_{next(self._numbers)}", template) as name:
            yield self.url(name)

    @contextmanager
    def named_database(self, name: str, template: str = "template1") -> Iterator[str]:
        self._execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield name
        finally:
            with suppress(psycopg.OperationalError):  # a test may have left the server down
                self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    def prepare(self) -> None:
        options = ["--username=jobs", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        self.run(self._binary("initdb"), "--pgdata", self._data, *options)

    def command(self) -> Sequence[str | Path]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "timezone": "Asia/Tokyo",
            "max_connections": 200,
        }
        return [self._binary("postgres"), "-D", self._data, *(f"--{name}={value}" for name, value in settings.items())]

    def answers(self) -> bool:
        try:
            self._execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _binary(self, name: str) -> Path:
        return self.binary(name, "usr/lib/postgresql/*/bin")

    def _execute(self, statement: str) -> None:
        with psycopg.connect(
            f"host=127.0.0.1 port={self.port} user=jobs dbname=postgres connect_timeout=5", autocommit=True
        ) as connection:
            connection.execute(statement.encode())
