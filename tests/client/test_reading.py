"""Looking at jobs, waiting, cancelling, retrying, and the same from async code."""

import asyncio
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from wagoe_jobs import Failure, InvalidJob, Jobs, Registry, Runtime, TenantMismatch, Worker, tenant_bound

UNKNOWN = UUID("018f0000-0000-7000-8000-000000000000")


def run(args: Any) -> Any:
    return Failure("no", retry=False) if args.get("fail") else args


@pytest.fixture
def jobs(runtime: Runtime) -> Jobs:
    return Jobs(runtime)


def work(jobs: Jobs, times: int = 1) -> None:
    with Worker(jobs.runtime, Registry({"x": run})) as worker:
        for _ in range(times):
            assert worker.work_one()


@pytest.mark.parametrize("id", [UNKNOWN, str(UNKNOWN), "no id at all", "", "x" * 10_000, 5, None])
def test_an_unknown_id_is_none_or_false(jobs: Jobs, id: Any) -> None:
    assert jobs.get(id) is None
    assert jobs.wait(id, timeout=0) is None
    assert jobs.cancel(id) is False
    assert jobs.retry(id) is False
    assert asyncio.run(jobs.aget(id)) is None
    assert asyncio.run(jobs.await_(id, timeout=0)) is None
    assert asyncio.run(jobs.acancel(id)) is False
    assert asyncio.run(jobs.aretry(id)) is False


def test_an_id_may_be_text(jobs: Jobs) -> None:
    id = jobs.enqueue("x", {})
    job = jobs.get(str(id).upper())
    assert job is not None
    assert job.id == id


def test_waiting_gives_the_ended_job(jobs: Jobs) -> None:
    id, failing = jobs.enqueue("x", {"n": 1}), jobs.enqueue("x", {"fail": True})
    timer = threading.Timer(0.05, work, (jobs, 2))
    timer.start()
    done, failed = jobs.wait(id, timeout=20), jobs.wait(failing, timeout=timedelta(seconds=20))
    timer.join()
    assert done is not None
    assert (done.status, done.result) == ("completed", {"n": 1})
    assert failed is not None
    assert (failed.status, failed.error and failed.error.message) == ("failed", "no")


def test_waiting_ends_in_time(jobs: Jobs) -> None:
    id = jobs.enqueue("x", {})
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=f"{id} .* 0.2: it is pending in the queue 'default'; does a worker run"):
        jobs.wait(id, timeout=0.2)
    assert 0.2 <= time.monotonic() - began < 2
    with pytest.raises(TimeoutError):
        asyncio.run(jobs.await_(id, timeout=0.05))
    with pytest.raises(TimeoutError):
        jobs.wait(id, timeout=0)


@pytest.mark.parametrize("timeout", [-1, float("nan"), float("inf"), "5", True, None])
def test_a_time_that_is_none_is_refused(jobs: Jobs, timeout: Any) -> None:
    with pytest.raises(InvalidJob, match="timeout"):
        jobs.wait(uuid4(), timeout=timeout)


def test_looking_again_becomes_rarer(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    id, looks = jobs.enqueue("x", {}), [0]
    find = jobs.runtime.store.find

    def counted(id: Any) -> Any:
        looks[0] += 1
        return find(id)

    monkeypatch.setattr(jobs.runtime.store, "find", counted)
    with pytest.raises(TimeoutError):
        jobs.wait(id, timeout=1)
    assert 5 <= looks[0] <= 25


def test_a_waiting_job_is_cancelled_and_a_dead_letter_retried(jobs: Jobs) -> None:
    id, failing = jobs.enqueue("x", {}), jobs.enqueue("x", {"fail": True})
    assert jobs.cancel(id) is True
    assert jobs.cancel(id) is False
    assert jobs.retry(failing) is False
    work(jobs)
    assert [job.id for job in jobs.find(status="failed").jobs] == [failing]
    assert jobs.retry(failing) is True
    job = jobs.get(failing)
    assert job is not None
    assert job.status == "pending"


def test_finding_combines_what_is_asked_for(jobs: Jobs) -> None:
    ids = [jobs.enqueue("x", {"n": n}, queue=f"q{n % 2}", tenant="acme" if n else None) for n in range(4)]
    hour = timedelta(hours=1)
    now = datetime.now(UTC)

    def found(**wanted: Any) -> list[Any]:
        return [job.id for job in jobs.find(**wanted).jobs]

    assert found() == ids[::-1]
    assert found(queue="q1") == [ids[3], ids[1]]
    assert found(queue="q0", tenant="acme") == [ids[2]]
    assert found(status="pending", type="x", since=now - hour, until=now + hour) == ids[::-1]
    assert found(until=now - hour) == []
    page = jobs.find(limit=3)
    assert [job.id for job in page.jobs] == ids[:0:-1]
    assert found(limit=3, cursor=page.cursor) == ids[:1]


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        ({"status": "done"}, "status"),
        ({"limit": 0}, "limit"),
        ({"limit": 1_001}, "limit"),
        ({"limit": True}, "limit"),
        ({"limit": "5"}, "limit"),
        ({"type": ""}, "type"),
        ({"queue": 5}, "queue"),
        ({"tenant": "a\x00"}, "tenant"),
        ({"cursor": "nonsense"}, "cursor"),
        ({"since": "yesterday"}, "since"),
    ],
)
def test_what_cannot_be_looked_for_is_refused(jobs: Jobs, wanted: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidJob) as caught:
        jobs.find(**wanted)
    assert caught.value.path == path


def test_async_code_does_the_same_under_its_own_tenant(jobs: Jobs) -> None:
    async def host() -> None:
        with tenant_bound("acme"):
            id = await jobs.aenqueue("x", {"n": 1}, priority="high")
            with pytest.raises(TenantMismatch):
                await jobs.aenqueue("x", tenant="other")
            many = await jobs.aenqueue_many([("x", {"n": 2})], queue="q")
        job = await jobs.aget(id)
        assert job is not None
        assert (job.tenant, job.priority) == ("acme", "high")
        assert [each.id for each in (await jobs.afind(queue="q")).jobs] == many
        assert await jobs.acancel(many[0])
        waiting = asyncio.create_task(jobs.await_(id, timeout=20))
        await asyncio.sleep(0.01)
        await asyncio.to_thread(work, jobs)
        done = await waiting
        assert done is not None
        assert done.result == {"n": 1}
        assert await jobs.aretry(id) is False

    asyncio.run(host())
