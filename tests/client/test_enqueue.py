"""Enqueuing: what is stored, what is refused with the path of the value, and that a refusal stores nothing."""

import asyncio
import pickle
import time
from datetime import UTC, datetime, timedelta, timezone
from itertools import repeat
from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import BaseModel

from wagoe_jobs import (
    Enqueued,
    InvalidJob,
    Job,
    Jobs,
    NotATransaction,
    PayloadTooLarge,
    Priority,
    Registry,
    Runtime,
    TenantMismatch,
    bound_tenant,
    handler,
    new_job,
    tenant_bound,
    transactional_queue,
)
from wagoe_jobs.core.job import MISSES, Status

NAIVE = datetime.fromisoformat("2030-01-01T09:00:00")
FAR = datetime(2040, 1, 2, 3, 4, 5, 678901, tzinfo=timezone(timedelta(hours=-8)))


class Letter(BaseModel):
    to: str
    copies: int = 1


@handler("send-letter", args=Letter, queue="mail", max_retries=7)
def send_letter(args: dict[str, object]) -> None:
    """Marked with everything that an enqueuer uses."""


@handler("plain")
def plain(args: object) -> None:
    """Marked with its type alone."""


@pytest.fixture
def jobs(runtime: Runtime) -> Jobs:
    return Jobs(runtime, Registry([send_letter, plain]))


def got(jobs: Jobs, id: UUID) -> Job:
    job = jobs.get(id)
    assert job is not None
    return job


def stored(jobs: Jobs) -> int:
    return len(jobs.find(limit=1_000).jobs)


def test_a_job_is_enqueued_with_the_defaults(jobs: Jobs) -> None:
    id = jobs.enqueue("anything", {"x": 1})
    assert isinstance(id, UUID)
    assert (id.version, id.duplicate) == (7, False)
    job = got(jobs, id)
    assert (job.id, job.type, job.queue, job.args) == (id, "anything", "default", {"x": 1})
    assert (job.status, job.priority, job.max_retries, job.execute_at) == ("pending", "normal", 3, None)
    assert job.metadata == {}


def test_what_is_said_is_stored(jobs: Jobs) -> None:
    id = uuid4()
    given = jobs.enqueue(
        "x", [1], queue="q", priority="critical", max_retries=0, at=FAR, metadata={"trace": "t"}, id=id, tenant="acme"
    )
    job = got(jobs, given)
    assert given == id == job.id
    assert (job.queue, job.priority, job.max_retries) == ("q", Priority.CRITICAL, 0)
    assert job.execute_at == FAR
    assert job.metadata == {"trace": "t", "tenant-id": "acme"}
    assert job.tenant == "acme"
    assert jobs.runtime.queue.size("q") == 0


@pytest.mark.parametrize("what", [send_letter, "send-letter"])
def test_a_handlers_mark_gives_the_defaults_and_may_be_overruled(jobs: Jobs, what: Any) -> None:
    job = got(jobs, jobs.enqueue(what, {"to": "ann"}))
    assert (job.type, job.queue, job.max_retries) == ("send-letter", "mail", 7)
    job = got(jobs, jobs.enqueue(what, {"to": "ann"}, queue="slow", max_retries=0))
    assert (job.queue, job.max_retries) == ("slow", 0)


def test_without_a_registry_the_function_still_brings_its_mark(runtime: Runtime) -> None:
    jobs = Jobs(runtime)
    assert got(jobs, jobs.enqueue(send_letter, {"to": "ann"})).queue == "mail"
    assert got(jobs, jobs.enqueue("send-letter", {"anything": 1})).queue == "default"


@pytest.mark.parametrize("what", [send_letter, "send-letter"])
@pytest.mark.parametrize(
    ("args", "path"),
    [
        ({"to": 5}, "args['to']"),
        ({}, "args['to']"),
        (None, "args['to']"),
        ({"to": "a", "copies": "x"}, "args['copies']"),
    ],
)
def test_args_that_the_model_refuses_are_not_stored(jobs: Jobs, what: Any, args: Any, path: str) -> None:
    with pytest.raises(InvalidJob) as caught:
        jobs.enqueue(what, args)
    assert caught.value.path == path
    with pytest.raises(InvalidJob) as caught:
        jobs.enqueue_many([("plain", {}), (what, args)])
    assert caught.value.path == f"[1].{path}"
    with pytest.raises(InvalidJob) as caught:
        jobs.enqueue(new_job("send-letter", args))
    assert caught.value.path == path
    assert stored(jobs) == 0


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"job": ""}, "type", "1 to 200"),
    ({"job": 5}, "type", "neither a job type nor marked"),
    ({"job": print}, "type", "neither a job type nor marked"),
    ({"queue": ""}, "queue", "1 to 200"),
    ({"queue": "a\x00"}, "queue", "control characters"),
    ({"queue": 5}, "queue", "must be a str"),
    ({"priority": "urgent"}, "priority", "critical, high, normal, low"),
    ({"priority": 0}, "priority", "critical, high, normal, low"),
    ({"max_retries": -1}, "max_retries", "0 to 25"),
    ({"max_retries": 26}, "max_retries", "0 to 25"),
    ({"max_retries": True}, "max_retries", "0 to 25"),
    ({"at": "2030-01-01"}, "at", "aware datetime"),
    ({"at": 5}, "at", "aware datetime"),
    ({"at": FAR, "delay": 5}, "delay", "together with at"),
    ({"delay": -1}, "delay", "0 to 100 years"),
    ({"delay": timedelta(seconds=-1)}, "delay", "seconds, from 0 to 100 years, not -0:00:01"),
    ({"delay": float("nan")}, "delay", "0 to 100 years"),
    ({"delay": float("inf")}, "delay", "0 to 100 years"),
    ({"delay": True}, "delay", "0 to 100 years"),
    ({"delay": "5"}, "delay", "0 to 100 years"),
    ({"delay": timedelta(days=40_000)}, "delay", "0 to 100 years, not 40000 days, 0:00:00"),
    ({"delay": timedelta.min}, "delay", "0 to 100 years, not -999999999 days, 0:00:00"),
    ({"key": ""}, "key", "1 to 200"),
    ({"key": 5}, "key", "must be a str"),
    ({"key": "k", "ttl": 0}, "ttl", "longer than nothing"),
    ({"key": "k", "ttl": -1}, "ttl", "0 to 100 years"),
    ({"ttl": timedelta(hours=1)}, "ttl", "needs a key"),
    ({"tenant": ""}, "tenant", "1 to 200"),
    ({"tenant": 5}, "tenant", "must be a str"),
    ({"metadata": [1]}, "metadata", "must be a mapping"),
    ({"metadata": {5: 1}}, "metadata[5]", "must be a str"),
    ({"metadata": {"tenant-id": 5}}, 'metadata["tenant-id"]', "must be a str"),
    ({"metadata": {"tenant-id": "a"}, "tenant": "b"}, "tenant", "the metadata say 'a'"),
    ({"id": "0190c6a0-0000-7000-8000-000000000000"}, "id", "must be a UUID"),
    ({"args": {"x": [object()]}}, 'args["x"][0]', ""),
    ({"args": {"at": NAIVE}}, 'args["at"]', "naive"),
    ({"metadata": {"at": NAIVE}}, 'metadata["at"]', "naive"),
]


@pytest.mark.parametrize(
    ("said", "path", "reason"), WRONG, ids=[f"{path}-{index}" for index, (_, path, _) in enumerate(WRONG)]
)
def test_what_is_wrong_is_refused_with_its_path_and_nothing_is_stored(
    jobs: Jobs, said: dict[str, Any], path: str, reason: str
) -> None:
    given = {"job": "plain", **said}
    with pytest.raises(InvalidJob) as caught:
        jobs.enqueue(given.pop("job"), **given)
    assert caught.value.path.replace("'", '"') == path
    assert reason in caught.value.reason
    assert stored(jobs) == 0


@pytest.mark.fault(56)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_a_time_without_a_zone_is_refused_wherever_it_is_given(
    jobs: Jobs, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for call in (
            lambda: jobs.enqueue("x", at=NAIVE),
            lambda: jobs.enqueue_many([("x", None)], at=NAIVE),
            lambda: jobs.enqueue("x", {"at": [NAIVE]}),
            lambda: jobs.enqueue("x", metadata={"at": NAIVE}),
            lambda: new_job("x", execute_at=NAIVE),
            lambda: new_job("x", now=NAIVE),
            lambda: jobs.enqueue(Job(id=uuid4(), type="x", execute_at=NAIVE)),
            lambda: jobs.find(since=NAIVE),
            lambda: jobs.find(until=NAIVE),
        ):
            with pytest.raises(InvalidJob, match="naive"):
                call()
        assert stored(jobs) == 0
        assert got(jobs, jobs.enqueue("x", at=FAR)).execute_at == FAR
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_payload_that_is_too_large_is_refused(jobs: Jobs) -> None:
    with pytest.raises(PayloadTooLarge):
        jobs.enqueue("x", {"text": "x" * 1_000_001})
    with pytest.raises(PayloadTooLarge) as caught:
        jobs.enqueue_many([("x", {}), ("x", {"text": "x" * 1_000_001})])
    assert caught.value.path.startswith("[1].")
    assert stored(jobs) == 0


@pytest.mark.parametrize("delay", [timedelta(hours=1), 3_600, 3_600.0])
def test_a_delay_is_counted_by_the_store(jobs: Jobs, delay: Any) -> None:
    due = got(jobs, jobs.enqueue("x", delay=delay)).execute_at
    assert due is not None
    assert timedelta(minutes=59) < due - datetime.now(UTC) <= timedelta(hours=1)
    assert jobs.runtime.queue.size("default") == 0


def test_the_same_id_again_stores_nothing_and_says_so(jobs: Jobs) -> None:
    id = uuid4()
    first, again = jobs.enqueue("x", {"n": 1}, id=id), jobs.enqueue("x", {"n": 2}, id=id)
    assert (first.duplicate, again.duplicate) == (False, True)
    assert first == again == id
    assert got(jobs, id).args == {"n": 1}


def test_a_key_stores_one_job_per_type_and_tells_the_first_ones_id(jobs: Jobs) -> None:
    first = jobs.enqueue("x", {"n": 1}, key="order-1")
    again = jobs.enqueue("x", {"n": 2}, key="order-1", ttl=timedelta(hours=1), delay=5)
    other = jobs.enqueue("y", {"n": 3}, key="order-1")
    assert (again, again.duplicate) == (first, True)
    assert (other.duplicate, other != first) == (False, True)
    assert stored(jobs) == 2


def test_an_id_can_be_pickled_compared_and_used_as_any_uuid() -> None:
    id = uuid4()
    given = Enqueued(id, duplicate=True)
    back = pickle.loads(pickle.dumps(given))
    assert (back, back.duplicate, type(back)) == (id, True, Enqueued)
    assert {id: 1}[given] == 1
    assert str(given) == str(id)


def test_a_job_may_name_another_by_what_enqueue_answered(jobs: Jobs) -> None:
    first = jobs.enqueue("x")
    job = got(jobs, jobs.enqueue("y", {"after": [first], first: 1}, metadata={"parent": first}))
    assert job.args == {"after": [UUID(str(first))], UUID(str(first)): 1}
    assert type(job.args["after"][0]) is UUID
    assert job.metadata == {"parent": first}


def test_many_are_stored_in_order_or_none(jobs: Jobs) -> None:
    made = new_job("made", {"n": 3}, queue="q")
    ids = jobs.enqueue_many([("x", {"n": 1}), (send_letter, {"to": "ann"}), "bare", made, ("x", {"n": 5})])
    assert [got(jobs, id).type for id in ids] == ["x", "send-letter", "bare", "made", "x"]
    assert [id.duplicate for id in ids] == [False] * 5
    assert [id.duplicate for id in jobs.enqueue_many([made, ("x", None)])] == [True, False]
    assert jobs.enqueue_many([]) == []
    peeked = jobs.runtime.queue.peek("default", 3)
    assert [job.id for job in peeked] == [ids[0], ids[2], ids[4]]


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        (("x", {"at": [NAIVE]}), '[2].args["at"][0]'),
        (("", {}), "[2].type"),
        (("x",), "[2]"),
        (("x", {}, 5), "[2]"),
        (5, "[2].type"),
        (None, "[2].type"),
        (Job(id=uuid4(), type="x", queue=""), "[2].queue"),
    ],
)
def test_one_that_is_wrong_keeps_all_from_being_stored(jobs: Jobs, entry: Any, path: str) -> None:
    with pytest.raises(InvalidJob) as caught:
        jobs.enqueue_many([("x", {}), ("x", {}), entry, ("x", {})])
    assert caught.value.path == path
    assert stored(jobs) == 0


def test_ten_thousand_are_stored_and_one_more_is_refused(jobs: Jobs) -> None:
    with pytest.raises(InvalidJob, match="more than 10,000"):
        jobs.enqueue_many(("x", {"n": n}) for n in range(10_001))
    assert stored(jobs) == 0
    assert len(set(jobs.enqueue_many(("x", {"n": n}) for n in range(10_000)))) == 10_000
    assert jobs.runtime.queue.size("default") == 10_000


def test_a_job_that_is_made_already_is_enqueued_as_it_is(jobs: Jobs) -> None:
    made = new_job("x", {"n": 1}, queue="q", priority="high", max_retries=1, execute_at=FAR, metadata={"m": 1})
    assert jobs.enqueue(made) == made.id
    job = got(jobs, made.id)
    assert (job.queue, job.priority, job.max_retries, job.execute_at) == ("q", "high", 1, FAR)
    with pytest.raises(InvalidJob, match="queue: is part of a Job already"):
        jobs.enqueue(new_job("x"), queue="q")
    with pytest.raises(InvalidJob, match="args: is part of a Job already"):
        jobs.enqueue(new_job("x"), {"n": 1})
    with pytest.raises(InvalidJob, match=r"\[0\]\.priority: is part of a Job already"):
        jobs.enqueue_many([new_job("x")], priority="low")


def test_a_job_that_has_run_starts_anew_when_it_is_enqueued_as_another(jobs: Jobs) -> None:
    ran = Job(id=uuid4(), type="x", status=Status.FAILED, retry_count=3, abandoned=2, metadata={MISSES: 4})
    job = got(jobs, jobs.enqueue(ran))
    assert (job.status, job.retry_count, job.abandoned, job.metadata) == ("pending", 0, 0, {})


@pytest.mark.parametrize("many", [None, 5, "send-letter", b"x", {"plain": {}}, object()])
def test_what_only_looks_like_many_jobs_is_refused_and_not_taken_apart(jobs: Jobs, many: Any) -> None:
    with pytest.raises(InvalidJob, match="jobs: must be an iterable of pairs"):
        jobs.enqueue_many(many)
    with pytest.raises(InvalidJob, match="jobs: must be an iterable of pairs"):
        asyncio.run(jobs.aenqueue_many(many))
    assert stored(jobs) == 0


def test_endlessly_many_jobs_are_refused_and_not_waited_for(jobs: Jobs) -> None:
    for enqueue in (jobs.enqueue_many, lambda many: asyncio.run(jobs.aenqueue_many(many))):
        with pytest.raises(InvalidJob, match="more than 10,000"):
            enqueue(repeat(("plain", {})))
    assert stored(jobs) == 0


class Untellable:
    def __repr__(self) -> str:
        raise RuntimeError("nothing is there")


class Proxy(Untellable):
    """A lazy proxy of what is not there: nothing can be asked, not even its class."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("nothing is there")

    def __hash__(self) -> int:
        return 1


VAST = 10**5000
"""More digits than Python writes."""


@pytest.mark.parametrize("name", ["queue", "priority", "max_retries", "at", "delay", "tenant", "metadata", "id"])
@pytest.mark.parametrize("kind", ["vast", "minus", "list", "text", "object", "map"])
def test_what_cannot_be_told_is_refused_all_the_same_and_shortly(jobs: Jobs, name: str, kind: str) -> None:
    values = {
        "vast": VAST, "minus": -VAST, "list": [VAST], "text": "~" * 2_000_000, "object": Untellable(), "map": {VAST: 1}
    }  # fmt: skip
    with pytest.raises(InvalidJob) as caught:
        jobs.enqueue("x", **{name: values[kind]})  # type: ignore[arg-type]
    assert caught.value.path.startswith(name)
    assert len(str(caught.value)) < 400
    assert stored(jobs) == 0


def test_args_that_cannot_be_told_are_refused_with_their_path(jobs: Jobs) -> None:
    for args in ({VAST: object()}, {"l": [Proxy()]}, {Proxy(): 1}, {Proxy()}, {"o": Untellable()}):
        with pytest.raises(InvalidJob, match=r"^args.*cannot be stored"):
            jobs.enqueue("x", args)
    assert stored(jobs) == 0


def test_args_are_as_they_were_when_they_were_enqueued(jobs: Jobs) -> None:
    args: dict[str, Any] = {"l": [1]}
    id = jobs.enqueue("x", args)
    args["l"].append(2)
    assert got(jobs, id).args == {"l": [1]}


class TestTenants:
    def test_the_bound_tenant_is_taken(self, jobs: Jobs) -> None:
        with tenant_bound("acme"):
            assert bound_tenant() == "acme"
            assert got(jobs, jobs.enqueue("x")).tenant == "acme"
            assert got(jobs, jobs.enqueue("x", tenant="acme")).tenant == "acme"
            assert got(jobs, jobs.enqueue_many([("x", None)])[0]).tenant == "acme"
            assert got(jobs, jobs.enqueue(new_job("x"))).tenant == "acme"
            with tenant_bound(None):
                assert got(jobs, jobs.enqueue("x")).tenant is None
        assert bound_tenant() is None
        assert got(jobs, jobs.enqueue("x")).tenant is None

    def test_another_than_the_bound_one_is_refused_however_it_is_named(self, jobs: Jobs) -> None:
        with tenant_bound("acme"):
            for call in (
                lambda: jobs.enqueue("x", tenant="other"),
                lambda: jobs.enqueue("x", metadata={"tenant-id": "other"}),
                lambda: jobs.enqueue_many([("x", None)], tenant="other"),
                lambda: jobs.enqueue(new_job("x", metadata={"tenant-id": "other"})),
                lambda: jobs.enqueue_many([new_job("x", metadata={"tenant-id": "other"})]),
            ):
                with pytest.raises(TenantMismatch) as caught:
                    call()
                assert (caught.value.named, caught.value.bound) == ("other", "acme")
        assert stored(jobs) == 0

    def test_what_is_no_tenant_cannot_be_bound(self) -> None:
        with pytest.raises(InvalidJob, match="tenant"), tenant_bound(""):
            pytest.fail("bound")


@pytest.mark.parametrize("runtime", ["memory", "redis"], indirect=True)
class TestSomeStoresHaveNoTransactions:
    def test_a_transaction_is_refused_with_what_to_do(self, jobs: Jobs) -> None:
        assert not transactional_queue(jobs.runtime.queue)
        for call in (
            lambda: jobs.enqueue("x", tx=object()),
            lambda: jobs.enqueue("x", key="k", tx=object()),
            lambda: jobs.enqueue_many([("x", None)], tx=object()),
        ):
            with pytest.raises(NotATransaction, match="transactional_queue"):
                call()
        assert stored(jobs) == 0
