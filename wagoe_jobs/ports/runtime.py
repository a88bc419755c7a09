"""One opened backend as a value: what `open_runtime` yields, and what clients, workers and pools are made with."""

from dataclasses import dataclass

from wagoe_jobs.ports.idempotency import IdempotencyStore
from wagoe_jobs.ports.presence import WorkerPresence
from wagoe_jobs.ports.queue import LeasedJobQueue
from wagoe_jobs.ports.reading import JobStats, JobStore
from wagoe_jobs.ports.recurring import RecurringState


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
