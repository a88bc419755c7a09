"""Settle and claim on MariaDB and MySQL in one transaction of five statements, on a connection that is kept for it.

What is settled goes to the server as one JSON text, which it joins with the queue: copied into history, then deleted.
The next batch is read by a scan that locks what nobody else is claiming, and marked by its keys; long payloads are
asked for when it is known how many of them make a batch. When a count says
that a claim is no longer held, the transaction begins again by the settler that looks at each row.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Insert,
    Integer,
    String,
    Text,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal_column,
    select,
    update,
)

from wagoe_jobs.adapters.sql.claim import Reach, batch_of, new_token, taken
from wagoe_jobs.adapters.sql.connections import Conflict, Database, Held
from wagoe_jobs.adapters.sql.locks import LOCK_SECONDS, Answers, PastLocks
from wagoe_jobs.adapters.sql.settle import PortableSettler, first_of_each, in_order, key_of
from wagoe_jobs.adapters.sql.tables import PROCESSING, READY
from wagoe_jobs.adapters.sql.unanswered import Unanswered
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.ports import Answer, Claim, Settlement

_INLINE = 10_000
"""Bytes of a payload that is read by the scan itself."""

_GIVEN: Mapping[str, str] = {
    # each with its character set: that of the database, which is the default, may lack most characters
    "p_id": "char(36) character set ascii collate ascii_bin",
    "p_token": "varchar(32) character set utf8mb4",
    "p_status": "varchar(10) character set utf8mb4",
    "p_result": "longtext character set utf8mb4",
    "p_error": "longtext character set utf8mb4",
    "p_payload": "longtext character set utf8mb4",
    "p_waited": "bigint",
    "p_ran": "bigint",
}


class JoinedExchange:
    """The exchange for MariaDB and MySQL."""

    def __init__(self, db: Database, lease_us: int, packet: int) -> None:
        """`packet` is how many characters one statement may carry."""
        self._db = db
        self._lease_us = lease_us
        self._packet = packet
        self._held = Held(db, _wait_briefly)
        self._settler = PortableSettler(db)
        self._past_locks = PastLocks(db)
        self._copy = _copy(db)
        q, now = db.tables.queue, db.dialect.now()
        self._remove = db.dialect.by_ids(delete(q).where(db.dialect.among(q.c.id)), q)
        size = db.dialect.octets(q.c.payload)
        short = case((size <= _INLINE, q.c.payload))
        ready = (
            select(q.c.id, q.c.abandoned, q.c.seq, short.label("payload"), q.c.priority_rank, now, size.label("size"))
            .where(q.c.queue == bindparam("p_queue", type_=Text), q.c.status == READY)
            .order_by(q.c.priority_rank, q.c.seq)
            .limit(bindparam("p_limit", type_=Integer))
            .with_for_update(skip_locked=True)
        )
        self._ready = db.dialect.by_index(ready, db.tables.index("ready"))
        self._long = db.dialect.by_id(select(q.c.id, q.c.payload).where(db.dialect.among(q.c.id)), q)
        at = bindparam("p_now", type_=BigInteger)
        lock = {**taken(db), "locked_at": at, "updated_at": at, "lease_until": at + self._lease_us}
        self._take = db.dialect.by_id(update(q).where(db.dialect.among(q.c.id)).values(lock), q)
        lost = select(q.c.id).where(q.c.status == PROCESSING, q.c.token == bindparam("p_token", type_=String))
        self._lost = db.dialect.by_index(lost, db.tables.index("lease"))
        again = {name: value for name, value in taken(db).items() if name != "token"}
        mine = db.dialect.among(q.c.id), q.c.token == bindparam("p_token", type_=String)
        self._again = db.dialect.by_id(update(q).where(*mine).values(again), q)
        found = select(q.c.id, q.c.abandoned, q.c.seq, q.c.payload, q.c.priority_rank, q.c.locked_at.label("now"))
        self._found_again = db.dialect.by_id(found.where(*mine).order_by(q.c.priority_rank, q.c.seq), q)
        self._reach = Reach()
        self._unanswered = Unanswered(db, lease_us, self._found)

    def exchange(
        self, settlements: Sequence[Settlement], queue: str, worker: str, limit: int
    ) -> tuple[Sequence[Answer], Sequence[Claim]]:
        first = list(first_of_each(settlements).values())
        with self._unanswered.repaired(queue, worker, limit) as claims:
            most = 0 if claims else limit
            answers, new = self._past_locks.exchange(first, lambda some: self._send(some, queue, worker, most))
            claims += new
        return in_order(settlements, answers), claims

    def close(self) -> None:
        self._held.close()

    def _send(
        self, settlements: Sequence[Settlement], queue: str, worker: str, limit: int
    ) -> tuple[Answers, Sequence[Claim]]:
        token = new_token()

        def both(conn: Connection) -> tuple[Answers, Sequence[Claim]]:
            answers = self._settle(conn, settlements) if settlements else {}
            return answers, self._claim(conn, token, queue, worker, limit) if limit > 0 else ()

        if not settlements and limit <= 0:
            return {}, ()
        try:
            return self._held.write(self._past_locks.noticed(both) if settlements else both)
        except BackendUnavailable:
            if limit > 0:
                self._unanswered.add(queue, token)
            raise

    def _settle(self, conn: Connection, settlements: Sequence[Settlement]) -> Answers:
        ends = [s for s in settlements if s.status.terminal]
        others = [s for s in settlements if not s.status.terminal]
        if not self._moved(conn, ends):
            conn.rollback()
            ends, others = [], list(settlements)
        told = self._settler.settle(conn, others) if others else []
        return {**dict.fromkeys(map(key_of, ends), Answer.APPLIED), **dict(zip(map(key_of, others), told, strict=True))}

    def _moved(self, conn: Connection, ends: Sequence[Settlement]) -> bool:
        """Whether all of these were held and went into history; if not, nothing of this transaction may stay."""
        ends = sorted(ends, key=_id)  # as every writer of claimed rows locks them
        for some in _packets(ends, self._packet):
            given = json.dumps([_row(s) for s in some], ensure_ascii=False, separators=(",", ":"))
            if conn.execute(self._copy, {"given": given, **self._db.clock()}).rowcount != len(some):
                return False
            ids = self._db.dialect.ids([s.claim.id for s in some])
            if conn.execute(self._remove, {"ids": ids}).rowcount != len(some):
                raise Conflict
        return True

    def _claim(self, conn: Connection, token: str, queue: str, worker: str, limit: int) -> list[Claim]:

        def look(most: int) -> Sequence[Any]:
            return conn.execute(self._ready, {"p_queue": queue, "p_limit": most, **self._db.clock()}).all()

        rows = self._reach.batch(look, limit)
        if not rows:
            return []
        rows = rows[: len(batch_of([row[:2] for row in rows]))]
        now = rows[0][5]
        given = {"ids": self._db.dialect.ids([row.id for row in rows]), "p_token": token, "p_worker": worker}
        conn.execute(self._take, {**given, "p_now": now})
        return self._whole(conn, _claims([row[:6] for row in rows], token, queue))

    def _whole(self, conn: Connection, claims: list[Claim]) -> list[Claim]:
        """The claims with the payloads that the scan left out; their rows are locked, and so the same."""
        long = [claim.id for claim in claims if claim.payload is None]
        if not long:
            return claims
        texts = dict(conn.execute(self._long, {"ids": self._db.dialect.ids(long)}).all())
        return [claim._replace(payload=texts.get(claim.id, claim.payload)) for claim in claims]

    def _found(self, conn: Connection, token: str, queue: str, worker: str) -> list[Claim]:
        ids = conn.execute(self._lost, {"p_token": token}).scalars().all()
        if not ids:
            return []
        given = {"ids": self._db.dialect.ids(ids), "p_token": token}
        conn.execute(self._again, {**given, "p_worker": worker, "p_lease": self._lease_us, **self._db.clock()})
        return _claims(conn.execute(self._found_again, given).all(), token, queue)


def _wait_briefly(conn: Connection) -> None:
    conn.exec_driver_sql(f"SET SESSION innodb_lock_wait_timeout = {LOCK_SECONDS}")
    conn.commit()


def _copy(db: Database) -> Insert:
    """Settled rows, locked and put into history."""
    q, s = db.tables.queue, db.tables.store
    columns = ", ".join(f"{name} {kind} path '$[{place}]'" for place, (name, kind) in enumerate(_GIVEN.items()))
    path: ColumnElement[Any] = literal_column(f"'$[*]' columns ({columns})")
    given = func.json_table(bindparam("given", type_=Text), path).table_valued(*_GIVEN, name="given")
    g, now = given.c, db.dialect.now()
    rows = {
        **{name: q.c[name] for name in ("id", "queue", "priority_rank", "execute_at", "created_at", "type", "tenant")},
        "abandoned": q.c.abandoned,
        "token": q.c.token,
        "status": case((and_(q.c.cancel_requested, g.p_status != "completed"), "cancelled"), else_=g.p_status),
        "started_at": q.c.locked_at + g.p_waited,
        "ran_us": g.p_ran,
        "result": g.p_result,
        "error": g.p_error,
        "payload": func.coalesce(g.p_payload, q.c.payload),
        "updated_at": now,
        "completed_at": now,
    }
    held = and_(q.c.id == g.p_id, q.c.token == g.p_token)
    joined = select(*rows.values()).prefix_with("STRAIGHT_JOIN").select_from(given.join(q, held)).with_for_update()
    return insert(s).from_select(list(rows), db.dialect.by_id(joined, q))


def _row(s: Settlement) -> Sequence[Any]:
    return (s.claim.id, s.claim.token, str(s.status), s.result, s.error, s.payload, s.waited_us, s.ran_us)


def _packets(ends: Sequence[Settlement], packet: int) -> Sequence[Sequence[Settlement]]:
    """The settlements in order, as many at once as a statement may carry."""
    packets: list[list[Settlement]] = []
    room = 0
    for s in ends:
        size = len(s.result or "") + len(s.error or "") + len(s.payload or "")
        if not packets or size > room:
            packets.append([])
            room = packet
        packets[-1].append(s)
        room -= size
    return packets


def _claims(rows: Sequence[Any], token: str, queue: str) -> list[Claim]:
    return [Claim(id, token, queue, payload, rank, seq, at, lost) for id, lost, seq, payload, rank, at in rows]


def _id(settlement: Settlement) -> str:
    return settlement.claim.id
