"""Enqueue on PostgreSQL: an insert and a look at history, which go out together and cost one round trip.

An id that another transaction is moving from the queue to history is free in the queue as soon as that
commits, and an insert that waited for it goes through. So history is asked after the insert, in the same
transaction and with eyes of its own: by then nobody else can move this id, and what is in history already is
taken out again. One statement would not do, since all of it sees what was there when it began.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    SmallInteger,
    Text,
    bindparam,
    cast,
    delete,
    func,
    literal,
    literal_column,
    null,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, UUID, Insert, insert
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.expression import ClauseElement
from sqlalchemy.types import TypeEngine

from wagoe_jobs.adapters.sql.connections import Database, committed, driver
from wagoe_jobs.adapters.sql.enqueue import Rows, due, first_times, values_of, waiting_status
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
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"


class ArrayEnqueuer:
    """`Enqueuer` for PostgreSQL."""

    def __init__(self, db: Database) -> None:
        self._db = db
        q, s = db.tables.queue, db.tables.store
        added = _added(db)
        self._insert = added.returning(q.c.id)
        ended = select(func.array_agg(s.c.id)).where(db.dialect.among(s.c.id)).scalar_subquery()
        # news in the same breath as the question: a round trip less for every enqueue
        self._ended = select(func.current_setting("transaction_isolation"), ended, _news(db, true()))
        self._probe = _probe(db)
        self._remove_probe = delete(s).where(db.dialect.among(s.c.id), s.c.status == _PROBE)
        self._take_out = delete(q).where(db.dialect.among(q.c.id))
        dialect, id = db.engine.dialect, cast(q.c.id, Text)
        one = insert(q).values(values_of(db)).on_conflict_do_nothing()
        self._one = _Piped(one.returning(id), dialect)
        self._many = _Piped(added.returning(id), dialect)
        self._check = _Piped(_check(db), dialect)

    def store(self, rows: Rows) -> Sequence[bool]:
        return self._db.once_more(lambda: self._store(rows), all)

    def insert(self, conn: Connection, rows: Rows) -> Sequence[bool]:
        answers, fresh = first_times(rows, set())
        stored = set(conn.execute(self._insert, {**_arrays(fresh), **self._db.clock()}).scalars())
        if stored:
            stored -= self._without_history(conn, stored, {row["p_queue"] for row in fresh})
        return [new and row["p_id"] in stored for new, row in zip(answers, rows, strict=True)]

    def _store(self, rows: Rows) -> Sequence[bool]:
        with self._db.engine.connect() as conn:
            if _sends_ahead(conn):
                # else the driver would begin by itself, and wait for the answer to that
                return self._together(conn.execution_options(isolation_level="AUTOCOMMIT"), rows)
            return committed(self._db.dialect.isolate(conn), self._db.dialect, lambda own: self.insert(own, rows))

    def _together(self, conn: Connection, rows: Rows) -> Sequence[bool]:
        """As `insert`, in a transaction of its own, all of which is sent before the first reply is read."""
        answers, fresh = first_times(rows, set())
        given: Mapping[str, Any] = {**(_arrays(fresh) if fresh[1:] else fresh[0]), **self._db.clock()}
        queues = texts(sorted({row["p_queue"] for row in fresh}))
        with conn.begin(), _as_engine(conn) as raw:
            with raw.pipeline():
                raw.execute(_BEGIN, prepare=False)
                new = (self._many if fresh[1:] else self._one).send(raw, given)
                ended = self._check.send(raw, {"ids": array(row["p_id"] for row in fresh), "queues": queues})
                raw.execute("COMMIT", prepare=False)
            stored = {id for (id,) in new.fetchall()} - set(ended.fetchone()[0] or ())
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


class _Piped:
    """A statement for the driver itself: in a pipeline the engine would look for results that are still to come."""

    def __init__(self, statement: ClauseElement, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._text = str(compiled)
        self._bound = {name: value for name, value in (compiled.params or {}).items() if value is not None}

    def send(self, raw: Any, given: Mapping[str, Any]) -> Any:
        """The cursor, whose rows are there when the pipeline has ended."""
        return raw.execute(self._text, {**self._bound, **given})


@contextmanager
def _as_engine(conn: Connection) -> Iterator[Any]:
    """The driver's connection, whose errors are raised as the engine's. Whatever else ends the block drops it."""
    raw = driver(conn)
    try:
        yield raw
    except conn.dialect.loaded_dbapi.Error as exc:
        if not raw.closed and raw.pgconn.pipeline_status:  # it died in between: nothing leads out of this
            raw.close()
        if raw.closed:
            conn.exec_driver_sql("SELECT 1")  # goes nowhere, and drops the pool's other connections of that age
        raise DBAPIError.instance(None, None, exc, conn.dialect.loaded_dbapi.Error) from exc
    except BaseException:  # an interrupt, most likely: replies may still be on their way
        conn.invalidate()
        raise


def _sends_ahead(conn: Connection) -> bool:
    """Whether the driver's own connection, and the libpq under it, can send before they have read."""
    return hasattr(driver(conn), "pipeline") and bool(conn.dialect.loaded_dbapi.capabilities.has_pipeline())


def _arrays(rows: Rows) -> Mapping[str, str]:
    return {name: _array(name, [row[name] for row in rows]) for name, _ in _ARRAYS}


def _array(name: str, values: Sequence[Any]) -> str:
    return texts(values) if name in _TEXTS else array(values)


def _added(db: Database) -> Insert:
    """The insert of all rows that the arrays hold."""
    given = unnested(_ARRAYS)
    g, now = given.c, db.dialect.now()
    due_at = due(now, g.p_delay, g.p_execute_at)
    rows = select(
        g.p_id, g.p_queue, g.p_rank, g.p_type, g.p_tenant, g.p_budget, g.p_payload,
        waiting_status(now, due_at), due_at, now, now,
    )  # fmt: skip
    return insert(db.tables.queue).from_select(_COLUMNS, rows).on_conflict_do_nothing()


def _news(db: Database, where: ColumnElement[bool]) -> ColumnElement[int]:
    """An expression that tells the pools of `queues` at the commit, where `where` holds."""
    queues = func.unnest(cast(bindparam("queues", type_=Text), ARRAY(Text))).column_valued("name")
    return select(func.count(func.pg_notify(channel(db.tables), queues))).where(where).scalar_subquery()


def _check(db: Database) -> Any:
    """The statement that takes out what this transaction stored though it has ended before; its row has those ids."""
    q, s = db.tables.queue, db.tables.store
    written: ColumnElement[Any] = literal_column("pg_current_xact_id_if_assigned()")
    # a row of another transaction stays, whatever history says: a backup may have brought it back
    ours = literal_column(f"{q.name}.xmin") == literal_column("pg_current_xact_id_if_assigned()::xid")
    gone = delete(q).where(db.dialect.among(q.c.id), q.c.id == s.c.id, ours).returning(cast(q.c.id, Text).label("id"))
    ended = select(func.array_agg(gone.cte("gone").c.id)).scalar_subquery()
    return select(ended, _news(db, written != null()))


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
