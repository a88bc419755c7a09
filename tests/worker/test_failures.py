"""What a large exception becomes: the same short texts as any other, in a moment."""

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TypeVar

import pytest

from tests.pool.house import House
from wagoe_jobs.core.outcome import MESSAGE_LIMIT, STACKTRACE_LIMIT, Discard, Failure, Retry
from wagoe_jobs.failures import failure_of
from wagoe_jobs.verdict import tidied

HUGE = 50_000_000
MINUTE = timedelta(minutes=1)
T = TypeVar("T", bound=BaseException)
MOMENT = 0.4
"""Seconds of this thread's own time."""


def raised(error: T) -> T:
    try:
        raise error
    except BaseException:  # noqa: BLE001 - it is what was asked for
        return error


def wide() -> BaseException:
    return ExceptionGroup("many", [ValueError(n) for n in range(50_000)])


def wide_and_deep() -> BaseException:
    return ExceptionGroup("all", [raised(ExceptionGroup("some", [ValueError("x" * 10_000)] * 200)) for _ in range(50)])


def chain() -> BaseException:
    error = ValueError(0)
    for n in range(20_000):
        cause, error = error, ValueError(n)
        error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: ValueError("x" * HUGE), "ValueError: xxx"),
        (lambda: ValueError("\udc80" * HUGE), "ValueError: \\udc80\\udc80"),
        (wide, "ExceptionGroup: many (50000 sub-exceptions)\nthe first of its 50,000 members:\n  ValueError: 0\n"),
        (wide_and_deep, "the first of its 50 members:\n  ExceptionGroup: some (200 sub-exceptions)\n"),
        (chain, "ValueError: 19999\n"),
    ],
    ids=["message", "half surrogate pairs", "wide", "wide and deep", "chain"],
)
def test_a_large_exception_is_told_in_a_moment(make: Callable[[], BaseException], told: str) -> None:
    error = raised(make())
    began = time.thread_time()
    failure = failure_of(error)
    assert time.thread_time() - began < MOMENT
    assert len(failure.message) <= MESSAGE_LIMIT + 100
    assert failure.stacktrace is not None
    assert len(failure.stacktrace) <= STACKTRACE_LIMIT + 100
    assert "in raised" in failure.stacktrace
    assert told in failure.stacktrace


def test_a_small_one_is_told_as_python_does_with_its_causes_and_members() -> None:
    error = ExceptionGroup("two", [raised(ValueError("first")), raised(KeyError("second"))])
    error.__cause__ = OSError("why")
    trace = failure_of(raised(error)).stacktrace or ""
    assert "OSError: why\n\nThe above exception was the direct cause" in trace
    assert "| ValueError: first" in trace
    assert "| KeyError: 'second'" in trace


@pytest.mark.parametrize("answer", [lambda text: Failure(text, stacktrace=text), Discard, partial(Retry, MINUTE)])
def test_what_a_handler_answers_may_be_long_too(answer: Callable[[str], Failure | Discard | Retry]) -> None:
    long = answer("x" * HUGE)
    began = time.thread_time()
    result = tidied(long)
    assert time.thread_time() - began < MOMENT
    match result:
        case Failure():
            assert len(result.message) <= MESSAGE_LIMIT
            assert len(result.stacktrace or "") <= STACKTRACE_LIMIT
        case Discard() | Retry():
            assert len(result.reason) <= MESSAGE_LIMIT
        case _:
            pytest.fail(repr(result))


@pytest.mark.parametrize("tasks", [False, True], ids=["threads", "tasks"])
def test_a_pool_is_not_held_up_by_it(room: House, tasks: bool) -> None:
    def fail(args: object) -> None:
        raise ValueError("x" * HUGE)

    with room.pool({"work": fail}, virtual_threads=tasks):
        began = time.process_time()
        job = room.ended(room.enqueue(max_retries=0))
        assert time.process_time() - began < 2 * MOMENT
    assert job.error is not None
    assert job.error.message.startswith("xxx")
