"""What a stop leaves behind: ended work settled, waiting work as it was, and nothing running unnoticed."""

import functools
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.noise import noisy
from tests.pool.conftest import OpenHouse
from tests.pool.faulty import FaultyQueue, healthy
from tests.pool.house import House, Ledger
from tests.pool.test_pool import Gate, nothing
from tests.until import until
from wagoe_jobs.core.job import Status
from wagoe_jobs.errors import BackendUnavailable

pytestmark = pytest.mark.timed

Said = Callable[[], str]


def opened_soon(gate: Gate) -> None:
    """Let the gate's handlers end once the pool is stopping: nothing that waits can be started by then."""
    threading.Timer(0.3, gate.opened.set).start()


@pytest.mark.fault(9)
def test_a_handler_that_ends_during_the_stop_is_settled_before_it_returns(house: House, ledger: Ledger) -> None:
    gate = Gate(ledger)
    ids = house.enqueue_numbers(3)
    with house.pool({"work": gate}, count=3) as pool:
        gate.wait_for(3)
        opened_soon(gate)
        assert pool.stop(timedelta(seconds=10))
    assert [house.job(id).status for id in ids] == [Status.COMPLETED] * 3
    with house.pool({"work": gate}):
        until(lambda: house.queue.size("default") == 0)
    assert ledger.runs() == {"0": 1, "1": 1, "2": 1}


@pytest.mark.fault(9)
def test_quick_jobs_are_all_settled_when_a_stop_comes_in_their_midst(house: House, ledger: Ledger) -> None:
    house.enqueue_numbers(2_000)
    with house.pool({"work": lambda args: ledger.note(args["n"])}, count=4) as pool:
        until(lambda: len(ledger.lines()) >= 100)
        assert pool.stop(timedelta(seconds=10))
        ran = ledger.runs()
    assert house.counts()[Status.COMPLETED] == len(ran)
    assert house.counts()[Status.PENDING] == 2_000 - len(ran)
    assert set(ran.values()) == {1}


@pytest.mark.fault(21)
def test_a_stop_lets_the_running_end_and_changes_nothing_that_waits(house: House, ledger: Ledger) -> None:
    gate = Gate(ledger)
    running, *waiting = house.enqueue_numbers(11)
    later = house.enqueue(delay=timedelta(hours=1))
    with house.pool({"work": gate}) as pool:
        gate.wait_for(1)
        before = [house.job(id) for id in waiting]
        opened_soon(gate)
        assert pool.stop(timedelta(seconds=10))
    assert house.job(running).status is Status.COMPLETED
    after = [house.job(id) for id in waiting]
    assert [(job.status, job.repeats, job.error) for job in after] == [(Status.PENDING, 0, None)] * 10
    assert [job.created_at for job in after] == [job.created_at for job in before]
    assert [job.id for job in house.queue.peek("default", 20)] == waiting
    assert house.job(later).status is Status.PENDING
    assert house.counts() == {Status.COMPLETED: 1, Status.PENDING: 11}


@pytest.mark.fault(21)
def test_claims_that_a_slow_job_holds_up_go_back_uncharged_and_in_order(house: House) -> None:
    gate = Gate()
    quick = [house.enqueue("quick") for _ in range(50)]
    slow = [house.enqueue("slow") for _ in range(2)]
    waiting = [house.enqueue("quick") for _ in range(50)]
    with house.pool({"quick": nothing, "slow": gate}, count=2) as pool:
        gate.wait_for(2)
        opened_soon(gate)
        assert pool.stop(timedelta(seconds=10))
    assert {house.job(id).status for id in quick + slow} == {Status.COMPLETED}
    assert [job.id for job in house.queue.peek("default", 100)] == waiting
    assert {house.job(id).repeats for id in waiting} == {0}


@noisy
@pytest.mark.fault(21)
def test_what_outlasts_the_grace_time_stays_claimed_and_is_reclaimed_uncharged(
    open_house: OpenHouse, ledger: Ledger, said: Said
) -> None:
    house = open_house(timedelta(seconds=1))
    gate = Gate(ledger)
    id = house.enqueue(args={"n": 0}, max_retries=0)
    pool = house.pool({"work": gate})
    pool.start()
    try:
        gate.wait_for(1)
        began = time.monotonic()
        assert not pool.stop(timedelta(milliseconds=300))
        assert time.monotonic() - began < 1
        assert house.job(id).status is Status.RUNNING
        assert "1 handlers still run" in said()
    finally:
        gate.opened.set()
    house.offset.move(timedelta(seconds=2))
    with house.pool({"work": gate}):
        job = house.ended(id)
    assert (job.status, job.repeats) == (Status.COMPLETED, 0)
    assert house.counts() == {Status.COMPLETED: 1}
    assert ledger.runs() == {"0": 2}


def test_a_handler_that_ends_after_the_stop_reports_nothing(house: House) -> None:
    gate = Gate()
    id = house.enqueue()
    pool = house.pool({"work": gate})
    pool.start()
    gate.wait_for(1)
    assert not pool.stop(timedelta(0))
    gate.opened.set()
    until(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("wagoe-default")])
    assert house.job(id).status is Status.RUNNING


@noisy
@pytest.mark.fault(4)
def test_leases_are_renewed_until_the_last_handler_of_a_stopping_pool_has_returned(
    open_house: OpenHouse, ledger: Ledger
) -> None:
    house = open_house(timedelta(milliseconds=400))
    gate = Gate(ledger)
    id = house.enqueue(args={"n": 0})
    with house.pool({"work": gate}) as other_pool_free, house.pool({"other": nothing}, queues=["other"]):
        gate.wait_for(1)
        threading.Timer(2.0, gate.opened.set).start()
        assert other_pool_free.stop(timedelta(seconds=10))
    assert ledger.runs() == {"0": 1}
    job = house.job(id)
    assert (job.status, job.repeats) == (Status.COMPLETED, 0)


@noisy
def test_a_stop_wakes_idle_slots_at_once(house: House) -> None:
    pool = house.pool({"work": nothing}, count=8, poll_interval=timedelta(seconds=30))
    pool.start()
    until(lambda: pool.status().busy == 0)
    began = time.monotonic()
    assert pool.stop()
    assert time.monotonic() - began < 2


class HangingQueue(FaultyQueue):
    """A store that stops answering: each call hangs for so long and then fails, as a driver's time-out does."""

    hangs = 0.0

    def call(self, name: str, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        if self.hangs and name != "wait":
            time.sleep(self.hangs)
            raise BackendUnavailable("x")
        return super().call(name, method, *args, **options)


@noisy
@pytest.mark.fault(18)
def test_a_stop_while_the_store_hangs_takes_little_longer_than_one_time_out(
    room: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wagoe_jobs.ending.CLEARING", timedelta(seconds=1))
    queue, gate = HangingQueue(room.queue, healthy), Gate()
    room.enqueue_numbers(2)
    pool = room.with_queue(queue).pool({"work": gate}, count=4, scheduled_interval=timedelta(milliseconds=50))  # type: ignore[arg-type]
    pool.start()
    gate.wait_for(2)
    queue.hangs = 3.0
    gate.opened.set()
    time.sleep(0.2)
    began = time.monotonic()
    assert not pool.stop(timedelta(seconds=0.5))
    assert time.monotonic() - began < 0.5 + 1 + 2 * queue.hangs


class DeadQueue(FaultyQueue):
    """A store that has stopped answering: each call waits for it, and fails long after."""

    def __init__(self, queue: Any) -> None:
        super().__init__(queue, healthy)
        self.there = threading.Event()
        self.there.set()

    def call(self, name: str, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        if name != "wait" and not self.there.is_set():
            self.there.wait(30)
            raise BackendUnavailable("x")
        return super().call(name, method, *args, **options)


class DeadPresence:
    """What the store is told of a pool, over the same dead network."""

    def __init__(self, presence: Any, queue: DeadQueue) -> None:
        for name in ("announce", "beat", "leave"):
            setattr(self, name, functools.partial(queue.call, name, getattr(presence, name)))


@noisy
@pytest.mark.fault(18)
@pytest.mark.parametrize("tasks", [False, True], ids=["threads", "tasks"])
def test_a_stop_does_not_wait_for_every_thread_that_waits_for_a_dead_store(
    room: House, monkeypatch: pytest.MonkeyPatch, tasks: bool
) -> None:
    """Three lanes have results to settle; the beat, the chores and the renewal are at the store too."""
    monkeypatch.setattr("wagoe_jobs.ending.CLEARING", timedelta(seconds=1))
    monkeypatch.setattr("wagoe_jobs.heartbeat.EVERY", timedelta(milliseconds=50))
    monkeypatch.setattr("wagoe_jobs.outage.PARTING", 1.0)
    gate, names, queue = Gate(), ["a", "b", "c"], DeadQueue(room.queue)
    presence = DeadPresence(room.runtime.presence, queue)
    dying = replace(room, runtime=replace(room.runtime, queue=queue, presence=presence))  # type: ignore[arg-type]
    for name in names:
        room.enqueue(queue=name)
    pool = dying.pool({"work": gate}, queues=names, virtual_threads=tasks)
    pool.start()
    gate.wait_for(3)
    queue.there.clear()
    gate.opened.set()
    time.sleep(0.2)
    began = time.monotonic()
    try:
        assert not pool.stop(timedelta(seconds=0.5))
        loop = 1.0 if tasks else 0.0  # what lives on it is waited for as long
        assert time.monotonic() - began < 0.5 + 1 + 1.0 + loop + 0.5  # those threads are waited for together
    finally:
        queue.there.set()
