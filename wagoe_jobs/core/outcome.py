"""What a run answered, and what becomes of the job: `settle` alone decides between finish, retry, park and bury.

A handler answers with a `Result`, or with any value, which is a success. `settle` turns the result into a
`Step`, which the worker hands to the store as a settlement. Both are closed unions, matched to the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from wagoe_jobs.core.job import FIRST_MISSING_AT, MISSES, NAME_LIMIT, ErrorInfo, Job
from wagoe_jobs.core.retry import Backoff

HANDLER_ERROR = "handler-error"
NO_HANDLER = "no-handler"
INVALID_ARGS = "invalid-args"
TIMEOUT = "timeout"
ABANDONED = "abandoned"
TENANT_NOT_FOUND = "tenant-not-found"
NO_TENANT_RUNNER = "no-tenant-runner"
UNDECODABLE = "undecodable"
DISCARDED = "discarded"
REFUSED = "refused-by-store"

MESSAGE_LIMIT = 8_000
STACKTRACE_LIMIT = 32_000
LONGEST_DELAY = timedelta(days=36_525)  # a century: stores count microseconds in 64 bits


@dataclass(frozen=True, slots=True)
class Success:
    """The run did what it was for; `result` is kept with the job."""

    result: object = None


@dataclass(frozen=True, slots=True)
class Failure:
    """The run failed: repeated while repeats are left, or buried at once with `retry=False`."""

    message: str
    type: str = HANDLER_ERROR
    retry: bool = True
    exception_class: str | None = None
    stacktrace: str | None = None
    details: object = None


@dataclass(frozen=True, slots=True)
class Retry:
    """Run again after `after`, which may exceed the longest back-off; uses a repeat."""

    after: timedelta
    reason: str = "the handler asked for a retry"


@dataclass(frozen=True, slots=True)
class Discard:
    """There is nothing to do any more: the job ends as cancelled, with `reason`."""

    reason: str


@dataclass(frozen=True, slots=True)
class Snooze:
    """Not now: run again after `delay`; uses no repeat."""

    delay: timedelta


@dataclass(frozen=True, slots=True)
class Missing:
    """This node has no handler for the job's type; the worker says so, never a handler."""


Result = Success | Failure | Retry | Discard | Snooze | Missing


@dataclass(frozen=True, slots=True)
class Finish:
    result: object


@dataclass(frozen=True, slots=True)
class RetryIn:
    delay: timedelta
    error: ErrorInfo


@dataclass(frozen=True, slots=True)
class Park:
    """Wait without using a repeat; `missing_since` is set when nobody here knew the type."""

    delay: timedelta
    missing_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Bury:
    """Write the dead letter."""

    error: ErrorInfo


@dataclass(frozen=True, slots=True)
class End:
    """End the job as cancelled."""

    error: ErrorInfo | None


Step = Finish | RetryIn | Park | Bury | End


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a job of unknown type waits for a node that knows it, and between two looks."""

    delay: timedelta = timedelta(seconds=1)
    max_age: timedelta = timedelta(seconds=300)
    max_times: int = 10_000


def result_of(answer: object) -> Result:
    """What a handler's answer means; any value that is no result is a success with that value.

    A mapping with the key "success" is the result map {"success": bool, "result": ..., "error": {...}}.
    """
    match answer:
        case Retry(delay) | Snooze(delay) if not isinstance(delay, timedelta):
            return Failure(f"{type(answer).__name__} takes a timedelta, not {clipped(repr(delay), 200)}")
        case Success() | Failure() | Retry() | Discard() | Snooze():
            return answer
        case Mapping() if "success" in answer:
            return _result_of_map(answer["success"], answer)
        case _:
            return Success(answer)


def settle(
    job: Job,
    result: Result,
    backoff: Backoff,
    *,
    now: datetime,
    chance: float = 0.5,
    patience: Patience = Patience(),
    cancel_requested: bool = False,
) -> Step:
    """What becomes of `job` after a run with this `result`.

    `now` is store time; `chance` in [0, 1] places the jitter. A job whose cancellation was asked for
    while it ran is cancelled unless it succeeded.
    """
    match result:
        case Success(value):
            return Finish(value)
        case Discard(reason):
            return End(ErrorInfo(type=DISCARDED, message=clipped(reason, MESSAGE_LIMIT)))
        case Failure() | Retry() | Snooze() | Missing() if cancel_requested:
            return End(error_of(result) if isinstance(result, Failure) else job.error)
        case Failure():
            delay = backoff.delay(job.repeats, chance=chance)
            return _repeat(job, error_of(result), delay) if result.retry else Bury(error_of(result))
        case Retry(after, reason):
            return _repeat(job, ErrorInfo(type="retry", message=clipped(reason, MESSAGE_LIMIT)), _bounded(after))
        case Snooze(delay):
            return Park(_bounded(delay))
        case Missing():
            return _await_handler(job, now, patience)
        case _:
            assert_never(result)


def buries_abandoned(retry_count: int, abandoned: int, max_retries: int) -> bool:
    """Whether a job whose worker died for the `abandoned`-th time becomes a dead letter.

    Each abandonment uses a repeat; the first never buries, since its worker may have died of anything.
    """
    return abandoned >= 2 and retry_count + abandoned > max_retries


def abandoned_error(times: int) -> ErrorInfo:
    return ErrorInfo(
        type=ABANDONED, message=f"its worker died or lost its lease {times} times without reporting an end"
    )


def error_of(failure: Failure) -> ErrorInfo:
    """The error to keep with the job: type at most 200 characters, message 8,000, stack trace 32,000."""
    trace = failure.stacktrace
    return ErrorInfo(
        type=clipped(failure.type, NAME_LIMIT) or HANDLER_ERROR,
        message=clipped(failure.message, MESSAGE_LIMIT),
        exception_class=failure.exception_class,
        stacktrace=None if trace is None else clipped(trace, STACKTRACE_LIMIT),
        details=failure.details,
    )


def clipped(told: object, limit: int) -> str:
    """`told` as text, or its two ends with a mark between them: a trace's first and last lines tell most.

    Handlers pass exceptions and numbers where text is expected; that must not fail the settling of their job.
    """
    text = str(told)
    if len(text) <= limit:
        return text
    head = limit // 4
    return f"{text[:head]}\n... {len(text) - limit:,} characters left out ...\n{text[head - limit + 60 :]}"


def _bounded(delay: timedelta) -> timedelta:
    return max(timedelta(0), min(delay, LONGEST_DELAY))


def _repeat(job: Job, error: ErrorInfo, delay: timedelta) -> Step:
    return RetryIn(delay, error) if job.repeats < job.max_retries else Bury(error)


def _await_handler(job: Job, now: datetime, patience: Patience) -> Step:
    since, misses = job.metadata.get(FIRST_MISSING_AT), job.metadata.get(MISSES)
    first = since if isinstance(since, datetime) else now
    times = misses if isinstance(misses, int) else 0
    if now - first >= patience.max_age or times >= patience.max_times:
        waited = (now - first).total_seconds()
        return Bury(
            ErrorInfo(type=NO_HANDLER, message=f"no node had a handler for type {job.type!r} for {waited:.0f} s")
        )
    return Park(patience.delay, first)


def _result_of_map(flag: object, answer: Mapping[object, object]) -> Result:
    error = answer.get("error")
    details = error if isinstance(error, Mapping) else {}
    match flag:
        case True:
            return Success(answer.get("result"))
        case False:
            message = details.get("message", error if isinstance(error, str) else "the handler reported a failure")
            return Failure(
                str(message), type=str(details.get("type", HANDLER_ERROR)), retry=details.get("retry") is not False
            )
        case _:
            return Failure(f'the result map\'s "success" must be True or False, not {clipped(repr(flag), 200)}')
