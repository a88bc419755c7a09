"""The queue in an SQL database: every port method in one look, each one transaction.

What a step does is in the modules beside this one; which of them, the dialect decided at open. News for idle
pools goes out with the transaction that makes it.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from sqlalchemy import Connection

from wagoe_jobs.adapters.sql.connections import BACKEND, Database, Held, RefusedData, refusing, translating
from wagoe_jobs.adapters.sql.dialect import Exchange, WakingDialect
from wagoe_jobs.adapters.sql.idempotency import Keys
from wagoe_jobs.adapters.sql.inflight import InFlight, Reached
from wagoe_jobs.adapters.sql.locks import past_locks
from wagoe_jobs.adapters.sql.rows import job_values, micros
from wagoe_jobs.adapters.sql.settle import buried
from wagoe_jobs.adapters.sql.transactions import Transactions
from wagoe_jobs.adapters.sql.waiting import Waiting
from wagoe_jobs.core.job import Job, Status, checked_bulk
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.ports import (
    BATCH_LIMIT,
    Answer,
    Claim,
    Claimed,
    Hold,
    Reclaimed,
    Settlement,
    Taken,
    WakeUp,
)


class SqlJobQueue:
    """JobQueue with leases, transactions and keys."""

    def __init__(self, db: Database, exchange: Exchange, lease: timedelta) -> None:
        self._db = db
        self._lease = lease
        self._exchange = exchange
        self._enqueuer = db.dialect.enqueuer(db)
        self._waiting = Waiting(db)
        self._in_flight = InFlight(db, micros(lease))
        self._keys = Keys(db)
        self._transactions = Transactions(db)
        self._renewal = Held(db)

    @property
    def lease(self) -> timedelta:
        return self._lease

    def enqueue(self, job: Job) -> bool:
        return self.enqueue_many([job])[0]

    def schedule(self, job: Job, delay: timedelta) -> bool:
        return self.enqueue_many([job], delay=delay)[0]

    def enqueue_many(self, jobs: Sequence[Job], *, delay: timedelta | None = None) -> Sequence[bool]:
        rows = _rows(jobs, delay)
        if not rows:
            return []
        with refusing("job"):
            return self._enqueuer.store(rows)

    def enqueue_in_tx(self, tx: object, jobs: Sequence[Job], *, delay: timedelta | None = None) -> Sequence[bool]:
        conn, rows = self._transactions.connection(tx), _rows(jobs, delay)
        if not rows:
            return []
        with refusing("job"), translating(self._db.dialect):
            self._db.dialect.begin_in(conn, self._db.tables)
            return self._enqueuer.insert(conn, rows)

    def enqueue_once(
        self, scope: str, key: str, job: Job, ttl: timedelta, *, delay: timedelta | None = None, tx: object = None
    ) -> Claimed | Taken:
        (row,) = _rows([job], delay)

        def once(conn: Connection) -> Claimed | Taken:
            answer = self._keys.claim(conn, scope, key, ttl, str(job.id))
            if isinstance(answer, Claimed) and not self._enqueuer.insert(conn, [row])[0]:
                self._keys.release(conn, scope, key)
                return Taken(str(job.id))
            return answer

        if tx is None:
            with refusing("job"):
                return self._db.write(once)
        conn = self._transactions.connection(tx)
        with refusing("job"), translating(self._db.dialect):
            self._db.dialect.begin_in(conn, self._db.tables)
            return once(conn)

    def claim(self, queue: str, worker: str, limit: int) -> Sequence[Claim]:
        return self.exchange([], queue, worker, limit)[1]

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[Answer]:
        return self.exchange(settlements, "", "", 0)[0]

    def exchange(
        self, settlements: Sequence[Settlement], queue: str, worker: str, limit: int
    ) -> tuple[Sequence[Answer], Sequence[Claim]]:
        try:
            return self._exchange.exchange(settlements, queue, worker, limit)
        except RefusedData:
            answers = [self._settle_alone(s) for s in settlements]
            with refusing("queue"):
                return answers, self._exchange.exchange([], queue, worker, limit)[1]

    def ack(self, claim: Claim) -> bool:
        answer = self.settle([Settlement(claim, Status.COMPLETED)])[0]
        if answer is Answer.LOCKED:
            raise BackendUnavailable(BACKEND, "another transaction keeps the job locked")
        return answer is Answer.APPLIED

    def hand_back(self, claims: Sequence[Claim]) -> int:
        def put_back(conn: Connection, some: Sequence[Claim]) -> Reached:
            reached = self._in_flight.hand_back(conn, some)
            self._tell(conn, [claim.queue for claim in some] if reached.done else [])
            return reached

        return self._reached(claims, put_back)

    def interrupt(self, claims: Sequence[Claim]) -> int:
        return self._reached(claims, self._in_flight.interrupt)

    def renew(self, claims: Sequence[Claim]) -> Mapping[Claim, Hold]:
        return self._renewal.write(lambda conn: self._in_flight.renew(conn, claims))

    def reclaim_abandoned(self, limit: int = BATCH_LIMIT) -> Sequence[Reclaimed]:
        def reclaim(conn: Connection) -> list[Reclaimed]:
            told = self._in_flight.reclaim(conn, min(limit, BATCH_LIMIT))
            self._tell(conn, [one.queue for one in told if not one.buried])
            return told

        return self._db.write(reclaim)

    def process_scheduled(self, limit: int = BATCH_LIMIT) -> int:
        def promote(conn: Connection) -> int:
            queues = self._waiting.promote(conn, min(limit, BATCH_LIMIT))
            self._tell(conn, queues)
            return len(queues)

        return self._db.write(promote)

    @refusing("queue")
    def peek(self, queue: str, limit: int = 1) -> Sequence[Job]:
        return self._db.read(lambda conn: self._waiting.peek(conn, queue, limit))

    def delete(self, id: UUID) -> bool:
        return self._db.write(lambda conn: self._waiting.delete(conn, str(id)))

    def cancel(self, id: UUID) -> bool:
        return self._db.write(lambda conn: self._waiting.cancel(conn, str(id)))

    @refusing("queue")
    def size(self, queue: str) -> int:
        return self._db.read(lambda conn: self._waiting.size(conn, queue))

    def list_queues(self) -> Sequence[str]:
        return self._db.read(self._waiting.queues)

    def next_due(self) -> timedelta | None:
        return self._db.read(self._waiting.next_due)

    def close(self) -> None:
        self._exchange.close()
        self._renewal.close()

    def _reached(self, claims: Sequence[Claim], act: Callable[[Connection, Sequence[Claim]], Reached]) -> int:
        """How many of the claims were held and acted on; what somebody keeps locked is left to its lease."""
        count = 0

        def step(some: Sequence[Claim]) -> Sequence[Claim]:
            nonlocal count
            reached = self._db.write(lambda conn: act(conn, some))
            count += reached.done
            return reached.locked

        past_locks(claims, step)
        return count

    def _tell(self, conn: Connection, queues: Sequence[str]) -> None:
        if queues:
            self._db.dialect.tell(conn, self._db.tables, queues)

    def _settle_alone(self, settlement: Settlement) -> Answer:
        """One settlement; what the database refuses as data is buried with the reason, its neighbours untouched.

        Raises InvalidJob when it refuses even that.
        """
        try:
            return self._exchange.exchange([settlement], "", "", 0)[0][0]
        except RefusedData as exc:
            with refusing("job"):
                return self._exchange.exchange([buried(settlement, exc)], "", "", 0)[0][0]


class WakingSqlJobQueue(SqlJobQueue):
    """The same where the database gives news."""

    def __init__(self, db: Database, exchange: Exchange, lease: timedelta, dialect: WakingDialect) -> None:
        super().__init__(db, exchange, lease)
        self._news = dialect

    def wake_up(self, queue: str) -> WakeUp:
        with refusing("queue"), translating(self._db.dialect):
            return self._news.wake_up(self._db, queue)


def _rows(jobs: Sequence[Job], delay: timedelta | None) -> list[dict[str, object]]:
    return [job_values(job, delay) for job in checked_bulk(jobs)]
