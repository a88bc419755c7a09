"""Which ids a search has to look at, highest first: all that there are, or those of an index that is narrower.

Indexes are ordered by time, not by id, so that one is read whole before its first id is known; it is used where it
holds a small part of all jobs. No command here takes more than a thousand ids.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import assert_never

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.rows import IDS
from wagoe_jobs.core.job import Status
from wagoe_jobs.ports import JobFilter

READ_WHOLE = 10_000
"""An index of no more ids is always read rather than all jobs,"""
PART = 10
"""and so is one that holds no more than this part of them."""

_TAKEN = 1_000
_QUEUES = 1_000
"""With more queues than this, a status without a queue is looked for among all jobs."""

Index = Sequence[str]
"""Keys that together hold every job that is wanted."""


class Candidates:
    """Reads ids alone; whoever reads the jobs decides."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._keys = redis.keys

    def below(self, wanted: JobFilter, cursor: str | None, chunk: int = IDS) -> Iterator[Sequence[str]]:
        """Ids below the cursor that may be wanted, highest first, some at a time; none is left out, or told twice."""
        index = self._narrowest(wanted)
        yield from self._of_all(cursor, chunk) if index is None else self._of_index(index, cursor, chunk)

    def members(self, key: str) -> Iterator[str]:
        """All members of a sorted set that were in it the whole time, perhaps some twice."""
        position = "0"
        while True:
            [(position, flat)] = self._redis.ask(("ZSCAN", key, position, "COUNT", _TAKEN))
            yield from flat[::2]
            if position == "0":
                return

    def _of_all(self, cursor: str | None, chunk: int) -> Iterator[Sequence[str]]:
        top = "+" if cursor is None else f"({cursor}"
        while True:
            [ids] = self._redis.ask(("ZREVRANGEBYLEX", self._keys.jobs, top, "-", "LIMIT", 0, chunk))
            if ids:
                yield ids
            if len(ids) < chunk:
                return
            top = f"({ids[-1]}"

    def _of_index(self, index: Index, cursor: str | None, chunk: int) -> Iterator[Sequence[str]]:
        ids = {id for key in index for id in self.members(key) if cursor is None or id < cursor}
        ordered = sorted(ids, reverse=True)
        for first in range(0, len(ordered), chunk):
            yield ordered[first : first + chunk]

    def _narrowest(self, wanted: JobFilter) -> Index | None:
        indexes = list(self._indexes(wanted))
        if not indexes:
            return None
        [total, *sizes] = self._redis.ask(
            ("ZCARD", self._keys.jobs), *(("ZCARD", key) for index in indexes for key in index)
        )
        counted = iter(sizes)
        size, index = min(((sum(next(counted) for _ in index), index) for index in indexes), key=lambda pair: pair[0])
        return index if size <= max(READ_WHOLE, total // PART) else None

    def _indexes(self, wanted: JobFilter) -> Iterator[Index]:
        """Every index that holds all that is wanted."""
        keys = self._keys
        match wanted.status:
            case Status.FAILED:
                yield [keys.failed] if wanted.queue is None else [keys.ended(wanted.queue, Status.FAILED)]
                if wanted.type is not None:
                    yield [keys.failed_type(wanted.type)]
            case Status.COMPLETED | Status.CANCELLED:
                yield from self._in_queues(wanted, lambda queue: [keys.ended(queue, str(wanted.status))])
                if wanted.type is not None:
                    yield [keys.ended_type(wanted.type)]
            case Status.RETRYING:
                yield [keys.scheduled]
            case Status.RUNNING:
                yield from self._in_queues(wanted, lambda queue: [keys.in_flight(queue)])
            case Status.PENDING:
                # in the order in which a job goes, so that one that is promoted meanwhile is not missed
                yield from ([keys.scheduled, *index] for index in self._in_queues(wanted, keys.lines))
            case None:
                pass  # a job that changes its place meanwhile could be missed
            case _:
                assert_never(wanted.status)

    def _in_queues(self, wanted: JobFilter, of_queue: Callable[[str], Index]) -> Iterator[Index]:
        """One index made of what the queue has, or every queue."""
        if wanted.queue is not None:
            yield of_queue(wanted.queue)
            return
        [known] = self._redis.ask(("SMEMBERS", self._keys.queues))
        if len(known) <= _QUEUES:
            yield [key for queue in known for key in of_queue(queue)]
