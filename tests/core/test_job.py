"""A job's life as values: what makes one, what is refused, and what each transition changes."""

from dataclasses import FrozenInstanceError, fields, replace
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wagoe_jobs.core.job import (
    EPOCH,
    PRIORITIES,
    TERMINAL,
    ErrorInfo,
    Job,
    Priority,
    Status,
    cancel,
    complete,
    fail,
    from_micros,
    make_job,
    park,
    redrive,
    retry,
    start,
    to_micros,
)
from wagoe_jobs.core.told import told
from wagoe_jobs.errors import InvalidJob

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
LATER = NOW + timedelta(seconds=5)
ID = UUID(int=1)
JOB = make_job("t", {"a": 1}, id=ID, now=NOW, execute_at=NOW, metadata={"tenant-id": "acme"})
ERROR = ErrorInfo(type="x", message="m")


def changed(before: Job, after: Job) -> dict[str, object]:
    return {f.name: getattr(after, f.name) for f in fields(Job) if getattr(after, f.name) != getattr(before, f.name)}


def test_a_new_job_has_the_defaults():
    assert make_job("t", id=ID, now=NOW) == Job(id=ID, type="t", args={}, created_at=NOW, updated_at=NOW)


def test_each_transition_changes_what_it_says_and_nothing_else():
    running = start(JOB, now=LATER)
    assert changed(JOB, running) == {"status": Status.RUNNING, "started_at": LATER, "updated_at": LATER}
    done = complete(running, 7, now=LATER)
    assert changed(running, done) == {"status": Status.COMPLETED, "result": 7, "completed_at": LATER}
    failed = fail(running, ERROR, now=LATER)
    assert changed(running, failed) == {"status": Status.FAILED, "error": ERROR, "completed_at": LATER}
    ended = cancel(running, ERROR, now=LATER)
    assert changed(running, ended) == {"status": Status.CANCELLED, "error": ERROR, "completed_at": LATER}
    again = retry(running, ERROR)
    assert changed(running, again) == {"status": Status.RETRYING, "error": ERROR, "retry_count": 1}


def test_redriving_makes_the_budget_whole_and_keeps_the_last_error():
    dead = replace(
        fail(start(JOB, now=NOW), ERROR, now=LATER), retry_count=3, abandoned=2, metadata={"first-missing-at": NOW}
    )
    fresh = redrive(dead)
    assert (fresh.status, fresh.repeats, fresh.error, fresh.metadata) == (Status.PENDING, 0, ERROR, {})
    assert (fresh.started_at, fresh.completed_at, fresh.execute_at) == (None, None, None)


def test_parking_counts_the_misses_in_a_row():
    job = park(park(JOB, missing_since=NOW), missing_since=NOW)
    assert job.metadata == {"tenant-id": "acme", "first-missing-at": NOW, "misses": 2}
    assert park(job, missing_since=None).metadata == {"tenant-id": "acme"}
    assert JOB.metadata == {"tenant-id": "acme"}


def test_jobs_are_frozen():
    with pytest.raises(FrozenInstanceError):
        JOB.type = "other"  # type: ignore[misc]


def test_the_callers_metadata_is_not_shared():
    metadata: dict[str, object] = {"a": 1}
    job = make_job("t", id=ID, now=NOW, metadata=metadata)
    metadata["b"] = 2
    assert job.metadata == {"a": 1}


def test_three_states_are_terminal():
    assert {status for status in Status if status.terminal} == TERMINAL
    assert {Status.COMPLETED, Status.FAILED, Status.CANCELLED} == TERMINAL


def test_priorities_rank_from_critical_to_low():
    assert [priority.rank for priority in (Priority.CRITICAL, Priority.HIGH, Priority.NORMAL, Priority.LOW)] == [
        0,
        1,
        2,
        3,
    ]
    assert [Priority.of_rank(rank) for rank in range(4)] == list(PRIORITIES)


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        *(
            ("type", name)
            for name in ("", " ", "a ", "\ta", "a\nb", "a\x00", "\x7f", "x" * 201, "\ud800", 5, None, b"t")
        ),
        *(("queue", name) for name in ("", " q", "q\r", "x" * 201, "\udfff", 5, None)),
        *(("priority", value) for value in ("urgent", "", 1, None, "HIGH")),
        *(("max_retries", value) for value in (-1, 26, 1.0, True, "3", None)),
        *(("id", value) for value in (str(ID), 1, None)),
        *(("execute_at", value) for value in ("2026-11-30", 5, NOW.date())),
        *(("now", value) for value in ("2026-11-30", 5, None)),
    ],
)
def test_what_cannot_be_a_job_is_refused_with_its_path(path, wrong):
    given_ = {"type": "t", "id": ID, "now": NOW, path: wrong}
    with pytest.raises(InvalidJob) as refusal:
        make_job(**given_)
    assert refusal.value.path == path


@pytest.mark.parametrize("key", ["", " a", "a\n", 5, None, "\ud800", "x" * 201])
def test_metadata_names_are_checked(key):
    with pytest.raises(InvalidJob) as refusal:
        make_job("t", id=ID, now=NOW, metadata={key: 1})
    assert refusal.value.path == f"metadata[{told(key)}]"


@pytest.mark.fault(56)
@pytest.mark.parametrize("path", ["execute_at", "now"])
def test_a_naive_time_is_refused(path, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    given_ = {"id": ID, "now": NOW, path: datetime(2026, 11, 30, 12)}  # noqa: DTZ001 - the fault itself
    with pytest.raises(InvalidJob, match="naive") as refusal:
        make_job("t", **given_)
    assert refusal.value.path == path
    assert "time zone" in refusal.value.reason


@pytest.mark.fault(55)
@pytest.mark.parametrize("zone", [timezone(timedelta(hours=-8)), ZoneInfo("Asia/Kathmandu")])
def test_a_local_aware_time_is_the_same_instant_in_utc(zone):
    local = datetime(2024, 1, 1, 13, 30, 45, 1, zone)
    job = make_job("t", id=ID, now=local, execute_at=local)
    assert job.execute_at == local
    assert (job.execute_at.tzinfo, job.created_at.tzinfo) == (UTC, UTC)


def test_a_time_that_utc_cannot_hold_is_refused():
    for edge in (
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=1))),
    ):
        with pytest.raises(InvalidJob, match="outside the years"):
            make_job("t", id=ID, now=NOW, execute_at=edge)


def test_names_of_every_script_are_allowed():
    assert make_job("fakturér/ünïcode 🚀", id=ID, now=NOW, queue="очередь").queue == "очередь"


def test_an_id_of_another_class_is_a_plain_one():
    class Id(UUID):
        pass

    assert type(make_job("t", id=Id(int=5), now=NOW).id) is UUID


def test_the_tenant_is_text_or_none():
    assert JOB.tenant == "acme"
    assert replace(JOB, metadata={"tenant-id": 5}).tenant is None


@pytest.mark.fault(54)
@given(
    st.datetimes(
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45))]),
        min_value=EPOCH.replace(year=2, tzinfo=None),
        max_value=EPOCH.replace(year=9999, tzinfo=None),
    )
)
def test_microseconds_keep_an_instant_exactly(instant):
    assert from_micros(to_micros(instant)) == instant
    assert from_micros(to_micros(instant)).tzinfo is UTC


def test_microseconds_count_from_1970_in_both_directions():
    assert to_micros(EPOCH) == 0
    assert to_micros(EPOCH - timedelta(microseconds=1)) == -1
    assert from_micros(-1) == EPOCH - timedelta(microseconds=1)
