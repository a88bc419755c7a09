"""Keeping claims alive: one thread renews all that its owner holds, and remembers what the store said of each.

A claim is renewed every third of the lease from `hold` until `release`, during shutdown too. The handler has
no part in it. An error is not an answer: it is tried again soon, and the claims count as held. What this
cannot do is help a process whose threads do not get to run for most of a lease; it says so.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from threading import Event, Thread
from time import monotonic
from types import TracebackType
from typing import Self

from wagoe_jobs.outage import REMINDER, Outage, part_from
from wagoe_jobs.ports import Claim, Hold, LeasedJobQueue

log = logging.getLogger("wagoe_jobs")

CHUNK = 1000
"""The most claims of one renewal call: a bound for the statement, not for what can be held."""


class LeaseKeeper:
    """The claims that one pool or worker holds; a context manager around the thread that renews them.

    Books are kept in one dictionary by job id, whose single steps are atomic, so that holding and releasing
    a batch takes no lock. Entering raises BackendUnavailable when the store cannot be reached.
    """

    def __init__(self, queue: LeasedJobQueue, name: str) -> None:
        self._queue = queue
        self._lease = queue.lease / timedelta(seconds=1)
        self._held: dict[str, Claim] = {}
        self.news: dict[str, tuple[Claim, Hold]] = {}
        """Claims that are lost or to be cancelled, by job id: mostly empty, which is what hot paths ask."""
        self._renewed = 0.0
        self._said_late = -REMINDER
        self._closing = Event()
        self._told = 0.0
        self._outage = Outage("renewing leases", longest=min(2.0, self._lease / 12))
        self._thread = Thread(target=self._keep, name=f"{name}-leases", daemon=True)

    def __enter__(self) -> Self:
        self._queue.renew([])
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        part_from(self._thread, self._told)

    def stop(self) -> None:
        """Renew no more."""
        self._told = self._told or monotonic()
        self._closing.set()

    def hold(self, claims: Iterable[Claim]) -> None:
        """Renew these from now on."""
        self._held.update({claim.id: claim for claim in claims})

    def release(self, claims: Iterable[Claim]) -> None:
        """Renew these no more: they are settled, handed back or lost."""
        held = self._held
        for claim in claims:
            if held.get(claim.id) is claim:  # a newer claim of the same job is another matter
                del held[claim.id]
        for id, (claim, _) in list(self.news.items()):
            if held.get(id) is not claim:
                self.news.pop(id, None)

    def held(self) -> Sequence[Claim]:
        return list(self._held.values())

    def lost(self, claim: Claim) -> bool:
        """Whether the store said that the claim is another's: nothing may be written for it."""
        return self._news_of(claim) is Hold.LOST

    def cancel_requested(self, claim: Claim) -> bool:
        return self._news_of(claim) is Hold.CANCEL_REQUESTED

    def should_stop(self, claim: Claim, claimed: float) -> bool:
        """Whether a handler is running for nothing: lost, cancelled, or past the lease by our own count.

        `claimed` is the monotonic second of the claim. Past the lease, the result is offered all the same:
        nobody may have taken the job.
        """
        return self._news_of(claim) is not None or monotonic() > max(claimed, self._renewed) + self._lease

    def renew(self) -> None:
        """Renew all that is held, once. Raises what the store raises."""
        began = monotonic()
        claims = self.held()
        for start in range(0, len(claims), CHUNK):
            self._note(self._queue.renew(claims[start : start + CHUNK]))
        self._renewed = began

    def _note(self, answers: Mapping[Claim, Hold]) -> None:
        for claim, hold in answers.items():
            if hold is not Hold.HELD and self._held.get(claim.id) == claim:
                self.news[claim.id] = (self._held[claim.id], hold)

    def _news_of(self, claim: Claim) -> Hold | None:
        about, hold = self.news.get(claim.id, (None, None))
        return hold if about is claim else None

    def _keep(self) -> None:
        period = self._lease / 3
        due = monotonic() + period
        while self._waited_until(due):
            began = monotonic()
            try:
                self.renew()
                self._outage.over()
                due = max(due, began - period / 4) + period  # from when it was due: pauses must not add up
            except Exception as exc:  # noqa: BLE001 - the loop outlives whatever a renewal meets
                due = monotonic() + self._outage.failed(exc)

    def _waited_until(self, due: float) -> bool:
        """Wait for that second, and tell if it took far too long; False when nothing more is to be renewed."""
        turn = max(due, monotonic())
        if self._closing.wait(turn - monotonic()):
            return False
        now = monotonic()
        if self._held and now - turn > self._lease / 3 and now - self._said_late > REMINDER:
            self._said_late = now
            self._say_late(now - turn)
        return True

    def _say_late(self, late: float) -> None:
        log.warning(
            "the leases of %d jobs are renewed %.1f s late, since this thread did not get to run. Others take such "
            "jobs and run them again when %.1f s have passed since the last renewal. Either a handler kept the "
            "interpreter to itself, as code in C may: run that in a process of its own; or the machine stood still "
            "or is overloaded: give it less to do, or set a longer jobs.lease_ms",
            *(len(self._held), late, self._lease),
        )
