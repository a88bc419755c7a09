"""Pools of thousands of slots: what one call to the store may carry, and leases that are renewed in time."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from tests.pool.faulty import FaultyQueue, healthy
from tests.pool.house import House, until
from wagoe_jobs.core.job import Status
from wagoe_jobs.crossing import Crossing
from wagoe_jobs.lease import LeaseKeeper
from wagoe_jobs.ports import BATCH_LIMIT

pytestmark = pytest.mark.timed


class Measured(FaultyQueue):
    """Notes the most rows that one call of each kind carried, and how many there were in all."""

    def __init__(self, queue: Any) -> None:
        super().__init__(queue, healthy)
        self.most: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()

    def call(self, name: str, method: Any, *args: Any, **options: Any) -> Any:
        if args and isinstance(args[0], Sequence):
            self.most[name] = max(self.most[name], len(args[0]))
            self.rows[name] += len(args[0])
        return super().call(name, method, *args, **options)


def measured(house: House) -> tuple[Measured, House]:
    queue = Measured(house.queue)
    return queue, house.with_queue(queue)  # type: ignore[arg-type]


class Together:
    """A handler that lets all of its runs end at the same moment."""

    def __init__(self) -> None:
        self.entered = 0
        self._let_go = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, args: object) -> None:
        self._loop = asyncio.get_running_loop()
        self.entered += 1
        await self._let_go.wait()

    def let_go(self) -> None:
        assert self._loop
        self._loop.call_soon_threadsafe(self._let_go.set)


def test_what_ends_at_once_goes_to_the_store_in_batches(house: House) -> None:
    queue, watched = measured(house)
    together = Together()
    ids = house.enqueue_numbers(1_300)
    with watched.pool({"work": together}, count=1_300, virtual_threads=True):
        until(lambda: together.entered == 1_300)
        together.let_go()
        until(lambda: queue.rows["settle"] + queue.rows["exchange"] == len(ids))
    assert max(queue.most["settle"], queue.most["exchange"]) <= BATCH_LIMIT
    assert house.counts() == {Status.COMPLETED: 1_300}


def test_what_outlasts_a_stop_is_marked_in_batches(house: House) -> None:
    queue, watched = measured(house)
    together = Together()
    house.enqueue_numbers(1_300)
    pool = watched.pool({"work": together}, count=1_300, virtual_threads=True)
    pool.start()
    until(lambda: together.entered == 1_300)
    assert not pool.stop(timedelta(0))
    assert (queue.most["interrupt"], queue.rows["interrupt"]) == (BATCH_LIMIT, 1_300)


def test_claims_go_back_in_batches_and_those_that_did_not_later(house: House) -> None:
    queue, _ = measured(house)
    house.enqueue_numbers(1_300)
    keeper = LeaseKeeper(house.queue, "k")
    crossing = Crossing(queue, "default", "w", keeper, 1)
    while crossing.exchange(400):
        pass
    queue.plan = lambda name, call: "before" if call == 2 else None
    crossing.hand_back()
    assert (house.queue.size("default"), len(keeper.held()), crossing.has_rest) == (500, 800, True)
    crossing.hand_back_rest()
    assert (house.queue.size("default"), len(keeper.held()), crossing.has_rest) == (1_300, 0, False)
    assert queue.most["hand_back"] == BATCH_LIMIT
