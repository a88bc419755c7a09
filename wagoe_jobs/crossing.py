"""Where a lane crosses to the store: claims that came over, settlements that have to go, and how many at a time.

Two deques, whose single steps are atomic, connect the slots with whoever holds `io`; only that one talks to
the store, takes from `finished` and puts into `ready`. A settlement leaves `finished` for good when the store
has answered it; after an error it is offered again, which the store answers as `ALREADY` if it had effect. What
the store refuses on its own, though it is there, is set aside and offered alone, so that it holds up nothing. What
somebody keeps locked there is set aside too, for as long as that lasts.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat
from threading import Lock
from typing import TypeVar

from wagoe_jobs.context import monotonic_us
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.lease import LeaseKeeper
from wagoe_jobs.outage import Outage
from wagoe_jobs.ports import BATCH_LIMIT, Answer, Claim, LeasedJobQueue, Settlement

log = logging.getLogger("wagoe_jobs")

KEPT_THROUGH_OUTAGE = 256
REFUSALS = 8
"""How often what was set aside is offered before it is given up, and left to its lease: for about ten seconds."""
FIRST_REFUSAL_US = 100_000
LONGEST_REFUSAL_US = 2_000_000
LOCKED_US = 250_000
"""How long a settlement rests whose job somebody keeps locked in the store."""
HOPELESS = 3
"""How many refusals in a row are enough to leave the rest for the next try."""

T = TypeVar("T")


class Crossing:
    """One queue's traffic with the store. Whoever calls a method that talks to it holds `io`."""

    def __init__(self, queue: LeasedJobQueue, name: str, worker: str, keeper: LeaseKeeper, slots: int) -> None:
        self.io = Lock()
        self.ready: deque[tuple[Claim, int]] = deque()
        """Unstarted claims, each with the monotonic microsecond of its claim."""
        self.finished: deque[Settlement] = deque()
        self.down = False
        """Whether the store failed us last; set and cleared under `io`, read by anyone."""
        self.offered = 0
        """How many settlements are on their way to the store."""
        self.next_is_alone = False
        """Whether the next job in line is to be claimed by a free slot only."""
        self.settled = 0
        self.took_us = 0
        """How long the last answer of the store was waited for."""
        self.polled_us = 0
        """Monotonic microsecond of the last request for work that was answered, zero before it."""
        self._queue = queue
        self._name = name
        self._worker = worker
        self._keeper = keeper
        self._kept = slots + KEPT_THROUGH_OUTAGE
        self._outage = Outage(f"the exchange of queue {name!r} with the store")
        self._again_us = 0
        self._aside: list[Settlement] = []
        self._aside_us = 0
        self._refusals = 0
        self._locked: list[Settlement] = []
        self._locked_us = 0
        self._rest: list[Claim] = []

    @property
    def full(self) -> bool:
        """Whether so much is unsettled in an outage that nothing more may be started."""
        return self.down and self.unsettled >= self._kept

    @property
    def unsettled(self) -> int:
        """How many results the store has not taken yet."""
        return len(self.finished) + len(self._aside) + len(self._locked)

    @property
    def has_rest(self) -> bool:
        """Whether claims wait to be handed back that the store did not take, or a locked result's time has come."""
        return bool(self._rest) or (bool(self._locked) and monotonic_us() >= self._locked_us)

    @property
    def restless(self) -> bool:
        """Whether there is anything here that must not stay."""
        return bool(self.ready or self.finished or self._rest or self._aside or self._locked)

    def pause(self) -> float:
        """Seconds until the store may be tried again, zero when it works."""
        return max(0, self._again_us - monotonic_us()) / 1e6 if self.down else 0.0

    def exchange(self, limit: int, *, ahead: bool = False) -> int:
        """Settle what is finished and claim at most `limit`; how many came. Raises nothing.

        With `ahead`, no slot is free yet. A job that was abandoned before is then put back: it may end this
        process too, so it is left for a slot that can start it at once.
        """
        if not self._settle_batches((len(self.finished) - 1) // BATCH_LIMIT):
            return 0
        sent_us = monotonic_us()
        batch = self._taken(BATCH_LIMIT)
        done = self._offer(batch, lambda: self._queue.exchange(batch, self._name, self._worker, limit))
        if done is None:
            return 0
        self.polled_us = sent_us
        answers, claims = done
        self._answered(batch, answers)
        self._keeper.hold(claims)
        self.next_is_alone = bool(ahead and claims and claims[0].abandoned)
        if self.next_is_alone:
            self._rest += claims
            self.hand_back_rest()
            claims = ()
        self.ready.extend(zip(claims, repeat(sent_us)))  # before the store is asked more: another slot may be free
        self._offer_aside()
        self._offer_locked()
        return len(claims)

    def settle(self) -> bool:
        """Settle what is finished; False when the store did not take it. Raises nothing."""
        self._offer_aside()
        self._offer_locked()
        return self._settle_batches(-(-len(self.finished) // BATCH_LIMIT))

    def hand_back(self) -> None:
        """Hand back what has not been started. Raises nothing."""
        with suppress(IndexError):
            while True:
                self._rest.append(self.ready.popleft()[0])
        self.hand_back_rest()

    def hand_back_rest(self) -> None:
        """Hand back what could not be handed back before; it is not run meanwhile, since it may be another's by now."""
        while claims := self._rest[:BATCH_LIMIT]:
            if self._offer((), partial(self._queue.hand_back, claims)) is None:
                return
            del self._rest[: len(claims)]
            self._keeper.release(claims)

    def drop(self, claim: Claim) -> None:
        """Forget a claim that is another's by now; nothing is written for it."""
        self._keeper.release([claim])
        log.warning("the claim of job %s was lost: its run is dropped here, and another's counts", claim.id)

    def _settle_batches(self, count: int) -> bool:
        """Settle so many batches, of a size that every store takes; False when it did not take one."""
        for _ in range(count):
            batch = self._taken(BATCH_LIMIT)
            answers = self._offer(batch, partial(self._queue.settle, batch))
            if answers is None:
                return False
            self._answered(batch, answers)
        return True

    def _taken(self, most: int | None = None) -> list[Settlement]:
        waiting = len(self.finished)
        return [self.finished.popleft() for _ in range(waiting if most is None else min(most, waiting))]

    def _offer(self, batch: Sequence[Settlement], call: Callable[[], T]) -> T | None:
        """What the store answered; None after an error, with the batch back in `finished`."""
        self.offered = len(batch)
        asked_us = monotonic_us()
        try:
            answer = call()
        except Exception as exc:  # noqa: BLE001 - a lane outlives whatever its store does
            self.finished.extendleft(reversed(batch))
            self.down = True
            self._again_us = monotonic_us() + int(self._outage.failed(exc) * 1e6)
            if not isinstance(exc, BackendUnavailable):
                self._isolate()
            return None
        except BaseException:  # somebody's time-out, thrown into this thread when its handler had ended
            self.finished.extendleft(reversed(batch))
            raise
        finally:
            self.offered = 0
        self.took_us = monotonic_us() - asked_us
        self._outage.over()
        self.down = False
        return answer

    def _isolate(self) -> None:
        """Offer one by one what the store refuses together, and set aside what it refuses alone."""
        batch, accepted, refused = self._taken(), False, 0
        while batch and (accepted or refused < HOPELESS):
            settlement = batch.pop(0)
            refusal = self._refusal(settlement)
            if refusal is None:
                accepted = True
            else:
                refused += 1
                log.error("job %s cannot be settled", settlement.claim.id, exc_info=refusal)
                self._set_aside(settlement)
        self.finished.extendleft(reversed(batch))

    def _refusal(self, settlement: Settlement) -> Exception | None:
        """Why the store does not take it alone; None when it did."""
        try:
            self._answered([settlement], self._queue.settle([settlement]))
        except Exception as exc:  # noqa: BLE001 - whatever it is, the neighbours must not suffer
            return exc
        return None

    def _set_aside(self, settlement: Settlement) -> None:
        if not self._aside:
            self._refusals = 0
            self._aside_us = monotonic_us() + FIRST_REFUSAL_US
        self._aside.append(settlement)

    def _offer_aside(self) -> None:
        """Offer again what was set aside, when its time has come; in the end, give it up. Raises nothing."""
        if not self._aside or monotonic_us() < self._aside_us:
            return
        self._aside = [settlement for settlement in self._aside if self._refusal(settlement) is not None]
        self._aside_us = monotonic_us() + min(FIRST_REFUSAL_US << self._refusals, LONGEST_REFUSAL_US)
        self._refusals += 1
        if self._aside and self._refusals >= REFUSALS:
            ids = ", ".join(settlement.claim.id for settlement in self._aside[:10])
            log.error("%d results are given up, their jobs will run again: %s", len(self._aside), ids)
            self._keeper.release([settlement.claim for settlement in self._aside])
            self._aside = []

    def _offer_locked(self) -> None:
        """Offer again what was locked, when its time has come: the store does not wait for it. Raises nothing."""
        if not self._locked or monotonic_us() < self._locked_us:
            return
        batch, self._locked = self._locked[:BATCH_LIMIT], self._locked[BATCH_LIMIT:]
        self._locked_us = monotonic_us() + LOCKED_US
        answers = self._offer(batch, partial(self._queue.settle, batch))
        if answers is not None:
            self._answered(batch, answers)
        if not self._locked:
            self._locked_us = 0

    def _keep_locked(self, batch: Sequence[Settlement], answers: Sequence[Answer]) -> None:
        """Set aside what is locked: its claim stays held, and is renewed as far as the lock lets us."""
        locked = [s for s, answer in zip(batch, answers, strict=True) if answer is Answer.LOCKED]
        if not self._locked_us:
            ids = ", ".join(s.claim.id for s in locked[:10])
            log.warning("%d results wait, since somebody keeps their jobs locked in the store: %s", len(locked), ids)
            self._locked_us = monotonic_us() + LOCKED_US
        self._locked += locked

    def _answered(self, batch: Sequence[Settlement], answers: Sequence[Answer]) -> None:
        """The one place that learns how settlements ended."""
        if Answer.LOCKED in answers:
            self._keep_locked(batch, answers)
            ended = [(s, answer) for s, answer in zip(batch, answers, strict=True) if answer is not Answer.LOCKED]
            batch, answers = [s for s, _ in ended], [answer for _, answer in ended]
        self._keeper.release([settlement.claim for settlement in batch])
        self.settled += len(batch)
        if Answer.LOST in answers:
            for settlement, answer in zip(batch, answers, strict=True):
                if answer is Answer.LOST:
                    log.warning("job %s was settled too late: its claim is another's", settlement.claim.id)
