"""What runs one job at a time for a lane: its seat, the job, whether it is lost; and the crew of them.

How a slot lives, as a thread or as a task, is its lane's business: `thread_lane` and `task_lane`.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from threading import Lock
from time import monotonic

from wagoe_jobs.context import Seat
from wagoe_jobs.ports import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotStatus:
    """One slot: the job that it runs, None while it is idle."""

    name: str
    job_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneStatus:
    """One queue's slots. `lost` is how many more are stuck in handlers that outlasted their time-out.

    `waiting` claims have not been started; `unsettled` results have not been taken by the store yet.
    """

    queue: str
    slots: Sequence[SlotStatus]
    lost: int
    waiting: int
    unsettled: int
    settled: int
    store_down: bool


class Slot(Seat, ABC):
    """Written by the thread that runs it, but for `lost`, which the watchdog sets; anyone may read.

    `guard` decides between the end of a run and its time-out. `runs` and `busy_us` only ever grow.
    """

    __slots__ = ("_guard", "_tell", "busy_us", "claim", "claimed_us", "lost", "name", "runs")

    def __init__(self, name: str, timed: "Callable[[Slot], None]") -> None:
        """`timed` is called with this slot when a run with a time-out begins."""
        super().__init__()
        self.name = name
        self.claim: Claim | None = None
        self.claimed_us = 0
        self.runs = 0
        self.busy_us = 0
        self.lost = False
        self._tell = timed
        self._guard = Lock()

    def timed(self, timeout: timedelta, began_us: int, *, is_async: bool) -> None:
        super().timed(timeout, began_us, is_async=is_async)
        self._tell(self)

    def in_time(self) -> bool:
        """Whether the run with a time-out that just ended still counts."""
        with self._guard:
            self.deadline_us = 0
            return not self.lost

    def give_up(self, now_us: int) -> Claim | None:
        """Declare the slot lost if its run is too late by now: the claim, which is then the caller's to settle."""
        with self._guard:
            if not 0 < self.deadline_us <= now_us or self.lost:
                return None
            self.lost = True
            return self.claim

    @property
    @abstractmethod
    def alive(self) -> bool:
        """Whether it has not ended yet."""

    @abstractmethod
    def join(self, timeout: float) -> None:
        """Wait for its end, for so many seconds at most."""

    def status(self) -> SlotStatus:
        claim = self.claim
        return SlotStatus(name=self.name, job_id=claim.id if claim else None)


class Timeouts:
    """Which slots run something with a time-out.

    A slot tells of itself by `began`. All else is the watchdog's, which has nothing to go through before `next_us`.
    """

    def __init__(self) -> None:
        self.next_us = 0
        """Monotonic microsecond at which the next time-out may end, zero without one; its run may be over by then."""
        self._begun: deque[Slot] = deque()
        self._slots: set[Slot] = set()

    def began(self, slot: Slot) -> None:
        self._begun.append(slot)

    def ended(self, now_us: int) -> Sequence[Slot]:
        """Those whose time-out is over by now, unless their run was first."""
        while self._begun:
            slot = self._begun.popleft()
            self._slots.add(slot)
            self._note(slot.deadline_us)
        return self._looked_through(now_us) if 0 < self.next_us <= now_us else ()

    def _looked_through(self, now_us: int) -> Sequence[Slot]:
        self._slots = {slot for slot in self._slots if slot.deadline_us}  # one that begins now comes in again
        self.next_us = 0
        late = []
        for slot in self._slots:
            deadline_us = slot.deadline_us
            if 0 < deadline_us <= now_us:
                late.append(slot)
            else:
                self._note(deadline_us)
        return late

    def _note(self, deadline_us: int) -> None:
        if deadline_us:
            self.next_us = min(self.next_us, deadline_us) if self.next_us else deadline_us


class Crew:
    """The slots of one lane. `slots` is replaced, never changed, so that anyone may go through it."""

    def __init__(self, name: str, start: Callable[[str], Slot]) -> None:
        """`start` makes a slot of this name that works from then on."""
        self.slots: Sequence[Slot] = ()
        self._name = name
        self._start = start
        self._made = 0
        self._lost: Sequence[Slot] = ()

    @property
    def lost(self) -> int:
        """How many are stuck in handlers that outlasted their time-out."""
        return sum(slot.alive for slot in self._lost)

    def add(self) -> None:
        """Start one more."""
        self._made += 1
        self.slots = (*self.slots, self._start(f"wagoe-{self._name}-{self._made}"))

    def lose(self, slot: Slot) -> None:
        """Do without this one from now on; it is remembered for as long as its handler holds it."""
        self._lost = (*(other for other in self._lost if other.alive), slot)
        self.slots = tuple(other for other in self.slots if other is not slot)

    def work_done(self) -> tuple[int, int]:
        """How many runs have ended, and how many microseconds they took in all."""
        slots = self.slots
        return sum([slot.runs for slot in slots]), sum([slot.busy_us for slot in slots])

    def running(self) -> Sequence[Claim]:
        """The claims whose handlers are running and still count."""
        return [claim for slot in self.slots if (claim := slot.claim) is not None]

    @property
    def everyone(self) -> Sequence[Slot]:
        """The lost ones too."""
        return (*self.slots, *self._lost)

    def join(self, deadline: float) -> bool:
        """Wait for each slot, the lost ones too, until this monotonic second; whether all have ended."""
        slots = self.everyone
        for slot in slots:
            slot.join(max(0.0, deadline - monotonic()))
        return not any(slot.alive for slot in slots)
