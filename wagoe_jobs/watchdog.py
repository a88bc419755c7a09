"""The thread that sees what slots cannot while they are inside handlers; one for all lanes of a pool.

It ticks only while there is something to see. Every tick: time-outs, claims that do not move (more slots are
woken, or the claims handed back), finished work that waits too long for its settlement.
"""

import logging
from collections.abc import Sequence
from threading import Event, Thread
from time import monotonic
from types import TracebackType
from typing import Self

from wagoe_jobs.context import monotonic_us
from wagoe_jobs.lane import Lane
from wagoe_jobs.outage import part_from

log = logging.getLogger("wagoe_jobs")

TICK = 0.005
SOON = 0.001
DOWN_TICK = 0.05
FLUSH_AGE_US = 10_000
STUCK_US = 20_000
AGED_US = 30_000
"""Claims that are here for so long without being started are too many for the slots that do move."""


class Watch:
    """What the watchdog remembers of one lane from tick to tick."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._head: object = None
        self._since_us = 0
        self._wakes = 1
        self._runs = -1

    def tick(self, now_us: int) -> float | None:
        """Look after the lane; seconds until the next tick, None when only an alert can make one needed."""
        lane, crossing = self._lane, self._lane.crossing
        lane.give_up_late(now_us)
        if crossing.ready:
            self._move_on(now_us)
        elif lane.unheard:
            self._keep_listening()
        if lane.overdue_us(now_us) >= FLUSH_AGE_US or crossing.has_rest:
            self._settle(now_us)
        return self._rest()

    def _rest(self) -> float | None:
        lane, crossing = self._lane, self._lane.crossing
        now_us = monotonic_us()
        if crossing.restless or lane.unheard:
            aged = (FLUSH_AGE_US - lane.overdue_us(now_us)) / 1e6 if crossing.finished else TICK
            return DOWN_TICK if crossing.down else min(TICK, max(SOON, aged))
        look_us = lane.next_look_us()
        return max(0.0, (look_us - now_us) / 1e6) if look_us else None

    def _move_on(self, now_us: int) -> None:
        """Get the first of the unstarted claims started: by twice as many slots each time, or by someone else."""
        lane, crossing = self._lane, self._lane.crossing
        try:
            head = crossing.ready[0]
        except IndexError:
            return
        helpless = lane.helpless
        if head is not self._head:
            self._head, self._since_us, self._wakes = head, now_us, 1
        elif not (helpless or crossing.full):
            lane.wake(self._wakes)
            self._wakes *= 2
        if helpless and not crossing.full and self._stays(head[1], now_us) and crossing.io.acquire(blocking=False):
            try:
                lane.hand_back()
            finally:
                crossing.io.release()

    def _stays(self, claimed_us: int, now_us: int) -> bool:
        """Whether the first of the unstarted claims does not move, or has been here for too long although it does."""
        crossing = self._lane.crossing
        here_us = now_us - claimed_us - crossing.took_us
        # in an outage what does move is started here: it could not go back, and would be nobody's until the end of it
        return now_us - self._since_us >= STUCK_US or (here_us >= AGED_US and not crossing.down)

    def _keep_listening(self) -> None:
        """See to it that an idle slot listens for news when those that fetch are inside long jobs."""
        runs, self._runs = self._runs, self._lane.crew.work_done()[0]
        if runs == self._runs and not self._lane.crossing.io.locked():
            self._lane.wake(1)

    def _settle(self, now_us: int) -> None:
        """Settle what has waited too long; where claims do move, with an exchange, so that slots find more."""
        lane, crossing = self._lane, self._lane.crossing
        if not crossing.pause() and crossing.io.acquire(blocking=False):
            try:
                if crossing.ready and self._since_us == now_us:
                    lane.top_up()
                else:
                    crossing.settle()
                crossing.hand_back_rest()
            finally:
                crossing.io.release()


class Watchdog:
    """The thread; a context manager that joins it."""

    def __init__(self, name: str) -> None:
        self._watches: Sequence[Watch] = ()
        self._bell = Event()
        self._resting = False
        self._closing = False
        self._told = 0.0
        self._thread = Thread(target=self._run, name=f"{name}-watchdog", daemon=True)

    def watch(self, lanes: Sequence[Lane]) -> None:
        """Look after these from now on."""
        self._watches = [Watch(lane) for lane in lanes]
        self.alert()

    def alert(self) -> None:
        """There may be something to see; cheap while it ticks anyway."""
        if self._resting:
            self._bell.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        part_from(self._thread, self._told)

    def stop(self) -> None:
        """Tick no more."""
        self._told = self._told or monotonic()
        self._closing = True
        self._bell.set()

    def _run(self) -> None:
        while not self._closing:
            wait = self._tick()
            if wait is None or wait > TICK:
                self._resting = True
                wait = self._tick()  # what came before the flag was up rang no bell
            self._bell.wait(wait)
            self._bell.clear()
            self._resting = False

    def _tick(self) -> float | None:
        try:
            waits = [watch.tick(monotonic_us()) for watch in self._watches]
            return min([wait for wait in waits if wait is not None], default=None)
        except Exception:
            log.exception("the watchdog stumbles and goes on")
            return DOWN_TICK
