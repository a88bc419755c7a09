"""The stores that are drained: how each is opened, which peers drain it beside us, and what we are held to."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from bench.drain import Contender
from bench.unfinished import Counting, in_redis, in_table, of_wagoe
from tests.servers import MariaDbServer, PostgresServer, RedisServer

SLOTS, HANDLER_MS = 50, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One store. Expectations are by the number of waiting jobs: jobs a second, and times each peer of the run.

    `share` is how much of the ideal is expected where handlers take 10 ms on 50 slots.
    """

    name: str
    opened: Callable[[], AbstractContextManager[str]]
    ours: Contender
    peers: tuple[Contender, ...] = ()
    rates: dict[int, float]
    times: dict[int, float]
    share: float = 0.93


def fields(peer_python: str) -> dict[str, Field]:
    """By name; the peers run in an environment of their own."""

    def peer(name: str, unfinished: Counting) -> Contender:
        return Contender(name=name, module=f"bench.contender_{name}", unfinished=unfinished, python=peer_python)

    wagoe_sql = Contender(name="wagoe_jobs", module="bench.contender_wagoe", unfinished=in_table("job_queue"))
    wagoe_redis = Contender(name="wagoe_jobs", module="bench.contender_wagoe", unfinished=of_wagoe)
    redis_peers = (
        peer("dramatiq", in_redis(lambda client: client.hlen("dramatiq:default.msgs"))),
        peer("huey", in_redis(lambda client: client.llen("huey.redis.bench"))),
    )
    every = (
        Field(
            name="postgres",
            opened=_postgres,
            ours=wagoe_sql,
            peers=(peer("pgqueuer", in_table("pgqueuer")),),
            rates={20_000: 20_000},
            times={20_000: 1.2, 80_000: 2},
        ),
        Field(name="sqlite", opened=_sqlite, ours=wagoe_sql, rates={20_000: 20_000}, times={}),
        # an exchange of fifty takes longer than they do: five round trips and a flush
        Field(name="mariadb", opened=_mariadb, ours=wagoe_sql, rates={20_000: 5_000}, times={}, share=0.55),
        Field(
            name="redis",
            opened=_redis,
            ours=wagoe_redis,
            peers=redis_peers,
            rates={},
            times={20_000: 8, 80_000: 8},
        ),
    )
    return {field.name: field for field in every}


@contextmanager
def _postgres() -> Iterator[str]:
    with PostgresServer() as server, server.database() as url:
        yield url


@contextmanager
def _sqlite() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:///{folder}/bench.sqlite3"


@contextmanager
def _mariadb() -> Iterator[str]:
    with MariaDbServer() as server, server.database() as url:
        yield url


@contextmanager
def _redis() -> Iterator[str]:
    """With its append-only file, flushed once a second."""
    with RedisServer() as server, server.database() as url:
        yield url
