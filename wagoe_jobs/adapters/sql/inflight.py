"""What happens to claims apart from settling them: renewal, interruption, hand-back, reclaim."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Connection, Integer, bindparam, select, true, update

from wagoe_jobs.adapters.sql.connections import Conflict, Database
from wagoe_jobs.adapters.sql.history import History, end
from wagoe_jobs.adapters.sql.settle import released
from wagoe_jobs.adapters.sql.tables import PROCESSING, READY
from wagoe_jobs.core.codec import encode_error
from wagoe_jobs.core.job import Status
from wagoe_jobs.core.outcome import abandoned_error, buries_abandoned
from wagoe_jobs.ports import Claim, Hold, Reclaimed


class Reached(NamedTuple):
    """How many of the claims were held, and have been acted on; the others that are held, but locked by somebody."""

    done: int
    locked: Sequence[Claim]


class InFlight:
    """Acts on claimed rows inside a transaction that can write, always in the order of their ids."""

    def __init__(self, db: Database, lease_us: int) -> None:
        self._db = db
        self._lease_us = lease_us
        self._history = History(db)
        q, among, now = db.tables.queue.c, db.dialect.among, db.dialect.now()
        skip = db.dialect.skips_locked
        look = select(q.id, q.token, q.cancel_requested).where(among(q.id)).order_by(q.id)
        self._look = db.dialect.by_id(look, db.tables.queue)
        self._lock = self._look.with_for_update(skip_locked=skip)
        rows = db.dialect.by_id(update(db.tables.queue).where(among(q.id)), db.tables.queue)
        self._extend = rows.values(lease_until=now + bindparam("p_lease", type_=BigInteger))
        self._mark = rows.values(interrupted=true())
        self._put_back = rows.values(**released(db), status=READY)
        expired = (
            select(q.id, q.type, q.queue, q.abandoned, q.budget, q.interrupted, q.cancel_requested)
            .where(q.status == PROCESSING, q.lease_until < now)
            .order_by(q.lease_until)
            .limit(bindparam("p_limit", type_=Integer))
            .with_for_update(skip_locked=skip)
        )
        self._expired = db.dialect.by_index(expired, db.tables.index("lease"))
        self._count = rows.values(**released(db), status=READY, abandoned=q.abandoned + 1)

    def renew(self, conn: Connection, claims: Sequence[Claim]) -> dict[Claim, Hold]:
        held = self._held(conn, claims, self._lock)
        if held:
            ids = self._db.dialect.ids(sorted(held))
            conn.execute(self._extend, {"ids": ids, "p_lease": self._lease_us, **self._db.clock()})
        missed = [claim for claim in claims if claim.id not in held]
        if missed:  # lost, or locked by someone: one row that hangs must not cost its neighbours their leases
            held = {**held, **self._held(conn, missed, self._look)}
        return {claim: _hold(held.get(claim.id), claim) for claim in claims}

    def interrupt(self, conn: Connection, claims: Sequence[Claim]) -> Reached:
        held = self._held(conn, claims, self._lock)
        if held:
            conn.execute(self._mark, {"ids": self._db.dialect.ids(sorted(held))})
        return self._reached(conn, claims, held)

    def hand_back(self, conn: Connection, claims: Sequence[Claim]) -> Reached:
        held = self._held(conn, claims, self._lock)
        cancelled = [id for id, row in held.items() if row.cancel_requested]
        self._history.move(conn, [end(id, Status.CANCELLED) for id in sorted(cancelled)])
        self._return(conn, self._put_back, sorted(held.keys() - set(cancelled)))
        return self._reached(conn, claims, held)

    def reclaim(self, conn: Connection, limit: int) -> list[Reclaimed]:
        rows = conn.execute(self._expired, {"p_limit": limit, **self._db.clock()}).all()
        judged = [(_reclaimed(row), row) for row in rows]
        self._history.move(conn, [ending for told, row in judged if (ending := _ending(told, row)) is not None])
        back = [row for told, row in judged if _ending(told, row) is None]
        self._return(conn, self._put_back, sorted(row.id for row in back if row.interrupted))
        self._return(conn, self._count, sorted(row.id for row in back if not row.interrupted))
        return [told for told, _ in judged]

    def _reached(self, conn: Connection, claims: Sequence[Claim], held: Mapping[str, Any]) -> Reached:
        missed = [claim for claim in claims if claim.id not in held]
        locked = self._held(conn, missed, self._look) if missed else {}
        return Reached(len(held), [claim for claim in missed if claim.id in locked])

    def _held(self, conn: Connection, claims: Sequence[Claim], look: Any) -> Mapping[str, Any]:
        """The rows that `look` finds, by id, whose token is still that of a claim."""
        ids = self._db.dialect.ids(sorted({claim.id for claim in claims}))
        tokens = {(claim.id, claim.token) for claim in claims}
        rows = conn.execute(look, {"ids": ids}).all()
        return {row.id: row for row in rows if (row.id, row.token) in tokens}

    def _return(self, conn: Connection, statement: Any, ids: Sequence[str]) -> None:
        if ids:
            given = {"ids": self._db.dialect.ids(ids), **self._db.clock()}
            if conn.execute(statement, given).rowcount != len(ids):
                raise Conflict


def _hold(row: Any, claim: Claim) -> Hold:
    if row is None or row.token != claim.token:
        return Hold.LOST
    return Hold.CANCEL_REQUESTED if row.cancel_requested else Hold.HELD


def _reclaimed(row: Any) -> Reclaimed:
    abandoned = row.abandoned + (not row.interrupted)
    ends_otherwise = row.interrupted or row.cancel_requested
    # the budget is max_retries - retry_count, so that the payload need not be read
    buried = not ends_otherwise and buries_abandoned(0, abandoned, row.budget)
    return Reclaimed(row.id, row.type, row.queue, abandoned, buried)


def _ending(told: Reclaimed, row: Any) -> dict[str, Any] | None:
    """The history row of a reclaimed job that does not go back to the line."""
    lost = told.abandoned - row.abandoned
    if told.buried:
        return end(row.id, Status.FAILED, error=encode_error(abandoned_error(told.abandoned)), waited_us=0, lost=lost)
    if row.cancel_requested:
        return end(row.id, Status.CANCELLED, waited_us=0, lost=lost)
    return None
