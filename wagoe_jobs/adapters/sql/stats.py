"""Counts for people and dashboards: all of them in one statement, so that a job on its way is counted once.

Not meant for a hot path. Durations are a sample of what has ended, and read beside it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Text,
    bindparam,
    cast,
    func,
    literal_column,
    null,
    select,
    true,
    union_all,
)

from wagoe_jobs.adapters.sql.connections import Database, refusing
from wagoe_jobs.adapters.sql.rows import history_rows, jobs_of
from wagoe_jobs.adapters.sql.tables import PROCESSING
from wagoe_jobs.core.durations import SAMPLE, durations_of
from wagoe_jobs.core.job import PRIORITIES, Job, Status
from wagoe_jobs.ports import QueueStats, StatsTotals

_WORKER: ColumnElement[str] = literal_column("'worker'", Text)


class Counted(NamedTuple):
    """One row of the counts: jobs of a queue, status and rank, the first of which came `age_us` ago; or a worker."""

    name: str
    status: str
    rank: int | None
    jobs: int
    age_us: int | None


class SqlJobStats:
    """JobStats."""

    def __init__(self, db: Database) -> None:
        self._db = db
        q, s = db.tables.queue.c, db.tables.store.c
        here, there = q.queue == bindparam("p_queue", type_=Text), s.queue == bindparam("p_queue", type_=Text)
        self._of_queue = union_all(*_counts(db, here, there))
        holders = select(q.locked_by, _WORKER, cast(null(), Integer), func.count(), cast(null(), BigInteger))
        holders = holders.where(q.status == PROCESSING, q.locked_by.is_not(None)).group_by(q.locked_by)
        self._of_all = union_all(*_counts(db, true(), true()), holders)
        self._runs = (
            select(s.ran_us)
            .where(there, s.status == str(Status.COMPLETED), s.ran_us.is_not(None))
            .order_by(s.completed_at.desc())
            .limit(SAMPLE)
        )
        self._history = (
            history_rows(db.tables)
            .where(s.type == bindparam("p_type", type_=Text))
            .order_by(s.completed_at.desc(), s.id.desc())
            .limit(bindparam("p_limit", type_=Integer))
        )

    def job_stats(self) -> StatsTotals:
        def count(conn: Connection) -> StatsTotals:
            by_queue: dict[str, list[Counted]] = defaultdict(list)
            workers: list[str] = []
            for row in map(Counted._make, conn.execute(self._of_all, self._db.clock())):
                workers.append(row.name) if row.status == "worker" else by_queue[row.name].append(row)
            queues = [self._stats(conn, name, by_queue[name]) for name in sorted(by_queue)]
            return StatsTotals(
                processed=sum(one.processed for one in queues),
                succeeded=sum(row.jobs for rows in by_queue.values() for row in rows if row.status == "completed"),
                failed=sum(one.failed for one in queues),
                queues=queues,
                workers=sorted(workers),
            )

        return self._db.read(count)

    @refusing("queue")
    def queue_stats(self, queue: str) -> QueueStats:
        def count(conn: Connection) -> QueueStats:
            rows = conn.execute(self._of_queue, {"p_queue": queue, **self._db.clock()})
            return self._stats(conn, queue, [Counted._make(row) for row in rows])

        return self._db.read(count)

    @refusing("type")
    def job_history(self, type: str, limit: int = 50) -> Sequence[Job]:
        return self._db.read(lambda conn: jobs_of(conn.execute(self._history, {"p_type": type, "p_limit": limit})))

    def _stats(self, conn: Connection, queue: str, rows: Sequence[Counted]) -> QueueStats:
        jobs: dict[str, int] = defaultdict(int)
        for row in rows:
            jobs[row.status] += row.jobs
        ready = {row.rank: row for row in rows if row.status == "ready"}
        ages = [row.age_us for row in ready.values() if row.age_us is not None]
        mean, p95 = self._durations(conn, queue) if jobs["completed"] else (None, None)
        return QueueStats(
            queue=queue,
            waiting={str(p): ready[p.rank].jobs if p.rank in ready else 0 for p in PRIORITIES},
            scheduled=jobs["scheduled"],
            in_flight=jobs["processing"],
            oldest_ready=timedelta(microseconds=max(ages)) if ages else None,
            processed=jobs["completed"] + jobs["failed"] + jobs["cancelled"],
            failed=jobs["failed"],
            mean=mean,
            p95=p95,
        )

    def _durations(self, conn: Connection, queue: str) -> tuple[timedelta | None, timedelta | None]:
        given: Mapping[str, Any] = {"p_queue": queue}
        return durations_of(conn.execute(self._runs, given).scalars())


def _counts(db: Database, here: ColumnElement[bool], there: ColumnElement[bool]) -> Sequence[Any]:
    """The columns of `Counted`, of both tables."""
    q, s = db.tables.queue.c, db.tables.store.c
    age = db.dialect.now() - func.min(q.created_at)
    waiting = select(q.queue, q.status, q.priority_rank, func.count(), age).where(here)
    ended = select(s.queue, s.status, cast(null(), Integer), func.count(), cast(null(), BigInteger)).where(there)
    return waiting.group_by(q.queue, q.status, q.priority_rank), ended.group_by(s.queue, s.status)
