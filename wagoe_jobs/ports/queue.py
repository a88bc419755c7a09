"""Work still to do: the queue that every store has, and what some of them can do beyond it.

A capability is a protocol of its own that is a `JobQueue` too: asked for with `isinstance`, never found out by failing.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Protocol, Self, runtime_checkable
from uuid import UUID

from wagoe_jobs.core.job import Job
from wagoe_jobs.values import Answer, Claim, Claimed, Hold, Reclaimed, Settlement, Taken

DEFAULT_LEASE = timedelta(seconds=60)
BATCH_LIMIT = 500
"""The most rows that one promotion or reclaim step touches."""
BATCH_BYTES = 4_000_000
"""The most that the payloads of one claim come to, in UTF-8, unless its first one alone is more."""


class JobQueue(Protocol):
    """Work still to do: ready, scheduled and in flight."""

    def enqueue(self, job: Job) -> bool:
        """Store one job: ready, or scheduled when its `execute_at` is after the store's now.

        False when the id exists anywhere, history included; what is stored is then left as it is.
        Raises InvalidJob or PayloadTooLarge and stores nothing.
        """
        ...

    def enqueue_many(self, jobs: Sequence[Job], *, delay: timedelta | None = None) -> Sequence[bool]:
        """All or nothing: the answer of `enqueue` for each of at most 10,000, in order; an id twice is a duplicate.

        With `delay`, all become due at the store's now plus it, whatever their `execute_at`.
        """
        ...

    def schedule(self, job: Job, delay: timedelta) -> bool:
        """`enqueue_many` of one job with this delay."""
        ...

    def claim(self, queue: str, worker: str, limit: int) -> Sequence[Claim]:
        """Lease at most `limit` ready jobs: highest priority first, then oldest.

        Empty when nothing is ready. The lease ends at the store's now plus `lease`. Tokens are never
        used again for a job. A job that was abandoned before comes alone; a batch ends before it, and
        before its payloads pass `BATCH_BYTES`, since they are all in memory at once. A claim past its
        lease may be handed to another worker once it is reclaimed (at least once).
        """
        ...

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[Answer]:
        """End each claim: history or follow-up, and release, in one atomic step a claim; answers in order.

        Which is written first is the store's choice. `ALREADY` is sure only for the last token that settled a job.
        `LOCKED` is the answer for a job that somebody outside keeps locked for more than a moment: the claim still
        holds, and the settlement is to be offered again; its neighbours are applied.

        A job whose cancellation was requested ends as cancelled unless it is settled as completed. What
        the store refuses as data (text, size) fails alone: it is buried with the reason, its neighbours
        are applied. A follow-up's place in the line is a new one when it becomes due.
        """
        ...

    def exchange(
        self, settlements: Sequence[Settlement], queue: str, worker: str, limit: int
    ) -> tuple[Sequence[Answer], Sequence[Claim]]:
        """`settle`, then `claim`, in one call to the store. Raises before either, or does both."""
        ...

    def ack(self, claim: Claim) -> bool:
        """Settle as completed without a result; False when the claim is no longer held.

        Raises BackendUnavailable where `settle` answers `LOCKED`.
        """
        ...

    def hand_back(self, claims: Sequence[Claim]) -> int:
        """Return claims that never started to their old places in the line, nothing used up; how many were held."""
        ...

    def reclaim_abandoned(self, limit: int = BATCH_LIMIT) -> Sequence[Reclaimed]:
        """Take back at most `limit` jobs whose lease has ended, each to its old place in the line.

        Counts the abandonment unless the claim was marked interrupted; by `buries_abandoned` writes the
        dead letter in the same step; one whose cancellation was requested ends as cancelled, and is not `buried`.
        Asks nothing but the job's own claim: no worker row, no handler.
        """
        ...

    def peek(self, queue: str, limit: int = 1) -> Sequence[Job]:
        """The jobs that a claim would get next, in its order; takes none."""
        ...

    def delete(self, id: UUID) -> bool:
        """Remove a job that waits or has ended, without a trace; False when unknown or in flight."""
        ...

    def cancel(self, id: UUID) -> bool:
        """End a waiting job as cancelled, or ask the holder of a running one to stop; False when unknown or ended."""
        ...

    def size(self, queue: str) -> int:
        """How many jobs are ready."""
        ...

    def list_queues(self) -> Sequence[str]:
        """Names of the queues that hold work still to do, in order."""
        ...

    def process_scheduled(self, limit: int = BATCH_LIMIT) -> int:
        """Make at most `limit` due jobs ready, each once, earliest due first; how many.

        One step a job: a failure leaves it scheduled or ready.
        """
        ...

    def next_due(self) -> timedelta | None:
        """How long until the earliest scheduled job is due, zero or less when it is; None without one."""
        ...

    def close(self) -> None:
        """Close what this queue opened itself; may be called twice."""
        ...


@runtime_checkable
class LeasedJobQueue(JobQueue, Protocol):
    """A queue whose claims can be kept alive. Pools refuse a queue that is not one."""

    @property
    def lease(self) -> timedelta:
        """How long a claim lives without renewal."""
        ...

    def renew(self, claims: Sequence[Claim]) -> Mapping[Claim, Hold]:
        """Let the lease of each claim that is still held end at the store's now plus `lease`.

        Goes over a connection of its own, never behind a claim. An expired claim that nobody took is
        held. With no claims it only makes sure that the connection is there.
        """
        ...

    def interrupt(self, claims: Sequence[Claim]) -> int:
        """Mark claims whose process ends by plan: their reclaim will not be counted; how many were held."""
        ...


@runtime_checkable
class TransactionalJobQueue(JobQueue, Protocol):
    """A queue in the application's own database: a job is stored with the business data, or not at all."""

    def enqueue_in_tx(self, tx: object, jobs: Sequence[Job], *, delay: timedelta | None = None) -> Sequence[bool]:
        """`enqueue_many` inside the caller's transaction; workers see the jobs at its commit, never before.

        `tx` is an SQLAlchemy Connection or Session. Raises NotATransaction for an Engine, AUTOCOMMIT, a
        closed or finished transaction, another database, or anything else.
        """
        ...


class WakeUp(Protocol):
    """One waiting place for news of ready or scheduled jobs; closed by leaving it as a context."""

    def wait(self, timeout: timedelta) -> bool:
        """Block until there may be work, `interrupt` is called, or `timeout`; False for the last.

        News that came since the last call ends the wait at once. Raises BackendUnavailable.
        """
        ...

    def interrupt(self) -> None:
        """End the present or next wait, from any thread."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


@runtime_checkable
class WakingJobQueue(JobQueue, Protocol):
    """A queue that tells when work arrives. Polling stays behind it and is all that other queues have."""

    def wake_up(self, queue: str) -> WakeUp:
        """A new waiting place for `queue`, on a connection of its own where one is needed."""
        ...


@runtime_checkable
class OnceJobQueue(JobQueue, Protocol):
    """A queue that claims an idempotency key and enqueues in one atomic step."""

    def enqueue_once(
        self, scope: str, key: str, job: Job, ttl: timedelta, *, delay: timedelta | None = None, tx: object = None
    ) -> Claimed | Taken:
        """Enqueue `job` and take the key for `ttl`, or neither: `Taken` with the first job's id.

        With `tx`, both happen inside the caller's transaction, as `enqueue_in_tx`; raises NotATransaction.
        """
        ...


def transactional_queue(queue: JobQueue) -> bool:
    """Whether jobs can be enqueued in a transaction of the application: ask before, not by failing."""
    return isinstance(queue, TransactionalJobQueue)
