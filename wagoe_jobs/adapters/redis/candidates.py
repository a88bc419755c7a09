"""Which ids a search has to look at, highest first: among all that there are, or in an index of what is wanted.

Indexes are ordered by time, not by id, so that one is read whole before its first id is known. A small one is. Before
a large one all ids are gone through for as long as reading it would take: a page is often full by then. Either way no
command takes more than a thousand ids.
"""

from collections.abc import Callable, Iterator, Sequence
from heapq import nlargest
from math import inf
from operator import itemgetter
from typing import assert_never

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.rows import IDS, in_chunks
from wagoe_jobs.core.job import Status
from wagoe_jobs.ports import JobFilter

SMALL = 2_000
"""An index of no more ids is read at once."""
PART = 4
"""Before a larger one, so many times fewer of all ids are looked at as it holds."""
KEPT = 5_000
"""How many ids of an index are held here at a time."""

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
        index, size = self._narrowest(wanted)
        if size > SMALL:
            looked_at = 0
            for ids in self._of_all(cursor, chunk):
                yield ids
                looked_at, cursor = looked_at + len(ids), ids[-1]
                if looked_at * PART >= size:
                    break
            else:
                return
        yield from self._of_index(index, cursor, chunk)

    def members(self, *keys: str) -> Iterator[str]:
        """All members of sorted sets that were in them the whole time, perhaps some twice; read side by side."""
        positions = dict.fromkeys(keys, "0")
        while positions:
            count = max(1, _TAKEN // len(positions))
            replies = self._redis.ask(*(("ZSCAN", key, at, "COUNT", count) for key, at in positions.items()))
            read = dict(zip(positions, replies, strict=True))
            for _, flat in read.values():
                yield from flat[::2]
            positions = {key: position for key, (position, _) in read.items() if position != "0"}

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
        while True:
            below = (id for key in index for id in self.members(key) if cursor is None or id < cursor)
            highest = nlargest(KEPT, below)
            yield from in_chunks(dict.fromkeys(highest), chunk)
            if len(highest) < KEPT:
                return
            cursor = highest[-1]

    def _narrowest(self, wanted: JobFilter) -> tuple[Index, float]:
        """The index with the fewest ids, and how many: no end of them where there is no index."""
        indexes = list(self._indexes(wanted))
        if not indexes:
            return (), inf
        counted = iter(self._redis.ask(*(("ZCARD", key) for index in indexes for key in index)))
        sized = [(index, sum(next(counted) for _ in index)) for index in indexes]
        return min(sized, key=itemgetter(1))

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
