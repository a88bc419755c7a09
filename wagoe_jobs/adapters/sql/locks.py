"""Settling while somebody keeps some of the rows locked: the others are settled, and those are told apart.

A lock that lasts is not ours, since our transactions are short: it is an application's, or an open console's. It is
waited for once, and a settlement that met it passes it by from then on, however often it is offered.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic, sleep
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from wagoe_jobs.adapters.sql.connections import Database
from wagoe_jobs.adapters.sql.dialect import Verdict
from wagoe_jobs.adapters.sql.settle import Key, PortableSettler, key_of
from wagoe_jobs.ports import Answer, Claim, Settlement

LOCK_SECONDS = 1
"""How long a lock is waited for; whole seconds, as MySQL counts."""
_FIRST_WAIT = 0.002
_LONGEST_WAIT = 0.05

T = TypeVar("T")
Answers = Mapping[Key, Answer]


class Locked(Exception):
    """Somebody kept a row locked for `LOCK_SECONDS`; nothing was done. Never leaves the adapter."""


def past_locks(
    given: Sequence[T],
    step: Callable[[Sequence[T]], Sequence[T]],
    known: Callable[[Sequence[T]], bool] = lambda _: False,
) -> Sequence[T]:
    """Repeat `step`, which answers what is locked of what it is given; what still is after `LOCK_SECONDS`.

    Renewal locks rows for moments, so that passing by at once would be wrong. Nobody waits for what is `known`.
    """
    until, wait, left = monotonic() + LOCK_SECONDS, _FIRST_WAIT, given
    while left and (left := step(left)) and not known(left) and monotonic() <= until:
        sleep(wait)
        wait = min(2 * wait, _LONGEST_WAIT)
    return left


class PastLocks:
    """Settles whatever is not locked. One for all callers of an exchange."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._settler = PortableSettler(db, pass_locked=True)
        self._known: set[Key] = set()

    def exchange(
        self,
        settlements: Sequence[Settlement],
        send: Callable[[Sequence[Settlement]], tuple[Answers, Sequence[Claim]]],
    ) -> tuple[Answers, Sequence[Claim]]:
        """What `send` settles and claims. Where it raises Locked, `settle` settles, and `send` only claims."""
        if not self._knows(settlements):
            try:
                return send(settlements)
            except Locked:
                self._known.update(map(key_of, settlements))
        answers = self.settle(settlements)
        return answers, send([])[1]

    def settle(self, settlements: Sequence[Settlement]) -> Answers:
        """The answers; a lock that is new here is waited for, though not for long."""
        answers: dict[Key, Answer] = {}

        def step(some: Sequence[Settlement]) -> Sequence[Settlement]:
            answers.update(self._settled(some))
            return [s for s in some if answers[key_of(s)] is Answer.LOCKED]

        left = past_locks(settlements, step, self._knows)
        self._known.difference_update(answers)
        self._known.update(map(key_of, left))
        return answers

    def noticed(self, work: Callable[[Connection], T]) -> Callable[[Connection], T]:
        """The same work, which raises Locked when it waits for too long."""

        def noticing(conn: Connection) -> T:
            try:
                return work(conn)
            except DBAPIError as exc:
                if self._db.dialect.verdict(exc) is Verdict.LOCKED:
                    raise Locked from exc
                raise

        return noticing

    def _settled(self, settlements: Sequence[Settlement]) -> Answers:
        told = self._db.write(lambda conn: self._settler.settle(conn, settlements))
        return dict(zip(map(key_of, settlements), told, strict=True))

    def _knows(self, settlements: Iterable[Settlement]) -> bool:
        """Whether one of these was locked before: to wait for it again would hold up the others."""
        return bool(self._known) and any(key_of(s) in self._known for s in settlements)
