"""Pools of thousands of slots: what one call to the store may carry, and leases that are renewed in time."""

import asyncio
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests.noise import noisy
from tests.pool.conftest import OpenHouse
from tests.pool.faulty import FaultyQueue, healthy
from tests.pool.house import House
from tests.until import until
from wagoe_jobs.core.job import Status
from wagoe_jobs.crossing import Crossing
from wagoe_jobs.lease import LeaseKeeper
from wagoe_jobs.ports import BATCH_LIMIT

STORES = ("memory", "sqlite")


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
        self.call(self._let_go.set)

    def call(self, function: Callable[..., object], *args: object) -> None:
        """Have this called on the loop."""
        assert self._loop
        self._loop.call_soon_threadsafe(function, *args)


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


@noisy
@pytest.mark.timed
@pytest.mark.fault(3)
@pytest.mark.parametrize(("slots", "lease_ms"), [(20, 300), (2_000, 2_000)])
def test_no_two_renewals_are_further_apart_than_half_the_lease(
    open_house: OpenHouse, slots: int, lease_ms: int
) -> None:
    """Read from the rows; in the second third something blocks the loop, in the last one the pool is stopping."""
    house = open_house(timedelta(milliseconds=lease_ms))
    together = Together()
    house.enqueue_numbers(slots)
    ends: dict[str, list[int]] = defaultdict(list)

    def sample(leases: int) -> None:
        until_then = time.monotonic() + leases * lease_ms / 1e3
        while time.monotonic() < until_then:
            for id, end in house.sample().items():
                if not ends[id] or ends[id][-1] != end:
                    ends[id].append(end)
            time.sleep(lease_ms / 30e3)

    with house.pool({"work": together}, count=slots, virtual_threads=True) as pool:
        until(lambda: together.entered == slots, 60)
        sample(2)
        together.call(time.sleep, lease_ms / 1e3)
        sample(2)
        stopping = threading.Thread(target=pool.stop)
        stopping.start()
        sample(2)
        together.let_go()
        stopping.join()
    assert len(ends) == slots
    gaps = [later - earlier for of_one in ends.values() for earlier, later in pairwise(of_one)]
    assert len(gaps) >= 15 * slots
    assert max(gaps) <= lease_ms * 500
    assert house.counts() == {Status.COMPLETED: slots}


def test_a_stop_does_not_wait_for_slots_that_wait_for_the_store(house: House) -> None:
    """So many results come while it stops that slots would rather wait than add to them; nobody would wake them."""
    together = Together()
    house.enqueue_numbers(400)
    pool = house.pool({"work": together}, count=400, virtual_threads=True)
    pool.start()
    until(lambda: together.entered == 400)
    threading.Timer(0.3, together.let_go).start()
    began = time.monotonic()
    assert pool.stop(timedelta(seconds=20))
    assert time.monotonic() - began < 10
    assert house.counts() == {Status.COMPLETED: 400}
