"""What a stop owes the store: results are settled, unstarted claims go back, handlers that still run are marked.

It is done in a thread of its own, since a call to a store that does not answer takes as long as its driver waits for
it, and a stop must not: it then leaves that thread, and the jobs to their leases.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from datetime import timedelta
from threading import Thread
from time import monotonic, sleep

from wagoe_jobs.errors import JobsError
from wagoe_jobs.lane import Lane
from wagoe_jobs.ports import BATCH_LIMIT, Claim, LeasedJobQueue

log = logging.getLogger("wagoe_jobs")

CLEARING = timedelta(seconds=5)
"""How much longer than its time-out a stop may take to settle handlers that did end in time."""
ANSWERING = 1.0
"""Seconds that the last call to the store may take after that."""


class Ending:
    """The end of some lanes that start nothing more; `run` is called once."""

    def __init__(self, queue: LeasedJobQueue, lanes: Sequence[Lane], deadline: float, name: str) -> None:
        """Handlers may end until this monotonic second."""
        self._queue = queue
        self._lanes = lanes
        self._deadline = deadline
        self._done = False
        self._left = False
        self._thread = Thread(target=self._end, name=f"{name}-stop", daemon=True)

    def run(self) -> bool:
        """Let handlers end, and settle them; whether all of it was done in time."""
        last = self._deadline + CLEARING.total_seconds() + ANSWERING
        self._thread.start()
        self._thread.join(max(ANSWERING, last - monotonic()))
        if self._thread.is_alive():
            self._left = True
            log.error("the store does not answer: what is not settled by now is left to its lease, and will run again")
        return self._done

    def _end(self) -> None:
        self._clear_once(monotonic())
        ended = False not in [lane.crew.join(self._deadline) for lane in self._lanes]
        cleared = self._clear(self._deadline + CLEARING.total_seconds())
        claims = [claim for lane in self._lanes for claim in lane.crew.running()]
        if claims and not self._left:
            self._interrupt(claims)
        self._done = ended and cleared

    def _clear(self, deadline: float) -> bool:
        """Settle whatever ended, as long as the store lets us; whether nothing is left."""
        while not (self._left or self._clear_once(deadline)):
            if monotonic() >= deadline:
                left = sum(lane.crossing.unsettled + lane.crossing.offered for lane in self._lanes)
                log.error("%d results could not be settled: their jobs will run again", left)
                return False
            sleep(max([lane.crossing.pause() for lane in self._lanes] + [0.01]))
        return not self._left

    def _clear_once(self, deadline: float) -> bool:
        """The same, once a lane; after the deadline, a store that fails one lane is not asked for the others."""
        return False not in [
            not lane.crossing.restless if self._down and monotonic() >= deadline else lane.clear(deadline - monotonic())
            for lane in self._lanes
        ]

    @property
    def _down(self) -> bool:
        return any(lane.crossing.down for lane in self._lanes)

    def _interrupt(self, claims: Sequence[Claim]) -> None:
        if self._down:  # asking would only make the stop longer
            log.error("%d handlers still run, and the store is down: their jobs are left to their leases", len(claims))
            return
        try:
            held = sum(self._queue.interrupt(batch) for batch in _batches(claims))
            log.warning("%d handlers still run: their jobs are left to be reclaimed, uncharged", held)
        except JobsError as exc:
            log.error("%d handlers still run, and their jobs could not be marked: %s", len(claims), exc)


def in_thread(work: Callable[[], bool], name: str) -> "Future[bool]":
    """Begin with it in a thread of that name: what it answers or raises."""
    future: Future[bool] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as exc:  # noqa: BLE001 - raised to whoever waits for it
            future.set_exception(exc)

    Thread(target=run, name=name, daemon=True).start()
    return future


def _batches(claims: Sequence[Claim]) -> Iterator[Sequence[Claim]]:
    """Parts of a size that every store takes."""
    for start in range(0, len(claims), BATCH_LIMIT):
        yield claims[start : start + BATCH_LIMIT]
