"""What the tests of the SQL store share: jobs to store, and parts over one engine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Engine, func, select

from wagoe_jobs.adapters import sql
from wagoe_jobs.adapters.sql.connections import Database
from wagoe_jobs.adapters.sql.engines import open_database
from wagoe_jobs.adapters.sql.queue import SqlJobQueue
from wagoe_jobs.adapters.sql.store import SqlJobStore
from wagoe_jobs.clock import ClockOffset, Ids
from wagoe_jobs.core.job import Job, make_job

LINE = "line"

_ids = Ids()


def new_job(**changes: Any) -> Job:
    """A job of a known shape in queue LINE."""
    given = {"id": _ids.new(), "now": datetime.now(UTC), "queue": LINE, **changes}
    return make_job("greet", {"to": "ann"}, **given)


@dataclass(kw_only=True)
class Parts:
    """The parts over one engine, with a clock that tests move."""

    engine: Engine
    clock_offset: ClockOffset = field(default_factory=ClockOffset)
    strategy: str = "best"

    def __post_init__(self) -> None:
        sql.create_jobs_table(self.engine)
        sql.create_recurring_tables(self.engine)
        sql.create_presence_table(self.engine)
        self.queue: SqlJobQueue = sql.job_queue(
            self.engine, clock_offset=self.clock_offset, claim_strategy=self.strategy
        )
        self.store: SqlJobStore = sql.job_store(self.engine, clock_offset=self.clock_offset)
        self.db: Database = open_database(self.engine)

    def rows(self) -> tuple[int, int]:
        """How many rows the queue and history have."""
        tables = self.db.tables
        with self.engine.connect() as conn:
            counts = [conn.execute(select(func.count()).select_from(table)) for table in (tables.queue, tables.store)]
            return counts[0].scalar_one(), counts[1].scalar_one()


@pytest.fixture
def open_parts() -> Iterator[Callable[..., Parts]]:
    """`open_parts(engine, ...)` makes parts that are closed after the test."""
    made: list[Parts] = []

    def make(engine: Engine, **options: Any) -> Parts:
        made.append(Parts(engine=engine, **options))
        return made[-1]

    yield make
    for parts in made:
        parts.queue.close()


@pytest.fixture
def parts(engine: Engine, open_parts: Callable[..., Parts]) -> Parts:
    """The parts over an empty database, once a kind."""
    return open_parts(engine)


@pytest.fixture
def postgres_parts(postgres_engine: Engine, open_parts: Callable[..., Parts]) -> Parts:
    return open_parts(postgres_engine)


@pytest.fixture
def sqlite_parts(sqlite_engine: Engine, open_parts: Callable[..., Parts]) -> Parts:
    return open_parts(sqlite_engine)
