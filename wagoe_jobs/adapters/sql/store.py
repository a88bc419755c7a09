"""Every job, wherever it is: one statement reads both tables, so that a job on its way is seen exactly once."""

import operator
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    not_,
    or_,
    select,
    union_all,
)

from wagoe_jobs.adapters.sql.connections import Conflict, Database, refusing
from wagoe_jobs.adapters.sql.rows import history_rows, jobs_of, queue_rows, stored
from wagoe_jobs.adapters.sql.tables import FAILED, PROCESSING, READY, SCHEDULED
from wagoe_jobs.core.job import Job, Status, checked_instant, to_micros
from wagoe_jobs.core.stored import checked_cursor, checked_page, next_life
from wagoe_jobs.ports import JobFilter, Page


class SqlJobStore:
    """JobStore."""

    def __init__(self, db: Database) -> None:
        self._db = db
        q, s = db.tables.queue.c, db.tables.store.c
        id = bindparam("p_id", type_=q.id.type)
        self._find = queue_rows(db.tables).where(q.id == id).union_all(history_rows(db.tables).where(s.id == id))
        self._failed = history_rows(db.tables).where(s.id == id, s.status == FAILED)
        self._take = delete(db.tables.store).where(
            s.id == id, s.status == FAILED, s.completed_at == bindparam("p_completed", type_=BigInteger)
        )
        copied = (s.id, s.queue, s.priority_rank, s.created_at, s.type, s.tenant)
        fresh: dict[str, ColumnElement[Any]] = {
            "status": READY,
            "updated_at": db.dialect.now(),
            "budget": bindparam("p_budget", type_=Integer),
            "last_token": s.token,
            "payload": func.coalesce(bindparam("p_payload", type_=Text), s.payload),
        }
        self._draws = db.tables.counter is not None
        if self._draws:
            fresh["seq"] = bindparam("p_seq", type_=BigInteger)
        again = select(*copied, *(value.label(name) for name, value in fresh.items())).where(s.id == id)
        self._restore = insert(db.tables.queue).from_select([c.name for c in copied] + list(fresh), again)

    def find(self, id: UUID) -> Job | None:
        found = self._db.read(lambda conn: conn.execute(self._find, {"p_id": str(id)}).all())
        return jobs_of(found)[0] if found else None

    @refusing("wanted")
    def search(self, wanted: JobFilter = JobFilter(), *, limit: int = 50, cursor: str | None = None) -> Page:
        below = None if cursor is None else checked_cursor(cursor)
        limit = checked_page(limit)
        both = union_all(*self._parts(wanted, below, limit + 1)).subquery()
        statement = select(both).order_by(both.c.id.desc()).limit(limit + 1)
        found = self._db.read(lambda conn: conn.execute(statement).all())
        return Page(jobs_of(found[:limit]), found[limit - 1].id if len(found) > limit else None)

    def failed_jobs(self, queue: str | None = None, *, limit: int = 50, cursor: str | None = None) -> Page:
        return self.search(JobFilter(status=Status.FAILED, queue=queue), limit=limit, cursor=cursor)

    def retry(self, id: UUID) -> bool:
        return self._db.write(lambda conn: self._redrive(conn, str(id)))

    def _redrive(self, conn: Connection, id: str) -> bool:
        row = conn.execute(self._failed, {"p_id": id}).one_or_none()
        if row is None:
            return False
        place = {"p_seq": self._db.dialect.places(conn, self._db.tables, 1)[0]} if self._draws else {}
        conn.execute(self._restore, {"p_id": id, **_redriven(row), **place, **self._db.clock()})
        if conn.execute(self._take, {"p_id": id, "p_completed": row.completed_at}).rowcount != 1:
            raise Conflict
        self._db.dialect.tell(conn, self._db.tables, [row.queue])
        return True

    def _parts(self, wanted: JobFilter, below: str | None, limit: int) -> Iterator[Select[Any]]:
        """The best `limit` rows of each table that can hold what is wanted."""
        tables = self._db.tables
        if wanted.status is None or not wanted.status.terminal:
            yield _filtered(
                queue_rows(tables), tables.queue, _waiting(tables.queue, wanted.status), wanted, below, limit
            )
        if wanted.status is None or wanted.status.terminal:
            ended = () if wanted.status is None else (tables.store.c.status == literal_column(f"'{wanted.status}'"),)
            yield _filtered(history_rows(tables), tables.store, ended, wanted, below, limit)


def _waiting(queue: Table, status: Status | None) -> Sequence[ColumnElement[bool]]:
    c = queue.c
    match status:
        case Status.PENDING:
            return (or_(c.status == READY, and_(c.status == SCHEDULED, not_(c.retrying))),)
        case Status.RETRYING:
            return (c.status == SCHEDULED, c.retrying)
        case Status.RUNNING:
            return (c.status == PROCESSING,)
        case _:
            return ()


def _filtered(
    rows: Select[Any],
    table: Table,
    states: Sequence[ColumnElement[bool]],
    wanted: JobFilter,
    below: str | None,
    limit: int,
) -> Select[Any]:
    c = table.c
    conditions = [
        (c.type, operator.eq, wanted.type),
        (c.queue, operator.eq, wanted.queue),
        (c.tenant, operator.eq, wanted.tenant),
        (c.created_at, operator.ge, None if wanted.since is None else _micros("since", wanted.since)),
        (c.created_at, operator.lt, None if wanted.until is None else _micros("until", wanted.until)),
        (c.id, operator.lt, below),
    ]
    asked = [compare(column, value) for column, compare, value in conditions if value is not None]
    best = rows.where(*states, *asked).order_by(c.id.desc()).limit(limit).subquery()
    return select(best)


def _micros(path: str, instant: datetime) -> int:
    return to_micros(checked_instant(path, instant))


def _redriven(row: Row[Any]) -> dict[str, Any]:
    text, budget = next_life(stored(row))
    return {"p_payload": text, "p_budget": budget}
