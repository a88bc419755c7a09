"""The only place that tells databases apart by name: which `Dialect` an engine has, chosen once at open."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import URL, Engine

from wagoe_jobs.adapters.sql.dialect import Dialect
from wagoe_jobs.adapters.sql.postgres import PostgreSQL, postgres_options
from wagoe_jobs.adapters.sql.sqlite import SQLite, sqlite_options
from wagoe_jobs.errors import SettingsError


def dialect_of(engine: Engine) -> Dialect:
    """The dialect of an engine. Raises SettingsError for a database that is not supported."""
    match engine.dialect.name:
        case "sqlite":
            return SQLite()
        case "postgresql" if engine.dialect.driver == "psycopg":
            return PostgreSQL()
        case name:
            raise SettingsError(
                "jobs.db.url", f"{name}+{engine.dialect.driver} is not supported: use sqlite or postgresql+psycopg"
            )


def connect_options(url: URL, timeout: timedelta) -> Mapping[str, Any]:
    """What `create_engine` is given for an engine of our own. Raises SettingsError for a database without support."""
    match url.get_backend_name(), url.get_driver_name():
        case "sqlite", "pysqlite":
            return sqlite_options(url, timeout)
        case "postgresql", "psycopg":
            return postgres_options(timeout)
        case name, driver:
            raise SettingsError("jobs.db.url", f"{name}+{driver} is not supported: use sqlite or postgresql+psycopg")
