"""Leases are renewed often enough, for as long as needed, whatever the store answers."""

import ctypes
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from tests.noise import noisy
from tests.pool.conftest import OpenHouse
from tests.pool.faulty import FaultyQueue, When, healthy
from tests.pool.house import House, Ledger, memory_house
from tests.pool.test_pool import Gate
from tests.until import until
from wagoe_jobs.context import JobContext
from wagoe_jobs.core.job import Status
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.lease import LeaseKeeper
from wagoe_jobs.registry import Registry
from wagoe_jobs.worker import Worker

pytestmark = pytest.mark.timed
SHORT = timedelta(milliseconds=300)
KEPT = timedelta(milliseconds=1500)
"""A lease that is kept on a busy machine, too: a flush of its disk may take most of a second by itself."""


@noisy
@pytest.mark.fault(3)
def test_no_two_renewals_of_a_claim_are_further_apart_than_half_the_lease(open_house: OpenHouse) -> None:
    """Read from the rows every 10 ms; in the last third the pool is stopping."""
    house = open_house(SHORT)
    gate = Gate()
    house.enqueue_numbers(20)
    ends: dict[str, list[int]] = defaultdict(list)

    def sample(seconds: float) -> None:
        until_then = time.monotonic() + seconds
        while time.monotonic() < until_then:
            for id, end in house.sample().items():
                if not ends[id] or ends[id][-1] != end:
                    ends[id].append(end)
            time.sleep(0.01)

    with house.pool({"work": gate}, count=20) as pool:
        gate.wait_for(20)
        sample(2.0)
        stopping = threading.Thread(target=pool.stop)
        stopping.start()
        sample(1.0)
        gate.opened.set()
        stopping.join()
    assert len(ends) == 20
    assert all(len(of_one) >= 15 for of_one in ends.values())
    gaps = [later - earlier for of_one in ends.values() for earlier, later in pairwise(of_one)]
    assert max(gaps) <= 150_000


@noisy
@pytest.mark.fault(2, 3)
@pytest.mark.parametrize("slots", [1, 3])
def test_a_job_longer_than_its_lease_runs_once(open_house: OpenHouse, ledger: Ledger, slots: int) -> None:
    house = open_house(KEPT)

    def sleep(args: dict[str, int]) -> None:
        ledger.note(args["n"])
        time.sleep(2)

    house.enqueue_numbers(slots)
    often = timedelta(milliseconds=30)
    with (
        house.pool({"work": sleep}, count=slots, reclaim_interval=often),
        house.pool({"work": sleep}, count=slots, reclaim_interval=often),
    ):
        until(lambda: house.counts() == {Status.COMPLETED: slots})
    assert ledger.runs() == {str(n): 1 for n in range(slots)}


def test_a_single_worker_renews_too(open_house: OpenHouse) -> None:
    house = open_house(KEPT)
    id = house.enqueue()
    with Worker(house.runtime, Registry({"work": lambda args: time.sleep(2)})) as worker:
        ended = threading.Event()
        reclaimed: list[object] = []

        def reclaim() -> None:
            while not ended.wait(0.02):
                reclaimed.extend(house.queue.reclaim_abandoned())

        reclaiming = threading.Thread(target=reclaim)
        reclaiming.start()
        assert worker.work_one()
        ended.set()
        reclaiming.join()
    assert reclaimed == []
    assert (house.job(id).status, house.job(id).repeats) == (Status.COMPLETED, 0)


@pytest.mark.fault(7, 8)
def test_a_run_whose_claim_was_lost_sees_it_and_writes_nothing(open_house: OpenHouse, said: Callable[[], str]) -> None:
    house = open_house(timedelta(milliseconds=600))
    told = threading.Event()

    def handler(args: object, context: JobContext) -> str:
        until(context.cancelled)
        told.set()
        return "too late"

    id = house.enqueue()
    with house.pool({"work": handler}, reclaim_interval=timedelta(hours=1)):
        until(lambda: house.job(id).status is Status.RUNNING)
        house.offset.move(timedelta(seconds=2))
        stolen = until(lambda: house.queue.reclaim_abandoned() and house.queue.claim("default", "thief", 1))
        assert told.wait(10)
        until(lambda: "claim of job" in said())
    assert house.job(id).status is Status.RUNNING
    assert house.queue.ack(stolen[0])
    assert (house.job(id).status, house.job(id).result) == (Status.COMPLETED, None)


def test_a_renewal_that_fails_is_no_loss(open_house: OpenHouse, ledger: Ledger) -> None:
    """Renewals fail for longer than the lease: the handler is told, and its result counts all the same."""
    house = open_house(SHORT)
    queue = FaultyQueue(house.queue, healthy)
    cancelled: list[bool] = []

    def handler(args: object, context: JobContext) -> str:
        ledger.note("run")
        until(context.cancelled, 10)
        cancelled.append(True)
        return "done"

    with house.with_queue(queue).pool({"work": handler}, reclaim_interval=timedelta(hours=1)):  # type: ignore[arg-type]
        queue.plan = lambda name, call: "before" if name == "renew" else None
        id = house.enqueue()
        job = house.ended(id)
    assert (job.status, job.result) == (Status.COMPLETED, "done")
    assert cancelled == [True]
    assert ledger.runs() == {"run": 1}


@noisy
@pytest.mark.fault(18)
def test_a_renewal_that_fails_once_is_tried_again_long_before_the_next_is_due(open_house: OpenHouse) -> None:
    room = open_house(timedelta(seconds=6))
    queue = FaultyQueue(room.queue, healthy)
    room.enqueue()
    tries: list[float] = []

    def plan(name: str, call: int) -> When:
        if name != "renew":
            return None
        tries.append(time.monotonic())
        return "before" if len(tries) == 1 else None

    [claim] = room.queue.claim("default", "w", 1)
    with LeaseKeeper(queue, "k") as keeper:  # type: ignore[arg-type]
        keeper.hold([claim])
        queue.plan = plan
        until(lambda: len(tries) >= 2)
    assert tries[1] - tries[0] <= 0.5


def test_the_store_must_answer_at_the_start(room: House) -> None:
    queue = FaultyQueue(room.queue, lambda name, call: "before")
    before = threading.active_count()
    with pytest.raises(BackendUnavailable):
        LeaseKeeper(queue, "k").__enter__()  # type: ignore[arg-type]
    with pytest.raises(BackendUnavailable):
        room.with_queue(queue).pool({"work": print}).start()  # type: ignore[arg-type]
    assert threading.active_count() == before


def test_a_newer_claim_of_the_same_job_is_kept_when_the_older_is_released(room: House) -> None:
    room.enqueue()
    keeper = LeaseKeeper(room.queue, "k")
    [older] = room.queue.claim("default", "w", 1)
    keeper.hold([older])
    assert room.queue.hand_back([older]) == 1
    [newer] = room.queue.claim("default", "w", 1)
    keeper.hold([newer])
    keeper.release([older])
    assert keeper.held() == [newer]
    keeper.release([newer])
    assert keeper.held() == []


def test_many_claims_are_renewed_in_calls_of_a_bounded_size(room: House) -> None:
    queue = FaultyQueue(room.queue, healthy)
    room.enqueue_numbers(2_500)
    keeper = LeaseKeeper(queue, "k")  # type: ignore[arg-type]
    while claims := room.queue.claim("default", "w", 500):
        keeper.hold(claims)
    keeper.renew()
    assert queue.calls["renew"] == 3


@pytest.mark.parametrize("tasks", [False, True], ids=["threads", "tasks"])
def test_a_renewal_that_comes_late_is_told_once(said: Callable[[], str], tasks: bool) -> None:
    """Code in C keeps the interpreter to itself for longer than two thirds of the lease, time and again."""
    held_up = ctypes.PyDLL(None).usleep

    def handler(args: object) -> None:
        for _ in range(3):
            held_up(900_000)
            time.sleep(0.05)

    with memory_house(timedelta(seconds=1)) as house:
        id = house.enqueue()
        with house.pool({"work": handler}, virtual_threads=tasks, reclaim_interval=timedelta(hours=1)):
            assert house.ended(id).status is Status.COMPLETED
    assert (
        said().count("the leases of 1 jobs are renewed 0.") + said().count("the leases of 1 jobs are renewed 1.") == 1
    )
    assert "when 1.0 s have passed since the last renewal" in said()


def test_a_store_that_answers_late_is_not_told_as_a_late_renewal(said: Callable[[], str]) -> None:
    with memory_house(timedelta(seconds=0.9)) as house:
        house.enqueue()
        queue = FaultyQueue(house.queue, healthy)
        [claim] = house.queue.claim("default", "w", 1)
        with LeaseKeeper(queue, "k") as keeper:  # type: ignore[arg-type]
            keeper.hold([claim])
            queue.plan = lambda name, call: time.sleep(0.8)
            until(lambda: queue.calls["renew"] >= 4)
    assert "late" not in said()
