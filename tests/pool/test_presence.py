"""A pool is listed while it lives, with what it is at; and no card decides anything about a job."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from tests.noise import noisy
from tests.pool.conftest import OpenHouse
from tests.pool.house import House, Ledger
from tests.pool.test_heartbeat import Faulty
from tests.pool.test_kill import LEASE, Node
from tests.pool.test_pool import Gate, nothing
from tests.until import until
from wagoe_jobs.core.job import Status, to_micros
from wagoe_jobs.pool import WorkerPool
from wagoe_jobs.ports import GONE_AFTER, PresentWorker, Runtime, WorkerPresence
from wagoe_jobs.registry import Registry

SECOND = timedelta(seconds=1)


def listed(house: House) -> Sequence[PresentWorker]:
    return presence_of(house).list()


def presence_of(house: House) -> WorkerPresence:
    assert house.runtime.presence is not None
    return house.runtime.presence


@pytest.fixture(autouse=True)
def _beats_come_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wagoe_jobs.heartbeat.EVERY", timedelta(milliseconds=50))


def test_a_pool_is_listed_until_it_stops(house: House) -> None:
    handlers = {"work": nothing, "other": nothing}
    with house.pool(handlers, queues=["b", "a"], count=3):
        [worker] = until(lambda: listed(house))
        assert (list(worker.card.queues), worker.card.slots) == (["b", "a"], 6)
        assert list(worker.card.job_types) == ["other", "work"]
        until(lambda: listed(house)[0].polled_us)
        with house.pool(handlers):
            until(lambda: len(listed(house)) == 2)
        assert [each.card for each in listed(house)] == [worker.card]
    assert listed(house) == []
    assert presence_of(house).leave(worker.card.name) is False


def test_what_runs_is_told_with_its_type_and_since_when(house: House) -> None:
    gate = Gate()
    ids = [house.enqueue(args={"n": n}) for n in range(2)]
    with house.pool({"work": gate}, count=3):
        gate.wait_for(2)
        worker = until(lambda: [each for each in listed(house) if each.running_count == 2])[0]
        assert list(house.runtime.stats.job_stats().workers) == [worker.card.name]
        assert {job.id for job in worker.running} == {str(id) for id in ids}
        assert {job.type for job in worker.running} == {"work"}
        assert all(job.since_us == _micros(house, job.id) for job in worker.running)
        gate.opened.set()
        until(lambda: listed(house)[0].running_count == 0)


def _micros(house: House, id: str) -> int:
    started = house.job(UUID(id)).started_at
    assert started is not None
    return to_micros(started)


def test_a_pool_that_runs_nothing_is_not_listed(house: House) -> None:
    """One without slots, and one that was never started."""
    with house.pool({"work": nothing}, count=0):
        house.pool({"work": nothing}, count=1)
        assert not [each for each in threading.enumerate() if each.name.endswith("-heartbeat")]
    assert listed(house) == []


@pytest.mark.fault(5)
def test_a_card_that_is_deleted_costs_no_job_and_comes_back(open_house: OpenHouse, ledger: Ledger) -> None:
    """The handler outlasts its lease, which is renewed all the while; others reclaim whatever they can."""
    house = open_house(timedelta(seconds=1.5))
    gate = Gate(ledger)
    id = house.enqueue(args={"n": 0})
    with house.pool({"work": gate}), house.pool({"other": nothing}, queues=["other"]):
        gate.wait_for(1)
        for _ in range(20):
            for worker in until(lambda: listed(house)):
                presence_of(house).leave(worker.card.name)
            time.sleep(0.1)
        until(lambda: len(listed(house)) == 2)
        gate.opened.set()
        assert house.ended(id).status is Status.COMPLETED
    assert ledger.runs() == {"0": 1}


@pytest.mark.fault(5)
def test_a_worker_that_was_killed_is_listed_for_a_while_and_its_job_runs_again_meanwhile(
    open_durable: OpenHouse, ledger: Ledger
) -> None:
    house = open_durable(LEASE)
    id = house.enqueue("hang", {"n": 0})
    node = Node(house, ledger, "hang")
    until(lambda: ledger.lines() and listed(house))
    node.kill()
    [dead] = listed(house)
    with house.pool({"hang": lambda args: ledger.note("again")}):
        assert house.ended(id).status is Status.COMPLETED
        assert dead.card in [worker.card for worker in listed(house)]
        house.offset.move(GONE_AFTER + SECOND)
        until(lambda: [worker.card.pid for worker in listed(house)] not in ([], [dead.card.pid]))
        assert dead.card not in [worker.card for worker in listed(house)]
    assert ledger.runs() == {"hang 0": 1, "again": 1}


@noisy
def test_a_store_that_is_slow_to_take_a_beat_delays_no_promotion(room: House) -> None:
    slow, began = Slow(presence_of(room)), threading.Event()
    pool = WorkerPool(_with(room, slow), _registry(began), scheduled_interval=timedelta(milliseconds=50))
    with pool:
        assert slow.entered.wait(20)
        asked = time.monotonic()
        room.enqueue(delay=timedelta(milliseconds=100))
        assert began.wait(20)
        assert time.monotonic() - asked < 1
        slow.gate.set()


@noisy
def test_an_outage_of_presence_alone_ends_neither_work_nor_the_stop(room: House, said: Callable[[], str]) -> None:
    faulty, began = Faulty(presence_of(room)), threading.Event()
    faulty.down = True
    with WorkerPool(_with(room, faulty), _registry(began)) as pool:
        until(lambda: faulty.calls["announce"] > 2)
        room.enqueue()
        assert began.wait(20)
        asked = time.monotonic()
        assert pool.stop()
        assert time.monotonic() - asked < 2
    assert said().count("telling the store about this worker pool fails") == 1


def _with(house: House, presence: WorkerPresence) -> Runtime:
    return replace(house.runtime, presence=presence)


def _registry(began: threading.Event) -> Registry:
    return Registry({"work": lambda args: began.set()})


class Slow(Faulty):
    """A presence whose beats do not come back until the gate is open."""

    def __init__(self, real: WorkerPresence) -> None:
        super().__init__(real)
        self.entered, self.gate = threading.Event(), threading.Event()

    def _call(self, name: str) -> None:
        self.entered.set()
        assert self.gate.wait(30)
        super()._call(name)
