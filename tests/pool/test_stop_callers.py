"""Who may stop a pool: two at once, a signal in the middle of a stop or a start, a handler of the pool itself."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from tests.noise import noisy
from tests.pool.house import House
from tests.pool.test_pool import Gate, nothing
from tests.until import until
from wagoe_jobs.core.job import Status
from wagoe_jobs.pool import WorkerPool
from wagoe_jobs.ports import Claim

pytestmark = pytest.mark.timed
SECOND = timedelta(seconds=1)


@contextmanager
def stopped_by_signals(pool: WorkerPool, answers: list[bool]) -> Iterator[None]:
    """SIGTERM stops the pool, in whatever the main thread is at."""
    before = signal.signal(signal.SIGTERM, lambda *_: answers.append(pool.stop(SECOND)))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@noisy
def test_whoever_stops_a_pool_that_is_stopping_gets_the_same_answer(room: House) -> None:
    gate, answers = Gate(), []
    room.enqueue()
    pool = room.pool({"work": gate})
    pool.start()
    gate.wait_for(1)
    stoppers = [threading.Thread(target=lambda: answers.append(pool.stop(SECOND))) for _ in range(3)]
    for stopper in stoppers:
        stopper.start()
    for stopper in stoppers:
        stopper.join()
    gate.opened.set()
    assert [*answers, pool.stop()] == [False] * 4


@noisy
@pytest.mark.fault(21)
def test_a_signal_in_the_middle_of_a_stop_may_stop_again(room: House) -> None:
    gate, answers = Gate(), list[bool]()
    room.enqueue()
    pool = room.pool({"work": gate})
    with stopped_by_signals(pool, answers):
        pool.start()
        gate.wait_for(1)
        threading.Timer(0.3, terminate).start()
        threading.Timer(0.6, gate.opened.set).start()
        assert pool.stop(timedelta(seconds=20))
    assert answers == [True]


@noisy
def test_a_signal_in_the_middle_of_a_start_leaves_nothing_running(room: House) -> None:
    class Interrupted:
        """A queue at whose first call the signal comes."""

        def __getattr__(self, name: str) -> Any:
            return getattr(room.queue, name)

        def renew(self, claims: list[Claim]) -> object:
            if not answers:
                terminate()
            return room.queue.renew(claims)

    answers: list[bool] = []
    pool = room.with_queue(Interrupted()).pool({"work": nothing})  # type: ignore[arg-type]
    with stopped_by_signals(pool, answers):
        pool.start()
    assert answers == [True]
    assert not pool.status().running
    until(lambda: not [one for one in threading.enumerate() if one.name.startswith("wagoe-")])


@noisy
@pytest.mark.parametrize("tasks", [False, True], ids=["threads", "tasks"])
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_handler_that_stops_its_own_pool_is_waited_for_no_longer_than_others(
    room: House, tasks: bool, kind: str
) -> None:
    answers: list[bool] = []

    def plain(args: object) -> None:
        answers.append(pool.stop(SECOND))

    async def coroutine(args: object) -> None:
        plain(args)

    pool = room.pool({"work": plain if kind == "def" else coroutine}, virtual_threads=tasks)
    pool.start()
    began = time.monotonic()
    id = room.enqueue()
    until(lambda: bool(answers))
    assert answers == [False]
    assert time.monotonic() - began < 1 + 2 * tasks + 1
    assert room.job(id).status is Status.RUNNING
    pool.stop()
