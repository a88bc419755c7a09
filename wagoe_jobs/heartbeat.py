"""What a pool tells the store of itself, for people to look at: a card at its start, a beat every few seconds.

A thread of its own, so that a store that is slow to take a beat delays no promotion and no claim. Nobody relies on
what it tells; while the store is away it goes on trying, and says so once.
"""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from heapq import nsmallest
from importlib.metadata import PackageNotFoundError, version
from random import uniform
from threading import Event, Thread
from time import monotonic
from types import TracebackType
from typing import Self

from wagoe_jobs.context import monotonic_us
from wagoe_jobs.core.codec import type_of
from wagoe_jobs.errors import Undecodable
from wagoe_jobs.identity import UNKNOWN, host_name
from wagoe_jobs.outage import Outage, part_from
from wagoe_jobs.ports import RUNNING_LIMIT, Beat, Claim, RunningJob, WorkerCard, WorkerPresence

log = logging.getLogger("wagoe_jobs")

EVERY = timedelta(seconds=5)
"""How far two beats are apart, a little less each time by chance so that nodes do not march in step."""


class Heartbeat:
    """The thread; a context manager that joins it, and lets it take its leave of a store that is there."""

    def __init__(
        self,
        presence: WorkerPresence,
        worker: str,
        *,
        queues: Sequence[str],
        slots: int,
        job_types: Callable[[], Sequence[str]],
        running: Callable[[], Sequence[Claim]],
        polled_us: Callable[[], int],
        down: Callable[[], bool],
        every: timedelta | None = None,
    ) -> None:
        """`worker` is the name that stands in its claims too.

        `running` gives the claims whose handlers run, `polled_us` the monotonic microsecond of the last request
        for work, zero before it; `down` whether the store is known to be away: then a stop need not wait for it.
        """
        self._presence = presence
        self._job_types = job_types
        self._running = running
        self._polled_us = polled_us
        self._down = down
        self._every = (every or EVERY).total_seconds()
        self._card = own_card(worker, queues, slots)
        self._announced = False
        self._types: dict[Claim, str] = {}
        self._outage = Outage("telling the store about this worker pool", longest=self._every)
        self._closing = Event()
        self._told = 0.0
        self._thread = Thread(target=self._run, name=f"wagoe-{queues[0]}-heartbeat", daemon=True)

    @property
    def worker(self) -> str:
        """The name on the card."""
        return self._card.name

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        part_from(self._thread, self._told)

    def stop(self) -> None:
        """Beat no more, and take leave."""
        self._told = self._told or monotonic()
        self._closing.set()

    def _run(self) -> None:
        while not self._closing.wait(self._turn()):
            pass
        if self._announced and not (self._outage.lasts or self._down()):
            self._leave()

    def _turn(self) -> float:
        """Tell, and how many seconds to wait before the next time. Raises nothing."""
        try:
            self._tell()
            self._outage.over()
            return uniform(0.9, 1.0) * self._every
        except Exception as exc:  # noqa: BLE001 - the loop outlives whatever its store does
            return self._outage.failed(exc)

    def _tell(self) -> None:
        """Beat; announce first where the store does not know the card as it is now."""
        card = replace(self._card, job_types=tuple(sorted(self._job_types())))
        if card == self._card and self._announced and self._presence.beat(card.name, self._beat()):
            return
        self._card = self._presence.announce(card)
        self._announced = True
        self._presence.beat(card.name, self._beat())

    def _beat(self) -> Beat:
        claims, polled_us = self._running(), self._polled_us()
        shown = nsmallest(RUNNING_LIMIT, claims, key=lambda claim: claim.claimed_us)
        self._types = {claim: self._types.get(claim) or _type_of(claim) for claim in shown}
        return Beat(
            polled=timedelta(microseconds=max(0, monotonic_us() - polled_us)) if polled_us else None,
            running=[RunningJob(claim.id, type, claim.claimed_us) for claim, type in self._types.items()],
            running_count=len(claims),
        )

    def _leave(self) -> None:
        try:
            self._presence.leave(self._card.name)
        except Exception as exc:  # noqa: BLE001 - a stop goes on; the card is dropped when it is old
            log.warning("this worker pool could not take its leave: %s: %s", type(exc).__name__, exc)


def own_card(worker: str, queues: Sequence[str], slots: int) -> WorkerCard:
    """The card of a worker in this process."""
    return WorkerCard(
        name=worker,
        host=host_name(),
        pid=os.getpid(),
        version=_version(),
        queues=tuple(queues),
        job_types=(),
        slots=slots,
    )


def _version() -> str:
    try:
        return version("wagoe-jobs")
    except PackageNotFoundError:  # the code was copied without its metadata
        return UNKNOWN


def _type_of(claim: Claim) -> str:
    try:
        return type_of(claim.payload)
    except Undecodable:  # its run ends as a dead letter by the time that anyone reads this
        return UNKNOWN
