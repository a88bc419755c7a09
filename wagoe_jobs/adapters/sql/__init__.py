"""Jobs in the application's own SQL database: SQLite as a file, PostgreSQL, MariaDB and MySQL.

Every part is built from an engine; the engine stays its owner's. Tables are created by the `create_*` functions,
which several nodes may call at once. What `job_queue` holds open is closed by its `close`.
"""

from datetime import timedelta

from sqlalchemy import Engine

from wagoe_jobs.adapters.sql import schema as _schema
from wagoe_jobs.adapters.sql.dialect import WakingDialect
from wagoe_jobs.adapters.sql.engines import check_pool, connections_needed, open_database, open_engine
from wagoe_jobs.adapters.sql.exchange import PortableExchange
from wagoe_jobs.adapters.sql.idempotency import SqlIdempotencyStore
from wagoe_jobs.adapters.sql.presence import SqlWorkerPresence
from wagoe_jobs.adapters.sql.queue import SqlJobQueue, WakingSqlJobQueue
from wagoe_jobs.adapters.sql.recurring import SqlRecurringState
from wagoe_jobs.adapters.sql.rows import micros
from wagoe_jobs.adapters.sql.stats import SqlJobStats
from wagoe_jobs.adapters.sql.store import SqlJobStore
from wagoe_jobs.clock import ClockOffset
from wagoe_jobs.ports import DEFAULT_LEASE

__all__ = [
    "check_pool",
    "connections_needed",
    "create_job_store_table",
    "create_jobs_table",
    "create_presence_table",
    "create_recurring_tables",
    "idempotency_store",
    "job_queue",
    "job_stats",
    "job_store",
    "open_engine",
    "recurring_state",
    "schema_ddl",
    "upgrade_schema",
    "verify_schema",
    "worker_presence",
]


def create_jobs_table(engine: Engine, *, schema: str | None = None, table_prefix: str = "") -> None:
    """Create job_queue and job_store if absent. Raises SchemaMismatch for tables of another version."""
    db = open_database(engine, schema=schema, table_prefix=table_prefix)
    _schema.create(db, db.tables.jobs)


def create_job_store_table(engine: Engine, *, schema: str | None = None, table_prefix: str = "") -> None:
    """Create job_store alone if absent, as `create_jobs_table`."""
    db = open_database(engine, schema=schema, table_prefix=table_prefix)
    _schema.create(db, [db.tables.version, db.tables.store])


def create_recurring_tables(engine: Engine, *, schema: str | None = None, table_prefix: str = "") -> None:
    """Create the tables of idempotency keys, schedules and the ticker's lease if absent."""
    db = open_database(engine, schema=schema, table_prefix=table_prefix)
    _schema.create(db, db.tables.recurrence)


def create_presence_table(engine: Engine, *, schema: str | None = None, table_prefix: str = "") -> None:
    """Create the table of workers if absent, as `create_jobs_table`."""
    db = open_database(engine, schema=schema, table_prefix=table_prefix)
    _schema.create(db, db.tables.presence)


def upgrade_schema(engine: Engine, *, schema: str | None = None, table_prefix: str = "") -> None:
    """Bring every table to this version: what `wagoe-jobs db upgrade` does. Raises SchemaMismatch for a newer one."""
    _schema.mend(open_database(engine, schema=schema, table_prefix=table_prefix))


def verify_schema(engine: Engine, *, schema: str | None = None, table_prefix: str = "") -> list[str]:
    """What is wrong with the tables, one sentence each; empty when they are as this version needs them."""
    return list(_schema.verify(open_database(engine, schema=schema, table_prefix=table_prefix)))


def schema_ddl(engine: Engine, *, schema: str | None = None, table_prefix: str = "") -> str:
    """The statements that create every table, as text: what `wagoe-jobs db sql` prints."""
    return _schema.ddl(open_database(engine, schema=schema, table_prefix=table_prefix))


def job_queue(
    engine: Engine,
    *,
    lease: timedelta = DEFAULT_LEASE,
    schema: str | None = None,
    table_prefix: str = "",
    clock_offset: ClockOffset | None = None,
    claim_strategy: str = "best",
) -> SqlJobQueue:
    """The queue; `claim_strategy` "portable" uses the claim that works on every database.

    Raises BackendUnavailable, SettingsError.
    """
    db = open_database(engine, schema=schema, table_prefix=table_prefix, clock_offset=clock_offset)
    portable = claim_strategy == "portable"
    exchange = PortableExchange(db, micros(lease)) if portable else db.dialect.exchange(db, micros(lease))
    if isinstance(db.dialect, WakingDialect):
        return WakingSqlJobQueue(db, exchange, lease, db.dialect)
    return SqlJobQueue(db, exchange, lease)


def job_store(
    engine: Engine, *, schema: str | None = None, table_prefix: str = "", clock_offset: ClockOffset | None = None
) -> SqlJobStore:
    return SqlJobStore(open_database(engine, schema=schema, table_prefix=table_prefix, clock_offset=clock_offset))


def job_stats(
    engine: Engine, *, schema: str | None = None, table_prefix: str = "", clock_offset: ClockOffset | None = None
) -> SqlJobStats:
    return SqlJobStats(open_database(engine, schema=schema, table_prefix=table_prefix, clock_offset=clock_offset))


def idempotency_store(
    engine: Engine, *, schema: str | None = None, table_prefix: str = "", clock_offset: ClockOffset | None = None
) -> SqlIdempotencyStore:
    db = open_database(engine, schema=schema, table_prefix=table_prefix, clock_offset=clock_offset)
    return SqlIdempotencyStore(db)


def recurring_state(
    engine: Engine, *, schema: str | None = None, table_prefix: str = "", clock_offset: ClockOffset | None = None
) -> SqlRecurringState:
    return SqlRecurringState(open_database(engine, schema=schema, table_prefix=table_prefix, clock_offset=clock_offset))


def worker_presence(
    engine: Engine, *, schema: str | None = None, table_prefix: str = "", clock_offset: ClockOffset | None = None
) -> SqlWorkerPresence:
    return SqlWorkerPresence(open_database(engine, schema=schema, table_prefix=table_prefix, clock_offset=clock_offset))
