"""Jobs in redis or Valkey: every transition is one Lua script, so that no crash leaves a job half-way.

Every part is built from a client of redis-py, which says where the server is and stays its owner's, or from what
`open_redis` opened, which several parts share. All keys live under one prefix with a hash tag, so that a cluster
keeps them together:

    client = redis.Redis.from_url("redis://localhost:6379/0")
    queue, store = job_queue(client), job_store(client)

What a queue, or `open_redis`, holds open is closed by its `close`.
"""

from datetime import timedelta

from redis import Redis as Client
from redis import RedisCluster

from wagoe_jobs.adapters.redis.connections import CONNECTIONS, PATIENCE, Keep, Redis, connections_needed
from wagoe_jobs.adapters.redis.dialling import Direct, Elsewhere, dial_of
from wagoe_jobs.adapters.redis.idempotency import RedisIdempotencyStore
from wagoe_jobs.adapters.redis.keys import DEFAULT_PREFIX, Keys
from wagoe_jobs.adapters.redis.presence import RedisWorkerPresence
from wagoe_jobs.adapters.redis.queue import RedisJobQueue
from wagoe_jobs.adapters.redis.recurring import RedisRecurringState
from wagoe_jobs.adapters.redis.server import ServerInfo, check_server, server_info
from wagoe_jobs.adapters.redis.stats import RedisJobStats
from wagoe_jobs.adapters.redis.store import RedisJobStore
from wagoe_jobs.clock import ClockOffset
from wagoe_jobs.ports import DEFAULT_LEASE

__all__ = [
    "CONNECTIONS",
    "Keep",
    "Keys",
    "Redis",
    "ServerInfo",
    "connections_needed",
    "dial_of",
    "idempotency_store",
    "job_queue",
    "job_stats",
    "job_store",
    "open_redis",
    "recurring_state",
    "server_info",
    "worker_presence",
]

Lent = Client | RedisCluster | Redis
"""A client of the application, or what `open_redis` opened."""


def open_redis(
    server: Client | RedisCluster | Direct | Elsewhere,
    *,
    prefix: str = DEFAULT_PREFIX,
    keep: Keep = Keep(),
    clock_offset: ClockOffset | None = None,
    patience: timedelta = PATIENCE,
    connections: int = CONNECTIONS,
) -> Redis:
    """One store, for all parts together, that answers; what makes the server unsafe for jobs is logged. `close` it.

    `server` is a lent client, or how one is dialled. At most `connections` short calls are on their way at once,
    and a caller waits for its turn for as long as `patience`; renewal and each waiting place have connections
    beside these. Raises BackendUnavailable, SettingsError, WiringError.
    """
    redis = Redis(
        server if isinstance(server, Direct | Elsewhere) else dial_of(server, Keys(prefix).slot),
        prefix=prefix,
        keep=keep,
        clock_offset=clock_offset,
        patience=patience,
        connections=connections,
    )
    try:
        check_server(redis)
    except BaseException:
        redis.close()
        raise
    return redis


def job_queue(
    client: Lent,
    *,
    lease: timedelta = DEFAULT_LEASE,
    prefix: str = DEFAULT_PREFIX,
    keep: Keep = Keep(),
    clock_offset: ClockOffset | None = None,
) -> RedisJobQueue:
    """The queue; of a `Redis`, prefix and all that follows are its own. Raises as `open_redis`."""
    if isinstance(client, Redis):
        return RedisJobQueue(client, lease)
    return RedisJobQueue(open_redis(client, prefix=prefix, keep=keep, clock_offset=clock_offset), lease, owner=True)


def job_store(
    client: Lent, *, prefix: str = DEFAULT_PREFIX, keep: Keep = Keep(), clock_offset: ClockOffset | None = None
) -> RedisJobStore:
    return RedisJobStore(_redis(client, prefix, keep, clock_offset))


def job_stats(
    client: Lent, *, prefix: str = DEFAULT_PREFIX, keep: Keep = Keep(), clock_offset: ClockOffset | None = None
) -> RedisJobStats:
    return RedisJobStats(_redis(client, prefix, keep, clock_offset))


def idempotency_store(
    client: Lent, *, prefix: str = DEFAULT_PREFIX, clock_offset: ClockOffset | None = None
) -> RedisIdempotencyStore:
    return RedisIdempotencyStore(_redis(client, prefix, Keep(), clock_offset))


def recurring_state(
    client: Lent, *, prefix: str = DEFAULT_PREFIX, clock_offset: ClockOffset | None = None
) -> RedisRecurringState:
    return RedisRecurringState(_redis(client, prefix, Keep(), clock_offset))


def worker_presence(
    client: Lent, *, prefix: str = DEFAULT_PREFIX, clock_offset: ClockOffset | None = None
) -> RedisWorkerPresence:
    return RedisWorkerPresence(_redis(client, prefix, Keep(), clock_offset))


def _redis(client: Lent, prefix: str, keep: Keep, clock_offset: ClockOffset | None) -> Redis:
    """The store of a client; its few connections end with the part that it is made for."""
    if isinstance(client, Redis):
        return client
    return Redis(dial_of(client, Keys(prefix).slot), prefix=prefix, keep=keep, clock_offset=clock_offset)
