"""PostgreSQL through psycopg 3."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    Insert,
    Integer,
    Table,
    Text,
    bindparam,
    cast,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY, UUID, insert
from sqlalchemy.exc import DataError, DBAPIError

from wagoe_jobs.adapters.sql.advice import postgres_advice, postgres_login, sentence
from wagoe_jobs.adapters.sql.connections import Database, driver
from wagoe_jobs.adapters.sql.dialect import Exchange, Planned, Verdict
from wagoe_jobs.adapters.sql.enqueue import Enqueuer
from wagoe_jobs.adapters.sql.postgres_enqueue import ArrayEnqueuer
from wagoe_jobs.adapters.sql.postgres_exchange import OneStatementExchange
from wagoe_jobs.adapters.sql.tables import Shape, Tables
from wagoe_jobs.adapters.sql.wakeup import Listener, channel
from wagoe_jobs.ports import WakeUp

_ISOLATION = "READ COMMITTED"
_SETUP = frozenset({"42501", "28000", "28P01", "3D000"})
"""Rights, user, password, database."""


class PostgreSQL(Planned):
    """Rows are locked one by one, and a claim skips what another is claiming."""

    shape = Shape(
        id=UUID(as_uuid=False), text=Text(), integer=BigInteger(), key="id", sequence=True, partial="postgresql_where"
    )

    _notify = select(func.pg_notify(bindparam("channel", type_=Text), bindparam("queue", type_=Text)))

    def __init__(self, where: str = "") -> None:
        self._where = where
        self._isolated = False

    def now(self) -> ColumnElement[int]:
        # one instant a statement: what it writes together is dated together, and it is computed once, not once a row
        micros = literal_column("(extract(epoch FROM statement_timestamp()) * 1000000)::bigint", BigInteger)
        return select(micros + bindparam("offset_us", type_=BigInteger)).scalar_subquery()

    def clock(self, offset_us: int) -> Mapping[str, int]:
        return {"offset_us": offset_us}

    def among(self, column: ColumnElement[str]) -> ColumnElement[bool]:
        # joined, since `= ANY(array)` walks the whole array for each row where the plan is a sequential scan
        given = func.unnest(cast(bindparam("ids", type_=Text), ARRAY(UUID(as_uuid=False)))).column_valued("given")
        return column.in_(select(given))

    def ids(self, ids: Sequence[str]) -> object:
        return "{" + ",".join(ids) + "}"

    def octets(self, column: ColumnElement[str]) -> ColumnElement[int]:
        return func.octet_length(column)  # told by the row itself: a long text is neither fetched nor unpacked

    def keep(self, conn: Connection, timeout: timedelta) -> None:
        bound_replies(driver(conn), timeout)

    def insert_new(self, table: Table, values: Mapping[str, Any]) -> Insert:
        # the driver's count is kept only when asked for
        return insert(table).values(values).on_conflict_do_nothing().execution_options(preserve_rowcount=True)

    def schema(self, engine: Engine, wanted: str | None) -> str | None:
        with engine.connect() as conn:
            self._isolated = not driver(conn).autocommit and conn.get_isolation_level() == _ISOLATION
            return wanted or conn.dialect.default_schema_name

    def isolate(self, conn: Connection) -> Connection:
        # asked once, at open: setting and resetting it costs as much as a statement
        return conn if self._isolated else conn.execution_options(isolation_level=_ISOLATION)

    def reading(self, conn: Connection) -> Connection:
        return conn.execution_options(isolation_level="AUTOCOMMIT")  # set in the driver alone

    def begin(self, conn: Connection) -> None:
        """The pool's connection begins by itself."""

    def settle_down(self, db: Database) -> None:
        """Nothing is kept with the database."""

    @contextmanager
    def schema_lock(self, conn: Connection, tables: Tables) -> Iterator[None]:
        conn.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(tables.version.fullname, 0))))
        yield

    def begin_in(self, conn: Connection, tables: Tables) -> None:
        """Every transaction may write."""

    def in_transaction(self, conn: Connection) -> bool:
        return not driver(conn).autocommit

    def places(self, conn: Connection, tables: Tables, count: int) -> Sequence[int]:
        assert tables.line is not None
        stmt = select(tables.line.next_value()).select_from(func.generate_series(1, bindparam("n", type_=Integer)))
        return sorted(conn.execute(stmt, {"n": count}).scalars())

    def verdict(self, error: DBAPIError) -> Verdict:
        state = getattr(error.orig, "sqlstate", None) or ""
        if state in ("40001", "40P01"):  # serialization, deadlock
            return Verdict.RETRY
        if state == "55P03":
            return Verdict.LOCKED
        if state == "23505":
            return Verdict.DUPLICATE
        if state in ("42P01", "42703", "3F000"):  # table, column, schema
            return Verdict.SCHEMA
        # data, integrity, a trigger's refusal, a limit
        if state[:2] in ("22", "23", "P0", "54") or isinstance(error, DataError):
            return Verdict.DATA
        return Verdict.SETUP if state in _SETUP or postgres_login(error.orig) else Verdict.DOWN

    def advice(self, error: DBAPIError) -> str:
        advice = postgres_advice(error.orig)
        return advice and f"{self._where}: {sentence(error.orig)}: {advice}"

    def tell(self, conn: Connection, tables: Tables, queues: Iterable[str]) -> None:
        for queue in sorted(set(queues)):
            conn.execute(self._notify, {"channel": channel(tables), "queue": queue})

    def enqueuer(self, db: Database) -> Enqueuer:
        return ArrayEnqueuer(db)

    def exchange(self, db: Database, lease_us: int) -> Exchange:
        return OneStatementExchange(db, lease_us)

    def wake_up(self, db: Database, queue: str) -> WakeUp:
        return Listener(db, channel(db.tables), queue)


def postgres_options(timeout: timedelta) -> Mapping[str, Any]:
    """Options of an engine of our own: a server that is gone is noticed within the time-out, whatever it was doing."""
    ms = max(1, timeout // timedelta(milliseconds=1))
    seconds = max(2, -(-ms // 1000))  # libpq rounds one second up to two
    return {
        "connect_args": {
            "connect_timeout": seconds,
            "keepalives": 1,
            "keepalives_idle": seconds,
            "keepalives_interval": max(1, seconds // 3),
            "keepalives_count": 3,
            "tcp_user_timeout": ms,
            "options": f"-c statement_timeout={ms} -c lock_timeout={ms}",
            "application_name": "wagoe-jobs",
        }
    }


def bound_replies(raw: Any, timeout: timedelta) -> None:
    """Let every wait of this driver's connection for a reply end after `timeout`, with the connection closed.

    A server that is stopped, or a reply that was lost on the way, is noticed by nothing else: TCP goes on
    acknowledging, and the server's own time-outs stand still with it.
    """
    if "wait" in vars(raw):
        return
    wait, seconds = raw.wait, timeout.total_seconds()

    def bounded(gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        try:
            return wait(gen, interval, seconds if timeout is None else timeout)
        except Exception as exc:
            if type(exc).__name__ == "_WaitTimeout":  # by name: the driver is imported by whoever has an engine of it
                raw.pgconn.finish()
            raise

    raw.wait = bounded
