"""Jobs that the generation before transit stored as plain JSON are still read."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from wagoe_jobs.core import codec
from wagoe_jobs.core.job import ErrorInfo, Job, Priority, Status
from wagoe_jobs.errors import Undecodable

AT = datetime(2024, 11, 30, 13, 30, 8, 123000, UTC)
OLD = {
    "id": "01937d3a-5c1e-7b6a-9f00-0123456789ab",
    "job-type": "send-email",
    "queue": "mail",
    "args": {"to": "~:ann", "n": 2**60, "deep": [{"x": None}]},
    "status": "retrying",
    "priority": "high",
    "retry-count": 2,
    "max-retries": 5,
    "execute-at": 1732973408123,
    "created-at": 1732973408123,
    "updated-at": "2024-11-30T13:30:08.123Z",
    "started-at": None,
    "result": None,
    "error": {"message": "~late", "type": "timeout", "exception-class": "TimeoutError", "stacktrace": "a\nb"},
    "metadata": {"tenant-id": "acme", "first-missing-at": 1732973408123},
}


def test_keywords_and_instants_are_restored_and_args_are_left_as_they_are():
    job = codec.decode_job(json.dumps(OLD))
    assert job.error == ErrorInfo(type="timeout", message="~late", exception_class="TimeoutError", stacktrace="a\nb")
    assert (job.type, job.queue, job.status, job.priority) == ("send-email", "mail", Status.RETRYING, Priority.HIGH)
    assert (job.execute_at, job.created_at, job.updated_at, job.started_at) == (AT, AT, AT, None)
    assert job.args == OLD["args"]
    assert job.metadata == {"tenant-id": "acme", "first-missing-at": AT}
    assert codec.decode_job(codec.encode_job(job)) == job


def test_snake_case_is_read_too():
    snake = {key.replace("-", "_"): value for key, value in OLD.items()}
    snake["metadata"] = {"tenant_id": "acme", "first_missing_at": 1732973408123, "my_own": 1}
    read = codec.decode_job(json.dumps(snake))
    assert read.metadata == {"tenant-id": "acme", "first-missing-at": AT, "my_own": 1}
    assert read == replace(codec.decode_job(json.dumps(OLD)), metadata=read.metadata)


def test_a_run_is_read_alike():
    run = codec.decode_run(json.dumps(OLD))
    assert run == codec.Run(OLD["id"], "send-email", OLD["args"], 2, 5, {"tenant-id": "acme", "first-missing-at": AT})


def test_the_least_that_an_old_job_needs():
    assert codec.decode_job(json.dumps({"id": OLD["id"], "job-type": "t"})) == Job(
        id=codec.decode_job(json.dumps(OLD)).id, type="t", args={}
    )


@pytest.mark.parametrize(
    "change",
    [
        {"id": "x"},
        {"id": 5},
        {"id": None},
        {"job-type": None},
        {"job-type": ["t"]},
        {"created-at": "yesterday"},
        {"created-at": 1.5},
        {"created-at": 10**30},
        {"retry-count": "2"},
        {"status": "asleep"},
        {"metadata": [1]},
        {"metadata": {"first-missing-at": "x"}},
        {"error": "late"},
        {"args": json.loads("[" * 201 + "]" * 201)},
        {"job_type": "other"},
    ],
    ids=lambda change: str(change)[:40],
)
def test_an_old_job_that_is_wrong_is_undecodable(change):
    with pytest.raises(Undecodable):
        codec.decode_job(json.dumps({**OLD, **change}))
