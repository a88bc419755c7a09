"""Waiting for news of work: LISTEN on PostgreSQL, the change counter of a SQLite file.

News may come for nothing and may be lost with a connection; polling stays behind it.
"""

import hashlib
import select
import sqlite3
import time
from datetime import timedelta
from threading import Event
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from wagoe_jobs.adapters.sql.connections import BACKEND, Database, driver, translating
from wagoe_jobs.adapters.sql.tables import Tables
from wagoe_jobs.doorbell import Doorbell
from wagoe_jobs.errors import BackendUnavailable

LOOK_EVERY = 0.02


class FileWatch:
    """WakeUp by `PRAGMA data_version`, which moves when any other connection has committed."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._interrupted = Event()
        self._file: sqlite3.Connection | None = None
        self._seen: int | None = None

    def wait(self, timeout: timedelta) -> bool:
        until = time.monotonic() + timeout.total_seconds()
        while True:
            version = self._version()
            if version != self._seen:
                self._seen = version
                return True
            left = until - time.monotonic()
            if self._interrupted.wait(max(0.0, min(LOOK_EVERY, left))):
                self._interrupted.clear()
                return True
            if left <= 0:
                return False

    def interrupt(self) -> None:
        self._interrupted.set()

    def __enter__(self) -> Self:
        self._seen = self._version()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._drop()

    def _version(self) -> int:
        try:
            if self._file is None:
                self._file = self._open()
            (version,) = self._file.execute("PRAGMA data_version").fetchone()
            return int(version)
        except sqlite3.Error as exc:
            self._drop()
            raise BackendUnavailable(BACKEND, str(exc)) from exc

    def _open(self) -> sqlite3.Connection:
        # a connection of its own: its counter is not moved by itself, and any thread may wait
        def path(conn: Connection) -> str:
            return next(str(row[2]) for row in conn.exec_driver_sql("PRAGMA database_list") if row[1] == "main")

        file = quote(self._db.read(path))
        return sqlite3.connect(f"file:{file}?mode=rw", uri=True, check_same_thread=False)

    def _drop(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


class Listener:
    """WakeUp by LISTEN on a connection of its own, selected on together with a bell that interrupts."""

    def __init__(self, db: Database, channel: str, queue: str) -> None:
        self._db = db
        self._channel = channel
        self._queue = queue.encode()
        self._conn: Connection | None = None
        self._bell = Doorbell()

    def wait(self, timeout: timedelta) -> bool:
        until = time.monotonic() + timeout.total_seconds()
        with translating(self._db.dialect):
            try:
                return self._wait(until)
            except self._db.engine.dialect.loaded_dbapi.Error as exc:
                self._drop()
                raise BackendUnavailable(BACKEND, str(exc).partition("\n")[0]) from exc
            except Exception:
                self._drop()
                raise

    def interrupt(self) -> None:
        self._bell.ring()

    def __enter__(self) -> Self:
        with translating(self._db.dialect):
            self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._drop()
        self._bell.close()

    def _wait(self, until: float) -> bool:
        if self._conn is None:
            self._open()
            return True  # what was told while nobody listened is lost
        link = driver(self._conn).pgconn
        while True:
            if self._news(link):
                return True
            left = until - time.monotonic()
            readable, _, _ = select.select([link.socket, self._bell], [], [], max(0.0, left))
            if self._bell in readable:
                self._bell.answer()
                return True
            if not readable and left <= 0:
                return False

    def _news(self, link: Any) -> bool:
        """Whether this queue was told of, reading all that has come."""
        link.consume_input()
        told = False
        while (notice := link.notifies()) is not None:
            told = told or notice.extra == self._queue
        return told

    def _open(self) -> None:
        conn = self._db.engine.connect()
        try:
            conn = conn.execution_options(isolation_level="AUTOCOMMIT")
            # LISTEN takes no parameters; the name is a digest made by this adapter
            conn.exec_driver_sql(f"LISTEN {self._channel}")
        except SQLAlchemyError:
            conn.close()
            raise
        self._conn = conn

    def _drop(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            conn.invalidate()  # it listens: the pool must not have it back
            conn.close()


def channel(tables: Tables) -> str:
    """The name that news of these tables goes under; a digest, since names end at 63 bytes."""
    return "wagoe_jobs_" + hashlib.sha256(tables.queue.fullname.encode()).hexdigest()[:24]
