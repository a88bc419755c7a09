"""The memory queue: work still to do, under one lock.

Text is encoded before the lock is taken and decoded after it is left, so that nothing slow happens under it
and no value is shared between enqueuer, store and handler.
"""

import threading
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Self
from uuid import UUID

from wagoe_jobs.adapters.memory.idempotency import take_key
from wagoe_jobs.adapters.memory.line import Row
from wagoe_jobs.adapters.memory.settling import apply, prepare
from wagoe_jobs.adapters.memory.state import MemoryState
from wagoe_jobs.core import codec
from wagoe_jobs.core.job import Job, Status, checked_bulk, to_micros
from wagoe_jobs.core.outcome import abandoned_error, buries_abandoned
from wagoe_jobs.core.stored import read_job
from wagoe_jobs.errors import NotATransaction
from wagoe_jobs.ports import (
    BATCH_BYTES,
    BATCH_LIMIT,
    Answer,
    Claim,
    Claimed,
    Hold,
    Reclaimed,
    Settlement,
    Taken,
)

_US = timedelta(microseconds=1)


class MemoryJobQueue:
    """JobQueue, LeasedJobQueue, WakingJobQueue and OnceJobQueue over a `MemoryState`."""

    def __init__(self, state: MemoryState, *, lease: timedelta) -> None:
        self.state = state
        self._lease = lease
        self._lease_us = lease // _US

    @property
    def lease(self) -> timedelta:
        return self._lease

    def enqueue(self, job: Job) -> bool:
        return self.enqueue_many([job])[0]

    def schedule(self, job: Job, delay: timedelta) -> bool:
        return self.enqueue_many([job], delay=delay)[0]

    def enqueue_many(self, jobs: Sequence[Job], *, delay: timedelta | None = None) -> Sequence[bool]:
        rows = [_row(job) for job in checked_bulk(jobs)]
        with self.state.lock:
            return self._insert(rows, delay)

    def enqueue_once(
        self, scope: str, key: str, job: Job, ttl: timedelta, *, delay: timedelta | None = None, tx: object = None
    ) -> Claimed | Taken:
        if tx is not None:
            raise NotATransaction("the memory store has no transactions")
        row = _row(job)
        with self.state.lock:
            if row.id in self.state.rows:
                return Taken(row.id)
            answer = take_key(self.state, scope, key, ttl, row.id)
            if isinstance(answer, Claimed):
                self._insert([row], delay)
            return answer

    def claim(self, queue: str, worker: str, limit: int) -> Sequence[Claim]:
        with self.state.lock:
            return self._claim(queue, worker, limit)

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[Answer]:
        prepared = prepare(settlements)
        with self.state.lock:
            return [apply(self.state, each) for each in prepared]

    def exchange(
        self, settlements: Sequence[Settlement], queue: str, worker: str, limit: int
    ) -> tuple[Sequence[Answer], Sequence[Claim]]:
        prepared = prepare(settlements)
        with self.state.lock:
            answers = [apply(self.state, each) for each in prepared]
            return answers, self._claim(queue, worker, limit)

    def ack(self, claim: Claim) -> bool:
        return self.settle([Settlement(claim, Status.COMPLETED)])[0] is Answer.APPLIED

    def hand_back(self, claims: Sequence[Claim]) -> int:
        with self.state.lock:
            now, rows = self.state.now_us(), self._held(claims)
            for row in rows:
                self._return(row, now)
            self.state.tell({row.queue for row in rows})
            return len(rows)

    def reclaim_abandoned(self, limit: int = BATCH_LIMIT) -> Sequence[Reclaimed]:
        with self.state.lock:
            now, taken = self.state.now_us(), list[Reclaimed]()
            while len(taken) < limit:
                row = self.state.in_flight.first()
                if row is None or row.lease_until_us > now:
                    break
                taken.append(self._reclaim(row, now))
            self.state.tell({each.queue for each in taken})
            return taken

    def peek(self, queue: str, limit: int = 1) -> Sequence[Job]:
        with self.state.lock:
            line = self.state.ready.get(queue)
            rows = [row.stored() for row, _ in zip(line.rows(), range(limit), strict=False)] if line else []
        return [read_job(row) for row in rows]

    def delete(self, id: UUID) -> bool:
        with self.state.lock:
            row = self.state.rows.get(str(id))
            if row is None or row.token is not None:
                return False
            self.state.forget(row)
            return True

    def cancel(self, id: UUID) -> bool:
        with self.state.lock:
            row = self.state.rows.get(str(id))
            if row is None or row.ticket is None:
                return False
            if row.waits:
                self.state.end(row, Status.CANCELLED, self.state.now_us())
            else:
                row.cancel_requested = True
            return True

    def size(self, queue: str) -> int:
        with self.state.lock:
            return len(self.state.ready.get(queue, ()))

    def list_queues(self) -> Sequence[str]:
        with self.state.lock:
            return sorted({row.queue for row in self.state.rows.values() if row.ticket is not None})

    def process_scheduled(self, limit: int = BATCH_LIMIT) -> int:
        with self.state.lock:
            now, queues = self.state.now_us(), list[str]()
            while len(queues) < limit:
                row = self.state.scheduled.first()
                if row is None or row.due_us is None or row.due_us > now:
                    break
                row.updated_us = now
                self.state.arrive(row, now)
                queues.append(row.queue)
            self.state.tell(set(queues))
            return len(queues)

    def next_due(self) -> timedelta | None:
        with self.state.lock:
            row = self.state.scheduled.first()
            return None if row is None or row.due_us is None else (row.due_us - self.state.now_us()) * _US

    def renew(self, claims: Sequence[Claim]) -> Mapping[Claim, Hold]:
        with self.state.lock:
            now = self.state.now_us()
            return {claim: self._renew(claim, now) for claim in claims}

    def interrupt(self, claims: Sequence[Claim]) -> int:
        with self.state.lock:
            rows = self._held(claims)
            for row in rows:
                row.interrupted = True
            return len(rows)

    def wake_up(self, queue: str) -> "MemoryWakeUp":
        return MemoryWakeUp(self.state, queue)

    def close(self) -> None:
        """Nothing to close: the state lives for as long as somebody holds it."""

    def _insert(self, rows: Sequence[Row], delay: timedelta | None) -> list[bool]:
        now, fresh = self.state.now_us(), list[bool]()
        for row in rows:
            fresh.append(row.id not in self.state.rows)
            if fresh[-1]:
                row.created_us = row.updated_us = now
                row.due_us = row.due_us if delay is None else now + delay // _US
                self.state.rows[row.id] = row
                self.state.arrive(row, now)
        self.state.tell({row.queue for row in rows})
        return fresh

    def _claim(self, queue: str, worker: str, limit: int) -> list[Claim]:
        line = self.state.ready.get(queue)
        if not line or limit < 1:
            return []
        token, now, claims, size = str(next(self.state.tokens)), self.state.now_us(), list[Claim](), 0
        while len(claims) < limit and (row := line.first()) is not None:
            size += _octets(row.payload)
            if claims and (row.abandoned or size > BATCH_BYTES):
                break
            self.state.take(row, token, worker, now, self._lease_us)
            claims.append(Claim(row.id, token, queue, row.payload, row.rank, row.seq, now, row.abandoned))
            if row.abandoned:
                break
        return claims

    def _holds(self, claim: Claim) -> Row | None:
        row = self.state.rows.get(claim.id)
        return row if row is not None and row.token == claim.token else None

    def _held(self, claims: Sequence[Claim]) -> list[Row]:
        return list(dict.fromkeys(row for claim in claims if (row := self._holds(claim)) is not None))

    def _renew(self, claim: Claim, now_us: int) -> Hold:
        row = self._holds(claim)
        if row is None:
            return Hold.LOST
        self.state.extend(row, now_us + self._lease_us)
        return Hold.CANCEL_REQUESTED if row.cancel_requested else Hold.HELD

    def _return(self, row: Row, now_us: int) -> None:
        """To its old place, unless its cancellation was asked for meanwhile."""
        if row.cancel_requested:
            self.state.end(row, Status.CANCELLED, now_us)
        else:
            self.state.put_back(row, now_us)

    def _reclaim(self, row: Row, now_us: int) -> Reclaimed:
        row.abandoned += not row.interrupted
        ends_otherwise = row.interrupted or row.cancel_requested
        buried = not ends_otherwise and buries_abandoned(0, row.abandoned, row.budget)
        if buried:
            row.error = codec.encode_error(abandoned_error(row.abandoned))
            self.state.end(row, Status.FAILED, now_us)
        else:
            self._return(row, now_us)
        return Reclaimed(row.id, row.type, row.queue, row.abandoned, buried)


class MemoryWakeUp:
    """A waiting place for one queue."""

    def __init__(self, state: MemoryState, queue: str) -> None:
        self._state = state
        self._queue = queue
        self._news: threading.Event = state.watch(queue)

    def wait(self, timeout: timedelta) -> bool:
        told = self._news.wait(max(timeout.total_seconds(), 0))
        self._news.clear()
        return told

    def interrupt(self) -> None:
        self._news.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._state.unwatch(self._queue, self._news)


def _row(job: Job) -> Row:
    """The job as a row without a place; raises InvalidJob or PayloadTooLarge."""
    return Row(
        id=str(job.id),
        type=job.type,
        queue=job.queue,
        tenant=job.tenant,
        rank=job.priority.rank,
        budget=job.max_retries - job.retry_count,
        payload=codec.encode_job(job),
        created_us=0,
        updated_us=0,
        due_us=None if job.execute_at is None else to_micros(job.execute_at),
    )


def _octets(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
