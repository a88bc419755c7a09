"""The portable claim: read the best candidates, take them by a conditional update, prove it by reading back.

Each try is a short transaction of its own. Tries are bounded: when others keep winning, the queue is busy,
and an empty answer now is right.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from sqlalchemy import BigInteger, Connection, String, Text, bindparam, false, select, update

from wagoe_jobs.adapters.sql.connections import Database
from wagoe_jobs.adapters.sql.tables import PROCESSING, READY
from wagoe_jobs.ports import BATCH_BYTES, Claim

TRIES = 5
MOST = 10_000
"""The most jobs of one claim, whatever its limit."""


class PortableClaimer:
    """Claims on any database that updates conditionally."""

    def __init__(self, db: Database, lease_us: int) -> None:
        self._db = db
        self._lease_us = lease_us
        q, among = db.tables.queue.c, db.dialect.among
        candidates = (
            select(q.id, q.abandoned, db.dialect.octets(q.payload).label("size"))
            .where(q.queue == bindparam("p_queue", type_=Text), q.status == READY)
            .order_by(q.priority_rank, q.seq)
            .limit(bindparam("p_limit", type_=BigInteger))
        )
        self._candidates = db.dialect.by_index(candidates, db.tables.index("ready"))
        take = update(db.tables.queue).where(among(q.id), q.status == READY).values(**taken(db))
        self._take = db.dialect.by_id(take, db.tables.queue)
        proof = (
            select(q.id, q.payload, q.priority_rank, q.seq, q.locked_at, q.abandoned)
            .where(among(q.id), q.token == bindparam("p_token", type_=String))
            .order_by(q.priority_rank, q.seq)
        )
        self._proof = db.dialect.by_id(proof, db.tables.queue)
        self._reach = Reach()

    def claim(self, queue: str, worker: str, limit: int) -> list[Claim]:
        for _ in range(TRIES):
            found = self._db.read(lambda conn: self.candidates(conn, queue, limit))
            if not found:
                return []
            won = self._db.write(partial(self.take, queue=queue, worker=worker, ids=found))
            if won:
                return won
        return []

    def candidates(self, conn: Connection, queue: str, limit: int) -> list[str]:
        """The ids that a claim would take now, in line."""

        def look(most: int) -> Sequence[Any]:
            return conn.execute(self._candidates, {"p_queue": queue, "p_limit": most}).all()

        return batch_of([row[:2] for row in self._reach.batch(look, limit)])

    def take(self, conn: Connection, queue: str, worker: str, ids: Sequence[str]) -> list[Claim]:
        """Those of the ids that were still ready, as claims of one token."""
        token = new_token()
        which = {"ids": self._db.dialect.ids(ids), "p_token": token}
        lock = {"p_worker": worker, "p_lease": self._lease_us, **self._db.clock()}
        if not conn.execute(self._take, {**which, **lock}).rowcount:
            return []
        return [
            Claim(id, token, queue, payload, rank, seq, locked_at, abandoned)
            for id, payload, rank, seq, locked_at, abandoned in conn.execute(self._proof, which)
        ]


def taken(db: Database) -> dict[str, Any]:
    """What a row has while it is claimed."""
    now = db.dialect.now()
    return {
        "status": PROCESSING,
        "token": bindparam("p_token", type_=String),
        "locked_by": bindparam("p_worker", type_=Text),
        "locked_at": now,
        "lease_until": now + bindparam("p_lease", type_=BigInteger),
        "updated_at": now,
        "interrupted": false(),
        "retrying": false(),
    }


class Reach:
    """How many rows of the line to look at: twice as many as the last batch that was ended by its bytes.

    Each row that is looked at is measured, and on MariaDB locked, so looking much further than a batch goes is waste.
    """

    def __init__(self) -> None:
        self._most = MOST

    def batch(self, look: Callable[[int], Sequence[Any]], limit: int) -> Sequence[Any]:
        """The first rows of the line, `limit` at most, that make a batch; `look(n)` reads the first n."""
        limit = min(limit, MOST)
        while True:
            most = min(limit, self._most)
            rows = look(most)
            some = bounded(rows)
            if len(some) < len(rows):
                self._most = 2 * len(some)
                return some
            if len(rows) < most or most == limit:
                return rows
            self._most *= 2


def bounded(rows: Sequence[Any]) -> Sequence[Any]:
    """The first rows whose payloads, of `size` bytes each, make a batch; at least one."""
    total = 0
    for number, row in enumerate(rows):
        total += row.size
        if number and total > BATCH_BYTES:
            return rows[:number]
    return rows


def batch_of(candidates: Sequence[Any]) -> list[str]:
    """The ids to claim together of (id, abandoned) in line: one that was abandoned before comes alone."""
    if candidates and candidates[0][1]:
        return [candidates[0][0]]
    ids = []
    for id, abandoned in candidates:
        if abandoned:
            break
        ids.append(id)
    return ids


def new_token() -> str:
    return uuid4().hex
