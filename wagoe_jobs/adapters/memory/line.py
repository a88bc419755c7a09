"""Rows in an order that may change: a heap in which a row that left is dropped when it comes up, not before.

A row stands in one line at a time, or in none once it has ended: its ticket says in which, so that "every job
is in exactly one place" holds by construction.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Optional

from wagoe_jobs.core.job import Status
from wagoe_jobs.core.stored import Stored

_SLACK = 64


@dataclass(slots=True, eq=False, kw_only=True)
class Row:
    """One job as it is kept, the only mutable thing in here; written under the state's lock alone.

    `budget` is how many repeats its follow-ups have left. `token` and what is below it are those of the
    present claim; `settled` is the token that ended the last one.
    """

    id: str
    type: str
    queue: str
    tenant: str | None
    rank: int
    budget: int
    payload: str
    created_us: int
    updated_us: int
    status: Status = Status.PENDING
    seq: int = 0
    due_us: int | None = None
    started_us: int | None = None
    completed_us: int | None = None
    ended: int = 0
    ran_us: int = 0
    abandoned: int = 0
    result: str | None = None
    error: str | None = None
    settled: str | None = None
    token: str | None = None
    worker: str | None = None
    lease_until_us: int = 0
    interrupted: bool = False
    cancel_requested: bool = False
    ticket: Optional["Ticket"] = None

    @property
    def waits(self) -> bool:
        return self.ticket is not None and self.token is None

    def stored(self) -> Stored:
        """A copy that may be read without the lock."""
        return Stored(
            id=self.id,
            type=self.type,
            queue=self.queue,
            status=self.status,
            rank=self.rank,
            payload=self.payload,
            created_us=self.created_us,
            updated_us=self.updated_us,
            due_us=self.due_us,
            started_us=self.started_us,
            completed_us=self.completed_us,
            abandoned=self.abandoned,
            result=self.result,
            error=self.error,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """A row's place: where it stands, and in which line."""

    row: Row
    line: "Line"


class Line:
    """A heap of rows by (first, second); all but `rows` take O(log n), or O(1) on average."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, Ticket]] = []
        self._numbers = count()
        self._live = 0

    def __len__(self) -> int:
        return self._live

    def add(self, row: Row, first: int, second: int) -> None:
        """Let the row stand here and nowhere else."""
        leave(row)
        row.ticket = ticket = Ticket(row, self)
        heappush(self._heap, (first, second, next(self._numbers), ticket))
        self._live += 1

    def first(self) -> Row | None:
        heap = self._heap
        while heap:
            ticket = heap[0][3]
            if ticket.row.ticket is ticket:
                return ticket.row
            heappop(heap)
        return None

    def rows(self) -> Iterator[Row]:
        """All of them, in order."""
        return (ticket.row for *_, ticket in sorted(self._heap) if ticket.row.ticket is ticket)

    def left(self) -> None:
        """Count one row out. Tickets of rows that left are swept once they are the larger part."""
        self._live -= 1
        if len(self._heap) > 2 * self._live + _SLACK:
            self._heap = [entry for entry in self._heap if entry[3].row.ticket is entry[3]]
            heapify(self._heap)


def leave(row: Row) -> None:
    """Take the row out of the line that it stands in, if any."""
    ticket, row.ticket = row.ticket, None
    if ticket is not None:
        ticket.line.left()
