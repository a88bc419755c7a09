"""Claims whose replies were lost: they are found again by their token, before the next ones of that queue are made."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection

from wagoe_jobs.adapters.sql.connections import Database
from wagoe_jobs.adapters.sql.inflight import InFlight, Reached
from wagoe_jobs.adapters.sql.locks import past_locks
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.ports import Claim

Find = Callable[[Connection, str, str, str], list[Claim]]


class Unanswered:
    """The tokens of such claims, several a queue: one process may have several pools on it."""

    def __init__(self, db: Database, lease_us: int, find: Find) -> None:
        """`find(conn, token, queue, worker)` gives what was claimed a lease that begins now, and returns it in line."""
        self._db = db
        self._in_flight = InFlight(db, lease_us)
        self._find = find
        self._tokens: dict[str, deque[str]] = defaultdict(deque)

    def add(self, queue: str, token: str) -> None:
        self._tokens[queue].append(token)

    @contextmanager
    def repaired(self, queue: str, worker: str, limit: int) -> Iterator[list[Claim]]:
        """What `repair` finds, for a block that adds what else it claims: should it raise, all are unheard of again."""
        claims = list(self.repair(queue, worker, limit)) if limit > 0 else []
        try:
            yield claims
        except BaseException:
            if claims:
                self.add(queue, claims[0].token)
            raise

    def repair(self, queue: str, worker: str, limit: int) -> Sequence[Claim]:
        """What an earlier call claimed here without hearing of it, `limit` at most."""
        try:
            token = self._tokens[queue].popleft()  # one step: no two callers find the same claims
        except IndexError:
            return ()
        try:
            claims = self._db.write(lambda conn: self._find(conn, token, queue, worker))
            past_locks(claims[limit:], lambda some: self._hand_back(some).locked)
            return claims[:limit]
        except BackendUnavailable:
            self.add(queue, token)
            raise

    def _hand_back(self, claims: Sequence[Claim]) -> Reached:
        return self._db.write(lambda conn: self._in_flight.hand_back(conn, claims))
