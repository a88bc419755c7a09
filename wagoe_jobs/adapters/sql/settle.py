"""Settling claims, for any database: lock the rows, look at their tokens, write what holds."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import BigInteger, Boolean, Connection, Integer, Text, bindparam, func, null, select, update

from wagoe_jobs.adapters.sql.connections import Database, RefusedData
from wagoe_jobs.adapters.sql.history import History, end
from wagoe_jobs.adapters.sql.rows import micros
from wagoe_jobs.adapters.sql.tables import READY, SCHEDULED
from wagoe_jobs.core.codec import encode_error
from wagoe_jobs.core.job import ErrorInfo, Status
from wagoe_jobs.core.outcome import REFUSED
from wagoe_jobs.core.stored import budget_of
from wagoe_jobs.ports import Answer, Settlement

Key = tuple[str, str]
"""Id and token of a claim: what tells it from every other."""


class PortableSettler:
    """Settles inside a transaction that can write; each settlement is applied whole or not at all."""

    def __init__(self, db: Database, *, pass_locked: bool = False) -> None:
        """With `pass_locked`, rows that another transaction has locked are told apart, where the database can."""
        self._db = db
        self._history = History(db)
        q, s, among = db.tables.queue.c, db.tables.store.c, db.dialect.among
        look = (
            select(q.id, q.token, q.last_token, q.cancel_requested)
            .where(among(q.id))
            .order_by(q.id)  # the same order as renewal: no two of them wait for one another
        )
        self._look = db.dialect.by_id(look, db.tables.queue)
        self._pass_locked = pass_locked and db.dialect.skips_locked
        self._lock = self._look.with_for_update(skip_locked=self._pass_locked)
        self._ended = select(s.id, s.token).where(among(s.id))
        values = {**released(db), "retrying": bindparam("p_retrying", type_=Boolean)}
        values["budget"] = func.coalesce(bindparam("p_budget", type_=Integer), q.budget)
        values["payload"] = func.coalesce(bindparam("p_payload", type_=Text), q.payload)
        values["last_token"] = q.token
        later = db.dialect.now() + bindparam("p_delay", type_=BigInteger)
        row = db.dialect.by_id(
            update(db.tables.queue).where(q.id == bindparam("p_id", type_=q.id.type)), db.tables.queue
        )
        self._later = row.values(**values, status=SCHEDULED, execute_at=later)
        self._at_once = row.values(**values, status=READY, execute_at=later, seq=bindparam("p_seq", type_=BigInteger))

    def settle(self, conn: Connection, settlements: Sequence[Settlement]) -> list[Answer]:
        """The answers, in order. Raises RefusedData (by the driver's error) when one cannot be stored."""
        held = self._held(conn, [s.claim.id for s in settlements])
        answers: dict[Key, Answer] = {}
        ends, follow_ups, unknown = [], [], []
        for s in settlements:
            key, row = key_of(s), held.get(s.claim.id)
            if key in answers:
                continue
            if row is None or row.token != s.claim.token:
                answers[key] = _missed(row, s.claim.token)
                if row is None:
                    unknown.append(key)
                continue
            answers[key] = Answer.APPLIED
            if s.status.terminal or row.cancel_requested:
                ends.append(ending(s, row.cancel_requested))
            else:
                follow_ups.append(s)
        self._history.move(conn, sorted(ends, key=_id))
        self._follow_up(conn, follow_ups)
        if self._pass_locked:
            unknown = self._look_past_locks(conn, unknown, answers)
        self._look_into_history(conn, unknown, answers)
        return in_order(settlements, answers)

    def _held(self, conn: Connection, ids: Sequence[str]) -> Mapping[str, Any]:
        return {row.id: row for row in conn.execute(self._lock, {"ids": self._db.dialect.ids(ids)})}

    def _look_past_locks(self, conn: Connection, keys: Sequence[Key], answers: dict[Key, Answer]) -> list[Key]:
        """Answer for those that are there, though locked; the others."""
        if not keys:
            return []
        rows = conn.execute(self._look, {"ids": self._db.dialect.ids([id for id, _ in keys])})
        there = {row.id: row for row in rows}
        for id, token in keys:
            if (row := there.get(id)) is not None:
                answers[id, token] = Answer.LOCKED if row.token == token else _missed(row, token)
        return [key for key in keys if key[0] not in there]

    def _follow_up(self, conn: Connection, settlements: Sequence[Settlement]) -> None:
        if not settlements:
            return
        clock = self._db.clock()
        rows = sorted(({**again(s), **clock} for s in settlements), key=_id)
        later = [row for row in rows if row["p_delay"] > 0]
        at_once = [row for row in rows if row["p_delay"] <= 0]
        if later:
            conn.execute(self._later, later)
        if at_once:
            places = self._db.dialect.places(conn, self._db.tables, len(at_once))
            conn.execute(self._at_once, [{**row, "p_seq": seq} for row, seq in zip(at_once, places, strict=True)])
        self._db.dialect.tell(conn, self._db.tables, {s.claim.queue for s in settlements})

    def _look_into_history(self, conn: Connection, keys: Sequence[Key], answers: dict[Key, Answer]) -> None:
        if not keys:
            return
        ids = self._db.dialect.ids([id for id, _ in keys])
        ended = {(id, token) for id, token in conn.execute(self._ended, {"ids": ids})}
        for key in keys:
            if key in ended:
                answers[key] = Answer.ALREADY


def ending(s: Settlement, cancelled: bool) -> dict[str, Any]:
    """The history row of a settlement; a cancelled job that did not complete ends as cancelled."""
    status = Status.CANCELLED if cancelled and s.status is not Status.COMPLETED else s.status
    return end(
        s.claim.id,
        status,
        token=s.claim.token,
        result=s.result,
        error=s.error,
        payload=s.payload,
        waited_us=s.waited_us,
        ran_us=s.ran_us,
    )


def key_of(s: Settlement) -> Key:
    return s.claim.id, s.claim.token


def first_of_each(settlements: Sequence[Settlement]) -> dict[Key, Settlement]:
    """Of several for one claim the first, in order."""
    first: dict[Key, Settlement] = {}
    for s in settlements:
        first.setdefault(key_of(s), s)
    return first


def in_order(settlements: Sequence[Settlement], answers: Mapping[Key, Answer]) -> list[Answer]:
    """One answer each; the same claim again in one call was settled by the first."""
    seen: set[Key] = set()
    told = []
    for s in settlements:
        key = key_of(s)
        again = key in seen and answers[key] is Answer.APPLIED
        told.append(Answer.ALREADY if again else answers[key])
        seen.add(key)
    return told


def buried(s: Settlement, refusal: RefusedData) -> Settlement:
    """What is stored instead of a settlement that the database refuses."""
    error = ErrorInfo(type=REFUSED, message=f"the database refused the end of this run: {refusal.reason}")
    return s._replace(status=Status.FAILED, delay=None, payload=None, result=None, error=encode_error(error))


def again(s: Settlement) -> dict[str, Any]:
    """The queue row of a follow-up."""
    return {
        "p_id": s.claim.id,
        "p_retrying": s.status is Status.RETRYING,
        "p_budget": None if s.payload is None else budget_of(s.payload),
        "p_payload": s.payload,
        "p_delay": micros(s.delay or timedelta(0)),
    }


def released(db: Database) -> dict[str, Any]:
    """What every row that leaves its claim has."""
    return {
        "token": null(),
        "locked_by": null(),
        "locked_at": null(),
        "lease_until": null(),
        "updated_at": db.dialect.now(),
    }


def _missed(row: Any, token: str) -> Answer:
    """The answer for a claim whose row has another token, or is not there."""
    return Answer.ALREADY if row is not None and row.last_token == token else Answer.LOST


def _id(row: Mapping[str, Any]) -> str:
    return str(row["p_id"])
