"""How long an idempotency key is taken: until it expires, whatever becomes of its job. An id is stored once."""

from datetime import timedelta
from uuid import UUID

import pytest

from tests.pool.conftest import OpenHouse
from tests.pool.faulty import FaultyQueue, When, healthy
from tests.pool.house import House, Ledger
from tests.pool.test_pool import Gate
from tests.until import until
from wagoe_jobs import Enqueued, Jobs
from wagoe_jobs.core.job import Status
from wagoe_jobs.core.outcome import ABANDONED
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.ports import Reclaimed

MINUTE = timedelta(minutes=1)
LEASE = timedelta(seconds=1)


def again(jobs: Jobs, n: int) -> Enqueued:
    return jobs.enqueue("work", {"n": n}, key="order-7", ttl=MINUTE)


def failing(args: object) -> None:
    raise ValueError("not today")


@pytest.mark.fault(45)
def test_a_key_is_taken_before_during_and_after_the_run_until_it_expires(house: House, ledger: Ledger) -> None:
    jobs, gate = Jobs(house.runtime), Gate(ledger)
    first = again(jobs, 0)
    told = [again(jobs, 1)]
    with house.pool({"work": gate}) as pool:
        gate.wait_for(1)
        told.append(again(jobs, 2))
        gate.opened.set()
        assert house.ended(first).status is Status.COMPLETED
        told.append(again(jobs, 3))
        assert [(id, id.duplicate) for id in told] == [(first, True)] * 3
        house.offset.move(MINUTE)
        second = again(jobs, 4)
        assert (second.duplicate, second != first) == (False, True)
        assert house.ended(second).status is Status.COMPLETED
        assert again(jobs, 5) == second
        assert pool.stop()
    assert ledger.runs() == {"0": 1, "4": 1}
    assert house.counts() == {Status.COMPLETED: 2}


@pytest.mark.fault(45)
def test_a_key_outlives_the_record_of_its_job(house: House) -> None:
    jobs = Jobs(house.runtime)
    first = again(jobs, 0)
    assert house.queue.delete(first)
    assert jobs.get(first) is None
    told = again(jobs, 1)
    assert (told, told.duplicate) == (first, True)
    assert jobs.get(first) is None
    house.offset.move(MINUTE)
    assert not again(jobs, 2).duplicate


@pytest.mark.fault(46)
def test_the_key_of_a_job_that_failed_for_good_is_free_when_it_expires(house: House) -> None:
    jobs = Jobs(house.runtime)
    with house.pool({"work": failing}):
        first = jobs.enqueue("work", key="order-7", ttl=MINUTE, max_retries=0)
        assert house.ended(first).status is Status.FAILED
        told = again(jobs, 1)
        assert (told, told.duplicate) == (first, True)
    house.offset.move(MINUTE)
    second = again(jobs, 2)
    assert not second.duplicate
    with house.pool({"work": lambda args: args["n"]}):
        assert house.ended(second).result == 2
    assert house.job(first).status is Status.FAILED


@pytest.mark.fault(46)
def test_the_key_of_a_job_whose_workers_died_is_free_when_it_expires(open_house: OpenHouse) -> None:
    house = open_house(LEASE)
    jobs = Jobs(house.runtime)
    first = jobs.enqueue("work", key="order-7", ttl=MINUTE, max_retries=0)
    reclaimed = [died(house) for _ in range(2)]
    assert [one.buried for one in reclaimed] == [False, True]
    job = house.job(first)
    assert (job.status, job.error and job.error.type) == (Status.FAILED, ABANDONED)
    told = again(jobs, 1)
    assert (told, told.duplicate) == (first, True)
    house.offset.move(MINUTE)
    second = again(jobs, 2)
    assert not second.duplicate
    assert house.counts() == {Status.FAILED: 1, Status.PENDING: 1}


def died(house: House) -> Reclaimed:
    """What became of the only job when its worker died over it."""
    assert len(house.queue.claim("default", "dead", 1)) == 1
    house.offset.move(LEASE + timedelta(seconds=1))
    [reclaimed] = house.queue.reclaim_abandoned()
    return reclaimed


@pytest.mark.fault(57)
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_enqueue_whose_reply_was_lost_is_repeated_by_its_id(house: House, ledger: Ledger, when: When) -> None:
    queue = FaultyQueue(house.queue, lambda name, call: when)
    jobs = Jobs(house.with_queue(queue).runtime)  # type: ignore[arg-type]  # it has what a queue has
    made = [house.new(args={"n": n}) for n in range(3)]
    with pytest.raises(BackendUnavailable):
        jobs.enqueue(made[0])
    with pytest.raises(BackendUnavailable):
        jobs.enqueue_many(made)
    assert house.queue.size("default") == (3 if when == "after" else 0)
    queue.plan = healthy
    ids: list[UUID] = [*jobs.enqueue_many(made), jobs.enqueue(made[0])]
    assert ids == [job.id for job in [*made, made[0]]]
    assert house.queue.size("default") == 3
    with house.pool({"work": lambda args: ledger.note(args["n"])}):
        until(lambda: house.counts() == {Status.COMPLETED: 3})
        assert jobs.enqueue(made[0]).duplicate
        assert house.queue.size("default") == 0
    assert ledger.runs() == {"0": 1, "1": 1, "2": 1}
