"""Enqueue on MariaDB and MySQL: many rows in one statement, which leaves those that are there as they are.

Which rows are new is told by a mark that each call makes and puts on them: counts of rows depend on how the driver
connects. History is asked after the insert, since an id that another transaction is moving there is free in the
queue as soon as that commits, and an insert that waited for it goes through.

A transaction of the caller may read an old snapshot, in which history lacks what has ended since, and a read that
locks would lock the gap that every new history row goes into. Writing the same key meets what is there.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, Connection, String, bindparam, delete, func, literal, literal_column, select
from sqlalchemy.dialects import mysql

from wagoe_jobs.adapters.sql.claim import new_token
from wagoe_jobs.adapters.sql.connections import Database
from wagoe_jobs.adapters.sql.enqueue import Rows, first_times, values_of
from wagoe_jobs.adapters.sql.many import Together, chunked
from wagoe_jobs.adapters.sql.mysql_hints import hinted

OWN = "wagoe_jobs_own"
"""The option of connections whose transactions are ours, and so READ COMMITTED."""

_PROBE = "probe"
_AT_ONCE = 500
_NEVER = 2**63 - 1


class MarkedEnqueuer:
    """`Enqueuer` for MariaDB and MySQL."""

    def __init__(self, db: Database, packet: int) -> None:
        """`packet` is how many characters one statement may carry."""
        self._db = db
        self._packet = packet
        q, s = db.tables.queue, db.tables.store
        mark = bindparam("p_mark", type_=String)
        # the column is empty until a run is settled, and no claim has this token
        values = {**values_of(db), "last_token": mark, "seq": bindparam("p_seq", type_=BigInteger)}
        rows = mysql.insert(q).values(values).on_duplicate_key_update({"id": q.c.id})
        self._insert = Together(rows, db.engine.dialect)
        marked = select(q.c.id, s.c.id).select_from(q.outerjoin(s, s.c.id == q.c.id))
        self._marked = db.dialect.by_id(marked.where(db.dialect.among(q.c.id), q.c.last_token == mark), q)
        self._take_out = db.dialect.by_ids(delete(q).where(db.dialect.among(q.c.id)), q)
        self._probe = Together(_probe(db), db.engine.dialect)
        ended = select(s.c.id).where(db.dialect.among(s.c.id), func.coalesce(s.c.token, "") != mark)
        self._not_ours = ended.with_hint(s, "FORCE INDEX (PRIMARY)").with_for_update()
        remove = delete(s).where(s.c.id == bindparam("p_id", type_=s.c.id.type), s.c.token == mark)
        self._remove_probe = hinted(remove, s, "PRIMARY")

    def store(self, rows: Rows) -> Sequence[bool]:
        return self._db.write_new(lambda conn: self.insert(conn, rows))

    def insert(self, conn: Connection, rows: Rows) -> Sequence[bool]:
        answers, fresh = first_times(rows, set())
        stored: set[str] = set()
        for some in chunked(fresh, _AT_ONCE, "p_payload", self._packet):
            stored |= self._insert_some(conn, some)
        return [new and row["p_id"] in stored for new, row in zip(answers, rows, strict=True)]

    def _insert_some(self, conn: Connection, rows: Rows) -> set[str]:
        mark = new_token()
        clock = self._db.clock()
        places = self._db.dialect.places(conn, self._db.tables, len(rows))
        given = [{**row, **clock, "p_mark": mark, "p_seq": seq} for row, seq in zip(rows, places, strict=True)]
        self._insert.run(conn, given)
        ids = self._db.dialect.ids([row["p_id"] for row in rows])
        found = conn.execute(self._marked, {"ids": ids, "p_mark": mark}).all()
        new, ended = {id for id, _ in found}, {ended for _, ended in found if ended is not None}
        if not conn.get_execution_options().get(OWN):
            ended |= self._ended_since(conn, sorted(new - ended), mark)
        if ended:
            conn.execute(self._take_out, {"ids": self._db.dialect.ids(sorted(ended))})
        return new - ended

    def _ended_since(self, conn: Connection, ids: Sequence[str], mark: str) -> set[str]:
        """Those of the ids that history has, whatever the snapshot of this transaction says."""
        if not ids:
            return set()
        probes = [{"p_id": id, "p_mark": mark} for id in ids]
        met = self._probe.run(conn, probes).lastrowid != 0
        given = {"ids": self._db.dialect.ids(ids), "p_mark": mark}
        ended = set(conn.execute(self._not_ours, given).scalars()) if met else set[str]()
        conn.execute(self._remove_probe, [probe for probe in probes if probe["p_id"] not in ended])
        return ended


def _probe(db: Database) -> mysql.Insert:
    """An insert of history rows that are not meant to stay; its last id tells whether it met any."""
    s = db.tables.store
    row: dict[str, Any] = {
        "id": bindparam("p_id", type_=s.c.id.type),
        "token": bindparam("p_mark", type_=String),
        "status": literal(_PROBE),
        **{name: literal("") for name in ("queue", "type", "payload")},
        **{name: literal(0) for name in ("priority_rank", "created_at", "updated_at", "abandoned")},
        # where no purge of old rows comes by, which would wait for the caller's commit
        "completed_at": literal(_NEVER, BigInteger),
    }
    same = func.if_(func.last_insert_id(literal_column("1")), s.c.id, s.c.id)
    return mysql.insert(s).values(row).on_duplicate_key_update({"id": same})
