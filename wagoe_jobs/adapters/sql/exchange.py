"""Settle and claim in one call, for any database: what is settled is committed first, then the claim is tried."""

from collections.abc import Sequence

from wagoe_jobs.adapters.sql.claim import PortableClaimer
from wagoe_jobs.adapters.sql.connections import Database
from wagoe_jobs.adapters.sql.settle import PortableSettler
from wagoe_jobs.ports import Answer, Claim, Settlement


class PortableExchange:
    """The exchange that needs nothing but conditional updates."""

    def __init__(self, db: Database, lease_us: int) -> None:
        self._db = db
        self._settler = PortableSettler(db)
        self._claimer = PortableClaimer(db, lease_us)

    def exchange(
        self, settlements: Sequence[Settlement], queue: str, worker: str, limit: int
    ) -> tuple[Sequence[Answer], Sequence[Claim]]:
        answers: Sequence[Answer] = []
        if settlements:
            answers = self._db.write(lambda conn: self._settler.settle(conn, settlements))
        return answers, self._claimer.claim(queue, worker, limit) if limit > 0 else []

    def close(self) -> None:
        """Nothing is held."""
