"""SQLite, as a file."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    Insert,
    Integer,
    LargeBinary,
    Table,
    Text,
    bindparam,
    cast,
    delete,
    func,
    select,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import DBAPIError

from wagoe_jobs.adapters.sql.advice import SQLITE_SETUP, sentence, sqlite_advice
from wagoe_jobs.adapters.sql.connections import Database, driver
from wagoe_jobs.adapters.sql.dialect import Exchange, Planned, Verdict
from wagoe_jobs.adapters.sql.enqueue import Enqueuer, LockedEnqueuer
from wagoe_jobs.adapters.sql.exchange import LockedExchange
from wagoe_jobs.adapters.sql.sqlite_file import check_there
from wagoe_jobs.adapters.sql.tables import Shape, Tables
from wagoe_jobs.adapters.sql.wakeup import FileWatch
from wagoe_jobs.errors import BackendUnavailable, SettingsError
from wagoe_jobs.ports import WakeUp


class SQLite(Planned):
    """One writer at a time: a write takes the lock when it begins, and then nothing can come between."""

    shape = Shape(id=Text(), text=Text(), integer=Integer(), key="seq", sequence=False, partial="sqlite_where")

    def __init__(self, where: str = "") -> None:
        self._where = where

    def now(self) -> ColumnElement[int]:
        return bindparam("now_us", type_=BigInteger)

    def clock(self, offset_us: int) -> Mapping[str, int]:
        return {"now_us": time.time_ns() // 1000 + offset_us}

    def among(self, column: ColumnElement[str]) -> ColumnElement[bool]:
        return column.in_(select(func.json_each(bindparam("ids", type_=Text)).table_valued("value").c.value))

    def ids(self, ids: Sequence[str]) -> object:
        return json.dumps(list(ids))

    def octets(self, column: ColumnElement[str]) -> ColumnElement[int]:
        return func.length(cast(column, LargeBinary))  # of a text it counts characters, up to the first NUL

    def keep(self, conn: Connection, timeout: timedelta) -> None:
        """The file's own time-out bounds it."""

    def insert_new(self, table: Table, values: Mapping[str, Any]) -> Insert:
        return insert(table).values(values).on_conflict_do_nothing()

    def schema(self, engine: Engine, wanted: str | None) -> str | None:
        if wanted is not None:
            raise SettingsError("jobs.db.schema", "SQLite has no schemas: leave it out, or use table_prefix")
        return None

    def isolate(self, conn: Connection) -> Connection:
        return conn

    def reading(self, conn: Connection) -> Connection:
        check_there(conn)
        return conn

    def begin(self, conn: Connection) -> None:
        _leave_deferred(conn)
        check_there(conn)
        conn.exec_driver_sql("BEGIN IMMEDIATE")

    def settle_down(self, db: Database) -> None:
        db.read(_write_ahead)

    @contextmanager
    def schema_lock(self, conn: Connection, tables: Tables) -> Iterator[None]:
        yield  # `begin` took the lock

    def begin_in(self, conn: Connection, tables: Tables) -> None:
        # a write that changes nothing takes the write lock, and waits for it: a read first could not be upgraded
        conn.execute(delete(tables.version).where(tables.version.c.id < 0))

    def in_transaction(self, conn: Connection) -> bool:
        raw: Any = conn.connection.driver_connection  # the driver's own, below what makes aiosqlite look synchronous
        return bool(raw.in_transaction or raw.isolation_level is not None)

    def places(self, conn: Connection, tables: Tables, count: int) -> Sequence[int]:
        last = conn.execute(select(func.coalesce(func.max(tables.queue.c.seq), 0))).scalar_one()
        return range(last + 1, last + 1 + count)

    def verdict(self, error: DBAPIError) -> Verdict:
        extended = getattr(error.orig, "sqlite_errorcode", 0)
        code = extended & 0xFF
        if code in (5, 6):  # BUSY, LOCKED
            return Verdict.RETRY
        if extended in (1555, 2067, 2579):  # CONSTRAINT: PRIMARYKEY, UNIQUE, ROWID
            return Verdict.DUPLICATE
        if code in (18, 19, 20, 25) or isinstance(error.orig, OverflowError):  # TOOBIG, CONSTRAINT, MISMATCH, RANGE
            return Verdict.DATA
        if code == 1 and "no such" in str(error.orig):
            return Verdict.SCHEMA
        return Verdict.SETUP if code in SQLITE_SETUP else Verdict.DOWN

    def advice(self, error: DBAPIError) -> str:
        advice = sqlite_advice(getattr(error.orig, "sqlite_errorcode", 0) & 0xFF)
        return advice and f"{self._where}: {sentence(error.orig)}: {advice}"

    def tell(self, conn: Connection, tables: Tables, queues: Iterable[str]) -> None:
        """Whoever waits sees that the file has changed."""

    def enqueuer(self, db: Database) -> Enqueuer:
        return LockedEnqueuer(db)

    def exchange(self, db: Database, lease_us: int) -> Exchange:
        return LockedExchange(db, lease_us)

    def wake_up(self, db: Database, queue: str) -> WakeUp:
        return FileWatch(db)


def _leave_deferred(conn: Connection) -> None:
    """End what a hook of the engine's owner begins on a connection fresh from the pool."""
    if not conn.in_transaction():
        conn.begin()
    if driver(conn).in_transaction:
        conn.exec_driver_sql("ROLLBACK")


def _write_ahead(conn: Connection) -> None:
    """Let readers and the one writer not wait for one another; the file keeps this."""
    _leave_deferred(conn)
    conn.exec_driver_sql("PRAGMA journal_mode=WAL").close()


def sqlite_options(url: URL, timeout: timedelta) -> Mapping[str, Any]:
    """Options of an engine of our own.

    Raises SettingsError for a database in memory, BackendUnavailable while its folder is not there: a disk may yet
    be mounted, and what SQLite itself says of it names neither.
    """
    if url.database in (None, "", ":memory:") or "mode=memory" in str(url):
        raise SettingsError("jobs.db.url", 'SQLite in memory is no store: use a file, or jobs.provider = "memory"')
    folder = Path(url.database).parent
    if not url.database.startswith("file:") and not folder.is_dir():
        raise BackendUnavailable("db", f"jobs.db.url: the folder {folder.absolute()} is not there")
    return {"connect_args": {"timeout": timeout.total_seconds()}}
