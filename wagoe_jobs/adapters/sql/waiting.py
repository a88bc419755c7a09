"""Jobs that wait: looking at them, counting them, ending them, and promoting those that are due."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    Integer,
    Text,
    bindparam,
    delete,
    false,
    func,
    select,
    true,
    update,
)

from wagoe_jobs.adapters.sql.connections import Conflict, Database
from wagoe_jobs.adapters.sql.history import History, end
from wagoe_jobs.adapters.sql.rows import jobs_of, queue_rows
from wagoe_jobs.adapters.sql.tables import PROCESSING, READY, SCHEDULED
from wagoe_jobs.core.job import Job, Status


class Waiting:
    """Acts inside a transaction that its caller opened."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._history = History(db)
        q, s, now = db.tables.queue.c, db.tables.store.c, db.dialect.now()
        this = q.id == bindparam("p_id", type_=q.id.type)
        of_queue = q.queue == bindparam("p_queue", type_=Text)
        limit = bindparam("p_limit", type_=Integer)
        self._peek = (
            queue_rows(db.tables).where(of_queue, q.status == READY).order_by(q.priority_rank, q.seq).limit(limit)
        )
        self._size = select(func.count()).select_from(db.tables.queue).where(of_queue, q.status == READY)
        self._queues = select(q.queue).distinct()
        by_id = partial(db.dialect.by_id, table=db.tables.queue)
        self._status = by_id(select(q.status).where(this).with_for_update())
        self._ask = by_id(update(db.tables.queue).where(this).values(cancel_requested=true()))
        self._delete = by_id(delete(db.tables.queue).where(this, q.status != PROCESSING))
        self._forget = delete(db.tables.store).where(s.id == bindparam("p_id", type_=s.id.type))
        # nothing that is scheduled has a lease: said for the index that both share where none is partial
        scheduled = q.status == SCHEDULED, q.lease_until.is_(None)
        due = (
            select(q.id, q.queue)
            .where(*scheduled, q.execute_at <= now)
            .order_by(q.execute_at, q.seq)
            .limit(limit)
            .with_for_update(skip_locked=db.dialect.skips_locked)
        )
        self._due = db.dialect.by_index(due, db.tables.index("due"))
        promote = (
            update(db.tables.queue)
            .where(this, q.status == SCHEDULED)
            .values(status=READY, seq=bindparam("p_seq", type_=BigInteger), retrying=false(), updated_at=now)
        )
        self._promote = by_id(promote)
        self._next = select(func.min(q.execute_at) - now).where(*scheduled)

    def peek(self, conn: Connection, queue: str, limit: int) -> list[Job]:
        return jobs_of(conn.execute(self._peek, {"p_queue": queue, "p_limit": limit}))

    def size(self, conn: Connection, queue: str) -> int:
        return conn.execute(self._size, {"p_queue": queue}).scalar_one()

    def queues(self, conn: Connection) -> list[str]:
        return sorted(conn.execute(self._queues).scalars())

    def next_due(self, conn: Connection) -> timedelta | None:
        left = conn.execute(self._next, self._db.clock()).scalar_one()
        return None if left is None else timedelta(microseconds=left)

    def delete(self, conn: Connection, id: str) -> bool:
        which = {"p_id": id}
        return bool(conn.execute(self._delete, which).rowcount or conn.execute(self._forget, which).rowcount)

    def cancel(self, conn: Connection, id: str) -> bool:
        status = conn.execute(self._status, {"p_id": id}).scalar()
        if status is None:
            return False
        if status == "processing":
            conn.execute(self._ask, {"p_id": id})  # without a look at the count: some drivers count what has changed
            return True
        self._history.move(conn, [end(id, Status.CANCELLED)])
        return True

    def promote(self, conn: Connection, limit: int) -> Sequence[str]:
        """The queues of the jobs that became ready, one entry each; each job gets a place at the end of the line."""
        due = conn.execute(self._due, {"p_limit": limit, **self._db.clock()}).all()
        if not due:
            return []
        places = self._db.dialect.places(conn, self._db.tables, len(due))
        rows: list[dict[str, Any]] = [
            {"p_id": id, "p_seq": seq, **self._db.clock()} for (id, _), seq in zip(due, places, strict=True)
        ]
        if conn.execute(self._promote, rows).rowcount not in (len(due), -1):
            raise Conflict
        return [queue for _, queue in due]
