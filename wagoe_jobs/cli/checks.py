"""`wagoe-jobs check`: what can be known before a node starts, each as one finding. Nothing is changed."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from sqlalchemy import Engine

from wagoe_jobs.adapters.sql import check_pool, connections_needed, verify_schema
from wagoe_jobs.cli.exits import Exit, code_of
from wagoe_jobs.cli.opened import Files, open_database, open_store, settings_of
from wagoe_jobs.cli.packages import overwritten_msgpack
from wagoe_jobs.errors import JobsError
from wagoe_jobs.runtime import redis_server
from wagoe_jobs.settings import JobsSettings

_MAKE = "the first node makes it, or `wagoe-jobs db upgrade`"


class Finding(NamedTuple):
    """One answer; `code` is what the script would exit with for it alone."""

    check: str
    state: Literal["ok", "note", "wrong"]
    detail: str
    code: Exit = Exit.OK


def all_checks(target: str | None, files: Files) -> Sequence[Finding]:
    """Every check in order; those that need what an earlier one missed are left out."""
    return [*_system_checks(target, files), _packages()]


def _system_checks(target: str | None, files: Files) -> Iterator[Finding]:
    try:
        jobs, types = settings_of(target, files)
    except JobsError as error:
        yield _wrong("settings and modules", error)
        return
    yield Finding("settings and modules", "ok", f"provider {jobs.provider}, queues {', '.join(jobs.workers.polled)}")
    yield _handlers(jobs, types, imported=target is not None)
    if jobs.provider == "memory":
        yield Finding("store", "note", "memory: jobs are gone when the process ends")
        return
    try:
        if jobs.provider == "redis":
            yield from _redis_checks(jobs, target, files)
            return
        with open_database(target, files) as (_, engine):
            yield from _database_checks(jobs, engine)
    except JobsError as error:
        yield _wrong("store", error)


def _handlers(jobs: JobsSettings, types: Sequence[str] | None, *, imported: bool) -> Finding:
    if types is None and not imported:
        return Finding("handlers", "note", "not looked for: --settings imports no module, -a does")
    if types is None:
        return Finding("handlers", "note", "not known before a start: a provider makes some of them")
    if not types and jobs.workers.count:
        return Finding("handlers", "note", "no module contributes a handler: this node would run nothing")
    return Finding("handlers", "ok", ", ".join(types) or "none, and none is needed where count = 0")


def _redis_checks(jobs: JobsSettings, target: str | None, files: Files) -> Iterator[Finding]:
    with open_store(target, files) as runtime:
        info, most = redis_server(runtime, _pools(jobs))
    yield Finding("store", "ok", f"{_redis_address(jobs)}: {info.version} answers")
    for warning in info.warnings:
        yield Finding("store", "note", warning)
    yield _clients(most, info.max_clients)


def _clients(most: int, allowed: int | None) -> Finding:
    uses = f"this node uses up to {most} at once"
    if allowed is None or allowed >= most:
        return Finding("connections", "ok", uses)
    why = f"{uses}, and the server's maxclients is {allowed} for all nodes together: raise it"
    return Finding("connections", "wrong", why, Exit.USAGE)


def _redis_address(jobs: JobsSettings) -> str:
    """Where the server is, without user, password and query."""
    given = jobs.redis
    if given.url is not None:
        url = urlsplit(given.url.get_secret_value())
        return urlunsplit((url.scheme, url.netloc.rpartition("@")[2], url.path, "", ""))
    if given.sentinel is not None:
        return f"redis {given.sentinel.service!r}, which its sentinels know"
    return f"redis at {given.host}:{given.port}" if given.names_a_server else "redis, lent or at localhost"


def _database_checks(jobs: JobsSettings, engine: Engine) -> Iterator[Finding]:
    yield _schema(jobs, engine)
    needed = connections_needed(_pools(jobs))
    try:
        check_pool(engine, needed)
    except JobsError as error:
        yield _wrong("connections", error)
    else:
        yield Finding("connections", "ok", f"this node uses up to {needed} at once")


def _pools(jobs: JobsSettings) -> int:
    return len(jobs.workers.polled) if jobs.workers.count else 0


def _schema(jobs: JobsSettings, engine: Engine) -> Finding:
    where = engine.url.set(query={}).render_as_string(hide_password=True)  # a query may hold a password too
    if file_to_come(engine):
        return Finding("store", "wrong", f"{where} is not there yet: {_MAKE}", Exit.SCHEMA)
    try:
        faults = verify_schema(engine, schema=jobs.db.schema_name, table_prefix=jobs.db.table_prefix)
    except JobsError as error:
        return _wrong("store", error)
    if faults:
        return Finding("store", "wrong", f"{where}: {'; '.join(faults)}", Exit.SCHEMA)
    return Finding("store", "ok", f"{where}: {_server(engine)} answers, and its tables are as this version needs them")


def _server(engine: Engine) -> str:
    """`PostgreSQL 15.4`: what answered, which it told as it was connected."""
    names = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB"}
    kind = "mariadb" if getattr(engine.dialect, "is_mariadb", False) else engine.url.get_backend_name()
    version = getattr(engine.dialect, "server_version_info", None) or ()
    return " ".join([names.get(kind, kind), ".".join(str(part) for part in version)]).strip()


def file_to_come(engine: Engine) -> bool:
    """Whether looking would make the database: SQLite creates the file that it is asked to read."""
    path = engine.url.database if engine.url.drivername.startswith("sqlite") else None
    return path is not None and not Path(path).exists()


def _packages() -> Finding:
    damage = overwritten_msgpack()
    if damage is None:
        return Finding("packages", "ok", "no msgpack was overwritten by what transit-python2 requires")
    return Finding("packages", "wrong", damage, Exit.NO)


def _wrong(check: str, error: JobsError) -> Finding:
    return Finding(check, "wrong", str(error), code_of(error))
