"""What one run has at hand: the context that a handler may ask for, and the seat of the thread that runs it.

A seat belongs to one thread and outlives its runs; a context belongs to one run and is built only for
handlers that want it. Nothing in here knows of stores.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context, copy_context
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from inspect import isawaitable
from logging import LoggerAdapter, getLogger
from time import monotonic_ns
from typing import Any, NamedTuple

from wagoe_jobs.core import codec
from wagoe_jobs.core.codec import Run
from wagoe_jobs.core.job import TENANT_ID, Job, Priority, Status, from_micros
from wagoe_jobs.core.outcome import TIMEOUT, Failure
from wagoe_jobs.ports import Claim
from wagoe_jobs.registry import Handler

ASYNC_GRACE = timedelta(seconds=1)
"""How long after its time-out an async handler may take to end, before its thread counts as lost."""

JobLog = LoggerAdapter[Any]


def monotonic_us() -> int:
    """Monotonic microseconds: for durations, never an instant."""
    return monotonic_ns() // 1000


def job_of(claim: Claim) -> Job:
    """The job behind a claim, as it is while it runs. Raises Undecodable."""
    claimed = from_micros(claim.claimed_us)
    return replace(
        codec.decode_job(claim.payload),
        queue=claim.queue,
        status=Status.RUNNING,
        priority=Priority.of_rank(claim.rank),
        abandoned=claim.abandoned,
        updated_at=claimed,
        started_at=claimed,
    )


class JobContext:
    """One run, as its handler sees it.

    `attempt` counts from 1, whatever used up the ones before. `deadline` is when the handler's time-out ends,
    by the store's clock; None without one.
    """

    def __init__(
        self, claim: Claim, run: Run, *, began_us: int, timeout: timedelta | None, cancelled: Callable[[], bool]
    ) -> None:
        self.id = run.id
        self.type = run.type
        self.queue = claim.queue
        self.attempt = run.retry_count + claim.abandoned + 1
        self.tenant = _tenant_in(run.metadata)
        self.deadline = None if timeout is None else from_micros(began_us) + timeout
        self._claim = claim
        self._cancelled = cancelled

    def cancelled(self) -> bool:
        """Whether this run has become pointless: cancelled, timed out, or its claim lost. Poll it in long work.

        Handlers are told, never interrupted; only a `timeout` ends an async one.
        """
        return self._cancelled()

    @cached_property
    def job(self) -> Job:
        """The whole job; read when it is first asked for."""
        return job_of(self._claim)

    @cached_property
    def logger(self) -> JobLog:
        """A logger whose records carry `job_id`, `job_type` and `attempt`."""
        extra = {"job_id": self.id, "job_type": self.type, "attempt": self.attempt}
        return LoggerAdapter(getLogger("wagoe_jobs.job"), extra)


class Pending(NamedTuple):
    """What a handler's call came to when that is still to be awaited, inside these context variables."""

    answer: Awaitable[object]
    variables: Context


class Seat:
    """What one thread keeps from run to run: its event loop, made for the first coroutine.

    `deadline_us` is set while a handler with a time-out runs, zero otherwise; whoever watches the seat may
    then declare the run lost.
    """

    __slots__ = ("_runner", "began_us", "deadline_us", "timeout")

    def __init__(self) -> None:
        self.timeout: timedelta | None = None
        self.began_us = 0
        self.deadline_us = 0
        self._runner: asyncio.Runner | None = None

    def timed(self, timeout: timedelta, began_us: int, *, is_async: bool) -> None:
        """A run with a time-out begins. An async one ends itself; it is late only if it does not."""
        self.timeout = timeout
        self.began_us = began_us
        self.deadline_us = began_us + (timeout + ASYNC_GRACE * is_async) // timedelta(microseconds=1)

    def call(self, handler: Handler, args: object, context: JobContext | None) -> object:
        """What the handler's function returns; `Pending` when that can be awaited.

        Each run has its own context variables: what a handler binds must not reach the next job.
        """
        variables = copy_context()
        if context is None:
            answer = variables.run(handler.function, args)
        else:
            answer = variables.run(handler.function, args, context)
        return answer if answer is None or not isawaitable(answer) else Pending(answer, variables)

    def await_(self, pending: Pending, timeout: timedelta | None) -> object:
        """What that comes to, on this thread's loop; a Failure when it is cancelled by the time-out."""
        if self._runner is None:
            self._runner = asyncio.Runner()
        awaited = within(pending.answer, timeout, self.ends_itself(timeout))
        return self._runner.run(awaited, context=pending.variables)

    def ends_itself(self, timeout: timedelta | None) -> int:
        """Note that the run is awaited from now on, so that it is late only if it does not end itself.

        Returns the microseconds of its time-out that are spent.
        """
        if timeout is None:
            return 0
        self.deadline_us = self.began_us + (timeout + ASYNC_GRACE) // timedelta(microseconds=1)
        return monotonic_us() - self.began_us

    def close(self) -> None:
        """Close the event loop; called by the seat's own thread."""
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.close()


async def within(answer: Awaitable[object], timeout: timedelta | None, spent_us: int = 0) -> object:
    """What the awaitable comes to; a Failure when it is cancelled by the time-out, of which so much is over."""
    limit = asyncio.timeout(None if timeout is None else timeout.total_seconds() - spent_us / 1e6)
    try:
        async with limit:
            return await answer
    except TimeoutError:
        if not limit.expired():  # the handler's own
            raise
        return timed_out(timeout)


def timed_out(timeout: timedelta | None) -> Failure:
    return Failure(f"ran longer than its time-out of {timeout}", type=TIMEOUT)


def _tenant_in(metadata: Mapping[str, object]) -> str | None:
    tenant = metadata.get(TENANT_ID)
    return tenant if isinstance(tenant, str) else None
