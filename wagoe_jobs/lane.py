"""One queue's slots, which share a deque of claims: what holds whether they are threads or tasks.

    slot: take a claim -> run it -> put its settlement with the finished ones -> take the next
    deque empty:  somebody makes one exchange with the store, by `fetch`
    nothing came: somebody looks out for news, the slots park

Who that somebody is, and how slots park and wake, is decided in `thread_lane` and `task_lane`. What nobody in
a lane can see while all slots are inside handlers, the watchdog does for them: `give_up_late`, `top_up`,
`hand_back`.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable

from wagoe_jobs.context import monotonic_us, timed_out
from wagoe_jobs.crossing import Crossing
from wagoe_jobs.lease import LeaseKeeper
from wagoe_jobs.lookout import Lookout
from wagoe_jobs.pace import Pace
from wagoe_jobs.ports import Claim, Settlement
from wagoe_jobs.slot import Crew, LaneStatus, Slot, Timeouts
from wagoe_jobs.worker import Worker

log = logging.getLogger("wagoe_jobs")

UNFLUSHED = 64
SLOW_US = 1_000
"""Jobs that take longer let no more than `UNFLUSHED` results wait for the store."""


class Lane(ABC):
    """The slots of one queue; started and stopped by its pool, ticked by the pool's watchdog."""

    def __init__(
        self,
        worker: Worker,
        crossing: Crossing,
        lookout: Lookout,
        keeper: LeaseKeeper,
        count: int,
        alert: Callable[[], None],
    ) -> None:
        """`alert` makes the watchdog tick, if it rests."""
        self.name = worker.queue
        self.crossing = crossing
        self.crew = Crew(self.name, self._start_slot)
        self._worker = worker
        self._lookout = lookout
        self._keeper = keeper
        self._news = keeper.news
        self._alert = alert
        self._timeouts = Timeouts()
        self._pace = Pace(count)
        self._count = count
        self._stopping = False
        self._closed = False
        self._oldest_us = 0

    @property
    @abstractmethod
    def free(self) -> int:
        """How many slots could start a job now, as seen by whoever fetches for them."""

    @property
    @abstractmethod
    def helpless(self) -> bool:
        """Whether no slot is left that could be woken."""

    @property
    @abstractmethod
    def unheard(self) -> bool:
        """Whether idle slots rely on those that are busy: nobody listens for news."""

    @abstractmethod
    def wake(self, wanted: int) -> None:
        """Wake as many idle slots, last parked first; whoever looks out when that is not enough."""

    @abstractmethod
    def start(self) -> None:
        """Open the waiting place and start the slots. Raises BackendUnavailable."""

    @abstractmethod
    def stop(self) -> None:
        """Start nothing more: idle slots end, busy ones after their job."""

    @abstractmethod
    def close(self) -> None:
        """From now on a handler that still runs can report nothing."""

    @abstractmethod
    def _start_slot(self, name: str) -> Slot:
        """A new slot, which works until it is lost or the lane stops."""

    @property
    def unwatched(self) -> bool:
        """Whether nobody here looks out for due jobs, though the store is there."""
        return not (self._lookout.taken or self.crossing.down)

    def look_now(self) -> None:
        """Jobs have become ready: the lookout need not wait for its next look."""
        if self._lookout.taken:
            self._lookout.interrupt()

    def give_up_late(self, now_us: int) -> None:
        """Settle as `timeout` what outlasts its time-out; each such slot is lost, and another takes its place."""
        for slot in self._timeouts.ended(now_us):
            if (claim := slot.give_up(now_us)) is not None:
                self._replace(slot, claim)

    def next_look_us(self) -> int:
        """When the watchdog must look again although no result waits, by the monotonic microsecond; zero: never."""
        return self._timeouts.next_us

    def overdue_us(self, now_us: int) -> int:
        """How long the oldest finished run has waited for its settlement."""
        return now_us - self._oldest_us if self.crossing.finished else 0

    def clear(self, patience: float) -> bool:
        """Settle what is finished and hand back what has not been started; whether nothing is left.

        Nothing is done if somebody else still talks to the store after `patience` seconds.
        """
        if not self.crossing.io.acquire(timeout=max(0.0, patience)):
            return False
        try:
            if not self.crossing.pause() and self.crossing.settle():
                self.crossing.hand_back()
            return not self.crossing.restless
        finally:
            self.crossing.io.release()

    def top_up(self) -> int:
        """Settle, and claim in the same call what keeps moving slots from running dry; by the holder of `io`."""
        crossing = self.crossing
        room = self._pace.horizon - len(crossing.ready)
        if self._stopping or self._lookout.taken or room <= 0 or crossing.next_is_alone:
            crossing.settle()
            return 0
        return self._exchange(room, ahead=True)

    def fetch(self) -> int:
        """One exchange for a free slot, by the holder of `io`; how many jobs it brought."""
        if self._stopping:
            return 0
        crossing = self.crossing
        if crossing.ready:
            if crossing.down:
                crossing.settle()  # too many results wait: nothing is started until the store takes them
            return 0
        return self._exchange(None)

    def hand_back(self) -> None:
        """Hand back unstarted claims, by the holder of `io`: all slots are busy, and another node may be free."""
        self.crossing.hand_back()
        self._pace.stalled()

    def status(self) -> LaneStatus:
        crossing = self.crossing
        return LaneStatus(
            queue=self.name,
            slots=[slot.status() for slot in self.crew.slots],
            lost=self.crew.lost,
            waiting=len(crossing.ready),
            unsettled=crossing.unsettled,
            settled=crossing.settled,
            store_down=crossing.down,
        )

    def _exchange(self, room: int | None, *, ahead: bool = False) -> int:
        """Settle and claim at most `room`, None for what the free slots can do; how many came."""
        crossing = self.crossing
        self._pace.measure(len(crossing.ready), *self._work_done())
        got = crossing.exchange(self._pace.limit(self.free) if room is None else room, ahead=ahead)
        self._pace.fetched(len(crossing.ready), *self._work_done())
        return got

    @property
    def _brims(self) -> bool:
        """Whether results of slow jobs should be settled soon, since many wait."""
        return len(self.crossing.finished) >= UNFLUSHED // 2 and not self.crossing.down

    @property
    def _overflows(self) -> bool:
        """Whether so many results of slow jobs wait that a slot should rather wait than add to them."""
        return len(self.crossing.finished) + self.crossing.offered >= UNFLUSHED

    def _work_done(self) -> tuple[int, int]:
        """How many runs have ended, and how many microseconds they took in all."""
        return self.crew.work_done()

    def _timed(self, slot: Slot) -> None:
        """A run with a time-out begins in this slot."""
        self._timeouts.began(slot)
        self._alert()

    def _replace(self, slot: Slot, claim: Claim) -> None:
        log.error("job %s outlasts its time-out: %s is lost to it and replaced", claim.id, slot.name)
        failure = timed_out(slot.timeout)
        self.crew.lose(slot)
        self._finish(self._worker.conclude(claim, failure, slot.claimed_us, slot.began_us))
        if not self._stopping:
            self.crew.add()

    def _ended(self, slot: Slot, claim: Claim, settlement: Settlement) -> None:
        """A run is over: put its settlement with the finished ones, if it still counts."""
        if slot.deadline_us and not slot.in_time():
            return None  # the watchdog has settled this run as timed out
        slot.claim = None
        slot.runs += 1
        slot.busy_us += settlement.ran_us
        if self._news and self._keeper.lost(claim):
            return self.crossing.drop(claim)
        return self._finish(settlement)

    def _finish(self, settlement: Settlement) -> None:
        finished = self.crossing.finished
        if not finished:
            self._oldest_us = monotonic_us()
        finished.append(settlement)

    def _stumbled(self, slot: Slot, error: BaseException) -> None:
        """Something was raised between two runs: the slot goes on."""
        log.error("%s stumbles over what a handler left behind, and goes on: %r", slot.name, error)

    def _failed(self, slot: Slot, claim: Claim) -> None:
        """Something was raised beside the handler, by what it left or by us: the slot goes on without this job."""
        log.exception("job %s could neither be run nor settled: it is left to its lease", claim.id)
        slot.in_time()
        slot.claim = None
        self._keeper.release([claim])
