"""From settings to one opened backend: the only place that knows the adapters by name.

Each is imported when it is asked for, so that a program loads the drivers of its own provider alone. What
is opened here is closed in reverse; an engine or a client that the application lends is left open.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from wagoe_jobs.errors import JobsDisabled, SettingsError, WiringError
from wagoe_jobs.ports import Runtime
from wagoe_jobs.settings import JobsSettings, Settings, read_jobs

if TYPE_CHECKING:
    from redis import Redis as Client
    from redis import RedisCluster
    from sqlalchemy import Engine

    from wagoe_jobs.adapters.redis import ServerInfo
    from wagoe_jobs.adapters.redis.dialling import Direct, Elsewhere


@contextmanager
def open_runtime(
    settings: "JobsSettings | Settings | Mapping[str, object]",
    engine: "Engine | None" = None,
    redis_client: "Client | RedisCluster | None" = None,
) -> Iterator[Runtime]:
    """One backend for the time of a `with` block; a mapping is the jobs table.

    `engine` is the application's own, for provider = db in place of `db.url`; missing tables are created. So is
    `redis_client`, for provider = redis: its server is used, over connections of our own. Raises SettingsError,
    WiringError, JobsDisabled, SchemaMismatch, BackendUnavailable.
    """
    jobs = _jobs_of(settings)
    with ExitStack() as opened:
        yield _opened(jobs, engine, redis_client, opened)


def redis_server(runtime: Runtime, pools: int) -> "tuple[ServerInfo, int]":
    """What the server behind provider = redis says, and how many connections a node with so many pools opens at most.

    Raises BackendUnavailable, and WiringError for another provider.
    """
    from wagoe_jobs.adapters.redis import connections_needed, server_info
    from wagoe_jobs.adapters.redis.queue import RedisJobQueue

    if not isinstance(runtime.queue, RedisJobQueue):
        raise WiringError(f"the jobs are not in redis: the provider is {runtime.provider}")
    server = runtime.queue.redis
    most = connections_needed(pools) - 1 + server.connections  # one of those needed is for short calls
    return server_info(server), most


def _jobs_of(settings: "JobsSettings | Settings | Mapping[str, object]") -> JobsSettings:
    if not isinstance(settings, Settings):
        return read_jobs(settings)
    if settings.jobs is None:
        raise JobsDisabled("jobs_runtime")
    return settings.jobs


def _opened(
    jobs: JobsSettings, engine: "Engine | None", client: "Client | RedisCluster | None", opened: ExitStack
) -> Runtime:
    match jobs.provider:
        case "memory":
            return _memory(jobs, opened)
        case "db":
            return _sql(jobs, engine, opened)
        case "redis":
            return _redis(jobs, client, opened)
        case _:
            assert_never(jobs.provider)


def _memory(jobs: JobsSettings, opened: ExitStack) -> Runtime:
    from wagoe_jobs.adapters import memory

    queue = memory.job_queue(lease=jobs.lease)
    opened.callback(queue.close)
    return Runtime(
        provider="memory",
        queue=queue,
        store=memory.job_store(queue.state),
        stats=memory.job_stats(queue.state),
        idempotency=memory.idempotency_store(queue.state),
        recurring=memory.recurring_state(queue.state),
        presence=memory.worker_presence(queue.state),
    )


def _sql(jobs: JobsSettings, lent: "Engine | None", opened: ExitStack) -> Runtime:
    from wagoe_jobs.adapters import sql

    needed = sql.connections_needed(len(jobs.workers.polled) if jobs.workers.count else 0)
    engine = _own_engine(jobs, needed, opened) if lent is None else _checked_engine(jobs, lent)
    sql.check_pool(engine, needed)
    schema, prefix = jobs.db.schema_name, jobs.db.table_prefix
    sql.create_jobs_table(engine, schema=schema, table_prefix=prefix)
    sql.create_recurring_tables(engine, schema=schema, table_prefix=prefix)
    sql.create_presence_table(engine, schema=schema, table_prefix=prefix)
    queue = sql.job_queue(engine, lease=jobs.lease, schema=schema, table_prefix=prefix)
    opened.callback(queue.close)
    return Runtime(
        provider="db",
        queue=queue,
        store=sql.job_store(engine, schema=schema, table_prefix=prefix),
        stats=sql.job_stats(engine, schema=schema, table_prefix=prefix),
        idempotency=sql.idempotency_store(engine, schema=schema, table_prefix=prefix),
        recurring=sql.recurring_state(engine, schema=schema, table_prefix=prefix),
        presence=sql.worker_presence(engine, schema=schema, table_prefix=prefix),
    )


def _own_engine(jobs: JobsSettings, connections: int, opened: ExitStack) -> "Engine":
    from wagoe_jobs.adapters import sql

    if jobs.db.url is None:
        raise SettingsError("jobs.db.url", "is missing: provider = db needs it, or the application's engine")
    try:
        url, timeout = jobs.db.url.get_secret_value(), timedelta(milliseconds=jobs.db.timeout_ms)
        engine = sql.open_engine(url, timeout=timeout, pool_size=max(10, connections))
    except ValueError:  # its text may quote the url, and with it the password
        raise SettingsError("jobs.db.url", "is not a database URL, as postgresql+psycopg://user@host/name") from None
    opened.callback(engine.dispose)
    return engine


def _checked_engine(jobs: JobsSettings, lent: "Engine") -> "Engine":
    if jobs.db.url is not None:
        raise SettingsError("jobs.db.url", "is given, and an engine too: give one of them")
    if hasattr(lent, "sync_engine"):
        raise WiringError("engine: is an AsyncEngine: pass its sync_engine with a driver that blocks, as psycopg")
    if not (hasattr(lent, "dialect") and hasattr(lent, "connect")):
        raise WiringError(f"engine: must be an SQLAlchemy Engine, not {type(lent).__name__}")
    return lent


def _redis(jobs: JobsSettings, lent: "Client | RedisCluster | None", opened: ExitStack) -> Runtime:
    from wagoe_jobs.adapters import redis

    kept = jobs.retention
    server = redis.open_redis(
        _own_dial(jobs) if lent is None else _checked_client(jobs, lent),
        prefix=jobs.redis.prefix,
        keep=redis.Keep(completed=timedelta(days=kept.completed_days), cancelled=timedelta(days=kept.cancelled_days)),
        patience=jobs.redis.timeout,
        connections=_short_calls(jobs, lent),
    )
    opened.callback(server.close)
    queue = redis.job_queue(server, lease=jobs.lease)
    opened.callback(queue.close)
    return Runtime(
        provider="redis",
        queue=queue,
        store=redis.job_store(server),
        stats=redis.job_stats(server),
        idempotency=redis.idempotency_store(server),
        recurring=redis.recurring_state(server),
        presence=redis.worker_presence(server),
    )


def _own_dial(jobs: JobsSettings) -> "Direct | Elsewhere":
    from wagoe_jobs.adapters.redis import Keys, addresses

    given, slot = jobs.redis, Keys(jobs.redis.prefix).slot
    if given.url is not None:
        url = given.url.get_secret_value()
        return addresses.dial_url(url, slot, timeout=given.timeout, cluster=given.cluster)
    password = None if given.password is None else given.password.get_secret_value()
    server = addresses.Server(db=given.db, username=given.username, password=password, ssl=given.ssl)
    if given.sentinel is None:
        address = given.host, given.port
        return addresses.dial_host(address, server, slot, timeout=given.timeout, cluster=given.cluster)
    asked = given.sentinel
    own = None if asked.password is None else asked.password.get_secret_value()
    sentinels = addresses.Sentinels(asked.service, asked.addresses, asked.username, own)
    return addresses.dial_sentinels(sentinels, server, timeout=given.timeout)


def _checked_client(jobs: JobsSettings, lent: "Client | RedisCluster") -> "Client | RedisCluster":
    if jobs.redis.names_a_server:
        raise SettingsError("jobs.redis", "says where redis is, and a redis_client is given too: give one of them")
    if type(lent).__module__.startswith("redis.asyncio"):
        raise WiringError("redis_client: is a redis.asyncio client: pass a redis.Redis, whose calls block")
    return lent


def _short_calls(jobs: JobsSettings, lent: "Client | RedisCluster | None") -> int:
    """How many short calls may be on their way at once: with all else no more than a lent client's pool allows."""
    from wagoe_jobs.adapters.redis import CONNECTIONS, connections_needed

    most = getattr(getattr(lent, "connection_pool", None), "max_connections", None)
    if not isinstance(most, int):
        return CONNECTIONS
    needed = connections_needed(len(jobs.workers.polled) if jobs.workers.count else 0)
    if most < needed:
        raise SettingsError(
            "jobs.redis", f"the client's pool allows {most} connections, this node needs {needed}: enlarge it"
        )
    return min(CONNECTIONS, most - needed + 1)
