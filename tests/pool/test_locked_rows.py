"""A session that keeps the row of a running job locked costs that job time, and no other: on stores that lock rows."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import create_engine, text

from tests.pool.conftest import OpenHouse
from tests.pool.faulty import FaultyQueue, healthy
from tests.pool.house import House, Ledger, until
from tests.pool.test_faults import OFTEN, Said
from wagoe_jobs.core.job import Status
from wagoe_jobs.crossing import Crossing
from wagoe_jobs.lease import LeaseKeeper
from wagoe_jobs.ports import Settlement

STORES = ("postgres", "mariadb")


class Held:
    """A handler that notes its run and, for the jobs that are told to, waits until it is let go."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.runs = threading.Semaphore(0)
        self.go = threading.Event()

    def work(self, args: dict[str, int]) -> None:
        self._ledger.note(args["n"])
        if args["n"] == 0:
            self.runs.release()
            assert self.go.wait(20)


@contextmanager
def locked(house: House, id: UUID) -> Iterator[None]:
    """A transaction of somebody else's has this row, and does not end."""
    engine = create_engine(house.url)
    with engine.connect() as foreign:
        found = foreign.execute(text("SELECT id FROM job_queue WHERE id = :id FOR UPDATE"), {"id": str(id)}).all()
        assert len(found) == 1
        yield
        foreign.rollback()
    engine.dispose()


@pytest.mark.fault(53)
@pytest.mark.parametrize("count", [1, 4])
def test_others_run_and_are_settled_meanwhile(open_house: OpenHouse, ledger: Ledger, said: Said, count: int) -> None:
    house, held = open_house(), Held(ledger)
    with house.pool({"work": held.work}, count=count, **OFTEN) as pool:
        stuck = house.enqueue(args={"n": 0})
        assert held.runs.acquire(timeout=20)
        with locked(house, stuck):
            held.go.set()
            until(lambda: pool.status().lanes[0].unsettled == 1, within=10)
            for first in (1, 21):
                began = time.monotonic()
                others = [house.enqueue(args={"n": n}) for n in range(first, first + 20)]
                until(lambda: all(house.job(id).status is Status.COMPLETED for id in others), within=20)  # noqa: B023
                took = time.monotonic() - began
            assert took < 5, "the lock is waited for once, not for each of them"
            until(lambda: pool.status().lanes[0].unsettled == 1)  # it is nowhere while it is offered again
            assert not pool.status().lanes[0].store_down
            assert house.job(stuck).status is Status.RUNNING
        assert house.ended(stuck).status is Status.COMPLETED
    assert ledger.runs() == dict.fromkeys(map(str, range(41)), 1)
    assert said().count("somebody keeps their jobs locked") == 1


def test_a_stop_does_not_wait_for_the_lock_and_the_job_runs_again(open_house: OpenHouse, ledger: Ledger) -> None:
    house, held = open_house(timedelta(seconds=2)), Held(ledger)
    pool = house.pool({"work": held.work}, count=2, shutdown_timeout=timedelta(seconds=1), **OFTEN)
    with pool:
        stuck = house.enqueue(args={"n": 0})
        assert held.runs.acquire(timeout=20)
        foreign = locked(house, stuck)
        foreign.__enter__()
        held.go.set()
        until(lambda: pool.status().lanes[0].unsettled == 1, within=10)
        began = time.monotonic()
    assert time.monotonic() - began < 10
    foreign.__exit__(None, None, None)
    with house.pool({"work": held.work}, count=2, **OFTEN):
        assert house.ended(stuck).status is Status.COMPLETED
    assert ledger.runs() == {"0": 2}


def test_new_claims_do_not_wait_until_the_locked_one_has_been_offered_again(house: House) -> None:
    queue = FaultyQueue(house.queue, healthy)
    crossing = Crossing(queue, "default", "w", LeaseKeeper(house.queue, "k"), 1)  # type: ignore[arg-type]
    stuck = house.enqueue()
    assert crossing.exchange(1) == 1
    with locked(house, stuck):
        crossing.finished.append(Settlement(crossing.ready.popleft()[0], Status.COMPLETED))
        assert crossing.exchange(1) == 0
        house.enqueue_numbers(2)
        until(lambda: crossing.has_rest)
        seen: list[int] = []
        queue.plan = lambda name, _: seen.append(len(crossing.ready)) if name == "settle" else None
        assert crossing.exchange(2) == 2
        assert seen == [2]
        assert crossing.unsettled == 1
