"""Claims whose replies were lost: they are found again by their token, before the next ones of that queue are made.

A statement may outlive the connection that it came over, and commit when somebody has looked already. So what is not
found is looked for once more, some seconds later.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import NamedTuple

from sqlalchemy import Connection

from wagoe_jobs.adapters.sql.connections import Database
from wagoe_jobs.adapters.sql.inflight import InFlight, Reached
from wagoe_jobs.adapters.sql.locks import past_locks
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.ports import Claim

Find = Callable[[Connection, str, str, str], list[Claim]]

SECOND_LOOK = 5.0
"""Seconds after which a claim that was not found is looked for again: longer than a statement waits for a lock."""


class _Lost(NamedTuple):
    token: str
    due: float
    """From which monotonic second on to look."""
    is_last: bool


class Unanswered:
    """The tokens of such claims, several a queue: one process may have several pools on it."""

    def __init__(self, db: Database, lease_us: int, find: Find) -> None:
        """`find(conn, token, queue, worker)` gives what was claimed a lease that begins now, and returns it in line."""
        self._db = db
        self._in_flight = InFlight(db, lease_us)
        self._find = find
        self._lock = Lock()
        self._lost: dict[str, list[_Lost]] = defaultdict(list)

    def add(self, queue: str, token: str) -> None:
        self._put(queue, _Lost(token, 0.0, is_last=False))

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
        if (lost := self._next(queue)) is None:
            return ()
        try:
            claims = self._db.write(lambda conn: self._find(conn, lost.token, queue, worker))
            if not (claims or lost.is_last):
                self._put(queue, _Lost(lost.token, monotonic() + SECOND_LOOK, is_last=True))
            past_locks(claims[limit:], lambda some: self._hand_back(some).locked)
            return claims[:limit]
        except BackendUnavailable:
            self._put(queue, lost)
            raise

    def _put(self, queue: str, lost: _Lost) -> None:
        with self._lock:
            self._lost[queue].append(lost)

    def _next(self, queue: str) -> _Lost | None:
        """The first that is to be looked for now, taken out: no two callers find the same claims."""
        if not self._lost[queue]:
            return None
        with self._lock:
            now, waiting = monotonic(), self._lost[queue]
            due = next((lost for lost in waiting if lost.due <= now), None)
            if due is not None:
                waiting.remove(due)
            return due

    def _hand_back(self, claims: Sequence[Claim]) -> Reached:
        return self._db.write(lambda conn: self._in_flight.hand_back(conn, claims))
