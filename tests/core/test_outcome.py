"""What becomes of a job: every row of the table of outcomes, and what a handler's answer means."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wagoe_jobs.core.job import ErrorInfo, make_job, park, retry
from wagoe_jobs.core.outcome import (
    INVALID_ARGS,
    MESSAGE_LIMIT,
    NO_HANDLER,
    NO_TENANT_RUNNER,
    STACKTRACE_LIMIT,
    TENANT_NOT_FOUND,
    TIMEOUT,
    UNDECODABLE,
    Bury,
    Discard,
    End,
    Failure,
    Finish,
    Missing,
    Park,
    Patience,
    Retry,
    RetryIn,
    Snooze,
    Success,
    abandoned_error,
    buries_abandoned,
    clipped,
    error_of,
    result_of,
    settle,
)
from wagoe_jobs.core.retry import Backoff

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
JOB = make_job("t", id=UUID(int=1), now=NOW)  # three repeats
SPENT = replace(JOB, retry_count=3)
BACKOFF = Backoff(jitter=False)
MINUTE = timedelta(minutes=1)


def step(result, job=JOB, **more):
    return settle(job, result, BACKOFF, now=NOW, **more)


@pytest.mark.parametrize("value", [None, 0, {"a": 1}, [1]])
def test_success_completes(value):
    assert step(Success(value)) == Finish(value)


@pytest.mark.parametrize("type", ["handler-error", TIMEOUT, TENANT_NOT_FOUND, NO_TENANT_RUNNER, "my-own"])
def test_a_failure_is_repeated_until_its_repeats_are_used_up(type):
    failure = Failure("no", type=type)
    error = ErrorInfo(type=type, message="no")
    waits = [step(failure, replace(JOB, retry_count=n)) for n in range(4)]
    assert waits == [RetryIn(timedelta(seconds=s), error) for s in (1, 2, 4)] + [Bury(error)]


@pytest.mark.parametrize("type", ["handler-error", INVALID_ARGS, UNDECODABLE])
def test_a_failure_that_no_repeat_would_mend_is_buried_at_once(type):
    assert step(Failure("no", type=type, retry=False)) == Bury(ErrorInfo(type=type, message="no"))


def test_a_job_without_repeats_is_buried_by_its_first_failure():
    assert isinstance(step(Failure("no"), replace(JOB, max_retries=0)), Bury)


def test_retry_waits_as_long_as_asked_and_uses_a_repeat():
    asked = Retry(timedelta(days=30), "rate limited")
    assert step(asked) == RetryIn(timedelta(days=30), ErrorInfo(type="retry", message="rate limited"))
    assert step(asked, SPENT) == Bury(ErrorInfo(type="retry", message="rate limited"))


def test_snooze_uses_no_repeat():
    assert step(Snooze(MINUTE)) == step(Snooze(MINUTE), SPENT) == Park(MINUTE)


def test_discard_ends_the_job_as_cancelled_with_its_reason():
    assert step(Discard("not needed")) == End(ErrorInfo(type="discarded", message="not needed"))


def test_a_job_whose_cancellation_was_asked_for_is_cancelled_unless_it_succeeded():
    known = replace(JOB, error=ErrorInfo(type="old", message="m"))
    assert step(Success(1), cancel_requested=True) == Finish(1)
    assert step(Failure("no"), cancel_requested=True) == End(ErrorInfo(type="handler-error", message="no"))
    assert step(Failure("no", retry=False), cancel_requested=True) == End(error_of(Failure("no")))
    for result in (Retry(MINUTE), Snooze(MINUTE), Missing()):
        assert step(result, known, cancel_requested=True) == End(known.error)
    assert step(Discard("why"), cancel_requested=True) == End(ErrorInfo(type="discarded", message="why"))


@pytest.mark.parametrize("retry_count", range(5))
@pytest.mark.parametrize("abandoned", range(5))
def test_abandonment_uses_repeats_like_failure_does(retry_count, abandoned):
    job = replace(JOB, retry_count=retry_count, abandoned=abandoned)
    assert isinstance(step(Failure("no"), job), RetryIn) == (retry_count + abandoned < 3)


def test_abandonment_lengthens_the_wait_too():
    assert step(Failure("no"), replace(JOB, abandoned=2)).delay == timedelta(seconds=4)


@pytest.mark.fault(16, 17)
@pytest.mark.parametrize(
    ("retry_count", "abandoned", "max_retries", "buried"),
    [
        (0, 1, 0, False),  # the first never buries: its worker may have died of anything
        (0, 2, 0, True),
        (0, 2, 2, False),
        (0, 3, 3, False),
        (0, 4, 3, True),
        (3, 1, 3, False),
        (3, 2, 3, True),
        (2, 2, 3, True),
        (1, 2, 3, False),
    ],
)
def test_a_job_that_kills_its_workers_is_buried_after_its_repeats(retry_count, abandoned, max_retries, buried):
    assert buries_abandoned(retry_count, abandoned, max_retries) is buried


@pytest.mark.fault(16)
@given(st.integers(0, 25))
def test_a_killer_is_run_once_more_than_it_has_repeats_and_at_least_twice(max_retries):
    runs = next(n for n in range(1, 100) if buries_abandoned(0, n, max_retries))
    assert runs == max(2, max_retries + 1)
    assert abandoned_error(runs).type == "abandoned"


def test_an_unknown_type_is_parked_and_its_first_miss_is_kept():
    assert step(Missing()) == Park(timedelta(seconds=1), NOW)
    since = NOW - timedelta(seconds=299)
    assert step(Missing(), park(JOB, missing_since=since)) == Park(timedelta(seconds=1), since)


def test_an_unknown_type_is_buried_after_its_patience():
    since = NOW - timedelta(seconds=300)
    buried = step(Missing(), park(JOB, missing_since=since))
    assert isinstance(buried, Bury)
    assert (buried.error.type, "300 s" in buried.error.message) == (NO_HANDLER, True)


def test_an_unknown_type_is_buried_after_so_many_looks():
    patience = Patience(max_times=2)
    job = JOB
    for _ in range(2):
        assert isinstance(step(Missing(), job, patience=patience), Park)
        job = park(job, missing_since=NOW)
    assert isinstance(step(Missing(), job, patience=patience), Bury)


def test_a_node_that_has_the_handler_clears_the_misses():
    job = park(park(JOB, missing_since=NOW - timedelta(days=1)), missing_since=None)
    assert job.metadata == {}
    assert step(Missing(), job) == Park(timedelta(seconds=1), NOW)


def test_a_retry_clears_nothing_but_counts():
    assert retry(JOB, error_of(Failure("x"))).repeats == 1


@pytest.mark.fault(49)
@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (None, Success(None)),
        (5, Success(5)),
        ({}, Success({})),
        ({"success": True, "result": 1}, Success(1)),
        ({"success": True}, Success(None)),
        (MappingProxyType({"success": True, "result": 1}), Success(1)),
        ("success", Success("success")),
        (["success"], Success(["success"])),
        (Success(2), Success(2)),
        (Failure("x"), Failure("x")),
        (Retry(MINUTE), Retry(MINUTE)),
        (Discard("x"), Discard("x")),
        (Snooze(MINUTE), Snooze(MINUTE)),
        ({"success": False, "error": {"message": "no", "type": "t"}}, Failure("no", type="t")),
        ({"success": False, "error": {"retry": False}}, Failure("the handler reported a failure", retry=False)),
        ({"success": False, "error": "no"}, Failure("no")),
        ({"success": False}, Failure("the handler reported a failure")),
    ],
    ids=str,
)
def test_what_a_handlers_answer_means(answer, result):
    assert result_of(answer) == result


@pytest.mark.fault(49)
@pytest.mark.parametrize("flag", [None, 1, 0, 1.0, "true", "", [], {}])
def test_a_result_map_whose_flag_is_no_bool_is_a_failure_that_says_so(flag):
    result = result_of({"success": flag, "result": 1})
    assert isinstance(result, Failure)
    assert "must be True or False" in result.message
    assert isinstance(step(result), RetryIn)


@pytest.mark.fault(49)
@pytest.mark.parametrize("answer", [Failure("x"), {"success": False, "error": {}}, {"success": 1}])
def test_a_reported_failure_is_never_completed(answer):
    assert isinstance(step(result_of(answer)), RetryIn)
    assert isinstance(step(result_of(answer), SPENT), Bury)


@pytest.mark.parametrize("delay", [5, 1.5, "5", None])
def test_a_delay_that_is_no_timedelta_is_a_failure_that_says_so(delay):
    for answer in (Retry(delay), Snooze(delay)):
        result = result_of(answer)
        assert isinstance(result, Failure)
        assert "takes a timedelta" in result.message


@pytest.mark.parametrize(("asked", "given_"), [(timedelta.max, 36_525), (timedelta.min, 0), (timedelta(days=-1), 0)])
def test_a_delay_that_no_store_can_keep_is_bounded(asked, given_):
    assert step(Snooze(asked)) == Park(timedelta(days=given_))
    assert step(Retry(asked)).delay == timedelta(days=given_)


@pytest.mark.parametrize("limit", [100, 1000, MESSAGE_LIMIT, STACKTRACE_LIMIT])
@pytest.mark.parametrize("excess", [-1, 0, 1, 59, 60, 61, 5000, 10**6])
def test_clipped_text_keeps_its_ends_within_the_limit(limit, excess):
    text = "".join(chr(33 + i % 90) for i in range(limit + excess))
    short = clipped(text, limit)
    assert len(short) <= limit
    assert short == text if excess <= 0 else (short.startswith(text[: limit // 4]) and short.endswith(text[-10:]))
    assert excess <= 0 or "left out" in short


def test_an_errors_texts_are_clipped():
    error = error_of(Failure("m" * 100_000, type="t" * 1000, stacktrace="s" * 100_000))
    assert len(error.message) <= MESSAGE_LIMIT
    assert len(error.stacktrace or "") <= STACKTRACE_LIMIT
    assert len(error.type) <= 200


@pytest.mark.parametrize("message", [ValueError("x"), 5, None, b"bytes"])
def test_a_failure_with_a_message_that_is_no_text_is_kept_as_text(message):
    assert step(Failure(message)).error.message == str(message)


def test_reasons_that_are_no_text_are_kept_as_text():
    assert step(Discard(ValueError("x"))).error.message == "x"
    assert step(Retry(MINUTE, KeyError("x"))).error.message == "'x'"
    assert step(Failure("x", type=ValueError)).error.type == str(ValueError)
