"""One queue's slots: threads that share a deque of claims, and fetch for one another.

    slot: take a claim -> run it -> put its settlement with the finished ones -> take the next
    deque empty, `io` free:   this slot is the leader: one exchange with the store, then on with running
    nothing came:             one slot looks out for news, the others park, last in first out

There is no dispatcher: a quick job costs no hand-over between threads. What the slots cannot see while they
are all inside handlers, the watchdog does for them: `tick`.
"""

import logging
from collections.abc import Callable

from wagoe_jobs.context import monotonic_us, timed_out
from wagoe_jobs.crossing import Crossing
from wagoe_jobs.lease import LeaseKeeper
from wagoe_jobs.lookout import Lookout
from wagoe_jobs.pace import Pace
from wagoe_jobs.ports import Claim, Settlement
from wagoe_jobs.slot import Crew, LaneStatus, Slot
from wagoe_jobs.worker import Worker

log = logging.getLogger("wagoe_jobs")

UNFLUSHED = 64
SLOW_US = 1_000
"""Jobs that take longer let no more than `UNFLUSHED` results wait for the store."""


class Lane:
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
        self._worker = worker
        self.crossing = crossing
        self._lookout = lookout
        self._keeper = keeper
        self._news = keeper.news
        self._alert = alert
        self._pace = Pace(count)
        self._count = count
        self.crew = Crew(self.name, self._work, alert)
        self._idle: list[Slot] = []
        self._stopping = False
        self._closed = False
        self._oldest_us = 0

    @property
    def free(self) -> int:
        """How many slots could start a job now, as seen by one that can."""
        return 1 + len(self._idle)

    @property
    def helpless(self) -> bool:
        """Whether no slot is left that could be woken."""
        return not self._idle and not self._lookout.taken

    @property
    def unheard(self) -> bool:
        """Whether idle slots rely on those that are busy: nobody listens for news."""
        return bool(self._idle) and not self._lookout.taken

    @property
    def unwatched(self) -> bool:
        """Whether nobody here looks out for due jobs, though the store is there."""
        return not (self._lookout.taken or self.crossing.down)

    def wake(self, wanted: int) -> None:
        """Wake as many idle slots, last parked first; the lookout when that is not enough."""
        for _ in range(wanted):
            try:
                slot = self._idle.pop()
            except IndexError:
                if self._lookout.taken:
                    self._lookout.interrupt()
                return
            slot.wake()

    def look_now(self) -> None:
        """Jobs have become ready: the lookout need not wait for its next look."""
        if self._lookout.taken:
            self._lookout.interrupt()

    def give_up_late(self, now_us: int) -> None:
        """Settle as `timeout` what outlasts its time-out; each such slot is lost, and another takes its place."""
        for slot in self.crew.slots:
            if slot.deadline_us and (claim := slot.give_up(now_us)) is not None:
                self._replace(slot, claim)

    def overdue_us(self, now_us: int) -> int:
        """How long the oldest finished run has waited for its settlement."""
        return now_us - self._oldest_us if self.crossing.finished else 0

    def start(self) -> None:
        """Open the waiting place and start the slots. Raises BackendUnavailable."""
        self._lookout.open()
        for _ in range(self._count):
            self.crew.add()

    def stop(self) -> None:
        """Start nothing more: idle slots end, busy ones after their job."""
        self._stopping = True
        self._lookout.stop()
        self.wake(len(self.crew.slots))

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
        self._pace.measure(len(crossing.ready), *self.crew.work_done())
        got = crossing.exchange(room, ahead=True)
        self._pace.fetched(len(crossing.ready), *self.crew.work_done())
        return got

    def hand_back(self) -> None:
        """Hand back unstarted claims, by the holder of `io`: all slots are busy, and another node may be free."""
        self.crossing.hand_back()
        self._pace.stalled()

    def close(self) -> None:
        """From now on a handler that still runs can report nothing."""
        self._closed = True
        self._lookout.close()

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

    def _replace(self, slot: Slot, claim: Claim) -> None:
        log.error("job %s outlasts its time-out: %s is lost to it and replaced", claim.id, slot.name)
        failure = timed_out(slot.timeout)
        self.crew.lose(slot)
        self._finish(self._worker.conclude(claim, failure, slot.claimed_us, slot.began_us))
        if not self._stopping:
            self.crew.add()

    def _work(self, slot: Slot) -> None:
        crossing = self.crossing
        take = crossing.ready.popleft
        while not (self._stopping or slot.lost):
            if crossing.down and crossing.full:
                self._refill(slot)
                continue
            try:
                claim, claimed_us = take()
            except IndexError:
                self._refill(slot)
                continue
            try:
                self._run(slot, claim, claimed_us)
            except Exception:
                log.exception("job %s could neither be run nor settled: it is left to its lease", claim.id)
                slot.in_time()
                slot.claim = None
                self._keeper.release([claim])
        self._leave(slot)

    def _run(self, slot: Slot, claim: Claim, claimed_us: int) -> None:
        """Run one job and put its settlement with the finished ones."""
        if self._news and self._keeper.lost(claim):
            return self.crossing.drop(claim)
        slot.claimed_us = claimed_us
        slot.claim = claim
        settlement = self._worker.run_claim(claim, claimed_us, slot)
        if slot.deadline_us and not slot.in_time():
            return None  # the watchdog has settled this run as timed out
        slot.claim = None
        ran_us = settlement.ran_us
        slot.runs += 1
        slot.busy_us += ran_us
        if self._news and self._keeper.lost(claim):
            return self.crossing.drop(claim)
        self._finish(settlement)
        if ran_us > SLOW_US:
            self._flush()
        return None

    def _finish(self, settlement: Settlement) -> None:
        finished = self.crossing.finished
        if not finished:
            self._oldest_us = monotonic_us()
        finished.append(settlement)

    def _flush(self) -> None:
        """Have results of slow jobs settled before too many wait; when they do, this slot waits for its turn."""
        crossing = self.crossing
        waiting = len(crossing.finished)
        if waiting < UNFLUSHED // 2 or crossing.down:
            return
        if not crossing.io.acquire(blocking=waiting + crossing.offered >= UNFLUSHED):
            return
        try:
            got = self.top_up() if len(crossing.finished) >= UNFLUSHED // 2 else 0
        finally:
            crossing.io.release()
        if got:
            self._share(got)

    def _refill(self, slot: Slot) -> None:
        """Fetch as the leader, look out for news, or park until there is something to do."""
        crossing, lookout = self.crossing, self._lookout
        dry = lookout.taken and not crossing.finished  # it looked, and hears of whatever comes
        if not dry and not crossing.down and crossing.io.acquire(blocking=False):
            try:
                got = self._fetch()
            finally:
                crossing.io.release()
            if got or ((crossing.finished or crossing.ready) and not crossing.down):
                return self._share(got)
        if lookout.role.acquire(blocking=False):
            try:
                got = self._look_out()
            finally:
                lookout.role.release()
            return self._share(got)
        return self._park(slot)

    def _fetch(self) -> int:
        """One exchange for a free slot, by the holder of `io`; how many jobs it brought."""
        if self._stopping:
            return 0
        crossing = self.crossing
        if crossing.ready:
            if crossing.down:
                crossing.settle()  # too many results wait: nothing is started until the store takes them
            return 0
        self._pace.measure(len(crossing.ready), *self.crew.work_done())
        got = crossing.exchange(self._pace.limit(self.free))
        self._pace.fetched(len(crossing.ready), *self.crew.work_done())
        return got

    def _look_out(self) -> int:
        """Wait for work as the lane's only lookout; how many jobs that brought, zero when others need help."""
        crossing, lookout = self.crossing, self._lookout
        lookout.begin()
        while not self._stopping:  # asked before each wait: one interruption ends one wait
            if crossing.down:
                lookout.rest(crossing.pause())
            else:
                lookout.wait()
            if self._stopping or (crossing.ready and not crossing.full):
                return 0
            with crossing.io:
                got = self._fetch()
            if got or (crossing.ready and not crossing.full):
                return got
        return 0

    def _share(self, got: int) -> None:
        """Let others help with what came, unless one slot is quick enough; the watchdog sees if it is not."""
        self._alert()
        if not self._pace.quick:
            self.wake(got - 1)

    def _park(self, slot: Slot) -> None:
        self._idle.append(slot)
        self._alert()  # it looks after us until there is a lookout
        if self._stopping:
            self.wake(1)  # the sweep of `stop` may have been before we were listed; each that comes wakes one
        slot.park()

    def _leave(self, slot: Slot) -> None:
        try:
            slot.close()
        except BaseException as exc:  # noqa: BLE001 - closing a loop runs what handlers left in it
            log.warning("closing the event loop of %s: %r", slot.name, exc)
        if not (slot.lost or self._closed):
            self.clear(0)  # whoever holds `io` comes here after us, or the pool does
