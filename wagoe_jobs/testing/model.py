"""What a store should do, in as few lines as it takes: the model that the state machine holds a backend against.

Time is counted in whole minutes, so that the moments a run really takes never decide anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from uuid import UUID

from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.core.outcome import buries_abandoned
from wagoe_jobs.ports import Answer, Claim, Hold
from wagoe_jobs.testing.subjects import Place

LEASE_MINUTES = 1


@dataclass
class Record:
    """One job; `claim` is the one that holds it, `settled` those that ended a run of it, the last one last."""

    job: Job
    place: Place
    status: Status = Status.PENDING
    seq: int = 0
    due: tuple[int, int] = (0, 0)
    claim: Claim | None = None
    lease_until: int = 0
    retries: int = 0
    abandoned: int = 0
    interrupted: bool = False
    cancel_requested: bool = False
    settled: list[Claim] = field(default_factory=list)

    @property
    def rank(self) -> int:
        return self.job.priority.rank


class Model:
    """All jobs by id, and a clock."""

    def __init__(self) -> None:
        self.now = 0
        self.records: dict[UUID, Record] = {}
        self._numbers = count(1)

    def at(self, place: Place) -> list[Record]:
        return [record for record in self.records.values() if record.place is place]

    def line(self) -> list[Record]:
        return sorted(self.at(Place.READY), key=lambda record: (record.rank, record.seq))

    def due(self) -> list[Record]:
        due = (record for record in self.at(Place.SCHEDULED) if record.due[0] <= self.now)
        return sorted(due, key=lambda record: record.due)

    def expired(self) -> list[Record]:
        return [record for record in self.at(Place.IN_FLIGHT) if record.lease_until <= self.now]

    def enqueue(self, job: Job, delay: int) -> bool:
        if job.id in self.records:
            return False
        self.records[job.id] = record = Record(job, Place.NOWHERE)
        self._arrive(record, delay)
        return True

    def claimable(self, limit: int) -> list[Record]:
        line = self.line()
        lone = next((index for index, record in enumerate(line) if record.abandoned), len(line))
        return line[: min(limit, max(lone, 1))]

    def claim(self, claims: Sequence[Claim]) -> None:
        for claim in claims:
            record = self.records[UUID(claim.id)]
            record.place, record.status, record.claim = Place.IN_FLIGHT, Status.RUNNING, claim
            record.lease_until = self.now + LEASE_MINUTES

    def holder(self, claim: Claim) -> Record | None:
        record = self.records.get(UUID(claim.id))
        return record if record is not None and record.claim == claim else None

    def settle(self, claim: Claim, status: Status, delay: int) -> set[Answer]:
        """The answers that are right; more than one only where an old settlement may be forgotten."""
        record = self.holder(claim)
        if record is None:
            return self._late(claim)
        requested = record.cancel_requested and status is not Status.COMPLETED
        self._release(record)
        record.settled.append(claim)
        record.retries += status is Status.RETRYING  # also of a job that is cancelled: the text says so
        if requested or status.terminal:
            record.place, record.status = Place.ENDED, Status.CANCELLED if requested else status
        else:
            record.status = status
            self._arrive(record, delay)
        return {Answer.APPLIED}

    def _late(self, claim: Claim) -> set[Answer]:
        record = self.records.get(UUID(claim.id))
        if record is None or claim not in record.settled:
            return {Answer.LOST}
        return {Answer.ALREADY} if record.settled[-1] == claim else {Answer.ALREADY, Answer.LOST}

    def renew(self, claim: Claim) -> Hold:
        record = self.holder(claim)
        if record is None:
            return Hold.LOST
        record.lease_until = self.now + LEASE_MINUTES
        return Hold.CANCEL_REQUESTED if record.cancel_requested else Hold.HELD

    def hand_back(self, claim: Claim) -> bool:
        record = self.holder(claim)
        if record is None:
            return False
        self._return(record)
        return True

    def interrupt(self, claim: Claim) -> bool:
        record = self.holder(claim)
        if record is not None:
            record.interrupted = True
        return record is not None

    def reclaim(self, record: Record) -> bool:
        """Whether it is buried."""
        record.abandoned += not record.interrupted
        otherwise = record.interrupted or record.cancel_requested
        buried = not otherwise and buries_abandoned(record.retries, record.abandoned, record.job.max_retries)
        self._return(record)
        if buried:
            record.place, record.status = Place.ENDED, Status.FAILED
        return buried

    def promote(self, record: Record) -> None:
        self._arrive(record, 0)

    def cancel(self, id: UUID) -> bool:
        record = self.records.get(id)
        if record is None or record.place is Place.ENDED:
            return False
        if record.place is Place.IN_FLIGHT:
            record.cancel_requested = True
        else:
            record.place, record.status = Place.ENDED, Status.CANCELLED
        return True

    def delete(self, id: UUID) -> bool:
        record = self.records.get(id)
        if record is None or record.place is Place.IN_FLIGHT:
            return False
        del self.records[id]
        return True

    def retry(self, id: UUID) -> bool:
        record = self.records.get(id)
        if record is None or record.status is not Status.FAILED:
            return False
        record.retries = record.abandoned = 0
        self._arrive(record, 0)
        return True

    def _arrive(self, record: Record, delay: int) -> None:
        number = next(self._numbers)
        if delay:
            record.place, record.due = Place.SCHEDULED, (self.now + delay, number)
        else:
            record.place, record.status, record.seq = Place.READY, Status.PENDING, number

    def _return(self, record: Record) -> None:
        if record.cancel_requested:
            record.place, record.status = Place.ENDED, Status.CANCELLED
        else:
            record.place, record.status = Place.READY, Status.PENDING
        self._release(record)

    def _release(self, record: Record) -> None:
        record.claim = None
        record.interrupted = record.cancel_requested = False
