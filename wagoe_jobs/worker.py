"""One job, from claim to settlement: the file to read first.

    claim -> decode -> find the handler -> run it -> what it answered -> core decides -> settlement

Nothing that a job brings can leave `run_claim` as an exception: unreadable text, a type that nobody here
knows, a handler that raises whatever it likes, a result that cannot be kept. Each becomes a settlement,
so that the job ends in the store and the thread goes on. Pools call it from many threads, each with a seat
of its own; slots that are tasks take its two halves, `begin` and `conclude`, and wait between them in their
own way. `work_one` is the same for a single job.
"""

import logging
from contextlib import suppress
from datetime import timedelta
from functools import partial
from random import random
from time import sleep
from types import TracebackType
from typing import NamedTuple, Self

from wagoe_jobs.context import JobContext, Pending, Seat, job_of, monotonic_us
from wagoe_jobs.core.codec import Run, decode_run, encode_error
from wagoe_jobs.core.job import ErrorInfo, Status, from_micros
from wagoe_jobs.core.outcome import (
    INVALID_ARGS,
    UNDECODABLE,
    Failure,
    Missing,
    Patience,
    Result,
    Success,
    result_of,
    settle,
)
from wagoe_jobs.core.retry import Backoff
from wagoe_jobs.errors import BackendUnavailable, Undecodable
from wagoe_jobs.failures import failure_of, text_of
from wagoe_jobs.forks import QUICKEST_US, Home
from wagoe_jobs.identity import worker_name
from wagoe_jobs.lease import LeaseKeeper
from wagoe_jobs.ports import Answer, Claim, Runtime, Settlement, checked_runtime
from wagoe_jobs.registry import Handler, Registry, refusal_of
from wagoe_jobs.verdict import kept, settlement_of, tidied

log = logging.getLogger("wagoe_jobs")

SETTLE_TRIES = 6


class Begun(NamedTuple):
    """A run whose handler left something to wait for; a thread waits within `timeout`, a task as it stands."""

    pending: Pending
    timeout: timedelta | None
    began_us: int


class Worker:
    """Runs jobs of one queue, one at a time; a context manager around the thread that renews the lease."""

    def __init__(
        self,
        runtime: Runtime,
        registry: Registry,
        queue: str = "default",
        *,
        backoff: Backoff = Backoff(),
        patience: Patience = Patience(),
        keeper: LeaseKeeper | None = None,
        name: str | None = None,
    ) -> None:
        """`keeper` is one that someone else opens and closes; without it the worker has its own. So for `name`."""
        self.queue = queue
        self.name = name or worker_name()
        self._store = checked_runtime(runtime, "Worker(runtime, registry)").queue
        self._registry = registry
        self._backoff = backoff
        self._patience = patience
        self._keeper = keeper or LeaseKeeper(self._store, f"wagoe-{queue}")
        self._seat = Seat()
        self._home = Home()

    def __enter__(self) -> Self:
        self._keeper.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._seat.close()
        self._keeper.__exit__(kind, error, trace)

    def work_one(self) -> bool:
        """Claim one job, run it with its lease renewed, settle it; False when none was ready.

        A `def` handler is left to end, whatever its time-out: only a pool has someone to watch it. Raises
        BackendUnavailable, after some tries where a finished job is at stake.
        """
        self._home = Home()  # it may have been made before a fork
        began_us = monotonic_us()
        claims = self._store.claim(self.queue, self.name, 1)
        for claim in claims:
            self._keeper.hold([claim])
            try:
                settlement = self.run_claim(claim, began_us, self._seat)
                self._settle(settlement)
            finally:
                self._seat.deadline_us = 0
                self._keeper.release([claim])
        return bool(claims)

    def run_claim(self, claim: Claim, claimed_us: int, seat: Seat) -> Settlement:
        """Run one claimed job to its end. `claimed_us` is the monotonic microsecond of the claim; raises nothing."""
        begun = self.begin(claim, claimed_us, seat)
        if not isinstance(begun, Begun):
            return begun
        try:
            result = result_of(seat.await_(begun.pending, begun.timeout))
        except BaseException as exc:  # noqa: BLE001 - as in `_answer`
            result = self.raised(claim, exc)
        return self.conclude(claim, result, claimed_us, begun.began_us)

    def begin(self, claim: Claim, claimed_us: int, seat: Seat) -> Settlement | Begun:
        """Run one claimed job as far as it gets without waiting; what is `Begun` is to be awaited and concluded."""
        began_us = monotonic_us()
        try:
            run = decode_run(claim.payload)
        except Undecodable as exc:
            return self._unreadable(claim, exc)
        handler = self._registry.handler_for(run.type)
        if handler is None:
            return self.conclude(claim, Missing(), claimed_us, began_us)
        result = self._answer(handler, run, claim, claimed_us, began_us, seat)
        if result is None:
            ran_us = monotonic_us() - began_us
            if ran_us > QUICKEST_US:
                self._home.end_child(f"job {claim.id}")
            return Settlement(claim, Status.COMPLETED, None, None, None, None, began_us - claimed_us, ran_us)
        if isinstance(result, Begun):
            return result
        return self.conclude(claim, result, claimed_us, began_us)

    def conclude(self, claim: Claim, result: Result, claimed_us: int, began_us: int) -> Settlement:
        """The settlement for a run that came to `result`; the run ends now."""
        ended_us = monotonic_us()
        if ended_us - began_us > QUICKEST_US:
            self._home.end_child(f"job {claim.id}")
        try:
            settlement = self._decided(claim, tidied(result), ended_us - claimed_us)
        except Undecodable as exc:
            return self._unreadable(claim, exc)
        return settlement._replace(waited_us=began_us - claimed_us, ran_us=ended_us - began_us)

    def _answer(
        self, handler: Handler, run: Run, claim: Claim, claimed_us: int, began_us: int, seat: Seat
    ) -> Result | Begun | None:
        """What the handler's answer means, if it is there already; None is a success without a result."""
        try:
            if handler.args_model is not None and (refusal := refusal_of(handler.args_model, run.args)) is not None:
                return Failure(text_of(refusal), type=INVALID_ARGS, retry=False)
            if handler.timeout is not None:
                seat.timed(handler.timeout, began_us, is_async=handler.is_async)
            wants = handler.wants_context
            context = self._context(handler, run, claim, claimed_us, began_us, seat) if wants else None
            answer = seat.call(handler, run.args, context)
            if answer is None:
                return None
            if isinstance(answer, Pending):
                return Begun(answer, handler.timeout, began_us)
            return result_of(answer)
        except BaseException as exc:  # noqa: BLE001 - a handler may raise anything; SystemExit must not end a pool
            return self.raised(claim, exc)

    def raised(self, claim: Claim, error: BaseException) -> Failure:
        """The result of a run that raised this."""
        self._home.end_child(f"job {claim.id}", error)
        return failure_of(error)

    def _context(
        self, handler: Handler, run: Run, claim: Claim, claimed_us: int, began_us: int, seat: Seat
    ) -> JobContext:
        return JobContext(
            claim,
            run,
            began_us=claim.claimed_us + began_us - claimed_us,
            timeout=handler.timeout,
            cancelled=partial(self._pointless, claim, claimed_us / 1e6, seat),
        )

    def _pointless(self, claim: Claim, claimed: float, seat: Seat) -> bool:
        overdue = seat.deadline_us and monotonic_us() > seat.deadline_us
        return bool(overdue) or self._keeper.should_stop(claim, claimed)

    def _decided(self, claim: Claim, result: Result, since_us: int) -> Settlement:
        if isinstance(result, Success):
            return Settlement(claim, Status.COMPLETED, result=kept(result.result))
        job = job_of(claim)
        step = settle(
            job,
            result,
            self._backoff,
            now=from_micros(claim.claimed_us + since_us),
            chance=random(),
            patience=self._patience,
            cancel_requested=self._keeper.cancel_requested(claim),
        )
        return settlement_of(claim, job, step)

    def _unreadable(self, claim: Claim, error: Undecodable) -> Settlement:
        log.error("job %s cannot be read, a dead letter now: %s", claim.id, error.reason)
        info = ErrorInfo(type=UNDECODABLE, message=error.reason)
        return Settlement(claim, Status.FAILED, error=encode_error(info))

    def _settle(self, settlement: Settlement) -> None:
        """Offer the settlement until the store takes it; the lease is renewed meanwhile."""
        if self._keeper.lost(settlement.claim):
            return
        for pause in (0.05 * 2**n for n in range(SETTLE_TRIES)):
            with suppress(BackendUnavailable):
                if Answer.LOCKED not in self._store.settle([settlement]):
                    return
            sleep(pause)
        if Answer.LOCKED in self._store.settle([settlement]):
            log.error("job %s stays locked in the store: its result is given up", settlement.claim.id)
