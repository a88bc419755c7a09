"""Settle and claim in one call: for any database in transactions of their own, for SQLite in one."""

from collections.abc import Sequence

from sqlalchemy import Connection

from wagoe_jobs.adapters.sql.claim import PortableClaimer
from wagoe_jobs.adapters.sql.connections import Database
from wagoe_jobs.adapters.sql.locks import PastLocks
from wagoe_jobs.adapters.sql.settle import PortableSettler, first_of_each, in_order
from wagoe_jobs.ports import Answer, Claim, Settlement


class PortableExchange:
    """The exchange that needs nothing but conditional updates."""

    def __init__(self, db: Database, lease_us: int) -> None:
        self._past_locks = PastLocks(db)
        self._claimer = PortableClaimer(db, lease_us)

    def exchange(
        self, settlements: Sequence[Settlement], queue: str, worker: str, limit: int
    ) -> tuple[Sequence[Answer], Sequence[Claim]]:
        answers = self._past_locks.settle(list(first_of_each(settlements).values()))
        return in_order(settlements, answers), self._claimer.claim(queue, worker, limit) if limit > 0 else []

    def close(self) -> None:
        """Nothing is held."""


class LockedExchange:
    """The exchange where one transaction at a time writes: what it reads, nobody else can take."""

    def __init__(self, db: Database, lease_us: int) -> None:
        self._db = db
        self._settler = PortableSettler(db)
        self._claimer = PortableClaimer(db, lease_us)

    def exchange(
        self, settlements: Sequence[Settlement], queue: str, worker: str, limit: int
    ) -> tuple[Sequence[Answer], Sequence[Claim]]:
        def both(conn: Connection) -> tuple[Sequence[Answer], Sequence[Claim]]:
            answers = self._settler.settle(conn, settlements) if settlements else []
            ids = self._claimer.candidates(conn, queue, limit) if limit > 0 else []
            return answers, self._claimer.take(conn, queue, worker, ids) if ids else []

        if not settlements and not self._ready(queue, limit):
            return [], []  # an idle poll never takes the lock
        return self._db.write(both)

    def close(self) -> None:
        """Nothing is held."""

    def _ready(self, queue: str, limit: int) -> bool:
        return limit > 0 and bool(self._db.read(lambda conn: self._claimer.candidates(conn, queue, 1)))
