"""What the rest of the library asks of a store. Each adapter keeps these promises in its own way.

Batch-shaped and fenced: whatever acts on a claim takes many and is conditional on the claim's token.
Instants are the store's, in microseconds since 1970 UTC where a name ends in `_us`; follow-ups are
durations, which the store adds to its own now. Every method may raise BackendUnavailable; no driver's
exception crosses a port. A capability is a protocol of its own, asked for with `isinstance`.

    queue.py         JobQueue: work still to do; a store's queue may also be a LeasedJobQueue,
                     TransactionalJobQueue, WakingJobQueue or OnceJobQueue
    reading.py       JobStore, JobStats: every job, to be read and counted
    idempotency.py   IdempotencyStore: keys that are taken once
    recurring.py     RecurringState: schedules, and the lease of who fires them
    presence.py      WorkerPresence: which workers there are, for people to look at
    handlers.py      JobRegistry, JobWorker: what a job is run by
    runtime.py       Runtime: the parts of one backend

All of it is imported from here, and so are the values that cross, which `wagoe_jobs.values` defines.
"""

from wagoe_jobs.ports.handlers import JobRegistry, JobWorker
from wagoe_jobs.ports.idempotency import IdempotencyStore
from wagoe_jobs.ports.presence import GONE_AFTER, RUNNING_LIMIT, WorkerPresence
from wagoe_jobs.ports.queue import (
    BATCH_BYTES,
    BATCH_LIMIT,
    DEFAULT_LEASE,
    JobQueue,
    LeasedJobQueue,
    OnceJobQueue,
    TransactionalJobQueue,
    WakeUp,
    WakingJobQueue,
    transactional_queue,
)
from wagoe_jobs.ports.reading import JobStats, JobStore
from wagoe_jobs.ports.recurring import RecurringState
from wagoe_jobs.ports.runtime import Runtime, checked_runtime
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
    "BATCH_BYTES",
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
    "checked_runtime",
    "transactional_queue",
]
