"""The only place that tells databases apart by name: which `Dialect` an engine has, chosen once at open."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import URL, Engine

from wagoe_jobs.adapters.sql.advice import place
from wagoe_jobs.adapters.sql.dialect import Dialect
from wagoe_jobs.adapters.sql.mysql import MySQL, bound_waits, mysql_options
from wagoe_jobs.adapters.sql.postgres import PostgreSQL, bound_replies, postgres_options
from wagoe_jobs.adapters.sql.sqlite import SQLite, sqlite_options
from wagoe_jobs.errors import SettingsError


def dialect_of(engine: Engine) -> Dialect:
    """The dialect of an engine. Raises SettingsError for a database that is not supported."""
    match engine.dialect.name:
        case "sqlite":
            return SQLite(place(engine.url))
        case "postgresql" if engine.dialect.driver == "psycopg":
            return PostgreSQL(place(engine.url))
        case "mysql" | "mariadb" if engine.dialect.driver == "pymysql":
            return MySQL(place(engine.url))
        case name:
            raise unsupported(f"{name}+{engine.dialect.driver}")


def alike(one: Engine, other: Engine) -> bool:
    """Whether both lead to databases of one kind."""
    return _kind(one) == _kind(other)


def connect_options(url: URL, timeout: timedelta) -> tuple[Mapping[str, Any], Callable[[Any, Any], None]]:
    """What `create_engine` is given for an engine of our own, and what is called with each new connection.

    Raises SettingsError for a database without support.
    """
    match url.get_backend_name(), url.get_driver_name():
        case "sqlite", "pysqlite":
            return sqlite_options(url, timeout), lambda raw, _: None
        case "postgresql", "psycopg":
            return postgres_options(timeout), lambda raw, _: bound_replies(raw, timeout)
        case "mysql" | "mariadb", "pymysql":
            return mysql_options(url, timeout), lambda raw, _: bound_waits(raw, timeout)
        case name, driver:
            raise unsupported(f"{name}+{driver}")


def unsupported(driver: str) -> SettingsError:
    """The refusal of a database or driver, with those that may be used."""
    return SettingsError("jobs.db.url", f"{driver} is not supported: use sqlite, postgresql+psycopg or mysql+pymysql")


def _kind(engine: Engine) -> str:
    # two spellings of one kind of URL
    return "mysql" if engine.dialect.name == "mariadb" else engine.dialect.name
