"""Where connections come from: made anew each time to the server that takes writes at that moment.

That is one address, the primary that a Sentinel names, or the node of a cluster that owns our keys. Whoever meets a
server that is not the one any more drops the connection and dials again.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from redis import Redis as Client
from redis import RedisCluster
from redis.backoff import NoBackoff
from redis.connection import Connection, SSLConnection
from redis.exceptions import ConnectionError as NotConnected
from redis.exceptions import RedisError
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelConnectionPool

from wagoe_jobs.errors import WiringError

Address = tuple[str, int]
Options = Mapping[str, Any]


class Wire(Protocol):
    """What is used of the driver's connection."""

    @property
    def is_connected(self) -> bool: ...
    def connect(self) -> object: ...
    def disconnect(self) -> object: ...
    def send_packed_command(self, command: Sequence[bytes], check_health: bool = True) -> object: ...
    def send_command(self, *words: str | int) -> object: ...
    def read_response(self) -> Any: ...
    def can_read(self, timeout: float = 0) -> bool: ...


Dial = Callable[[], Wire]

# one attempt, text both ways, and no chatter of the driver's own on a new connection; bytes that are no text, which
# only others can have put there, are spelled out: an error would lose the whole reply, claims included
_FIXED: Options = {
    "decode_responses": True,
    "encoding": "utf-8",
    "encoding_errors": "backslashreplace",
    "protocol": 2,
    "driver_info": None,
}


@dataclass(frozen=True, slots=True)
class Direct:
    """Dials one address, which the options hold."""

    kind: Callable[..., Wire]
    options: Options = field(repr=False)  # the password is among them

    def __call__(self) -> Wire:
        return connected(self.kind(**self.options, **_FIXED, retry=Retry(NoBackoff(), 0)))


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Dials the address that `where` tells at that moment."""

    kind: Callable[..., Wire]
    options: Options = field(repr=False)  # the password is among them
    where: Callable[[], Address]

    def __call__(self) -> Wire:
        host, port = self.where()
        return Direct(self.kind, {**self.options, "host": host, "port": port})()


@dataclass(frozen=True, slots=True)
class Owner:
    """Asks the nodes of a cluster, one after the other, which of them owns the slot."""

    kind: Callable[..., Wire]
    options: Options = field(repr=False)  # the password is among them
    seeds: Sequence[Address]
    slot: int

    def __call__(self) -> Address:
        problem: Exception | None = None
        for host, port in self.seeds:
            try:
                return self._asked(host, port)
            except (RedisError, OSError) as exc:
                problem = exc
        raise NotConnected(f"no node of the cluster told who owns slot {self.slot}: {problem}")

    def _asked(self, host: str, port: int) -> Address:
        conn = Direct(self.kind, {**self.options, "host": host, "port": port})()
        try:
            conn.send_command("CLUSTER", "SLOTS")
            for first, last, primary, *_ in conn.read_response():
                if first <= self.slot <= last:
                    return primary[0] or host, primary[1]
        finally:
            conn.disconnect()
        raise NotConnected(f"{host}:{port} knows no node that owns it")


def dial_of(client: object, slot: int) -> Dial:
    """How a lent client's server is reached: by its options, over connections of our own.

    Raises WiringError for what is no client of redis-py that blocks.
    """
    if isinstance(client, RedisCluster):
        nodes = client.nodes_manager
        seeds = [(node.host, node.port) for node in nodes.startup_nodes.values()]
        kind = SSLConnection if nodes.connection_kwargs.get("ssl") else Connection
        return clustered(kind, _usable(nodes.connection_kwargs), seeds, slot)
    if not isinstance(client, Client):
        raise WiringError(f"redis_client: must be a redis.Redis, not {type(client).__name__}")
    pool = client.connection_pool
    options = _usable(pool.connection_kwargs)
    if isinstance(pool, SentinelConnectionPool):
        kind = SSLConnection if issubclass(pool.connection_class, SSLConnection) else Connection
        return by_sentinels(kind, options, pool.sentinel_manager, pool.service_name)
    return Direct(pool.connection_class, options)


def by_sentinels(kind: Callable[..., Wire], options: Options, sentinels: Sentinel, service: str) -> Elsewhere:
    """The primary that the sentinels name."""
    discover: Callable[[str], Address] = sentinels.discover_master
    return Elsewhere(kind, options, lambda: discover(service))


def clustered(kind: Callable[..., Wire], options: Options, seeds: Sequence[Address], slot: int) -> Elsewhere:
    """The node that owns the slot."""
    return Elsewhere(kind, options, Owner(kind, options, seeds, slot))


def connected(conn: Wire) -> Wire:
    """The same, dialled and greeted; a half-open one is closed."""
    try:
        conn.connect()
    except BaseException:
        with suppress(RedisError, OSError):
            conn.disconnect()
        raise
    return conn


_WAITS = ("socket_timeout", "socket_connect_timeout")
_BOUND = 10.0
"""Seconds, where a lent client says none."""

_OURS = (
    *("decode_responses", "encoding", "encoding_errors", "protocol", "parser_class", "legacy_responses"),
    *("retry", "retry_on_error", "retry_on_timeout", "health_check_interval", "himport_registry"),
    *("driver_info", "lib_name", "lib_version", "connection_pool", "ssl", "redis_connect_func", "event_dispatcher"),
)


def _usable(options: Options) -> dict[str, Any]:
    """A lent client's options without those that we set ourselves or that belong to its own pool.

    A client that waits for ever lends no such patience: renewal would hang with a server that hangs.
    """
    usable = {
        name: value
        for name, value in options.items()
        if name not in _OURS and not name.startswith(("maint", "orig_", "oss_"))
    }
    return {name: _BOUND if name in _WAITS and value is None else value for name, value in usable.items()}
