"""How many jobs of a contender have not ended, asked of the store itself while its worker runs."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from redis import Redis
from sqlalchemy import create_engine, text

from wagoe_jobs.runtime import open_runtime
from wagoe_jobs.settings import read_jobs

Counting = Callable[[str], AbstractContextManager[Callable[[], int]]]
"""Given a store's URL, a block in which the jobs can be counted."""


def in_table(name: str) -> Counting:
    """The rows of a table that keeps nothing else."""

    @contextmanager
    def counting(url: str) -> Iterator[Callable[[], int]]:
        engine, unfinished = create_engine(url), text(f"select count(*) from {name}")
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            yield lambda: int(connection.execute(unfinished).scalar_one())
        engine.dispose()

    return counting


def in_redis(count: Callable[["Redis"], object]) -> Counting:
    """What `count` asks of redis."""

    @contextmanager
    def counting(url: str) -> Iterator[Callable[[], int]]:
        with Redis.from_url(url) as client:
            yield lambda: int(count(client))

    return counting


@contextmanager
def of_wagoe(url: str) -> Iterator[Callable[[], int]]:
    """Our own jobs in redis, by the library's count of them."""
    with open_runtime(read_jobs({"provider": "redis", "redis": {"url": url}})) as runtime:

        def unfinished() -> int:
            return sum(queue.to_do for queue in runtime.stats.job_stats().queues)

        yield unfinished
