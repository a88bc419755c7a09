"""Worker pools: so many slots for each queue, and the threads that look after them.

    WorkerPool -- Lane (one a queue) -- Slot (threads, or tasks on one LoopThread) -- Worker
       |            '- Crossing (settle and claim, one call), Lookout (idle waiting)
       |- LeaseKeeper (renews), Watchdog (sees what busy slots cannot), Housekeeper (promotes, reclaims)
       '- Heartbeat (tells that it is there)

A pool outlives whatever its store does; it cannot interrupt a handler that does not return.
"""

import logging
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from threading import RLock
from time import monotonic
from types import TracebackType
from typing import Self

from wagoe_jobs.core.job import checked_name
from wagoe_jobs.core.outcome import Patience
from wagoe_jobs.core.retry import Backoff
from wagoe_jobs.crossing import Crossing
from wagoe_jobs.ending import Ending, in_thread
from wagoe_jobs.errors import InvalidJob, WiringError
from wagoe_jobs.heartbeat import Heartbeat
from wagoe_jobs.housekeeping import Housekeeper
from wagoe_jobs.identity import worker_name
from wagoe_jobs.lane import Lane
from wagoe_jobs.lease import LeaseKeeper
from wagoe_jobs.lookout import Lookout
from wagoe_jobs.loop_thread import LoopThread
from wagoe_jobs.ports import LeasedJobQueue, Runtime, WorkerPresence, checked_runtime
from wagoe_jobs.registry import Registry
from wagoe_jobs.slot import LaneStatus
from wagoe_jobs.task_lane import TaskLane
from wagoe_jobs.thread_lane import ThreadLane
from wagoe_jobs.watchdog import Watchdog
from wagoe_jobs.worker import Worker

log = logging.getLogger("wagoe_jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStatus:
    """A pool at one moment; `lost` threads are stuck in handlers that outlasted their time-out."""

    running: bool
    count: int
    lanes: Sequence[LaneStatus]

    @property
    def lost(self) -> int:
        return sum(lane.lost for lane in self.lanes)

    @property
    def busy(self) -> int:
        return sum(slot.job_id is not None for lane in self.lanes for slot in lane.slots)


class WorkerPool:
    """Runs the jobs of some queues, `count` of each at a time; a context manager around `start` and `stop`.

    With a count of 0 it does nothing at all. One pool is one run: it is not started again after its stop.
    """

    def __init__(
        self,
        runtime: Runtime,
        registry: Registry,
        queues: Sequence[str] = ("default",),
        count: int = 1,
        *,
        backoff: Backoff = Backoff(),
        patience: Patience = Patience(),
        poll_interval: timedelta = timedelta(milliseconds=100),
        max_poll_interval: timedelta = timedelta(seconds=2),
        scheduled_interval: timedelta = timedelta(seconds=5),
        reclaim_interval: timedelta = timedelta(seconds=15),
        shutdown_timeout: timedelta = timedelta(seconds=30),
        virtual_threads: bool = False,
    ) -> None:
        """With `virtual_threads`, slots are asyncio tasks on one event loop; `def` handlers run in threads beside it.

        Raises WiringError for no Runtime, a queue without leases, a count that is none, a name twice or no name.
        """
        self.name = worker_name()
        self.queues = _checked_queues(queues)
        self.count = _checked_count(count)
        self._runtime = checked_runtime(runtime, "WorkerPool(runtime, registry)")
        self._queue = _leased(runtime.queue)
        self._registry = registry
        self._backoff = backoff
        self._patience = patience
        self._poll = (poll_interval.total_seconds(), max(poll_interval, max_poll_interval).total_seconds())
        self._scheduled_interval = scheduled_interval
        self._reclaim_interval = reclaim_interval
        self._shutdown_timeout = shutdown_timeout
        self._loop = LoopThread(f"wagoe-{self.queues[0]}") if virtual_threads else None
        self._changing = RLock()  # a signal may call `stop` where it interrupts `start`, or another `stop`
        self._started = False
        self._closing: Future[bool] | None = None
        self._lanes: Sequence[Lane] = ()
        self._helpers = ExitStack()
        self._housekeeper: Housekeeper | None = None
        self._told_last: list[LeaseKeeper | Watchdog | Heartbeat] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start all slots, or none. Raises BackendUnavailable; WiringError when it was started before."""
        with self._changing:
            if self._started:
                raise WiringError("this worker pool was started before: make another")
            self._started = True
            if self.count:
                self._warn_if_idle()
                self._open()
                if self._closing is not None:  # a signal stopped us meanwhile
                    self._close(timedelta(0))

    def stop(self, timeout: timedelta | None = None) -> bool:
        """Claim no more, let handlers end within `timeout`, settle them; whether all of it was done in time.

        Unstarted claims go back to their places. What still runs after that keeps its claim until the lease
        ends, is marked so that this is not charged to it, and can report nothing any more. A pool that was
        not started stops at once; whoever stops one that is stopping, or has, gets the same answer.
        """
        closing = self._begin_stop(timeout)
        return closing is None or closing.result()

    def begin_stop(self, timeout: timedelta | None = None) -> None:
        """Begin with all that `stop` does, which then only waits for it: so several pools end together."""
        self._begin_stop(timeout)

    def _begin_stop(self, timeout: timedelta | None) -> "Future[bool] | None":
        with self._changing:
            if self._closing is None and self._started:
                given = self._shutdown_timeout if timeout is None else timeout
                # not in the caller's: it may be the thread of a handler, or of the loop that is to be closed
                self._closing = in_thread(partial(self._close, given), f"wagoe-{self.queues[0]}-closing")
            return self._closing

    def status(self) -> PoolStatus:
        lanes = [lane.status() for lane in self._lanes]
        return PoolStatus(running=self._started and self._closing is None, count=self.count, lanes=lanes)

    def work_one(self) -> bool:
        """Run one job in this thread, from the first queue that has one; False when none was ready."""
        return any(self._work_one(name) for name in self.queues)

    def _work_one(self, name: str) -> bool:
        with Worker(self._runtime, self._registry, name, backoff=self._backoff, patience=self._patience) as worker:
            return worker.work_one()

    def _open(self) -> None:
        """What is opened first is closed last: leases are renewed until the last slot has ended."""
        name = f"wagoe-{self.queues[0]}"
        with ExitStack() as opened:
            keeper = opened.enter_context(LeaseKeeper(self._queue, name))
            watchdog = opened.enter_context(Watchdog(name))
            if self._loop is not None:
                self._loop.start()
                opened.callback(self._loop.close)
            lanes = [self._lane(queue, keeper, watchdog) for queue in self.queues]
            for lane in lanes:
                opened.callback(lane.close)
                opened.callback(lane.stop)
                lane.start()
            watchdog.watch(lanes)
            self._housekeeper = opened.enter_context(self._make_housekeeper(name))
            self._lanes = lanes
            self._told_last = [keeper, watchdog]
            if self._runtime.presence is not None:
                self._told_last += [opened.enter_context(self._make_heartbeat(self._runtime.presence))]
            self._helpers = opened.pop_all()

    def _lane(self, name: str, keeper: LeaseKeeper, watchdog: Watchdog) -> Lane:
        worker = Worker(
            self._runtime,
            self._registry,
            name,
            backoff=self._backoff,
            patience=self._patience,
            keeper=keeper,
            name=self.name,
        )
        crossing = Crossing(self._queue, name, worker.name, keeper, self.count)
        lookout = Lookout(self._queue, name, *self._poll)
        parts = (worker, crossing, lookout, keeper, self.count, watchdog.alert)
        return ThreadLane(*parts) if self._loop is None else TaskLane(*parts, self._loop)

    def _make_housekeeper(self, name: str) -> Housekeeper:
        return Housekeeper(
            self._queue,
            self.queues,
            name=name,
            promote_every=self._scheduled_interval,
            reclaim_every=self._reclaim_interval,
            on_ready=self._look_now,
            unwatched=lambda: any(lane.unwatched for lane in self._lanes),
        )

    def _make_heartbeat(self, presence: WorkerPresence) -> Heartbeat:
        return Heartbeat(
            presence,
            self.name,
            queues=self.queues,
            slots=self.count * len(self.queues),
            job_types=self._registry.job_types,
            running=lambda: [claim for lane in self._lanes for claim in lane.crew.running()],
            polled_us=lambda: max([lane.crossing.polled_us for lane in self._lanes], default=0),
            down=lambda: self._down,
        )

    def _look_now(self) -> None:
        for lane in self._lanes:
            lane.look_now()

    def _close(self, timeout: timedelta) -> bool:
        deadline = monotonic() + timeout.total_seconds()
        for lane in self._lanes:
            lane.stop()
        if self._housekeeper is not None:
            self._housekeeper.stop()
        done = not self._lanes or Ending(self._queue, self._lanes, deadline, f"wagoe-{self.queues[0]}").run()
        for helper in self._told_last:
            helper.stop()  # all at once: each may be at a store that is dead
        self._helpers.close()
        return done

    @property
    def _down(self) -> bool:
        return any(lane.crossing.down for lane in self._lanes)

    def _warn_if_idle(self) -> None:
        if not self._registry.job_types():
            log.warning("the registry is empty: these workers can run nothing and park whatever they claim")


def _leased(queue: object) -> LeasedJobQueue:
    if not isinstance(queue, LeasedJobQueue):
        raise WiringError(f"{type(queue).__name__} cannot renew claims: a worker pool needs a LeasedJobQueue")
    return queue


def _checked_count(count: object) -> int:
    if type(count) is not int or count < 0:
        raise WiringError(f"a worker pool's count must be a whole number from 0, not {count!r}")
    return count


def _checked_queues(queues: object) -> Sequence[str]:
    if isinstance(queues, str) or not isinstance(queues, Sequence) or not queues:
        raise WiringError(f"a worker pool's queues must be a list of names, not {queues!r}")
    try:
        names = tuple(checked_name("queue", name) for name in queues)
    except InvalidJob as exc:
        raise WiringError(f"a worker pool's queue {exc.reason}") from None
    if len(set(names)) < len(names):
        raise WiringError(f"a worker pool's queues name one twice: {', '.join(names)}")
    return names
