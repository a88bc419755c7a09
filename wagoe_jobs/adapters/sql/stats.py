"""Counts for people and dashboards, each answer from one transaction; not meant for a hot path."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Integer, Text, bindparam, func, select

from wagoe_jobs.adapters.sql.connections import Database
from wagoe_jobs.adapters.sql.rows import history_rows, jobs_of
from wagoe_jobs.adapters.sql.tables import PROCESSING, READY
from wagoe_jobs.core.durations import SAMPLE, durations_of
from wagoe_jobs.core.job import PRIORITIES, Job, Status
from wagoe_jobs.ports import QueueStats, StatsTotals


class SqlStats:
    """JobStats."""

    def __init__(self, db: Database) -> None:
        self._db = db
        q, s = db.tables.queue.c, db.tables.store.c
        here, there = q.queue == bindparam("p_queue", type_=Text), s.queue == bindparam("p_queue", type_=Text)
        self._waiting = select(q.status, q.priority_rank, func.count()).where(here).group_by(q.status, q.priority_rank)
        oldest = func.min(q.created_at)
        self._oldest = select(db.dialect.now() - oldest).where(here, q.status == READY)
        self._ended = select(s.status, func.count()).where(there).group_by(s.status)
        self._runs = (
            select(s.ran_us)
            .where(there, s.status == str(Status.COMPLETED), s.ran_us.is_not(None))
            .order_by(s.completed_at.desc())
            .limit(SAMPLE)
        )
        self._queues = select(q.queue).union(select(s.queue))
        self._workers = select(q.locked_by).where(q.status == PROCESSING, q.locked_by.is_not(None)).distinct()
        self._history = (
            history_rows(db.tables)
            .where(s.type == bindparam("p_type", type_=Text))
            .order_by(s.completed_at.desc(), s.id.desc())
            .limit(bindparam("p_limit", type_=Integer))
        )

    def job_stats(self) -> StatsTotals:
        def count(conn: Connection) -> StatsTotals:
            queues = [self._of(conn, name) for name in sorted(conn.execute(self._queues).scalars())]
            succeeded = sum(self._succeeded(conn, one.queue) for one in queues)
            return StatsTotals(
                processed=sum(one.processed for one in queues),
                succeeded=succeeded,
                failed=sum(one.failed for one in queues),
                queues=queues,
                workers=sorted(conn.execute(self._workers).scalars()),
            )

        return self._db.read(count)

    def queue_stats(self, queue: str) -> QueueStats:
        return self._db.read(lambda conn: self._of(conn, queue))

    def job_history(self, type: str, limit: int = 50) -> Sequence[Job]:
        return self._db.read(lambda conn: jobs_of(conn.execute(self._history, {"p_type": type, "p_limit": limit})))

    def _of(self, conn: Connection, queue: str) -> QueueStats:
        which: Mapping[str, Any] = {"p_queue": queue, **self._db.clock()}
        held = {(status, rank): n for status, rank, n in conn.execute(self._waiting, which)}
        ended = self._ends(conn, queue)
        oldest = conn.execute(self._oldest, which).scalar()
        mean, p95 = durations_of(conn.execute(self._runs, which).scalars())
        return QueueStats(
            queue=queue,
            waiting={str(p): held.get(("ready", p.rank), 0) for p in PRIORITIES},
            scheduled=_sum(held, "scheduled"),
            in_flight=_sum(held, "processing"),
            oldest_ready=None if oldest is None else timedelta(microseconds=oldest),
            processed=sum(ended.values()),
            failed=ended.get("failed", 0),
            mean=mean,
            p95=p95,
        )

    def _succeeded(self, conn: Connection, queue: str) -> int:
        return self._ends(conn, queue).get("completed", 0)

    def _ends(self, conn: Connection, queue: str) -> Mapping[str, int]:
        return dict(conn.execute(self._ended, {"p_queue": queue}).all())


def _sum(held: Mapping[tuple[str, int], int], status: str) -> int:
    return sum(n for (found, _), n in held.items() if found == status)
