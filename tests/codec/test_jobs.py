"""A job as it is stored: the form of the text, what may be missing from it, and the two ways to read it."""

import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codec.values import EVERY_TYPE, ID, INSTANTS, NOW, TEXT, VALUES, same
from wagoe_jobs.core import codec
from wagoe_jobs.core.job import (
    EPOCH,
    ErrorInfo,
    Job,
    Priority,
    Status,
    cancel,
    complete,
    fail,
    make_job,
    park,
    retry,
    start,
)
from wagoe_jobs.errors import Undecodable

ERROR = ErrorInfo(
    type="handler-error", message="~no", exception_class="ValueError", stacktrace="a\nb", details={"at": NOW}
)
JOB = make_job(
    "send-email",
    {"to": "ann@example.org"},
    id=ID,
    now=NOW,
    queue="mail",
    priority="high",
    execute_at=NOW,
    metadata={"tenant-id": "acme"},
)
LIVES = {
    "waiting": JOB,
    "bare": make_job("t", id=ID, now=NOW),
    "running": start(JOB, now=NOW + timedelta(microseconds=1)),
    "completed": complete(start(JOB, now=NOW), {"sent": {1, 2}}, now=NOW),
    "completed with a plain result": complete(JOB, ["a", 1], now=NOW),
    "failed": fail(JOB, ERROR, now=NOW),
    "retrying": retry(JOB, ERROR),
    "parked": park(JOB, missing_since=NOW),
    "cancelled": cancel(JOB, None, now=NOW),
    "odd names": replace(JOB, type='with "quotes" \\ and é', queue="~:tilde"),
    "odd metadata": replace(JOB, metadata={"a key": "~tilde", "^": [1], "": None}),
    "args that are no map": replace(JOB, args=[1, "two"]),
    "args that are null": replace(JOB, args=None),
    "args with a keyword's look": replace(JOB, args={"~:args": {"~:args": '"~:args":'}, 'x"~:args': 1}),
}


@pytest.mark.parametrize("life", LIVES)
def test_a_job_comes_back_at_every_stage_of_its_life(life):
    job = LIVES[life]
    read = codec.decode_job(codec.encode_job(job))
    assert read == job
    assert all(same(getattr(read, f.name), getattr(job, f.name)) for f in fields(Job) if f.name != "error")


@pytest.mark.parametrize("life", LIVES)
def test_a_run_is_the_part_of_the_job_that_a_worker_needs(life):
    job, run = LIVES[life], codec.decode_run(codec.encode_job(LIVES[life]))
    assert (UUID(run.id), run.type, run.retry_count, run.max_retries) == (
        job.id,
        job.type,
        job.retry_count,
        job.max_retries,
    )
    assert same(run.args, job.args)
    assert same(dict(run.metadata), dict(job.metadata))
    assert codec.type_of(codec.encode_job(job)) == job.type


@pytest.mark.parametrize("name", EVERY_TYPE)
def test_args_and_metadata_of_every_type_come_back(name):
    job = replace(JOB, args=EVERY_TYPE[name], metadata={"m": EVERY_TYPE[name]}, result=EVERY_TYPE[name])
    read = codec.decode_job(codec.encode_job(job))
    assert same(read.args, job.args)
    assert same(read.metadata, job.metadata)
    assert same(read.result, job.result)


NAMES = TEXT.filter(bool)
JOBS = st.builds(
    Job,
    id=st.uuids(),
    type=NAMES,
    queue=NAMES,
    args=VALUES,
    status=st.sampled_from(Status),
    priority=st.sampled_from(Priority),
    retry_count=st.integers(0, 10**12),
    max_retries=st.integers(0, 10**12),
    execute_at=st.none() | INSTANTS,
    created_at=INSTANTS,
    updated_at=INSTANTS,
    started_at=st.none() | INSTANTS,
    completed_at=st.none() | INSTANTS,
    result=VALUES,
    error=st.none() | st.builds(ErrorInfo, type=NAMES, message=TEXT, exception_class=st.none() | TEXT, details=VALUES),
    metadata=st.dictionaries(TEXT, VALUES, max_size=3),
)


@settings(max_examples=150, deadline=None)
@given(JOBS)
def test_any_job_comes_back_by_either_way(job):
    text = codec.encode_job(job)
    read, run = codec.decode_job(text), codec.decode_run(text)
    for field in fields(Job):
        if field.name != "error":
            assert same(getattr(read, field.name), getattr(job, field.name)), field.name
    assert (run.id, run.type, run.retry_count, run.max_retries) == (
        str(job.id),
        job.type,
        job.retry_count,
        job.max_retries,
    )
    assert same(run.args, job.args)
    assert same(dict(run.metadata), dict(job.metadata))


def test_the_form_of_the_text():
    assert codec.encode_job(replace(JOB, error=ErrorInfo(type="x", message="~m"))) == (
        '{"~:id":"~u01937d3a-5c1e-7b6a-9f00-0123456789ab","~:job-type":"~:send-email","~:queue":"~:mail"'
        ',"~:status":"~:pending","~:priority":"~:high","~:retry-count":0,"~:max-retries":3'
        ',"~:created-at":"~t2026-11-30T13:30:08.123456Z","~:updated-at":"~t2026-11-30T13:30:08.123456Z"'
        ',"~:execute-at":"~t2026-11-30T13:30:08.123456Z","~:error":{"~:type":"~:x","~:message":"~~m"}'
        ',"~:metadata":{"~:tenant-id":"acme"},"~:args":{"to":"ann@example.org"}}'
    )


def test_abandoned_is_never_in_the_payload():
    assert codec.decode_job(codec.encode_job(replace(JOB, abandoned=5))).abandoned == 0


def test_a_time_in_another_zone_is_stored_in_utc():
    text = codec.encode_job(replace(JOB, execute_at=datetime.fromisoformat("2024-01-01T13:30:45-08:00")))
    assert codec.decode_job(text).execute_at == datetime(2024, 1, 1, 21, 30, 45, tzinfo=UTC)


def raw(**changes):
    """The JSON of a job with some fields changed, or without those that are given as ...; args last or not."""
    found = json.loads(codec.encode_job(JOB))
    for name, value in changes.items():
        found["~:" + name.replace("_", "-")] = value
    return json.dumps({key: value for key, value in found.items() if value is not ...})


def test_what_is_absent_has_the_jobs_defaults():
    names = ["queue", "status", "priority", "retry_count", "max_retries", "execute_at", "created_at", "updated_at"]
    text = raw(**dict.fromkeys([*names, "args", "metadata"], ...))
    assert codec.decode_job(text) == Job(id=ID, type="send-email", args={}, created_at=EPOCH, updated_at=EPOCH)
    assert codec.decode_run(text) == codec.Run(str(ID), "send-email", {}, 0, 3, {})


def test_a_field_of_a_later_version_is_left_alone():
    assert codec.decode_job(raw(colour="~:red", shape={"~#py/tuple": []})) == JOB


@pytest.mark.parametrize(
    "changes",
    [
        {"id": ...},
        {"id": "x"},
        {"id": "~u123"},
        {"id": 5},
        {"job_type": ...},
        {"job_type": 5},
        {"job_type": "~:"},
        {"status": "~:asleep"},
        {"priority": "~:urgent"},
        {"retry_count": -1},
        {"retry_count": True},
        {"retry_count": 1.0},
        {"max_retries": "3"},
        {"max_retries": "~_"},
        {"created_at": "2026-11-30T13:30:08Z"},
        {"created_at": "~t2026-02-30T13:30:08.000000Z"},
        {"execute_at": 5},
        {"metadata": []},
        {"metadata": {"~i1": 2}},
        {"metadata": {"~:a": 1, "a": 2}},
        {"error": "late"},
        {"error": {"~:message": 5}},
        {"error": {"~:type": 5}},
        {"args": "~x"},
        {"args": {"~#unknown": []}},
        {"result": "~t"},
    ],
    ids=str,
)
def test_a_field_that_is_not_what_it_must_be_is_undecodable(changes):
    text = raw(**changes)
    with pytest.raises(Undecodable):
        codec.decode_job(text)
    if "02-30" not in text:  # what a worker has no use for is not looked up in the calendar
        with pytest.raises(Undecodable):
            codec.decode_run(text)


@pytest.mark.parametrize(
    "respelled",
    [
        lambda text: text.replace('"~:args"', r'"\u007e:args"'),
        lambda text: text.replace(":", ": "),
        lambda text: " " + text + "\n",
        lambda text: json.dumps(dict(reversed(json.loads(text).items()))),
        lambda text: text.replace("0123456789ab", "0123456789AB"),
        lambda text: text.replace("08.123456Z", "08.123456000Z"),
        lambda text: text.replace("08.123456Z", "08.123456+00:00"),
    ],
)
def test_another_spelling_is_only_slower(respelled):
    text = codec.encode_job(JOB)
    other = respelled(text)
    assert other != text
    read = other.replace(" 13: 30: ", "13:30:").replace("~: ", "~:").replace("13: 30: 08", "13:30:08")
    assert codec.decode_job(read) == JOB
    assert codec.type_of(read) == JOB.type


def test_the_type_of_a_large_job_costs_no_look_at_it():
    text = codec.encode_job(replace(JOB, args={"rows": [{"n": n} for n in range(50_000)]}))
    assert codec.type_of(text[:-1]) == JOB.type
    with pytest.raises(Undecodable):
        codec.type_of(text[1:])


@pytest.mark.parametrize(
    "text",
    [
        '{"~:id":"~u01937d3a-5c1e-7b6a-9f00-0123456789ab","~:job-type":"~:t","\\u007e:args":{"k":"~:word"},"x\\"~:args":1}',
        '{"~:id":"~u01937d3a-5c1e-7b6a-9f00-0123456789ab","~:job-type":"~:t","~:args":{"k":"\\u007e:word"}}',
    ],
)
def test_an_escape_hides_nothing(text):
    assert str(codec.decode_run(text).args["k"]) == "word"
    assert type(codec.decode_run(text).args["k"]).__name__ == "Keyword"


def test_errors_come_back():
    assert codec.decode_error(codec.encode_error(ERROR)) == ERROR
    with pytest.raises(Undecodable):
        codec.decode_error("[1]")
