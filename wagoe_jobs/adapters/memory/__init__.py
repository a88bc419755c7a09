"""The memory of one process as a store: the whole contract, leases and reclaim included, and no durability.

Everything hangs off one `MemoryState`; its parts see the same jobs when they are made of the same state, as
two clients of one database would:

    queue = job_queue()
    store, stats = job_store(queue.state), job_stats(queue.state)

It has no transactions and no second process, so it is for tests and development.
"""

from datetime import timedelta

from wagoe_jobs.adapters.memory.idempotency import MemoryIdempotencyStore
from wagoe_jobs.adapters.memory.presence import MemoryWorkerPresence
from wagoe_jobs.adapters.memory.queue import MemoryJobQueue
from wagoe_jobs.adapters.memory.recurring import MemoryRecurringState
from wagoe_jobs.adapters.memory.state import MemoryState
from wagoe_jobs.adapters.memory.stats import MemoryJobStats
from wagoe_jobs.adapters.memory.store import MemoryJobStore
from wagoe_jobs.clock import ClockOffset
from wagoe_jobs.ports import DEFAULT_LEASE

__all__ = [
    "MemoryJobQueue",
    "MemoryState",
    "idempotency_store",
    "job_queue",
    "job_stats",
    "job_store",
    "recurring_state",
    "worker_presence",
]


def job_queue(
    state: MemoryState | None = None, *, lease: timedelta = DEFAULT_LEASE, clock_offset: ClockOffset | None = None
) -> MemoryJobQueue:
    """A queue over this state, a new one by default: `queue.state`."""
    return MemoryJobQueue(_state(state, clock_offset), lease=lease)


def job_store(state: MemoryState | None = None, *, clock_offset: ClockOffset | None = None) -> MemoryJobStore:
    return MemoryJobStore(_state(state, clock_offset))


def job_stats(state: MemoryState | None = None, *, clock_offset: ClockOffset | None = None) -> MemoryJobStats:
    return MemoryJobStats(_state(state, clock_offset))


def idempotency_store(
    state: MemoryState | None = None, *, clock_offset: ClockOffset | None = None
) -> MemoryIdempotencyStore:
    return MemoryIdempotencyStore(_state(state, clock_offset))


def recurring_state(
    state: MemoryState | None = None, *, clock_offset: ClockOffset | None = None
) -> MemoryRecurringState:
    return MemoryRecurringState(_state(state, clock_offset))


def worker_presence(
    state: MemoryState | None = None, *, clock_offset: ClockOffset | None = None
) -> MemoryWorkerPresence:
    return MemoryWorkerPresence(_state(state, clock_offset))


def _state(state: MemoryState | None, clock_offset: ClockOffset | None) -> MemoryState:
    """The state asked for; its clock is the state's own, moved by whichever offset was given last."""
    if state is None:
        return MemoryState(clock_offset=clock_offset)
    if clock_offset is not None:
        state.clock_offset = clock_offset
    return state
