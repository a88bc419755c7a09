"""From what a run came to, to the settlement that the store gets.

Core decides what becomes of the job; in here its decision is put into text that every store takes. Results
and errors hold objects of the application, which may refuse to be encoded, or to be told at all; none of
that may cost a job its end.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import assert_never, cast

from wagoe_jobs.core.clean import clean
from wagoe_jobs.core.codec import PAYLOAD_LIMIT, encode_error, encode_value
from wagoe_jobs.core.job import ErrorInfo, Job, Status, park, retry
from wagoe_jobs.core.outcome import (
    MESSAGE_LIMIT,
    Bury,
    Discard,
    End,
    Failure,
    Finish,
    Missing,
    Park,
    Result,
    Retry,
    RetryIn,
    Snooze,
    Step,
    Success,
    clipped,
)
from wagoe_jobs.core.stored import follow_up
from wagoe_jobs.failures import repr_of, text_of
from wagoe_jobs.ports import Claim, Settlement

log = logging.getLogger("wagoe_jobs")

LOGGED = 500
"""The most characters of an error that a log line shows."""

_LAZY = frozenset({CoroutineType, GeneratorType, AsyncGeneratorType})
_GROUPS = frozenset({list, tuple, set, frozenset})


def settlement_of(claim: Claim, job: Job, step: Step) -> Settlement:
    """The settlement of a step that core decided on, logged unless all is well."""
    _say(job, step)
    match step:
        case Finish(value):
            return Settlement(claim, Status.COMPLETED, result=kept(value))
        case RetryIn(delay, error):
            return Settlement(claim, Status.RETRYING, delay, follow_up(retry(park(job, missing_since=None), error)))
        case Park(delay, missing_since):
            return Settlement(claim, Status.PENDING, delay, follow_up(park(job, missing_since=missing_since)))
        case Bury(error):
            return Settlement(claim, Status.FAILED, error=encode_error(error))
        case End(error):
            return Settlement(claim, Status.CANCELLED, error=None if error is None else encode_error(error))
        case _:
            assert_never(step)


def kept(result: object) -> str | None:
    """The result as text; one that cannot be kept leaves its type and what it looks like.

    The job has done its work by now, so failing it would only do the work again.
    """
    if result is None:
        return None
    try:
        text = encode_value(result, path="result")
        if len(text) <= PAYLOAD_LIMIT:
            return text
        reason = f"it has {len(text):,} characters"
    except Exception as exc:  # noqa: BLE001 - encoding asks the application's own objects
        reason = text_of(exc)
    kind = f"{type(result).__module__}.{type(result).__qualname__}"
    log.warning("the result, a %s, cannot be kept: %s", kind, reason)
    return encode_value({"unencodable": kind, "repr": repr_of(result)}, path="result")


def tidied(result: Result) -> Result:
    """The same result with what a handler may have filled in wrongly made fit to keep."""
    match result:
        case Failure():
            return replace(
                result,
                message=text_of(result.message, MESSAGE_LIMIT),
                type=text_of(result.type),
                exception_class=None if result.exception_class is None else text_of(result.exception_class),
                stacktrace=None if result.stacktrace is None else text_of(result.stacktrace),
                details=_details(result.details),
            )
        case Retry(after, reason):
            return Retry(after, text_of(reason, MESSAGE_LIMIT))
        case Discard(reason):
            return Discard(text_of(reason, MESSAGE_LIMIT))
        case Success(value):
            return result if (unrun := _unrun(value)) is None else unrun
        case Snooze() | Missing():
            return result
        case _:
            assert_never(result)


def _unrun(result: object) -> Failure | None:
    """The failure of a run whose result, or a part of it, would have to be run yet: nobody would."""
    kind = type(result)
    if kind is dict:
        parts: Iterable[object] = cast(dict[object, object], result).values()
    else:
        parts = cast(Iterable[object], result) if kind in _GROUPS else (result,)
    if _LAZY.isdisjoint(map(type, parts)) and not hasattr(kind, "__await__"):
        return None
    lazy = next((part for part in parts if type(part) in _LAZY), result)
    for part in parts:
        if isinstance(part, CoroutineType):
            part.close()  # else python warns, somewhere else, that it was never awaited
    what = getattr(lazy, "__qualname__", type(lazy).__qualname__)
    told = f"{type(lazy).__name__} {what!r}"
    return Failure(f"the handler returned what nobody runs, the {told}: await it, or loop over it, in the handler")


def _details(details: object) -> object:
    try:
        encode_value(details, path="details")
    except Exception:  # noqa: BLE001 - encoding asks the application's own objects
        return repr_of(details)
    return details


def _say(job: Job, step: Step) -> None:
    """Tell people of a failure on one bounded line; all of it is kept with the job."""
    match step:
        case RetryIn(delay, error):
            wait = delay.total_seconds()
            log.warning("job %s (%s) failed, again in %.1f s: %s", job.id, clean(job.type), wait, _told(error))
        case Bury(error):
            log.error("job %s (%s) failed for good, a dead letter now: %s", job.id, clean(job.type), _told(error))


def _told(error: ErrorInfo) -> str:
    return clean(f"{error.type}: {clipped(error.message, LOGGED)}")
