"""One opened backend as a value: what `open_runtime` yields, and what clients, workers and pools are made with."""

from dataclasses import dataclass

from wagoe_jobs.errors import WiringError
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


def checked_runtime(given: object, call: str) -> Runtime:
    """What `call`, as "Jobs(runtime)", was given; raises WiringError, with how to get a runtime, unless it is one."""
    if isinstance(given, Runtime):
        return given
    raise WiringError(f"{call.partition('(')[0]}: needs a Runtime, not {type(given).__name__}: {_how(given, call)}")


def _how(given: object, call: str) -> str:
    if hasattr(given, "jobs_runtime") or hasattr(given, "provided"):  # a container, or a provider of one
        return "container.jobs_runtime() is the runtime of a container, container.client() its Jobs"
    unopened = "open_runtime() is a context manager: " if hasattr(given, "__enter__") else ""
    return f"{unopened}with open_runtime(settings) as runtime: {call}"
