"""Every state that a port method may meet: how a job gets there, and where it then is."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.ports import Claim, QueueStats, Settlement
from wagoe_jobs.testing.backend import HOUR, QUEUE, SECOND, Backend, ending

BROKEN_TEXT = '{"this is": "not a job'


class State(StrEnum):
    """What became of a job. In those of `CLAIMED` somebody holds, or still believes to hold, a claim."""

    UNKNOWN = "unknown"
    READY = "ready"
    SCHEDULED = "scheduled"
    DUE = "due, not promoted"
    UNREADABLE = "unreadable"
    IN_FLIGHT = "in flight"
    EXPIRED = "lease ended"
    CANCEL_REQUESTED = "cancel requested"
    INTERRUPTED = "interrupted"
    HANDED_BACK = "handed back"
    RECLAIMED = "reclaimed"
    TAKEN = "taken by another"
    RETRYING = "retrying"
    PARKED = "parked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    BURIED = "buried by reclaim"


class Place(StrEnum):
    """Where a job is; always exactly one of these."""

    NOWHERE = "nowhere"
    READY = "ready"
    SCHEDULED = "scheduled"
    IN_FLIGHT = "in flight"
    ENDED = "ended"


PLACES = {
    State.UNKNOWN: Place.NOWHERE,
    State.READY: Place.READY,
    State.SCHEDULED: Place.SCHEDULED,
    State.DUE: Place.SCHEDULED,
    State.UNREADABLE: Place.READY,
    State.IN_FLIGHT: Place.IN_FLIGHT,
    State.EXPIRED: Place.IN_FLIGHT,
    State.CANCEL_REQUESTED: Place.IN_FLIGHT,
    State.INTERRUPTED: Place.IN_FLIGHT,
    State.HANDED_BACK: Place.READY,
    State.RECLAIMED: Place.READY,
    State.TAKEN: Place.IN_FLIGHT,
    State.RETRYING: Place.SCHEDULED,
    State.PARKED: Place.SCHEDULED,
    State.COMPLETED: Place.ENDED,
    State.FAILED: Place.ENDED,
    State.CANCELLED: Place.ENDED,
    State.BURIED: Place.ENDED,
}
STATUSES = {
    Place.READY: Status.PENDING,
    Place.SCHEDULED: Status.PENDING,
    Place.IN_FLIGHT: Status.RUNNING,
}
ENDS = {
    State.RETRYING: Status.RETRYING,
    State.COMPLETED: Status.COMPLETED,
    State.FAILED: Status.FAILED,
    State.CANCELLED: Status.CANCELLED,
    State.BURIED: Status.FAILED,
}
ALL = tuple(State)
HELD = (State.IN_FLIGHT, State.EXPIRED, State.CANCEL_REQUESTED, State.INTERRUPTED)
SETTLED = (State.RETRYING, State.PARKED, State.COMPLETED, State.FAILED, State.CANCELLED)
LOST = (State.UNKNOWN, State.HANDED_BACK, State.RECLAIMED, State.TAKEN, State.BURIED)
CLAIMED = (*HELD, *SETTLED, *LOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A job in a state; `claim` is the first worker's, in the states of `CLAIMED`, `other` the present holder's."""

    state: State
    job: Job
    given: Claim | None = None
    other: Claim | None = None

    @property
    def claim(self) -> Claim:
        assert self.given is not None, f"nobody claimed a job that is {self.state}"
        return self.given

    @property
    def place(self) -> Place:
        return PLACES[self.state]

    @property
    def status(self) -> Status:
        return ENDS.get(self.state) or STATUSES[self.place]


def bring(backend: Backend, state: State) -> Subject:
    """A job in this state, the only one in the store, its queue `QUEUE`."""
    return _MAKERS[state](backend)


def standing(backend: Backend, queue: str = QUEUE) -> dict[Place, int]:
    """How many jobs of the queue are in each place, without the places that are empty."""
    stats = backend.stats.queue_stats(queue)
    return {place: count for place, count in _counts(stats).items() if count}


def _counts(stats: QueueStats) -> dict[Place, int]:
    return {
        Place.READY: sum(stats.waiting.values()),
        Place.SCHEDULED: stats.scheduled,
        Place.IN_FLIGHT: stats.in_flight,
        Place.ENDED: stats.processed,
    }


def _unknown(backend: Backend) -> Subject:
    ended = _completed(backend)
    assert backend.queue.delete(ended.job.id) is True
    return Subject(state=State.UNKNOWN, job=ended.job, given=ended.claim)


def _ready(backend: Backend) -> Subject:
    return Subject(state=State.READY, job=backend.put())


def _scheduled(backend: Backend, state: State = State.SCHEDULED) -> Subject:
    job = backend.job()
    assert backend.queue.schedule(job, HOUR) is True
    return Subject(state=state, job=job)


def _due(backend: Backend) -> Subject:
    subject = _scheduled(backend, State.DUE)
    backend.advance(HOUR + SECOND)
    return subject


def _unreadable(backend: Backend) -> Subject:
    subject = _in_flight(backend)
    backend.queue.settle([Settlement(subject.claim, Status.PENDING, delay=SECOND, payload=BROKEN_TEXT)])
    backend.advance(2 * SECOND)
    assert backend.queue.process_scheduled() == 1
    return Subject(state=State.UNREADABLE, job=subject.job)


def _in_flight(backend: Backend, state: State = State.IN_FLIGHT) -> Subject:
    job = backend.put()
    return Subject(state=state, job=job, given=backend.take())


def _expired(backend: Backend) -> Subject:
    subject = _in_flight(backend, State.EXPIRED)
    backend.expire()
    return subject


def _cancel_requested(backend: Backend) -> Subject:
    subject = _in_flight(backend, State.CANCEL_REQUESTED)
    assert backend.queue.cancel(subject.job.id) is True
    return subject


def _interrupted(backend: Backend) -> Subject:
    subject = _in_flight(backend, State.INTERRUPTED)
    assert backend.queue.interrupt([subject.claim]) == 1
    return subject


def _handed_back(backend: Backend) -> Subject:
    subject = _in_flight(backend, State.HANDED_BACK)
    assert backend.queue.hand_back([subject.claim]) == 1
    return subject


def _reclaimed(backend: Backend, state: State = State.RECLAIMED) -> Subject:
    subject = _in_flight(backend, state)
    backend.expire()
    assert len(backend.queue.reclaim_abandoned()) == 1
    return subject


def _taken(backend: Backend) -> Subject:
    lost = _reclaimed(backend)
    return Subject(state=State.TAKEN, job=lost.job, given=lost.claim, other=backend.second().take(worker="bob"))


def _settled(state: State, status: Status) -> Callable[[Backend], Subject]:
    def make(backend: Backend) -> Subject:
        subject = _in_flight(backend, state)
        backend.queue.settle([ending(subject.claim, status)])
        return subject

    return make


_completed = _settled(State.COMPLETED, Status.COMPLETED)


def _buried(backend: Backend) -> Subject:
    job = backend.put(max_retries=1)
    backend.take()
    backend.expire()
    backend.queue.reclaim_abandoned()
    claim = backend.take()
    backend.expire()
    assert [reclaimed.buried for reclaimed in backend.queue.reclaim_abandoned()] == [True]
    return Subject(state=State.BURIED, job=job, given=claim)


_MAKERS: dict[State, Callable[[Backend], Subject]] = {
    State.UNKNOWN: _unknown,
    State.READY: _ready,
    State.SCHEDULED: _scheduled,
    State.DUE: _due,
    State.UNREADABLE: _unreadable,
    State.IN_FLIGHT: _in_flight,
    State.EXPIRED: _expired,
    State.CANCEL_REQUESTED: _cancel_requested,
    State.INTERRUPTED: _interrupted,
    State.HANDED_BACK: _handed_back,
    State.RECLAIMED: _reclaimed,
    State.TAKEN: _taken,
    State.RETRYING: _settled(State.RETRYING, Status.RETRYING),
    State.PARKED: _settled(State.PARKED, Status.PENDING),
    State.COMPLETED: _completed,
    State.FAILED: _settled(State.FAILED, Status.FAILED),
    State.CANCELLED: _settled(State.CANCELLED, Status.CANCELLED),
    State.BURIED: _buried,
}
