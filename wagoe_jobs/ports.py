"""What the rest of the library asks of a store. Each adapter keeps these promises in its own way.

Batch-shaped and fenced: whatever acts on a claim takes many and is conditional on the claim's token.
Instants are the store's, in microseconds since 1970 UTC where a name ends in `_us`; follow-ups are
durations, which the store adds to its own now. Every method may raise BackendUnavailable; no driver's
exception crosses a port. A capability is a protocol of its own, asked for with `isinstance`.

    JobQueue              work still to do; a store's queue may also be a LeasedJobQueue, TransactionalJobQueue,
                          WakingJobQueue or OnceJobQueue
    JobStore, JobStats    every job, to be read and counted
    IdempotencyStore      keys that are taken once
    RecurringState        schedules, and the lease of who fires them
    WorkerPresence        which workers there are, for people to look at
    JobRegistry, JobWorker
    Runtime               the parts of one backend

The values that cross are defined in `wagoe_jobs.values`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Protocol, Self, runtime_checkable
from uuid import UUID

from wagoe_jobs.core.job import Job
from wagoe_jobs.values import (
    Answer,
    Beat,
    Claim,
    Claimed,
    Hold,
    JobFilter,
    Page,
    PresentWorker,
    QueueStats,
    Reclaimed,
    RunningJob,
    Schedule,
    Settlement,
    StatsTotals,
    Taken,
    WorkerCard,
)

__all__ = [
    "BATCH_LIMIT",
    "DEFAULT_LEASE",
    "GONE_AFTER",
    "RUNNING_LIMIT",
    "Answer",
    "Beat",
    "Claim",
    "Claimed",
    "Hold",
    "IdempotencyStore",
    "JobFilter",
    "JobQueue",
    "JobRegistry",
    "JobStats",
    "JobStore",
    "JobWorker",
    "LeasedJobQueue",
    "OnceJobQueue",
    "Page",
    "PresentWorker",
    "QueueStats",
    "Reclaimed",
    "RecurringState",
    "RunningJob",
    "Runtime",
    "Schedule",
    "Settlement",
    "StatsTotals",
    "Taken",
    "TransactionalJobQueue",
    "WakeUp",
    "WakingJobQueue",
    "WorkerCard",
    "WorkerPresence",
    "transactional_queue",
]

DEFAULT_LEASE = timedelta(seconds=60)
BATCH_LIMIT = 500
"""The most rows that one promotion or reclaim step touches."""
GONE_AFTER = timedelta(minutes=5)
"""How long a worker that is not heard of is still listed."""
RUNNING_LIMIT = 100
"""The most running jobs that are kept of one worker."""


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
        used again for a job. A job that was abandoned before comes alone; a batch ends before it. One
        claim past its lease may be handed to another worker once it is reclaimed (at least once).
        """
        ...

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[Answer]:
        """End each claim: history or follow-up, and release, in one atomic step a claim; answers in order.

        Which is written first is the store's choice. `ALREADY` is sure only for the last token that settled a job.

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
        """Settle as completed without a result; False when the claim is no longer held."""
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


class JobStore(Protocol):
    """Every job, wherever it is: reads cover work still to do and history alike."""

    def find(self, id: UUID) -> Job | None:
        """The job, None when unknown. One whose text cannot be read has error type `undecodable`."""
        ...

    def search(self, wanted: JobFilter = JobFilter(), *, limit: int = 50, cursor: str | None = None) -> Page:
        """Jobs by id, highest first: UUIDv7 ids make that newest first. A page holds 1 to 1,000.

        Raises InvalidJob for another limit, or a cursor that no page gave.
        """
        ...

    def failed_jobs(self, queue: str | None = None, *, limit: int = 50, cursor: str | None = None) -> Page:
        """Dead letters in the order of `search`."""
        ...

    def retry(self, id: UUID) -> bool:
        """Redrive a dead letter: ready, its budget whole again, last error kept; False when it is none.

        One whose text cannot be read keeps that text, and gets the budget of a job that names none.
        """
        ...


class JobStats(Protocol):
    """Counts for people and dashboards; exact at the moment of reading, not cheap enough for a hot path."""

    def job_stats(self) -> StatsTotals:
        """Every queue that holds work or history, by name; `workers` names the holders of claims."""
        ...

    def queue_stats(self, queue: str) -> QueueStats:
        """One queue, zeros when nobody ever used it."""
        ...

    def job_history(self, type: str, limit: int = 50) -> Sequence[Job]:
        """Ended jobs of this type, last ended first."""
        ...


@runtime_checkable
class IdempotencyStore(Protocol):
    """Keys that can be claimed once until they expire, by the store's clock; a scope is a name space."""

    def claim(self, scope: str, key: str, ttl: timedelta, value: str) -> Claimed | Taken:
        """Take the key for `ttl` unless it is taken; exactly one of many callers gets `Claimed`."""
        ...

    def seen(self, scope: str, key: str) -> bool:
        """Whether the key is taken now."""
        ...

    def release(self, scope: str, key: str) -> bool:
        """Free the key before it expires; False when it was free."""
        ...

    def purge(self, limit: int = BATCH_LIMIT) -> int:
        """Forget at most `limit` expired keys; how many."""
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


@runtime_checkable
class RecurringState(Protocol):
    """Schedules, their last ticks, and the lease of the one ticker that fires them."""

    def register(self, schedule: Schedule) -> Schedule:
        """Keep the schedule of a type, as it is stored afterwards; the same text again resets no instant."""
        ...

    def unregister(self, type: str) -> bool:
        """Forget the type's schedule; False without one."""
        ...

    def schedules(self) -> Sequence[Schedule]:
        """All of them, by type."""
        ...

    def mark_tick(self, type: str, tick_us: int) -> bool:
        """Record that this instant fired; False when it is not after the last one, or nothing is scheduled."""
        ...

    def hold(self, holder: str, lease: timedelta) -> bool:
        """Take or renew the ticker's lease; False while another holds it."""
        ...

    def let_go(self, holder: str) -> bool:
        """Give the lease up; False when it is not this holder's."""
        ...


@runtime_checkable
class WorkerPresence(Protocol):
    """Which workers there are and what they are at, for people to look at; the worker's own word, seconds old.

    Nothing is decided by it: a claim's lease alone says whether its holder is gone. A worker that has not been heard
    of for GONE_AFTER is no longer listed, and is forgotten by whoever announces or lists, at most BATCH_LIMIT at once.
    """

    def announce(self, card: WorkerCard) -> WorkerCard:
        """Keep the card, and answer it with `started_us`: the one it brings, else the store's now.

        It replaces the card of that name and what its beats told; announcing is a beat without news.
        """
        ...

    def beat(self, name: str, beat: Beat) -> bool:
        """Keep what the worker is at; False when it is no longer listed: announce it again."""
        ...

    def leave(self, name: str) -> bool:
        """Forget the worker; False when it was not listed."""
        ...

    def list(self) -> Sequence[PresentWorker]:
        """Those that were heard of lately, by name in the order of its code points."""
        ...


class JobRegistry(Protocol):
    """Which function runs which type, asked for every job."""

    def register(self, type: str, handler: object) -> None: ...
    def unregister(self, type: str) -> bool: ...
    def handler_for(self, type: str) -> object | None: ...
    def job_types(self) -> Sequence[str]: ...


class JobWorker(Protocol):
    """Something that runs jobs."""

    def work_one(self) -> bool:
        """Claim one job and run it to its end; False when none was ready."""
        ...

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def status(self) -> object: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """One backend, opened once; the parts of it share its state. Later capabilities are None until it has them."""

    provider: str
    queue: LeasedJobQueue
    store: JobStore
    stats: JobStats
    idempotency: IdempotencyStore | None = None
    recurring: RecurringState | None = None
    outcomes: object | None = None
    presence: WorkerPresence | None = None


def transactional_queue(queue: JobQueue) -> bool:
    """Whether jobs can be enqueued in a transaction of the application: ask before, not by failing."""
    return isinstance(queue, TransactionalJobQueue)
