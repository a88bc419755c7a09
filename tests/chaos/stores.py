"""The stores that are attacked: how each is opened, how a node is told of it, and what it holds, past the library."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from redis import Redis
from sqlalchemy import create_engine, text

from tests.servers import MariaDbServer, PostgresServer, RedisServer, Server
from wagoe_jobs.adapters.redis import Keys
from wagoe_jobs.settings import JobsSettings, read_jobs


def _durable_redis() -> RedisServer:
    """Redis that answers when the disk has it, as the SQL servers do.

    With `everysec` it answers at once and may hold a write back for as long as an earlier flush takes, up to two
    seconds; a kill then takes acknowledged jobs along, and that would be the server's loss.
    """
    return RedisServer(fsync="always")


SERVERS: dict[str, Callable[[], PostgresServer | MariaDbServer | RedisServer]] = {
    "postgres": PostgresServer,
    "mariadb": MariaDbServer,
    "redis": _durable_redis,
}
STORES = ("sqlite", *SERVERS)


class Held(NamedTuple):
    """Jobs that have not ended, and the terminal records by status."""

    unfinished: int
    ends: Counter[str]


@contextmanager
def opened(store: str, folder: Path) -> Iterator[tuple[str, Server | None]]:
    """Its URL, and the server behind it where there is one."""
    if store == "sqlite":
        yield f"sqlite:///{folder}/jobs.sqlite3", None
        return
    with SERVERS[store]() as server, server.database() as url:
        yield url, server


def settings(url: str, **more: object) -> JobsSettings:
    """The jobs block of a node on that store."""
    provider = "redis" if url.startswith("redis") else "db"
    return read_jobs({"provider": provider, provider: {"url": url}, **more})


def held(url: str) -> Held:
    return _held_by_redis(url) if url.startswith("redis") else _held_by_sql(url)


def _held_by_sql(url: str) -> Held:
    engine = create_engine(url)
    with engine.connect() as connection:
        unfinished = connection.execute(text("select count(*) from job_queue")).scalar_one()
        ends = connection.execute(text("select status, count(*) from job_store group by status")).tuples().all()
    engine.dispose()
    return Held(unfinished, Counter(dict(ends)))


def _held_by_redis(url: str) -> Held:
    """Where a job stands is a line of words: `ended` and more, with its status as the fifth, or where it waits."""
    keys = Keys()
    with Redis.from_url(url, decode_responses=True) as client:
        asked = client.pipeline(transaction=False)
        for id in client.zrange(keys.jobs, 0, -1):
            asked.hget(keys.job(id), "at")
        stands = [line.split() for line in asked.execute()]
    ends = Counter(words[4] for words in stands if words[0] == "ended")
    return Held(len(stands) - ends.total(), ends)
