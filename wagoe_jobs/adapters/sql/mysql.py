"""MariaDB and MySQL through PyMySQL.

Every transaction of ours is READ COMMITTED: it locks no gaps, and each statement sees what has been committed.
A statement that locks names its index, since one that scans waits for rows that it does not want, such as those of
an application's open transaction. There is no news: pools poll.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from sqlalchemy import (
    CHAR,
    URL,
    BigInteger,
    ColumnElement,
    Connection,
    CursorResult,
    Delete,
    Engine,
    Executable,
    Index,
    Insert,
    Integer,
    Select,
    Table,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    null,
    select,
)
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

from wagoe_jobs.adapters.sql.advice import MYSQL_SETUP, mysql_advice, sentence
from wagoe_jobs.adapters.sql.connections import Conflict, Database, driver
from wagoe_jobs.adapters.sql.dialect import Exchange, Locking, Verdict
from wagoe_jobs.adapters.sql.enqueue import Enqueuer
from wagoe_jobs.adapters.sql.exchange import PortableExchange
from wagoe_jobs.adapters.sql.many import Together
from wagoe_jobs.adapters.sql.mysql_enqueue import OWN, MarkedEnqueuer
from wagoe_jobs.adapters.sql.mysql_exchange import JoinedExchange
from wagoe_jobs.adapters.sql.mysql_hints import hinted, joined_removal
from wagoe_jobs.adapters.sql.mysql_packets import USUAL, characters, too_long
from wagoe_jobs.adapters.sql.tables import Shape, Tables
from wagoe_jobs.errors import NotATransaction, SettingsError

_ISOLATION = "READ COMMITTED"
_STRICT = "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"
_SPEAKS = "speaks {}, in which characters are lost without an error: add charset=utf8mb4 to its URL"
_LOCK_SECONDS = 10
"""How long a creator of tables waits for another."""

_RETRY = frozenset({1020, 1213, 1412, 1614, 3572})
"""Changed since it was read, deadlock, table redefined meanwhile, XA deadlock, NOWAIT."""
_LOCKED = 1205
_DUPLICATE = frozenset({1062, 1586})
_SCHEMA = frozenset({1054, 1146})
_DATA = frozenset(
    {1048, 1118, 1264, 1265, 1292, 1300, 1364, 1366, 1367, 1406, 1644, 1690, 3140, 3141, 3819, 3988, 4025}
)
"""NULL, row size, range, truncation, character sets, triggers, JSON, CHECK constraints."""


class MySQL:
    """Rows are locked one by one in InnoDB, and a claim skips what another is claiming.

    Places come from the AUTO_INCREMENT of a table of their own, which is given out without waiting for commits. Were
    it the key of the queue, a new place would write the same id into a unique index anew, which locks its neighbours.
    """

    def __init__(self, where: str = "") -> None:
        self._where = where
        self.skips_locked = True
        self.shape = _shape("utf8mb4_bin")
        self._isolated = False
        self._autocommit = False
        self._step = 1
        self._packet = USUAL

    def now(self) -> ColumnElement[int]:
        # UTC_TIMESTAMP is that of the statement's start, and knows no time zone of the session
        micros = literal_column("timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))", BigInteger)
        return micros + bindparam("offset_us", type_=BigInteger)

    def clock(self, offset_us: int) -> Mapping[str, int]:
        return {"offset_us": offset_us}

    def among(self, column: ColumnElement[str]) -> ColumnElement[bool]:
        return column.in_(bindparam("ids", expanding=True, type_=column.type))

    def ids(self, ids: Sequence[str]) -> object:
        return list(ids)

    def octets(self, column: ColumnElement[str]) -> ColumnElement[int]:
        return func.length(column)

    def keep(self, conn: Connection, timeout: timedelta) -> None:
        bound_waits(driver(conn), timeout)
        conn.exec_driver_sql(f"SET SESSION TRANSACTION ISOLATION LEVEL {_ISOLATION}")
        conn.exec_driver_sql(f"SET SESSION innodb_lock_wait_timeout = {_lock_seconds(timeout)}")
        self._note_packet(conn)  # it may have changed with a restart of the server
        conn.commit()

    def insert_new(self, table: Table, values: Mapping[str, Any]) -> Insert:
        # IGNORE would lock a row that is there for reading, and two that then write it deadlock; and it hides bad data
        key = next(iter(table.primary_key.columns))
        same = func.if_(func.last_insert_id(literal_column("1")), key, key)
        return mysql.insert(table).values(values).on_duplicate_key_update({key.name: same})

    def was_new(self, result: CursorResult[Any]) -> bool:
        # the row count depends on how the driver connects; the id is what a row that was there is made to say
        return result.lastrowid == 0

    def delete_first(self, table: Table, where: ColumnElement[bool], order: ColumnElement[Any]) -> Delete:
        limit = mysql.limit(bindparam("p_limit", type_=Integer))
        return delete(table).where(where).ext(limit)

    def by_id(self, statement: Locking, table: Table) -> Locking:
        return hinted(statement, table, f"{table.name}_id")

    def by_ids(self, removal: Delete, table: Table) -> Executable:
        # where nothing skips what is locked, there is no JSON to join with either, and the server may read all rows
        return joined_removal(table, f"{table.name}_id") if self.skips_locked else self.by_id(removal, table)

    def by_index(self, statement: Locking, index: Index) -> Locking:
        assert index.table is not None
        return hinted(statement, index.table, str(index.name))

    def current(self, statement: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
        return statement.with_for_update()

    def schema(self, engine: Engine, wanted: str | None) -> str | None:
        with engine.connect() as conn:
            self._autocommit = bool(conn.dialect.detect_autocommit_setting(driver(conn)))
            self._isolated = conn.get_isolation_level() == _ISOLATION
            self._fit(conn.dialect.server_version_info or (), getattr(conn.dialect, "is_mariadb", False))
            self._step = conn.exec_driver_sql("SELECT @@auto_increment_increment").scalar_one()
            self._note_packet(conn)
            spoken = conn.exec_driver_sql("SELECT @@character_set_client").scalar_one()
            found = wanted or conn.dialect.default_schema_name
            if _loses(driver(conn), spoken):
                raise SettingsError("jobs.db", f"the engine {_SPEAKS.format(spoken)}")
        if found is None:
            raise SettingsError("jobs.db.url", "names no database: write it behind the host, or set jobs.db.schema")
        return found

    def _note_packet(self, conn: Connection) -> None:
        self._packet = conn.exec_driver_sql("SELECT @@max_allowed_packet").scalar_one()

    def _fit(self, version: tuple[Any, ...], mariadb: bool) -> None:
        self.skips_locked = version >= ((10, 6) if mariadb else (8, 0, 17))
        exact = "utf8mb4_nopad_bin" if mariadb else "utf8mb4_0900_bin" if version >= (8, 0, 17) else "utf8mb4_bin"
        self.shape = _shape(exact)

    def isolate(self, conn: Connection) -> Connection:
        conn = conn.execution_options(**{OWN: True})
        if self._autocommit:
            return conn.execution_options(isolation_level=_ISOLATION)
        if not self._isolated:  # for the next transaction alone: nothing to be set back
            conn.exec_driver_sql(f"SET TRANSACTION ISOLATION LEVEL {_ISOLATION}")
        return conn

    def reading(self, conn: Connection) -> Connection:
        return self.isolate(conn)

    def begin(self, conn: Connection) -> None:
        """The pool's connection begins by itself."""

    def settle_down(self, db: Database) -> None:
        """Nothing is kept with the database."""

    @contextmanager
    def schema_lock(self, conn: Connection, tables: Tables) -> Iterator[None]:
        # each DDL statement commits, so that no lock of a transaction would last
        name = "wagoe_jobs_" + hashlib.sha256(tables.version.fullname.encode()).hexdigest()[:40]
        if conn.execute(select(func.get_lock(name, _LOCK_SECONDS))).scalar() != 1:
            raise Conflict
        try:
            yield
        finally:
            conn.execute(select(func.release_lock(name)))

    def begin_in(self, conn: Connection, tables: Tables) -> None:
        """Every transaction may write. Raises NotATransaction for one whose connection would spoil text."""
        if _loses(raw := driver(conn), raw.charset):
            raise NotATransaction(f"the Connection {_SPEAKS.format(raw.charset)}")

    def in_transaction(self, conn: Connection) -> bool:
        return not conn.dialect.detect_autocommit_setting(driver(conn))

    def places(self, conn: Connection, tables: Tables, count: int) -> Sequence[int]:
        assert tables.counter is not None
        # Rows that nobody ever sees draw the numbers, which no rollback returns: a counter in one row would be locked
        # until the commit. And a delete of them would lock gaps in a caller's transaction.
        begun = conn.in_transaction()
        if begun:
            conn.exec_driver_sql("SAVEPOINT wagoe_jobs_line")
        drawn = Together(insert(tables.counter).values(n=null()), conn.dialect).run(conn, [{}] * count)
        places = range(drawn.lastrowid, drawn.lastrowid + count * self._step, self._step)
        if begun:
            conn.exec_driver_sql("ROLLBACK TO SAVEPOINT wagoe_jobs_line")
        else:
            conn.rollback()  # there is nothing else in it
        return places

    def verdict(self, error: DBAPIError) -> Verdict:
        code = error.orig.args[0] if error.orig is not None and error.orig.args else None
        if code in _RETRY:
            return Verdict.RETRY
        if code == _LOCKED:
            return Verdict.LOCKED
        if code in _DUPLICATE:
            return Verdict.DUPLICATE
        if code in _SCHEMA:
            return Verdict.SCHEMA
        if too_long(error, self._packet):
            return Verdict.TOO_LONG
        if code in _DATA or isinstance(error, DataError | IntegrityError):
            return Verdict.DATA
        return Verdict.SETUP if code in MYSQL_SETUP else Verdict.DOWN

    def advice(self, error: DBAPIError) -> str:
        advice = mysql_advice(error.orig.args[0] if error.orig is not None and error.orig.args else None)
        return advice and f"{self._where}: {sentence(error.orig)}: {advice}"

    def tell(self, conn: Connection, tables: Tables, queues: Iterable[str]) -> None:
        """Pools poll."""

    def enqueuer(self, db: Database) -> Enqueuer:
        return MarkedEnqueuer(db, characters(self._packet))

    def exchange(self, db: Database, lease_us: int) -> Exchange:
        if not self.skips_locked:
            return PortableExchange(db, lease_us)
        return JoinedExchange(db, lease_us, characters(self._packet))


def mysql_options(url: URL, timeout: timedelta) -> Mapping[str, Any]:
    """Options of an engine of our own: a server that is gone is noticed within the time-out, whatever it was doing."""
    seconds = timeout.total_seconds()
    # a wait for a lock ends before the reply is given up, so that the server rolls back and the connection is kept
    locks = _lock_seconds(timeout)
    return {
        "isolation_level": _ISOLATION,
        # a transaction that is left open is rolled back as its Connection is closed: once more would be a round trip
        "pool_reset_on_return": None,
        "connect_args": {
            "connect_timeout": seconds,
            "read_timeout": seconds,
            "write_timeout": seconds,
            "charset": "utf8mb4",
            "init_command": (
                f"SET SESSION sql_mode = '{_STRICT}', time_zone = '+00:00', "
                f"innodb_lock_wait_timeout = {locks}, lock_wait_timeout = {locks}"
            ),
        },
    }


def _loses(raw: Any, spoken: str) -> bool:
    """Whether this driver's connection sends characters that a server which expects `spoken` turns into others."""
    return bool(raw.encoding == "utf8" and spoken != "utf8mb4")


def bound_waits(raw: Any, timeout: timedelta) -> None:
    """Let every wait of this driver's connection for the server end after `timeout`, with the connection closed."""
    seconds = timeout.total_seconds()
    raw._read_timeout = min(raw._read_timeout or seconds, seconds)
    raw._write_timeout = min(raw._write_timeout or seconds, seconds)


def _lock_seconds(timeout: timedelta) -> int:
    return max(1, timeout // timedelta(seconds=2))


def _shape(exact: str) -> Shape:
    """Text compares by its code points alone, trailing blanks included, as `exact` does."""
    options = {"engine": "InnoDB", "row_format": "DYNAMIC", "default_charset": "utf8mb4", "collate": exact}
    return Shape(
        id=CHAR(36).with_variant(mysql.CHAR(36, charset="ascii", collation="ascii_bin"), "mysql", "mariadb"),
        text=mysql.LONGTEXT(),
        integer=BigInteger(),
        key="id",
        sequence=False,
        partial=None,
        options={f"{spelling}_{name}": value for name, value in options.items() for spelling in ("mysql", "mariadb")},
    )
