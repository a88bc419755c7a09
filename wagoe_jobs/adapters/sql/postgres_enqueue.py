"""Enqueue on PostgreSQL: many rows in one statement, as one array a column.

An id that another transaction is moving from the queue to history is free in the queue as soon as that
commits, and an insert that waited for it goes through. So history is asked after the insert, in the same
transaction: by then nobody else can move this id, and what is in history already is taken out again.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    Integer,
    SmallInteger,
    Text,
    delete,
    select,
)
from sqlalchemy.dialects.postgresql import UUID, insert
from sqlalchemy.types import TypeEngine

from wagoe_jobs.adapters.sql.connections import Database
from wagoe_jobs.adapters.sql.enqueue import Rows, due, first_times, waiting_status
from wagoe_jobs.adapters.sql.postgres_arrays import array, texts, unnested

_ARRAYS: Sequence[tuple[str, TypeEngine[Any]]] = (
    ("p_id", UUID(as_uuid=False)),
    ("p_queue", Text()),
    ("p_rank", SmallInteger()),
    ("p_type", Text()),
    ("p_tenant", Text()),
    ("p_budget", Integer()),
    ("p_payload", Text()),
    ("p_execute_at", BigInteger()),
    ("p_delay", BigInteger()),
)
_TEXTS = frozenset({"p_queue", "p_type", "p_tenant", "p_payload"})
_COLUMNS = (
    "id", "queue", "priority_rank", "type", "tenant", "budget", "payload",
    "status", "execute_at", "created_at", "updated_at",
)  # fmt: skip


class ArrayEnqueuer:
    """`Enqueuer` for PostgreSQL."""

    def __init__(self, db: Database) -> None:
        self._db = db
        q, s = db.tables.queue, db.tables.store
        given = unnested(_ARRAYS)
        g, now = given.c, db.dialect.now()
        due_at = due(now, g.p_delay, g.p_execute_at)
        rows = select(
            g.p_id, g.p_queue, g.p_rank, g.p_type, g.p_tenant, g.p_budget, g.p_payload,
            waiting_status(now, due_at), due_at, now, now,
        )  # fmt: skip
        self._insert = insert(q).from_select(_COLUMNS, rows).on_conflict_do_nothing().returning(q.c.id)
        self._ended = select(s.c.id).where(db.dialect.among(s.c.id))
        self._take_out = delete(q).where(db.dialect.among(q.c.id))

    def insert(self, conn: Connection, rows: Rows) -> Sequence[bool]:
        answers, fresh = first_times(rows, set())
        arrays = {name: _array(name, [row[name] for row in fresh]) for name, _ in _ARRAYS}
        stored = set(conn.execute(self._insert, {**arrays, **self._db.clock()}).scalars())
        stored -= self._without_history(conn, stored) if stored else set()
        return [new and row["p_id"] in stored for new, row in zip(answers, rows, strict=True)]

    def _without_history(self, conn: Connection, ids: set[str]) -> set[str]:
        """The ids that have ended before; their new rows are taken out again."""
        ended = set(conn.execute(self._ended, {"ids": array(ids)}).scalars())
        if ended:
            conn.execute(self._take_out, {"ids": array(ended)})
        return ended


def _array(name: str, values: Sequence[Any]) -> str:
    return texts(values) if name in _TEXTS else array(values)
