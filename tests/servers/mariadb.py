"""A private MariaDB."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path

import pymysql
from pymysql.cursors import Cursor

from tests.servers.server import Server


class MariaDbServer(Server):
    """MariaDB with one user, `jobs`, who may do everything and has no password.

    Its time zone is one that naive code trips over; everything else, and so the durability, is its default.
    """

    package = "mariadb-server-core mariadb-client-core"
    user = "mysql"
    polite = signal.SIGTERM
    abrupt = signal.SIGKILL

    def __init__(self) -> None:
        super().__init__()
        self._numbers = count(1)

    def url(self, database: str = "") -> str:
        """For SQLAlchemy."""
        return f"mysql+pymysql://jobs@127.0.0.1:{self.port}/{database}"

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a database of its own, dropped at the end with whoever still uses it."""
        name = f"test_{next(self._numbers)}"
        self._execute(f"CREATE DATABASE {name}")
        try:
            yield self.url(name)
        finally:
            with suppress(pymysql.OperationalError):  # a test may have left the server down
                self._drop(name)

    def prepare(self) -> None:
        options = ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]
        # temporary tables in its own folder: two servers that start at once would take one another's for their own
        folders = [f"--datadir={self._data}", f"--tmpdir={self.folder}"]
        self.run(self.binary("mariadb-install-db", "usr/bin"), "--no-defaults", *folders, *options)
        self._first_statements.write_text("CREATE USER IF NOT EXISTS jobs@'%';\nGRANT ALL ON *.* TO jobs@'%';\n")
        self._first_statements.chmod(0o644)

    def command(self) -> Sequence[str | Path]:
        settings = {
            "datadir": self._data,
            "tmpdir": self.folder,
            "bind-address": "127.0.0.1",
            "port": self.port,
            "socket": self.folder / "mariadb.sock",
            "pid-file": self.folder / "mariadb.pid",
            "init-file": self._first_statements,
            "default-time-zone": "+09:00",
            "character-set-server": "utf8mb4",
            "max-connections": 200,
        }
        return [
            self.binary("mariadbd", "usr/sbin"),
            "--no-defaults",  # must be the first
            "--skip-name-resolve",
            *(f"--{name}={value}" for name, value in settings.items()),
        ]

    def answers(self) -> bool:
        try:
            self._execute("SELECT 1")
        except pymysql.OperationalError:
            return False
        return True

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _first_statements(self) -> Path:
        return self.folder / "first.sql"

    def _drop(self, name: str) -> None:
        """Whoever still has a transaction open there would otherwise keep it for as long as they like."""
        with self.cursor() as cursor:
            cursor.execute("SELECT id FROM information_schema.processlist WHERE db = %s", [name])
            for (connection,) in cursor.fetchall():
                with suppress(pymysql.OperationalError):  # it may have left by itself
                    cursor.execute(f"KILL {connection}")
            cursor.execute(f"DROP DATABASE {name}")

    def _execute(self, statement: str) -> None:
        with self.cursor() as cursor:
            cursor.execute(statement)

    @contextmanager
    def cursor(self) -> Iterator[Cursor]:
        """Of one who may do everything, and whose every statement commits."""
        connection = pymysql.connect(
            host="127.0.0.1", port=self.port, user="jobs", connect_timeout=5, read_timeout=30, autocommit=True
        )
        with closing(connection), connection.cursor() as cursor:
            yield cursor
