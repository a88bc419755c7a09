"""A row becomes a job: the payload, and over it the columns."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from wagoe_jobs.core import codec
from wagoe_jobs.core.job import ErrorInfo, Priority, Status, make_job, to_micros
from wagoe_jobs.core.stored import Stored, budget_of, checked_cursor, read_job
from wagoe_jobs.errors import InvalidJob

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ID = UUID(int=1)
JOB = make_job("t", {"at": NOW}, id=ID, now=NOW, metadata={"a": 1})
US = to_micros(NOW)
ROW = Stored(str(ID), "t", "default", Status.PENDING, 2, codec.encode_job(JOB), US, US)


def test_a_row_without_news_is_the_job_that_was_enqueued():
    assert read_job(ROW) == JOB


def test_columns_lie_over_the_payload():
    row = ROW._replace(
        status=Status.FAILED,
        rank=0,
        created_us=US + 1,
        updated_us=US + 2,
        due_us=US + 3,
        started_us=US + 4,
        completed_us=US + 5,
        abandoned=2,
        error=codec.encode_error(ErrorInfo(type="x", message="m", details={1})),
    )
    micro = timedelta(microseconds=1)
    assert read_job(row) == replace(
        JOB,
        status=Status.FAILED,
        priority=Priority.CRITICAL,
        created_at=NOW + micro,
        updated_at=NOW + 2 * micro,
        execute_at=NOW + 3 * micro,
        started_at=NOW + 4 * micro,
        completed_at=NOW + 5 * micro,
        abandoned=2,
        error=ErrorInfo(type="x", message="m", details={1}),
    )


def test_the_result_is_the_columns():
    assert read_job(ROW._replace(status=Status.COMPLETED, result=codec.encode_value(None))).result is None
    assert read_job(ROW._replace(status=Status.COMPLETED, result=codec.encode_value((1, 2)))).result == (1, 2)


def test_the_last_error_of_the_payload_stays_without_one_in_the_column():
    error = ErrorInfo(type="x", message="m")
    assert read_job(ROW._replace(payload=codec.encode_job(replace(JOB, error=error)))).error == error


@pytest.mark.parametrize("broken", [{"payload": "no job"}, {"payload": ""}, {"result": "["}, {"error": "5"}])
def test_what_cannot_be_read_is_told_as_such_with_its_text(broken):
    job = read_job(ROW._replace(status=Status.FAILED, completed_us=US, **broken))
    assert (job.id, job.type, job.status, job.completed_at) == (ID, "t", Status.FAILED, NOW)
    assert job.error is not None
    assert job.error.type == "undecodable"
    assert job.args == broken.get("payload", ROW.payload)
    assert job.result is None


def test_the_budget_is_what_a_follow_up_has_left():
    assert budget_of(codec.encode_job(replace(JOB, max_retries=5, retry_count=2))) == 3
    assert budget_of("not a job") is None


@pytest.mark.parametrize("cursor", ["", "x;drop table", str(ID).replace("-", ""), f"{ID}\n", 7])
def test_a_cursor_is_the_id_of_a_job(cursor: str):
    assert checked_cursor(str(ID)) == str(ID)
    with pytest.raises(InvalidJob, match="must be what an earlier page gave"):
        checked_cursor(cursor)
