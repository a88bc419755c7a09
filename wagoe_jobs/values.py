"""The values that cross the ports: claims and settlements, answers, and what readers ask for and get.

Those of the hot path are tuples, the others frozen dataclasses; none knows how it is stored. Code outside takes
them from `wagoe_jobs.ports`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

from wagoe_jobs.core.job import Job, Status, checked_name


class Claim(NamedTuple):
    """The right to run one job until the lease ends; `token` alone decides later whether it still holds.

    A tuple, since the hot path makes one a job. `payload` is the stored text, `rank` and `seq` the job's
    place in the line, `abandoned` how many workers died over it before.
    """

    id: str
    token: str
    queue: str
    payload: str
    rank: int
    seq: int
    claimed_us: int
    abandoned: int = 0


class Settlement(NamedTuple):
    """How one claim ends: a terminal status, or a follow-up (`RETRYING`, `PENDING`) due after `delay`.

    `payload` is the follow-up's new text, None keeps the stored one. `result` and `error` are encoded
    values. The run began `waited_us` after the claim and took `ran_us`.
    """

    claim: Claim
    status: Status
    delay: timedelta | None = None
    payload: str | None = None
    result: str | None = None
    error: str | None = None
    waited_us: int = 0
    ran_us: int = 0


class Answer(Enum):
    """What became of a settlement."""

    APPLIED = "applied"
    ALREADY = "already"
    """This token settled this job before: the first reply was lost."""
    LOST = "lost"
    """The claim is another's, or the job is gone; nothing was written."""
    LOCKED = "locked"
    """Somebody else keeps the job locked in the store; nothing was written yet, and the same may be offered again."""


class Hold(Enum):
    """What a renewal says of a claim."""

    HELD = "held"
    LOST = "lost"
    CANCEL_REQUESTED = "cancel-requested"


class Reclaimed(NamedTuple):
    """One abandoned job: given back to the line, or `buried` as a dead letter."""

    id: str
    type: str
    queue: str
    abandoned: int
    buried: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs a search wants; None asks for nothing. `since` <= created_at < `until`."""

    status: Status | None = None
    type: str | None = None
    queue: str | None = None
    tenant: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Jobs in order, and the cursor of the next page, None at the end."""

    jobs: Sequence[Job]
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStats:
    """One queue at one moment; `processed` and the durations are of the history that is kept.

    `waiting` maps each priority's name to its ready jobs. Durations are of completed runs, the latest
    1,000 at most; None without one. `oldest_ready` is how long the oldest ready job has been in the queue.
    """

    queue: str
    waiting: Mapping[str, int]
    scheduled: int
    in_flight: int
    oldest_ready: timedelta | None
    processed: int
    failed: int
    mean: timedelta | None
    p95: timedelta | None

    @property
    def to_do(self) -> int:
        """How many jobs are work still to do: ready, scheduled or in flight."""
        return sum(self.waiting.values()) + self.scheduled + self.in_flight


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsTotals:
    """All queues; `processed` = `succeeded` + `failed` + cancelled, of the history that is kept."""

    processed: int
    succeeded: int
    failed: int
    queues: Sequence[QueueStats]
    workers: Sequence[str]


class Claimed(NamedTuple):
    """The key was free and is now the caller's."""


class Taken(NamedTuple):
    """The key is taken; `value` is what its taker left."""

    value: str


class Schedule(NamedTuple):
    """A recurring job as it is kept: `text` is the cron expression with its zone, `args` encoded.

    `first_seen_us` is when this text was first registered, `last_tick_us` the last instant that fired.
    """

    type: str
    text: str
    queue: str
    rank: int
    args: str
    first_seen_us: int = 0
    last_tick_us: int | None = None


class RunningJob(NamedTuple):
    """A job that a worker has been running since this instant of the store. The type is what the payload says."""

    id: str
    type: str
    since_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerCard:
    """Who a worker is: `name` is its own from start to stop, `slots` how many jobs it runs at a time.

    `started_us` is an instant of the store's, zero until the store has set it. Raises InvalidJob for a name, host
    or version that is not 1 to 200 printable characters.
    """

    name: str
    host: str
    pid: int
    version: str
    queues: Sequence[str]
    job_types: Sequence[str]
    slots: int
    started_us: int = 0

    def __post_init__(self) -> None:
        for path in ("name", "host", "version"):
            checked_name(path, getattr(self, path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """What a worker is at: how long ago it last asked for work, None before it did, and what it runs.

    `running` holds some of its `running_count` jobs, those that have run longest; of more than RUNNING_LIMIT a store
    keeps the first so many.
    """

    polled: timedelta | None = None
    running: Sequence[RunningJob] = ()
    running_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentWorker:
    """A worker as the store last heard of it: `age` ago, with an announcement or a beat.

    `polled_us` is the store's instant at which it last asked for work, None before its first beat that tells one.
    """

    card: WorkerCard
    age: timedelta
    polled_us: int | None = None
    running: Sequence[RunningJob] = ()
    running_count: int = 0
