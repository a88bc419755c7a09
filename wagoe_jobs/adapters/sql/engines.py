"""Engines: making one of our own from a URL, and looking whether one that was lent is fit."""

from datetime import timedelta

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import AssertionPool, QueuePool, StaticPool

from wagoe_jobs.adapters.sql.connections import Database, opening, translated
from wagoe_jobs.adapters.sql.dialects import connect_options, dialect_of, unsupported
from wagoe_jobs.adapters.sql.tables import make_tables
from wagoe_jobs.clock import ClockOffset
from wagoe_jobs.errors import SettingsError

TIMEOUT = timedelta(seconds=10)
"""How long one statement, one connect, or one wait for a connection of the pool may take."""

_EXTRAS = {"psycopg": "postgres", "pymysql": "mysql"}

NO_URL = "is not a database URL, as postgresql+psycopg://user@host/name or sqlite:///jobs.sqlite"


def open_engine(url: str | URL, *, timeout: timedelta = TIMEOUT, pool_size: int = 10) -> Engine:
    """An engine of our own, whose owner disposes of it; nothing is connected yet.

    A database that does not answer is given up after `timeout`. Raises SettingsError for a URL that cannot be
    used, `:memory:` among them, BackendUnavailable for a folder that is not there; no text holds the password.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise SettingsError("jobs.db.url", NO_URL) from None  # the cause may quote the password
    if "@" in (parsed.host or ""):  # what follows it is the end of a password, and every error would tell the host
        raise SettingsError("jobs.db.url", "has an @ too many: one in a password is written as %40")
    try:
        options, on_connect = connect_options(parsed, timeout)
        engine = create_engine(
            parsed,
            pool_size=pool_size,
            max_overflow=pool_size,
            pool_timeout=timeout.total_seconds(),
            pool_pre_ping=False,
            **options,
        )
        event.listen(engine, "connect", on_connect)
        return engine
    except NoSuchModuleError as exc:
        raise unsupported(parsed.drivername) from exc
    except ImportError as exc:
        extra = _EXTRAS.get(str(exc.name), "postgres")
        missing = f"needs the package {exc.name}, which the extra {extra} of wagoe-jobs installs"
        raise SettingsError("jobs.db.url", missing) from exc
    except (ArgumentError, ValueError):
        raise SettingsError("jobs.db.url", NO_URL) from None


def open_database(
    engine: Engine, *, schema: str | None = None, table_prefix: str = "", clock_offset: ClockOffset | None = None
) -> Database:
    """The database behind an engine. Raises SettingsError, BackendUnavailable."""
    dialect = dialect_of(engine)
    with opening(dialect):
        try:
            qualified = dialect.schema(engine, schema)
        except SQLAlchemyError as exc:
            raise translated(exc, dialect) from exc
    tables = make_tables(dialect.shape, qualified, table_prefix)
    return Database(engine=engine, dialect=dialect, tables=tables, clock_offset=clock_offset or ClockOffset())


def connections_needed(pools: int) -> int:
    """How many connections a node with so many worker pools uses at once.

    Renewal keeps one, each pool keeps one that listens and one that claims, and one is for everything else.
    """
    return 2 + 2 * pools


def most_connections(engine: Engine) -> int | None:
    """How many connections the engine's pool gives out at once, None without a limit."""
    pool = engine.pool
    if isinstance(pool, StaticPool | AssertionPool):
        return 1
    if isinstance(pool, QueuePool):
        return None if pool._max_overflow < 0 else pool.size() + pool._max_overflow
    return None


def check_pool(engine: Engine, needed: int) -> None:
    """Raises SettingsError with the figure when the engine's pool gives out fewer connections than `needed`."""
    most = most_connections(engine)
    if most is not None and most < needed:
        raise SettingsError(
            "jobs.db", f"the engine's pool gives at most {most} connections, this node needs {needed}: enlarge it"
        )
