"""A pool from its start to its stop."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.noise import noisy
from tests.pool.house import House, Ledger
from tests.until import until
from wagoe_jobs.core.job import Status
from wagoe_jobs.errors import WiringError
from wagoe_jobs.pool import WorkerPool
from wagoe_jobs.ports import Runtime, WakingJobQueue
from wagoe_jobs.registry import Registry

Said = Callable[[], str]


def nothing(args: object) -> None:
    pass


class Gate:
    """A handler that tells when it is entered and ends when it is let."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()
        self._ledger = ledger

    def __call__(self, args: dict[str, Any]) -> None:
        if self._ledger:
            self._ledger.note(args.get("n"))
        self.entered.release()
        assert self.opened.wait(30)

    def wait_for(self, count: int) -> None:
        for _ in range(count):
            assert self.entered.acquire(timeout=20)


def test_every_job_runs_once_and_is_completed(house: House, ledger: Ledger) -> None:
    house.enqueue_numbers(500)
    with house.pool({"work": lambda args: ledger.note(args["n"])}, count=4):
        until(lambda: len(ledger.lines()) >= 500)
    assert ledger.runs() == {str(n): 1 for n in range(500)}
    assert house.counts() == {Status.COMPLETED: 500}


def test_each_queue_has_slots_of_its_own(house: House) -> None:
    gates = {"a": Gate(), "b": Gate()}
    for name in gates:
        for _ in range(3):
            house.enqueue(name, queue=name)
    with house.pool(dict(gates), queues=["a", "b"], count=2) as pool:
        for gate in gates.values():
            gate.wait_for(2)
        status = pool.status()
        assert [(lane.queue, len(lane.slots)) for lane in status.lanes] == [("a", 2), ("b", 2)]
        assert status.busy == 4
        for gate in gates.values():
            gate.opened.set()
        until(lambda: house.counts() == {Status.COMPLETED: 6})


@noisy
@pytest.mark.fault(20)
def test_count_slots_run_side_by_side_and_the_status_lists_them(house: House) -> None:
    ids = [house.enqueue("sleep") for _ in range(4)]
    began = time.monotonic()
    with house.pool({"sleep": lambda args: time.sleep(1)}, count=4) as pool:
        until(lambda: pool.status().busy == 4, 1)
        status = pool.status()
        assert status.count == len(status.lanes[0].slots) == 4
        assert {slot.job_id for slot in status.lanes[0].slots} == {str(id) for id in ids}
        until(lambda: house.counts() == {Status.COMPLETED: 4})
        assert time.monotonic() - began < 2


@pytest.mark.fault(20)
def test_jobs_that_come_one_by_one_find_every_slot(house: House) -> None:
    gate = Gate()
    with house.pool({"work": gate}, count=4) as pool:
        for n in range(4):
            house.enqueue(args={"n": n})
            gate.wait_for(1)
        assert pool.status().busy == 4
        gate.opened.set()


@pytest.mark.fault(20)
def test_a_count_of_zero_is_a_pool_without_threads(house: House, said: Said) -> None:
    id = house.enqueue()
    before = threading.active_count()
    with house.pool({}, count=0) as pool:
        assert threading.active_count() == before
        assert pool.status().count == 0
        assert pool.status().lanes == []
        assert pool.status().running
    assert house.job(id).status is Status.PENDING
    assert said() == ""


def test_work_one_runs_one_job_without_a_start(house: House, ledger: Ledger) -> None:
    house.enqueue_numbers(2)
    pool = house.pool({"work": lambda args: ledger.note(args["n"])}, count=0)
    assert [pool.work_one() for _ in range(3)] == [True, True, False]
    assert ledger.lines() == ["0", "1"]


@noisy
def test_an_enqueue_wakes_an_idle_pool_or_is_found_at_its_next_look(house: House) -> None:
    look = timedelta(seconds=30) if isinstance(house.queue, WakingJobQueue) else timedelta(milliseconds=50)
    began: list[float] = []
    handlers = {"work": lambda args: began.append(time.monotonic())}
    with house.pool(handlers, poll_interval=look, max_poll_interval=look):
        waits = []
        for n in range(5):
            asked = time.monotonic()
            house.enqueue()
            until(lambda n=n: len(began) > n)
            waits.append(began[-1] - asked)
    assert sorted(waits)[2] < 0.1


@noisy
@pytest.mark.timed
def test_a_due_job_starts_within_50_ms_of_its_time(house: House) -> None:
    began: list[float] = []
    late = []
    with house.pool({"work": lambda args: began.append(time.monotonic())}, scheduled_interval=timedelta(seconds=60)):
        for n in range(5):
            asked = time.monotonic()
            house.enqueue(delay=timedelta(milliseconds=300))
            until(lambda n=n: len(began) > n)
            late.append(began[-1] - asked - 0.3)
    assert min(late) >= -0.001
    assert sorted(late)[2] < 0.05


@noisy
@pytest.mark.timed
def test_two_idle_queues_start_their_due_jobs_in_time(room: House) -> None:
    began: list[float] = []
    handlers = {"work": lambda args: began.append(time.monotonic())}
    with room.pool(handlers, queues=["a", "b"], scheduled_interval=timedelta(seconds=60)):
        asked = time.monotonic()
        room.enqueue(queue="a", delay=timedelta(milliseconds=200))
        room.enqueue(queue="b", delay=timedelta(milliseconds=201))
        until(lambda: len(began) == 2)
    assert max(began) - asked < 0.3


def test_a_type_that_is_registered_later_is_used_from_the_next_claim_on(house: House, ledger: Ledger) -> None:
    registry = Registry({"other": nothing})
    with house.pool(registry) as pool:
        registry.register("work", lambda args: ledger.note("first"))
        house.enqueue()
        until(lambda: ledger.lines() == ["first"])
        registry.register("work", lambda args: ledger.note("second"))
        house.enqueue()
        until(lambda: ledger.lines() == ["first", "second"])
        assert pool.status().running


def test_an_empty_registry_is_said_loudly(room: House, said: Said) -> None:
    with room.pool({}):
        assert "registry is empty" in said()


def test_a_queue_with_work_that_nobody_polls_is_reported_once(room: House, said: Said) -> None:
    room.enqueue(queue="forgotten")
    with room.pool({"work": nothing}, reclaim_interval=timedelta(milliseconds=20)):
        until(lambda: "queue 'forgotten' holds jobs" in said())
        lists = room.queue.list_queues
        calls: list[int] = []
        room.queue.list_queues = lambda: calls.append(1) or lists()  # type: ignore[method-assign]
        until(lambda: len(calls) >= 3)
    assert said().count("'forgotten'") == 1


class Leaseless:
    """A queue that cannot renew."""

    def claim(self, queue: str, worker: str, limit: int) -> list[object]:
        return []


def test_a_queue_without_leases_is_refused(room: House) -> None:
    runtime = Runtime(provider="x", queue=Leaseless(), store=room.runtime.store, stats=room.runtime.stats)  # type: ignore[arg-type]
    with pytest.raises(WiringError, match="Leaseless cannot renew"):
        WorkerPool(runtime, Registry())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"count": -1}, "count"),
        ({"count": True}, "count"),
        ({"count": 1.5}, "count"),
        ({"queues": "default"}, "list of names"),
        ({"queues": []}, "list of names"),
        ({"queues": ["a", "a"]}, "twice"),
        ({"queues": [""]}, "characters"),
        ({"queues": [3]}, "must be a str"),
    ],
)
def test_a_pool_that_cannot_be_is_refused(room: House, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(WiringError, match=reason):
        room.pool({}, **options)


def test_a_pool_is_started_once(room: House) -> None:
    pool = room.pool({"work": nothing})
    assert pool.stop()
    with pool, pytest.raises(WiringError, match="started before"):
        pool.start()
    assert pool.stop()
    assert not pool.status().running


def test_what_a_failing_start_opened_is_closed(room: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(queue: str) -> object:
        if queue == "b":
            raise RuntimeError("no more places")
        return wake_up(queue)

    wake_up = room.queue.wake_up  # type: ignore[attr-defined]
    monkeypatch.setattr(room.queue, "wake_up", broken)
    before = set(threading.enumerate())
    with pytest.raises(RuntimeError, match="no more places"):
        room.pool({"work": nothing}, queues=["a", "b"], count=3).start()
    until(lambda: set(threading.enumerate()) == before)


def test_every_thread_has_a_name_and_is_joined(house: House) -> None:
    before = set(threading.enumerate())
    with house.pool({"work": nothing}, count=3):
        names = sorted(thread.name for thread in set(threading.enumerate()) - before if "wagoe" in thread.name)
        assert [name for name in names if "default-" in name][:3]
        assert {"wagoe-default-1", "wagoe-default-2", "wagoe-default-3"} <= set(names)
    assert set(threading.enumerate()) == before
