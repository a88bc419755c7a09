"""How statements reach the database: short transactions, retried while another is in the way, and bounded.

Driver and SQLAlchemy errors are turned into the library's own here and nowhere else. What is asked may be
repeated: every unit of work is conditional, and is rolled back before it is tried again.
"""

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from wagoe_jobs.adapters.sql.dialect import Dialect, Verdict
from wagoe_jobs.adapters.sql.tables import Tables
from wagoe_jobs.clock import ClockOffset
from wagoe_jobs.errors import BackendUnavailable, InvalidJob, JobsError, SchemaMismatch, SettingsError

T = TypeVar("T")

BACKEND = "db"
PATIENCE = timedelta(seconds=10)
_FIRST_WAIT = 0.002
_LONGEST_WAIT = 0.1
_DUPLICATES = 5
"""How often a unit of work may meet a row that is there already: the first repeat sees a row that a race brought."""
_AT_ONCE = 0.5
"""How many seconds a connection that ended long ago takes at most to say so."""
_FOREIGN = (SQLAlchemyError, OSError, UnicodeError, OverflowError)


class Conflict(Exception):
    """A conditional write met a row that has changed since it was read; the unit of work starts again."""


class RefusedData(Exception):
    """A value that the database cannot take; `reason` is for people. Never leaves the adapter."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """One engine with the tables that live in it, and the store's clock.

    `patience` is how long a unit of work is tried again while other transactions are in its way.
    """

    engine: Engine
    dialect: Dialect
    tables: Tables
    clock_offset: ClockOffset
    patience: timedelta = PATIENCE
    pid: int = field(default_factory=os.getpid)

    def clock(self) -> Mapping[str, int]:
        """The parameters of the dialect's `now`."""
        return self.dialect.clock(self.clock_offset.us)

    def read(self, work: Callable[[Connection], T]) -> T:
        """What `work`, which writes nothing, returns; each of its statements sees what there is at that moment."""
        return self.once_more(lambda: self._read(work), lambda _: True)

    def write(self, work: Callable[[Connection], T]) -> T:
        """What `work` returned from the transaction that was committed."""
        return self.retried(lambda: self._write(work))

    def write_new(self, work: Callable[[Connection], Sequence[bool]]) -> Sequence[bool]:
        """As `write`, for work that says what was new: one dead connection is not the end of it."""
        return self.once_more(lambda: self._write(work), all)

    def retried(self, attempt: Callable[[], T]) -> T:
        """The first answer of `attempt` that no other transaction spoiled; raises JobsErrors and RefusedData."""
        give_up = time.monotonic() + self.patience.total_seconds()
        wait = _FIRST_WAIT
        duplicates = 0
        while True:
            try:
                self._check_process()
                return attempt()
            except (Conflict, *_FOREIGN) as exc:
                if not self._worth_another(exc):
                    raise translated(exc, self.dialect) from exc
                duplicates += self._is_duplicate(exc)
                if duplicates > _DUPLICATES:
                    raise RefusedData("a row with the same key is there already") from exc
                if time.monotonic() + wait > give_up:
                    raise BackendUnavailable(
                        BACKEND, f"other transactions were in the way for {self.patience}"
                    ) from exc
            time.sleep(wait * (0.5 + random.random()))
            wait = min(2 * wait, _LONGEST_WAIT)

    def once_more(self, attempt: Callable[[], T], sure: Callable[[T], bool]) -> T:
        """As `retried`, and again when the pool's connection turned out dead, as after a restart of the server.

        What the first attempt has done is unknown: of the second, only an answer is given that is `sure` all the same.
        """
        began = time.monotonic()
        try:
            return self.retried(attempt)
        except BackendUnavailable as exc:
            if not _lost(exc) or time.monotonic() - began > _AT_ONCE:
                raise
            answer = self.retried(attempt)
            if not sure(answer):
                raise
            return answer

    def _is_duplicate(self, error: Exception) -> bool:
        return isinstance(error, DBAPIError) and self.dialect.verdict(error) is Verdict.DUPLICATE

    def _worth_another(self, error: Exception) -> bool:
        if isinstance(error, DBAPIError):
            return self.dialect.verdict(error) in (Verdict.RETRY, Verdict.LOCKED, Verdict.DUPLICATE)
        return isinstance(error, Conflict)

    def _read(self, work: Callable[[Connection], T]) -> T:
        with self.engine.connect() as conn:
            return work(self.dialect.reading(conn))

    def _write(self, work: Callable[[Connection], T]) -> T:
        with self.engine.connect() as conn:
            return committed(self.dialect.isolate(conn), self.dialect, work)

    def _check_process(self) -> None:
        """Refuse connections that came over a fork: two processes would talk over one socket."""
        if self.pid != os.getpid():
            raise BackendUnavailable(BACKEND, "opened before a fork: open the jobs runtime in the child process")


class Held:
    """One connection that is kept, so that its user never waits for the pool; reopened after it broke.

    What is set on it would leak into the pool, so it is closed at the end, not given back. With `autocommit`
    each statement is a transaction of its own.
    """

    def __init__(
        self, db: Database, prepare: Callable[[Connection], None] | None = None, *, autocommit: bool = False
    ) -> None:
        self._db = db
        self._autocommit = autocommit
        self._prepare = prepare
        self._lock = Lock()
        self._conn: Connection | None = None

    def write(self, work: Callable[[Connection], T]) -> T:
        """As `Database.write`, one user at a time."""
        with self._lock:
            return self._db.retried(lambda: self._write(work))

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _write(self, work: Callable[[Connection], T]) -> T:
        conn = self._open()
        try:
            return committed(conn, self._db.dialect, work)
        except BaseException:
            self._recover(conn)
            raise

    def _open(self) -> Connection:
        if self._conn is None:
            conn = self._db.engine.connect()
            try:
                if self._autocommit:
                    conn = conn.execution_options(isolation_level="AUTOCOMMIT")
                else:
                    conn = self._db.dialect.isolate(conn)
                self._db.dialect.keep(conn, self._db.patience)
                if self._prepare is not None:
                    self._prepare(conn)
            except BaseException:
                conn.close()
                raise
            self._conn = conn
        return self._conn

    def _recover(self, conn: Connection) -> None:
        """Keep the connection only if it can be rolled back."""
        try:
            conn.rollback()
            keep = not conn.invalidated
        except _FOREIGN:
            keep = False
        if not keep:
            self._drop()

    def _drop(self) -> None:
        conn, self._conn = self._conn, None
        if conn is None or self._db.pid != os.getpid():  # over a fork, closing would end the parent's session
            return
        with suppress(*_FOREIGN):
            conn.invalidate()
            conn.close()


def _lost(error: BackendUnavailable) -> bool:
    """Whether a connection that had stood is gone; the engine drops those of its age with it."""
    return isinstance(error.__cause__, DBAPIError) and error.__cause__.connection_invalidated


def committed(conn: Connection, dialect: Dialect, work: Callable[[Connection], T]) -> T:
    """What `work` returned from a transaction of its own on `conn`."""
    dialect.begin(conn)
    answer = work(conn)
    conn.commit()
    return answer


def driver(conn: Connection) -> Any:
    """The driver's own connection, for what SQLAlchemy has no word for."""
    return conn.connection.dbapi_connection


@contextmanager
def translating(dialect: Dialect) -> Iterator[None]:
    """Turn whatever the driver raises inside into an error of this library; nothing is tried again."""
    try:
        yield
    except _FOREIGN as exc:
        raise translated(exc, dialect) from exc


@contextmanager
def opening(dialect: Dialect) -> Iterator[None]:
    """Where a database is opened: what is set up wrong is a setting to correct, and no outage to wait for."""
    try:
        yield
    except BackendUnavailable as exc:
        if not isinstance(exc.__cause__, DBAPIError) or dialect.verdict(exc.__cause__) is not Verdict.SETUP:
            raise
        raise SettingsError("jobs.db", exc.reason) from exc.__cause__


@contextmanager
def refusing(path: str) -> Iterator[None]:
    """Tell the caller about a value that the database cannot store or compare; `path` says which it is."""
    try:
        yield
    except RefusedData as exc:
        raise InvalidJob(path, f"the database refuses it: {exc.reason}") from exc


def translated(error: Exception, dialect: Dialect) -> JobsError | RefusedData:
    """The error to raise instead. Its text never quotes parameters, which are the application's data."""
    if isinstance(error, UnicodeError | OverflowError):
        return RefusedData(f"{type(error).__name__}: {error}"[:300])
    if not isinstance(error, DBAPIError):
        return BackendUnavailable(BACKEND, f"{type(error).__name__}: {error}"[:300])
    reason = f"{type(error.orig).__name__}: {str(error.orig).partition(chr(10))[0]}"[:300]
    match dialect.verdict(error):
        case Verdict.DATA:
            return RefusedData(reason)
        case Verdict.TOO_LONG:
            return RefusedData("it is longer than one statement may be (max_allowed_packet)")
        case Verdict.SCHEMA:
            return SchemaMismatch(f"{reason}: run `wagoe-jobs db upgrade`")
        case _:
            return BackendUnavailable(BACKEND, dialect.advice(error) or reason)
