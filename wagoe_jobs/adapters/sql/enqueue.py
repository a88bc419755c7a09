"""Storing new jobs, all or nothing, and no id twice: neither in the queue nor in history."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    SmallInteger,
    Text,
    bindparam,
    case,
    func,
    insert,
    select,
)

from wagoe_jobs.adapters.sql.connections import Database
from wagoe_jobs.adapters.sql.many import Many
from wagoe_jobs.adapters.sql.tables import READY, SCHEDULED

Rows = Sequence[Mapping[str, Any]]


class Enqueuer(Protocol):
    """Inserts rows that `job_values` made."""

    def store(self, rows: Rows) -> Sequence[bool]:
        """As `insert`, in a transaction of its own."""
        ...

    def insert(self, conn: Connection, rows: Rows) -> Sequence[bool]:
        """Whether each was new, in order; an id twice is new once. Pools are woken at the commit of `conn`."""
        ...


class LockedEnqueuer:
    """For a database where one transaction at a time writes: what was asked stays true until the commit."""

    def __init__(self, db: Database) -> None:
        self._db = db
        q, s = db.tables.queue, db.tables.store
        among = db.dialect.among
        self._known = select(q.c.id).where(among(q.c.id)).union_all(select(s.c.id).where(among(s.c.id)))
        self._insert = Many(insert(q).values(values_of(db)), db.engine.dialect)

    def store(self, rows: Rows) -> Sequence[bool]:
        return self._db.write_new(lambda conn: self.insert(conn, rows))

    def insert(self, conn: Connection, rows: Rows) -> Sequence[bool]:
        ids = self._db.dialect.ids([row["p_id"] for row in rows])
        known = set(conn.execute(self._known, {"ids": ids}).scalars())
        answers, fresh = first_times(rows, known)
        if fresh:
            clock = self._db.clock()
            self._insert.run(conn, [{**row, **clock} for row in fresh])
        return answers


def first_times(rows: Rows, known: set[str]) -> tuple[list[bool], Rows]:
    """Whether each row is the first of its id and not `known`, and those that are; `known` learns them."""
    answers, fresh = [], []
    for row in rows:
        new = row["p_id"] not in known
        answers.append(new)
        if new:
            known.add(row["p_id"])
            fresh.append(row)
    return answers, fresh


def due(now: ColumnElement[int], delay: ColumnElement[Any], execute_at: ColumnElement[Any]) -> ColumnElement[Any]:
    """When a new job is due, NULL for at once: the store's now plus `delay`, else `execute_at`."""
    return func.coalesce(now + delay, execute_at)


def waiting_status(now: ColumnElement[int], due_at: ColumnElement[Any]) -> ColumnElement[str]:
    return case((due_at > now, SCHEDULED), else_=READY)


def values_of(db: Database) -> Mapping[str, Any]:
    """What a new row has, with the parameters that `job_values` makes."""
    q, now = db.tables.queue.c, db.dialect.now()
    due_at = due(now, bindparam("p_delay", type_=BigInteger), bindparam("p_execute_at", type_=BigInteger))
    return {
        "id": bindparam("p_id", type_=q.id.type),
        "queue": bindparam("p_queue", type_=Text),
        "priority_rank": bindparam("p_rank", type_=SmallInteger),
        "status": waiting_status(now, due_at),
        "execute_at": due_at,
        "created_at": now,
        "updated_at": now,
        "type": bindparam("p_type", type_=Text),
        "tenant": bindparam("p_tenant", type_=Text),
        "budget": bindparam("p_budget", type_=Integer),
        "payload": bindparam("p_payload", type_=Text),
    }
