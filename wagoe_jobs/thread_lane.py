"""A lane whose slots are threads, which fetch for one another.

    deque empty, `io` free:   this slot is the leader: one exchange with the store, then on with running
    nothing came:             one slot looks out for news, the others park, last in first out

There is no dispatcher: a quick job costs no hand-over between threads.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread

from wagoe_jobs.crossing import Crossing
from wagoe_jobs.lane import SLOW_US, Lane
from wagoe_jobs.lease import LeaseKeeper
from wagoe_jobs.lookout import Lookout
from wagoe_jobs.ports import Claim
from wagoe_jobs.slot import Slot
from wagoe_jobs.worker import Worker

log = logging.getLogger("wagoe_jobs")


class ThreadSlot(Slot):
    """One thread, and the latch that it parks on."""

    __slots__ = ("_latch", "_thread")

    def __init__(self, name: str, work: "Callable[[ThreadSlot], None]", timed: Callable[[Slot], None]) -> None:
        super().__init__(name, timed)
        self._latch = Lock()
        self._latch.acquire()
        self._thread = Thread(target=work, args=(self,), name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def join(self, timeout: float) -> None:
        self._thread.join(timeout)

    def park(self) -> None:
        """Sleep until `wake`; each `wake` ends one `park`, whichever comes first."""
        self._latch.acquire()

    def wake(self) -> None:
        with suppress(RuntimeError):  # it is awake: something ended its sleep while it was still listed as idle
            self._latch.release()


class ThreadLane(Lane):
    """Threads that share claims, and fetch for one another."""

    def __init__(
        self,
        worker: Worker,
        crossing: Crossing,
        lookout: Lookout,
        keeper: LeaseKeeper,
        count: int,
        alert: Callable[[], None],
    ) -> None:
        super().__init__(worker, crossing, lookout, keeper, count, alert)
        self._idle: list[ThreadSlot] = []

    @property
    def free(self) -> int:
        return 1 + len(self._idle)  # the one that asks is free as well

    @property
    def helpless(self) -> bool:
        return not self._idle and not self._lookout.taken

    @property
    def unheard(self) -> bool:
        return bool(self._idle) and not self._lookout.taken

    def wake(self, wanted: int) -> None:
        for _ in range(wanted):
            try:
                slot = self._idle.pop()
            except IndexError:
                if self._lookout.taken:
                    self._lookout.interrupt()
                return
            slot.wake()

    def start(self) -> None:
        self._lookout.open()
        for _ in range(self._count):
            self.crew.add()

    def stop(self) -> None:
        self._stopping = True
        self._lookout.stop()
        self.wake(len(self.crew.slots))

    def close(self) -> None:
        self._closed = True
        self._lookout.close()

    def _start_slot(self, name: str) -> ThreadSlot:
        slot = ThreadSlot(name, self._work, self._timed)
        slot.start()
        return slot

    def _work(self, slot: ThreadSlot) -> None:
        while not (self._stopping or slot.lost):
            try:
                self._take_jobs(slot)
            except BaseException as exc:  # noqa: BLE001 - the slot outlives whatever a handler left in its thread
                with suppress(ValueError):
                    self._idle.remove(slot)
                self._stumbled(slot, exc)
        self._leave(slot)

    def _take_jobs(self, slot: ThreadSlot) -> None:
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
            except BaseException:  # noqa: BLE001 - told in there
                self._failed(slot, claim)

    def _run(self, slot: ThreadSlot, claim: Claim, claimed_us: int) -> None:
        """Run one job and put its settlement with the finished ones."""
        if self._news and self._keeper.lost(claim):
            return self.crossing.drop(claim)
        slot.claimed_us = claimed_us
        slot.claim = claim
        settlement = self._worker.run_claim(claim, claimed_us, slot)
        self._ended(slot, claim, settlement)
        if settlement.ran_us > SLOW_US and not slot.lost:
            self._flush()
        return None

    def _flush(self) -> None:
        """Have results of slow jobs settled before too many wait; when they do, this slot waits for its turn."""
        if not self._brims or not self.crossing.io.acquire(blocking=self._overflows):
            return
        try:
            got = self.top_up() if self._brims else 0
        finally:
            self.crossing.io.release()
        if got:
            self._share(got)

    def _refill(self, slot: ThreadSlot) -> None:
        """Fetch as the leader, look out for news, or park until there is something to do."""
        crossing, lookout = self.crossing, self._lookout
        dry = lookout.taken and not crossing.finished  # it looked, and hears of whatever comes
        if not dry and not crossing.down and crossing.io.acquire(blocking=False):
            try:
                got = self.fetch()
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
                got = self.fetch()
            if got or (crossing.ready and not crossing.full):
                return got
        return 0

    def _share(self, got: int) -> None:
        """Let others help with what came, unless one slot is quick enough; the watchdog sees if it is not."""
        self._alert()
        if not self._pace.quick:
            self.wake(got - 1)

    def _park(self, slot: ThreadSlot) -> None:
        self._idle.append(slot)
        self._alert()  # it looks after us until there is a lookout
        if self._stopping:
            self.wake(1)  # the sweep of `stop` may have been before we were listed; each that comes wakes one
        slot.park()

    def _leave(self, slot: ThreadSlot) -> None:
        try:
            slot.close()
        except BaseException as exc:  # noqa: BLE001 - closing a loop runs what handlers left in it
            log.warning("closing the event loop of %s: %r", slot.name, exc)
        if not (slot.lost or self._closed):
            self.clear(0)  # whoever holds `io` comes here after us, or the pool does
