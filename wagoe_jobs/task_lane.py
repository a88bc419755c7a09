"""A lane whose slots are tasks on a loop that all lanes of the pool share.

    slots:          tasks; they await `async def` handlers themselves, and have `def` ones run by hands
    `_serve`:       a thread that does what may block: it fetches for the slots, and looks out for news

No task is made and no thread crossed for a job: a slot takes one claim after the other. When a run has to
wait, the next idle slot is woken, so there are as many at work as have something to wait for.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from time import monotonic

from wagoe_jobs.context import monotonic_us
from wagoe_jobs.core.outcome import result_of
from wagoe_jobs.crossing import Crossing
from wagoe_jobs.hands import Hands
from wagoe_jobs.lane import SLOW_US, Lane
from wagoe_jobs.lease import LeaseKeeper
from wagoe_jobs.lookout import Lookout
from wagoe_jobs.loop_thread import LoopThread
from wagoe_jobs.ports import Claim, Settlement
from wagoe_jobs.task_slot import TaskSlot
from wagoe_jobs.worker import Begun, Worker

log = logging.getLogger("wagoe_jobs")

TURN_US = 1_000
"""How long a slot may go on with jobs that wait for nothing, before it lets the loop turn."""
LATE_US = 20_000
"""A loop that does not answer for so long is blocked: nothing is claimed for it."""
GLANCE_US = 250_000
"""How often a loop at work is asked whether it still turns."""


class TaskLane(Lane):
    """Tasks that share claims, and the thread that fetches for them."""

    def __init__(
        self,
        worker: Worker,
        crossing: Crossing,
        lookout: Lookout,
        keeper: LeaseKeeper,
        count: int,
        alert: Callable[[], None],
        loop: LoopThread,
    ) -> None:
        super().__init__(worker, crossing, lookout, keeper, count, alert)
        self._loop = loop
        self._hands = Hands(f"wagoe-{self.name}", loop)
        self._idle: list[TaskSlot] = []  # changed on the loop only, like the counts
        self._runs = 0
        self._busy_us = 0
        self._glanced_us = 0
        self._bell = Event()
        self._server = Thread(target=self._serve, name=f"wagoe-{self.name}-store", daemon=True)

    @property
    def free(self) -> int:
        return max(1, len(self._idle))

    @property
    def helpless(self) -> bool:
        return not self._idle or self._blocked

    @property
    def unheard(self) -> bool:
        return False  # the server listens as soon as a slot is idle

    def wake(self, wanted: int) -> None:
        self._loop.call(self._wake_idle, wanted)

    def give_up_late(self, now_us: int) -> None:
        super().give_up_late(now_us)
        if self._at_work and now_us - self._glanced_us >= GLANCE_US:
            self._glanced_us = now_us
            self._loop.glance(now_us)

    def next_look_us(self) -> int:
        deadline_us = super().next_look_us()
        if not self._at_work:
            return deadline_us
        return min(deadline_us or self._glanced_us + GLANCE_US, self._glanced_us + GLANCE_US)

    def start(self) -> None:
        self._lookout.open()
        self._server.start()
        for _ in range(self._count):
            self.crew.add()

    def stop(self) -> None:
        self._stopping = True
        self._lookout.stop()
        self._bell.set()
        self.wake(len(self.crew.slots))

    def close(self) -> None:
        """Handlers that still run are cancelled, since nobody will hear of them; this waits for them for a moment."""
        self._closed = True
        self._loop.call(self._dismiss)
        deadline = self._loop.deadline()
        self.crew.join(deadline)
        self._hands.close()
        if self._server.ident is not None:
            self._server.join(max(0.0, deadline - monotonic()))
        self._lookout.close()

    @property
    def _at_work(self) -> bool:
        return len(self._idle) < len(self.crew.slots)

    @property
    def _blocked(self) -> bool:
        """Whether the loop does not turn: no slot can start anything."""
        return self._loop.late_us(monotonic_us()) >= LATE_US

    @property
    def _starved(self) -> bool:
        """Whether idle slots have nothing that they could start."""
        crossing = self.crossing
        return bool(self._idle) and (not crossing.ready or crossing.full)

    def _work_done(self) -> tuple[int, int]:
        return self._runs, self._busy_us

    def _start_slot(self, name: str) -> TaskSlot:
        slot = TaskSlot(name, self._loop, self._hands, self._timed, self._wake_next)
        self._loop.call(slot.begin, self._work)
        return slot

    async def _work(self, slot: TaskSlot) -> None:
        while not (self._stopping or slot.lost):
            try:
                await self._take_jobs(slot)
            except BaseException as exc:
                if slot.dismissed or isinstance(exc, GeneratorExit):
                    raise
                with suppress(ValueError):
                    self._idle.remove(slot)
                self._stumbled(slot, exc)

    async def _take_jobs(self, slot: TaskSlot) -> None:
        crossing = self.crossing
        take = crossing.ready.popleft
        turned_us = monotonic_us()
        while not (self._stopping or slot.lost):
            try:
                if crossing.down and crossing.full:
                    raise IndexError
                claim, claimed_us = take()
            except IndexError:
                await self._park(slot)
                turned_us = monotonic_us()
                continue
            slot.suspended = False
            try:
                await self._run(slot, claim, claimed_us)
            except GeneratorExit as exc:
                # A future that the handler awaited raised it; what python threw it into is closed, and cannot tell.
                if slot.dismissed:
                    raise
                failure = self._worker.raised(claim, exc)
                self._ended(slot, claim, self._worker.conclude(claim, failure, claimed_us, claimed_us))
            except BaseException:
                if slot.dismissed:
                    raise
                self._failed(slot, claim)
            if not slot.suspended and monotonic_us() - turned_us > TURN_US:
                await slot.turn()
                turned_us = monotonic_us()

    async def _run(self, slot: TaskSlot, claim: Claim, claimed_us: int) -> None:
        """Run one job and put its settlement with the finished ones."""
        if self._news and self._keeper.lost(claim):
            return self.crossing.drop(claim)
        slot.claimed_us = claimed_us
        slot.claim = claim
        settlement = self._worker.begin(claim, claimed_us, slot)
        if isinstance(settlement, Begun):
            settlement = await self._awaited(slot, claim, claimed_us, settlement)
        if slot.harmed:
            await slot.turn()
        if self._closed:
            return None  # what is reported now would be heard by nobody
        self._ended(slot, claim, settlement)
        self._runs += 1
        self._busy_us += settlement.ran_us
        if settlement.ran_us > SLOW_US and self._brims and not slot.lost:
            self._ring()
            if self._overflows:
                await self._park(slot)
        return None

    async def _awaited(self, slot: TaskSlot, claim: Claim, claimed_us: int, begun: Begun) -> Settlement:
        try:
            result = result_of(await begun.pending.answer)
        except GeneratorExit:
            raise
        except BaseException as exc:
            if slot.dismissed:
                raise asyncio.CancelledError from exc
            result = self._worker.raised(claim, exc)
        return self._worker.conclude(claim, result, claimed_us, begun.began_us)

    async def _park(self, slot: TaskSlot) -> None:
        """Wait until somebody wakes this slot; on its way there it asks for work, unless that is listened for."""
        if self._stopping:
            return  # all that were parked have been woken, and nobody will come again
        self._idle.append(slot)
        if self.crossing.finished or not self._lookout.taken:
            self._ring()
        if not await slot.park():
            with suppress(ValueError):
                self._idle.remove(slot)

    def _wake_next(self) -> None:
        """A run has to wait: let an idle slot go on with the next job, or have it looked out for."""
        if self._idle:
            if self.crossing.ready:
                self._idle.pop().wake()
            elif not self._lookout.taken:
                self._ring()

    def _wake_idle(self, wanted: int) -> None:
        for _ in range(min(wanted, len(self._idle))):
            self._idle.pop().wake()

    def _dismiss(self) -> None:
        for slot in self.crew.everyone:
            if isinstance(slot, TaskSlot) and slot.alive:
                slot.dismiss()

    def _ring(self) -> None:
        """There may be something for the server to do."""
        if not self._bell.is_set():
            self._bell.set()
            self.look_now()

    def _serve(self) -> None:
        """Fetch for idle slots, settle for busy ones, and look out for news while nothing comes."""
        while not self._stopping:
            try:
                self._serve_once()
            except Exception:
                log.exception("the server of queue %r stumbles and goes on", self.name)
                self._lookout.rest(LATE_US / 1e6)
        if not self._closed:
            self.clear(0)  # whoever holds `io` comes here after us, or the pool does

    def _serve_once(self) -> None:
        self._bell.clear()
        if self._starved or self._brims:
            if not self._fetch_for_slots() and self._starved:
                self._look_out()
        elif not self._stopping:  # asked after the bell was cleared: a stop rings it
            self._bell.wait()

    def _fetch_for_slots(self) -> bool:
        """One exchange, once the loop turns and the store may be tried; whether slots have something to start."""
        crossing = self.crossing
        while self._blocked and not self._stopping:
            self._lookout.rest(LATE_US / 1e6)
        self._lookout.rest(crossing.pause())
        with crossing.io:
            if self._starved:
                self.fetch()
            else:
                self.top_up()
        if not crossing.ready or crossing.full:
            return False
        self._alert()
        self.wake(1)  # which wakes the next when it has to wait
        return True

    def _look_out(self) -> None:
        """Wait for work until some comes, or the bell rings."""
        lookout = self._lookout
        with lookout.role:
            lookout.begin()
            while not (self._stopping or self._bell.is_set()):
                if not self.crossing.down:
                    lookout.wait()
                if self._stopping or self._fetch_for_slots():
                    return
