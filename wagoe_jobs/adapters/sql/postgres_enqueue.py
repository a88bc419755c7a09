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
    bindparam,
    cast,
    delete,
    func,
    literal,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY, UUID, Insert, insert
from sqlalchemy.types import TypeEngine

from wagoe_jobs.adapters.sql.connections import Database
from wagoe_jobs.adapters.sql.enqueue import Rows, due, first_times, waiting_status
from wagoe_jobs.adapters.sql.postgres_arrays import array, texts, unnested
from wagoe_jobs.adapters.sql.wakeup import channel

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
_PROBE = "probe"


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
        ended = select(func.array_agg(s.c.id)).where(db.dialect.among(s.c.id)).scalar_subquery()
        queues = func.unnest(cast(bindparam("queues", type_=Text), ARRAY(Text))).column_valued("name")
        news = select(func.count(func.pg_notify(channel(db.tables), queues))).scalar_subquery()
        # news in the same breath as the question: a round trip less for every enqueue
        self._ended = select(func.current_setting("transaction_isolation"), ended, news)
        self._probe = _probe(db)
        self._remove_probe = delete(s).where(db.dialect.among(s.c.id), s.c.status == _PROBE)
        self._take_out = delete(q).where(db.dialect.among(q.c.id))

    def insert(self, conn: Connection, rows: Rows) -> Sequence[bool]:
        answers, fresh = first_times(rows, set())
        arrays = {name: _array(name, [row[name] for row in fresh]) for name, _ in _ARRAYS}
        stored = set(conn.execute(self._insert, {**arrays, **self._db.clock()}).scalars())
        if stored:
            stored -= self._without_history(conn, stored, {row["p_queue"] for row in fresh})
        return [new and row["p_id"] in stored for new, row in zip(answers, rows, strict=True)]

    def _without_history(self, conn: Connection, ids: set[str], queues: set[str]) -> set[str]:
        """The ids that have ended before; their new rows are taken out again. Tells the pools of `queues`."""
        given = {"ids": array(ids), "queues": texts(sorted(queues))}
        isolation, found, _ = conn.execute(self._ended, given).one()
        if isolation != "read committed":
            # an old snapshot does not see what has ended since; writing the same key does, and fails as it should
            conn.execute(self._probe, {"ids": array(ids)})
            conn.execute(self._remove_probe, {"ids": array(ids)})
        ended = {str(id) for id in found or ()}
        if ended:
            conn.execute(self._take_out, {"ids": array(ended)})
        return ended


def _array(name: str, values: Sequence[Any]) -> str:
    return texts(values) if name in _TEXTS else array(values)


def _probe(db: Database) -> Insert:
    """An insert of history rows that are not meant to stay; only ids matter."""
    s = db.tables.store
    ids = func.unnest(cast(bindparam("ids", type_=Text), ARRAY(UUID(as_uuid=False)))).column_valued("id")
    numbers = ("priority_rank", "created_at", "updated_at", "completed_at", "abandoned")
    row = {
        "id": ids,
        "status": literal(_PROBE),
        **{name: literal("") for name in ("queue", "type", "payload")},
        **{name: literal(0) for name in numbers},
    }
    return insert(s).from_select(list(row), select(*row.values())).on_conflict_do_nothing()
