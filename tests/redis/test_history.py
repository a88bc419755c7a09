"""What is kept of ended jobs and for how long, and that nothing which is gone is told of, or lies about for ever."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from tests.redis.parts import DAY, LINE, Parts, new_job, open_parts
from tests.until import until
from wagoe_jobs.adapters import redis
from wagoe_jobs.adapters.redis import Keep
from wagoe_jobs.adapters.redis.scripts import script
from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.pool import WorkerPool
from wagoe_jobs.ports import JobFilter, Runtime
from wagoe_jobs.registry import Registry

KEEP = Keep(completed=2 * DAY, cancelled=5 * DAY)
MOMENT = timedelta(minutes=1)
KEPT = {Status.COMPLETED: 2 * DAY, Status.CANCELLED: 5 * DAY}


@pytest.fixture
def parts(redis_url: str) -> Iterator[Parts]:
    with open_parts(redis_url, KEEP) as opened:
        yield opened


@pytest.mark.parametrize("status", KEPT)
def test_history_ends_by_the_stores_clock(parts: Parts, status: Status) -> None:
    job = parts.put()
    parts.end(status)
    parts.clock_offset.move(KEPT[status] - MOMENT)
    assert shown(parts, job, status) == (True, True, True, 1)
    parts.clock_offset.move(2 * MOMENT)
    assert shown(parts, job, status) == (False, False, False, 0)
    assert parts.stats.queue_stats(LINE).mean is None
    assert parts.stats.job_stats().queues == []


def shown(parts: Parts, job: Job, status: Status) -> tuple[bool, bool, bool, int]:
    """Whether find, search and history tell of it, and how many are counted."""
    wanted = JobFilter(status=status, queue=LINE)
    return (
        parts.store.find(job.id) is not None,
        [found.id for found in parts.store.search(wanted).jobs] == [job.id],
        [found.id for found in parts.stats.job_history(job.type)] == [job.id],
        parts.stats.queue_stats(LINE).processed,
    )


@pytest.mark.parametrize("status", KEPT)
def test_it_is_removed_by_whoever_reclaims(parts: Parts, status: Status) -> None:
    job = parts.put()
    parts.end(status)
    key = parts.keys.job(str(job.id))
    parts.clock_offset.move(KEPT[status] - MOMENT)
    parts.queue.reclaim_abandoned()
    assert parts.client.exists(key)
    parts.clock_offset.move(2 * MOMENT)
    parts.queue.reclaim_abandoned()
    assert not parts.client.exists(key)
    assert parts.queue.enqueue(job), "its id is free again"


def test_a_job_cancelled_while_it_waits_ends_as_any_other(parts: Parts) -> None:
    waits, later = parts.put(), new_job()
    parts.queue.schedule(later, DAY)
    assert parts.queue.cancel(waits.id)
    assert parts.queue.cancel(later.id)
    assert parts.stats.queue_stats(LINE).processed == 2
    parts.clock_offset.move(6 * DAY)
    assert parts.store.search().jobs == []


def test_dead_letters_stay(parts: Parts) -> None:
    job = parts.put()
    parts.end(Status.FAILED)
    parts.clock_offset.move(1_000 * DAY)
    parts.queue.reclaim_abandoned()
    assert [found.id for found in parts.store.failed_jobs().jobs] == [job.id]
    assert [found.id for found in parts.stats.job_history(job.type)] == [job.id]
    assert parts.stats.queue_stats(LINE).failed == 1
    assert parts.store.retry(job.id)
    parts.end(Status.COMPLETED)
    parts.clock_offset.move(3 * DAY)
    assert parts.store.find(job.id) is None


def test_what_has_expired_cannot_be_deleted_and_leaves_no_trace(parts: Parts) -> None:
    job = parts.put()
    parts.end(Status.COMPLETED)
    parts.clock_offset.move(3 * DAY)
    assert parts.queue.delete(job.id) is False
    assert indexed(parts) == 0


@pytest.mark.parametrize("kept", [1, 4_000])
def test_an_idle_node_removes_what_has_been_kept_for_its_time(parts: Parts, kept: int) -> None:
    types = ("greet", "bill")
    parts.queue.enqueue_many([new_job(types[number % 2], queue="quiet") for number in range(kept)])
    while parts.end(Status.COMPLETED, queue="quiet"):
        pass
    assert parts.queue.cancel(parts.put().id)
    assert indexed(parts) == 3 * (kept + 1)
    parts.clock_offset.move(6 * DAY)
    runtime = Runtime(provider="redis", queue=parts.queue, store=parts.store, stats=parts.stats)
    with WorkerPool(runtime, Registry({}), queues=["idle"], count=1, reclaim_interval=timedelta(seconds=0.05)):
        until(lambda: indexed(parts) == 0)
    assert parts.client.keys(parts.keys.job("*")) == []


def test_one_step_of_the_removal_is_short(parts: Parts) -> None:
    parts.queue.enqueue_many([new_job() for _ in range(1_000)])
    while parts.end(Status.COMPLETED):
        pass
    parts.clock_offset.move(6 * DAY)
    with closing(redis.open_redis(parts.client, keep=KEEP, clock_offset=parts.clock_offset)) as server:
        lefts = []
        while server.run(script("sweep")):
            lefts.append(indexed(parts))
    assert lefts == [3 * 700, 3 * 400, 3 * 100], "the server does nothing else meanwhile"
    assert indexed(parts) == 0


def indexed(parts: Parts) -> int:
    """How many entries all indexes of jobs have."""
    sets = [key for key in parts.client.scan_iter() if parts.client.type(key) == "zset"]
    return sum(parts.client.zcard(key) for key in sets)


def test_indexes_stay_as_large_as_what_is_kept(parts: Parts) -> None:
    sizes = []
    for _ in range(6):
        for _ in range(50):
            parts.put()
        parts.end(Status.COMPLETED)
        parts.put()
        parts.end(Status.CANCELLED)
        sizes.append(indexed(parts))
        parts.clock_offset.move(6 * DAY)
    assert sizes[0] == 51 * 3  # among all, of the queue, of the type
    assert sizes[1:] == [sizes[1]] * 5, "each round takes the one before it away"
    assert len(parts.client.keys("*job:*")) == 51


def test_an_expired_hash_takes_its_entries_with_it_when_others_end(parts: Parts) -> None:
    gone = [parts.put() for _ in range(20)]
    parts.end(Status.COMPLETED)
    for job in gone:
        parts.vanish(job)
    parts.clock_offset.move(6 * DAY)
    parts.put()
    parts.end(Status.COMPLETED)
    assert indexed(parts) == 3


@pytest.mark.fault(11)
def test_a_ready_job_that_vanished_is_in_nobodys_way(parts: Parts) -> None:
    jobs = [parts.put() for _ in range(3)]
    parts.vanish(jobs[0])
    assert [job.id for job in parts.queue.peek(LINE)] == [jobs[1].id]
    assert [job.id for job in parts.queue.peek(LINE, 5)] == [jobs[1].id, jobs[2].id]
    assert [claim.id for claim in parts.queue.claim(LINE, "ann", 1)] == [str(jobs[1].id)]
    assert parts.queue.size(LINE) == 1


def test_peek_goes_on_behind_many_that_vanished(parts: Parts) -> None:
    jobs = [parts.put() for _ in range(250)]
    for job in jobs[:-2]:
        parts.vanish(job)
    assert [job.id for job in parts.queue.peek(LINE, 3)] == [jobs[-2].id, jobs[-1].id]


def test_a_scheduled_job_that_vanished_is_not_waited_for(parts: Parts) -> None:
    soon, late = new_job(), new_job()
    parts.queue.schedule(soon, timedelta(seconds=10))
    parts.queue.schedule(late, DAY)
    parts.vanish(soon)
    due = parts.queue.next_due()
    assert due is not None
    assert due > DAY - MOMENT


READERS: dict[str, Callable[[Parts], object]] = {
    "search": lambda parts: [job.id for job in parts.store.search().jobs],
    "search by status": lambda parts: [job.id for job in parts.store.search(JobFilter(status=Status.FAILED)).jobs],
    "search by queue": lambda parts: [job.id for job in parts.store.search(JobFilter(queue=LINE)).jobs],
    "search by all": lambda parts: [
        job.id for job in parts.store.search(JobFilter(status=Status.FAILED, queue=LINE, type="greet")).jobs
    ],
    "dead letters": lambda parts: [job.id for job in parts.store.failed_jobs().jobs],
    "history": lambda parts: [job.id for job in parts.stats.job_history("greet")],
}


@pytest.mark.parametrize("reader", READERS)
def test_no_reader_tells_of_an_id_without_a_job(parts: Parts, reader: str) -> None:
    jobs = [parts.put() for _ in range(4)]
    parts.end(Status.FAILED)
    parts.vanish(jobs[0])
    parts.vanish(jobs[2])
    assert READERS[reader](parts) == [jobs[3].id, jobs[1].id]


def test_pages_are_full_though_some_in_between_vanished(parts: Parts) -> None:
    jobs = [parts.put() for _ in range(12)]
    for job in jobs[::2]:
        parts.vanish(job)
    first = parts.store.search(limit=4)
    assert [job.id for job in first.jobs] == [job.id for job in jobs[11:3:-2]]
    rest = parts.store.search(limit=4, cursor=first.cursor)
    assert [job.id for job in rest.jobs] == [jobs[3].id, jobs[1].id]
    assert rest.cursor is None


def test_runs_and_workers_of_vanished_jobs_are_not_told(parts: Parts) -> None:
    done, busy = parts.put(), parts.put(queue="other")
    parts.end(Status.COMPLETED)
    parts.queue.claim("other", "bob", 1)
    parts.vanish(done)
    parts.vanish(busy)
    assert parts.stats.queue_stats(LINE).mean is None
    assert list(parts.stats.job_stats().workers) == []


def test_an_id_that_lives_again_is_told_once(parts: Parts) -> None:
    job = parts.put()
    parts.end(Status.COMPLETED)
    parts.vanish(job)
    parts.clock_offset.move(timedelta(hours=1))
    assert parts.queue.enqueue(job)
    assert parts.stats.job_history("greet") == []
    parts.end(Status.FAILED)
    assert [found.status for found in parts.stats.job_history("greet")] == [Status.FAILED]
    assert parts.store.search(JobFilter(status=Status.COMPLETED)).jobs == []
    assert [found.id for found in parts.store.search(JobFilter(status=Status.FAILED)).jobs] == [job.id]


def test_an_id_that_lives_again_is_kept_as_long_as_what_it_ended_as(parts: Parts) -> None:
    job = parts.put()
    parts.end(Status.COMPLETED)
    parts.vanish(job)
    parts.clock_offset.move(DAY)
    assert parts.queue.enqueue(job)
    parts.end(Status.CANCELLED)
    parts.clock_offset.move(3 * DAY)
    parts.queue.reclaim_abandoned()
    assert [found.id for found in parts.store.search().jobs] == [job.id]


def test_expired_keys_do_not_pile_up_though_nobody_purges(parts: Parts) -> None:
    for number in range(300):
        parts.idempotency.claim("scope", str(number), timedelta(seconds=1), "x")
        parts.clock_offset.move(timedelta(seconds=1))
    assert parts.client.zcard(parts.keys.keys) < 50
