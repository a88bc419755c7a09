"""From what settings say to how a server is dialled: one address, the sentinels of a primary, or a node of a cluster.

Nothing is connected here. No error quotes a url or a password.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from redis.backoff import NoBackoff
from redis.connection import Connection, SSLConnection, UnixDomainSocketConnection, parse_url
from redis.retry import Retry
from redis.sentinel import Sentinel

from wagoe_jobs.adapters.redis.dialling import Address, Direct, Elsewhere, Options, Wire, by_sentinels, clustered
from wagoe_jobs.errors import SettingsError

Kind = Callable[..., Wire]
_URL = "jobs.redis.url"
_IN_A_URL = ("db", "username", "password", "client_name", "socket_keepalive", "socket_connect_timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What a server is told when it is dialled."""

    db: int = 0
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ssl: bool = False

    @property
    def kind(self) -> Kind:
        return SSLConnection if self.ssl else Connection


@dataclass(frozen=True, slots=True)
class Sentinels:
    """The sentinels of a service, and who we are to them."""

    service: str
    nodes: Sequence[Address]
    username: str | None = None
    password: str | None = field(default=None, repr=False)


def dial_url(url: str, slot: int, *, timeout: timedelta, cluster: bool = False) -> Direct | Elsewhere:
    """How the server at a `redis://`, `rediss://` or `unix://` address is reached. Raises SettingsError."""
    parse: Callable[[str], dict[str, Any]] = parse_url
    try:
        parsed = parse(url)
    except (TypeError, ValueError):  # its text may quote the url
        raise SettingsError(_URL, "is not an address as redis://user:password@host:6379/0") from None
    kind = parsed.pop("connection_class", Connection)
    place: Options = {name: parsed.pop(name) for name in ("host", "port", "path") if name in parsed}
    strange = [name for name in parsed if name not in _IN_A_URL and not name.startswith("ssl_")]
    if strange:
        raise SettingsError(_URL, f"has the option {strange[0]}; there are {', '.join(_IN_A_URL)} and those of ssl_")
    options: Options = {**_timed(timeout), **place, **parsed}
    if not cluster:
        return Direct(kind, options)
    if kind is UnixDomainSocketConnection:
        raise SettingsError(
            "jobs.redis.cluster", "needs an address with a host: a socket's file leads to one node alone"
        )
    return _of_cluster(kind, options, slot)


def dial_host(
    address: Address, server: Server, slot: int, *, timeout: timedelta, cluster: bool = False
) -> Direct | Elsewhere:
    """The same from the parts."""
    host, port = address
    options = {**_options(server, timeout), "host": host, "port": port}
    return _of_cluster(server.kind, options, slot) if cluster else Direct(server.kind, options)


def dial_sentinels(asked: Sentinels, server: Server, *, timeout: timedelta) -> Direct | Elsewhere:
    """The primary that the sentinels name, asked for at every connect; with `ssl` they are spoken to in TLS as well."""
    us = {"username": asked.username, "password": asked.password, "ssl": server.ssl}
    make: Callable[..., Sentinel] = Sentinel
    sentinels = make(list(asked.nodes), sentinel_kwargs={**us, **_timed(timeout), "retry": Retry(NoBackoff(), 0)})
    return by_sentinels(server.kind, _options(server, timeout), sentinels, asked.service)


def _of_cluster(kind: Kind, options: Options, slot: int) -> Direct | Elsewhere:
    seed = (options.get("host", "localhost"), options.get("port", 6379))
    return clustered(kind, options, [seed], slot)


def _options(server: Server, timeout: timedelta) -> Options:
    return {"db": server.db, "username": server.username, "password": server.password, **_timed(timeout)}


def _timed(timeout: timedelta) -> Mapping[str, float]:
    seconds = timeout.total_seconds()
    return {"socket_timeout": seconds, "socket_connect_timeout": seconds}
