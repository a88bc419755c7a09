"""What a case gets: the parts of one store, a clock that it may move, and short words for common steps."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from wagoe_jobs.clock import Clock, ClockOffset, Ids
from wagoe_jobs.core import codec
from wagoe_jobs.core.job import ErrorInfo, Job, Priority, Status, make_job, retry
from wagoe_jobs.ports import (
    Claim,
    IdempotencyStore,
    JobStats,
    JobStore,
    LeasedJobQueue,
    RecurringState,
    Settlement,
    WorkerPresence,
)

QUEUE = "line"
HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
THREADS = 4
"""How many clients do the same at once in a case of concurrency."""
ERROR = ErrorInfo(type="handler-error", message="it broke")


@dataclass(frozen=True, kw_only=True)
class Backend:
    """One empty store, seen by one client.

    `clock_offset` moves the clock of all its parts, those of `second()` included, which makes the parts of
    another client of the same store, as another process would have them. `transaction()` opens one of the
    application's own, None where the store has none.
    """

    name: str
    queue: LeasedJobQueue
    store: JobStore
    stats: JobStats
    idempotency: IdempotencyStore
    recurring: RecurringState
    presence: WorkerPresence
    clock_offset: ClockOffset
    second: Callable[[], "Backend"]
    transaction: Callable[[], AbstractContextManager[object]] | None = None
    ids: Ids = field(default_factory=Ids)

    def job(
        self,
        type: str = "greet",
        args: object = None,
        *,
        queue: str = QUEUE,
        priority: Priority = Priority.NORMAL,
        max_retries: int = 3,
        execute_at: datetime | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> Job:
        """A new job with an id higher than all before."""
        return make_job(
            type,
            args,
            id=self.ids.new(),
            now=Clock().now(),
            queue=queue,
            priority=priority,
            max_retries=max_retries,
            execute_at=execute_at,
            metadata=metadata,
        )

    def put(self, **job: object) -> Job:
        """Enqueue a new job."""
        made = self.job(**job)  # type: ignore[arg-type]  # the same keywords
        assert self.queue.enqueue(made) is True
        return made

    def take(self, queue: str = QUEUE, worker: str = "ann") -> Claim:
        """Claim the only job that is ready."""
        [claim] = self.queue.claim(queue, worker, 10)
        return claim

    def claim_ids(self, limit: int, queue: str = QUEUE) -> list[UUID]:
        """Claim at most `limit`; their ids in line."""
        return [UUID(claim.id) for claim in self.queue.claim(queue, "ann", limit)]

    def drain(self, queue: str = QUEUE) -> list[UUID]:
        """Claim and complete one job after the other; their ids in the order of the claims."""
        ids = []
        while claims := self.queue.claim(queue, "drain", 1):
            ids += [UUID(claim.id) for claim in claims]
            self.queue.settle([Settlement(claim, Status.COMPLETED) for claim in claims])
        return ids

    def look(self, job: Job) -> Job:
        """The job as the store tells it; it must be there."""
        found = self.store.find(job.id)
        assert found is not None
        return found

    def advance(self, by: timedelta) -> None:
        self.clock_offset.move(by)

    def promote_one(self) -> None:
        """Let the only follow-up become due, and ready."""
        self.advance(HOUR + SECOND)
        assert self.queue.process_scheduled() == 1

    def expire(self) -> None:
        """Let every lease that was not renewed end."""
        self.advance(self.queue.lease + SECOND)


def ending(claim: Claim, status: Status) -> Settlement:
    """A settlement with what belongs to its status; follow-ups are due in an hour."""
    match status:
        case Status.COMPLETED:
            return Settlement(claim, status, result=codec.encode_value({"sent": 1}), waited_us=1_000, ran_us=2_000)
        case Status.FAILED | Status.CANCELLED:
            return Settlement(claim, status, error=codec.encode_error(ERROR))
        case Status.RETRYING:
            text = codec.encode_job(retry(codec.decode_job(claim.payload), ERROR))
            return Settlement(claim, status, delay=HOUR, payload=text)
        case _:
            return Settlement(claim, Status.PENDING, delay=HOUR)
