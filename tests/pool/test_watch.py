"""What the watchdog and the pace of a lane are for: slow jobs must not hold up quick ones, nor their settlements."""

import asyncio
import random
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests.noise import noisy
from tests.pool.conftest import OpenHouse
from tests.pool.faulty import FaultyQueue, healthy
from tests.pool.house import House, Ledger, until
from tests.pool.test_pool import Gate, nothing
from wagoe_jobs.core.job import Status
from wagoe_jobs.crossing import Crossing
from wagoe_jobs.lease import LeaseKeeper
from wagoe_jobs.pace import LARGEST_BATCH, Pace
from wagoe_jobs.ports import Answer, Claim, Settlement
from wagoe_jobs.registry import handler

pytestmark = pytest.mark.timed


class Recorder(FaultyQueue):
    """Notes every settlement with the moment at which it was offered, and the size of each claim."""

    def __init__(self, queue: Any) -> None:
        super().__init__(queue, healthy)
        self.settled: list[Settlement] = []
        self.at: dict[str, float] = {}
        self.flushes: list[int] = []
        self.claimed: list[int] = []

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[Answer]:
        self._note(settlements)
        return self.real.settle(settlements)  # type: ignore[no-any-return]

    def exchange(
        self, settlements: Sequence[Settlement], queue: str, worker: str, limit: int
    ) -> tuple[Sequence[Answer], Sequence[Claim]]:
        self._note(settlements)
        answers, claims = self.real.exchange(settlements, queue, worker, limit)
        self.claimed.append(len(claims))
        return answers, claims

    def _note(self, settlements: Sequence[Settlement]) -> None:
        self.settled += settlements
        self.flushes.append(len(settlements))
        for settlement in settlements:
            self.at[settlement.claim.id] = time.monotonic()

    @property
    def longest_wait(self) -> float:
        return max(settlement.waited_us for settlement in self.settled) / 1e6


def recorded(house: House) -> tuple[Recorder, House]:
    recorder = Recorder(house.queue)
    return recorder, house.with_queue(recorder)  # type: ignore[arg-type]


def quick_then(slow: Callable[[object], object]) -> dict[str, Callable[[Any], object]]:
    return {"quick": nothing, "slow": slow}


def test_a_batch_lasts_15_ms_and_grows_twofold_at_most() -> None:
    pace = Pace(10)
    assert pace.limit(free=10) == 10
    pace.note(jobs=10, elapsed_us=100, runs=10, busy_us=100)
    sizes = []
    for _ in range(8):
        sizes.append(pace.limit(free=1))
        pace.note(jobs=sizes[-1], elapsed_us=10 * sizes[-1], runs=sizes[-1], busy_us=10 * sizes[-1])
    assert sizes[0] <= 20
    assert all(later <= 2 * earlier for earlier, later in pairwise(sizes))
    assert sizes[-1] == LARGEST_BATCH


@pytest.mark.parametrize(("slots", "run_us", "most"), [(50, 10_000, 80), (10, 100_000, 3), (10, 10_000_000, 1)])
def test_a_batch_of_slow_jobs_is_what_the_slots_get_through_in_15_ms(slots: int, run_us: int, most: int) -> None:
    pace = Pace(slots)
    for _ in range(20):
        jobs = pace.limit(free=1)
        pace.note(jobs=jobs, elapsed_us=jobs * run_us // slots, runs=jobs, busy_us=jobs * run_us)
    assert pace.limit(free=1) <= most
    assert pace.limit(free=slots) >= slots


def test_after_a_stall_only_free_slots_are_filled_until_batches_have_grown() -> None:
    pace = Pace(4)
    for _ in range(20):
        pace.note(jobs=100, elapsed_us=1_000, runs=100, busy_us=1_000)
        pace.limit(free=1)
    pace.stalled()
    assert [pace.limit(free=1) for _ in range(4)] == [1, 2, 4, 8]


@pytest.mark.fault(16)
def test_a_job_that_was_abandoned_is_never_claimed_ahead_of_a_free_slot(open_house: OpenHouse) -> None:
    """It may end this process too: it goes back uncharged, and comes alone to a slot that starts it at once."""
    house = open_house(timedelta(seconds=1))
    first = house.enqueue()
    assert len(house.queue.claim("default", "one that dies", 1)) == 1
    house.offset.move(timedelta(seconds=2))
    assert [job.abandoned for job in house.queue.reclaim_abandoned()] == [1]
    house.enqueue()
    crossing = Crossing(house.queue, "default", "w", LeaseKeeper(house.queue, "k"), 1)
    assert crossing.exchange(10, ahead=True) == 0
    assert crossing.next_is_alone
    assert [job.id for job in house.queue.peek("default")] == [first]
    assert house.job(first).abandoned == 1
    assert crossing.exchange(10) == 1
    assert [claim.id for claim, _ in crossing.ready] == [str(first)]
    assert not crossing.next_is_alone
    assert crossing.exchange(10, ahead=True) == 1


def test_the_watchdog_ticks_when_all_slots_block_and_hands_back_what_they_hold_up(house: House) -> None:
    """Nobody but the watchdog is left to do it: every slot is inside a handler."""
    gate = Gate()
    for _ in range(200):
        house.enqueue("quick")
    for _ in range(2):
        house.enqueue("slow")
    waiting = [house.enqueue("quick") for _ in range(50)]
    with house.pool(quick_then(gate), count=2) as pool:
        gate.wait_for(2)
        until(lambda: house.queue.size("default") == 50, 2)
        assert [job.id for job in house.queue.peek("default", 100)] == waiting
        with house.pool(quick_then(gate), count=1):  # another node is free
            until(lambda: all(house.job(id).status is Status.COMPLETED for id in waiting))
        assert pool.status().busy == 2
        gate.opened.set()
    assert {job.repeats for job in house.all()} == {0}


def test_handing_back_does_not_stop_fetching_for_good(house: House) -> None:
    """Again and again all slots block; in between the pool gets back to full batches."""
    recorder, watched = recorded(house)
    for _ in range(3):
        gate = Gate()
        for _ in range(2):
            house.enqueue("slow")
        house.enqueue_numbers(2_000, "quick")
        with watched.pool(quick_then(gate), count=2):
            gate.wait_for(2)
            until(lambda: house.queue.size("default") == 2_000)
            recorder.claimed.clear()
            gate.opened.set()
            until(lambda: house.queue.size("default") == 0)
            until(lambda: set(house.counts()) == {Status.COMPLETED})
        assert max(recorder.claimed) >= 64


@noisy
def test_a_claimed_job_never_waits_50_ms_behind_slow_ones(room: House) -> None:
    """One in 200 takes 300 ms, the others next to nothing."""
    recorder, watched = recorded(room)
    room.enqueue_numbers(6_000, "mixed")
    chance = random.Random(7)
    slow = {n for n in range(6_000) if chance.random() < 0.005}

    def mixed(args: dict[str, int]) -> None:
        if args["n"] in slow:
            time.sleep(0.3)

    with watched.pool({"mixed": mixed}, count=4):
        until(lambda: len(recorder.settled) >= 6_000, 60)
    assert recorder.longest_wait <= 0.05


@noisy
@pytest.mark.parametrize("ms", [5, 30, 100])
def test_a_claimed_job_never_waits_50_ms_behind_its_like(room: House, ms: int) -> None:
    recorder, watched = recorded(room)
    room.enqueue_numbers(4 * 1_500 // ms, "sleep")
    with watched.pool({"sleep": lambda args: time.sleep(ms / 1000)}, count=4):
        until(lambda: len(recorder.settled) >= 4 * 1_500 // ms)
    assert recorder.longest_wait <= 0.05


@noisy
def test_a_batch_that_turns_out_slow_is_handed_back_although_it_moves(room: House) -> None:
    """It was claimed as if its jobs were as quick as those before; each is started, one by one, but much too late."""
    recorder, watched = recorded(room)
    room.enqueue_numbers(3_000, "quick")
    room.enqueue_numbers(300, "sleep")
    with watched.pool({"quick": nothing, "sleep": lambda args: time.sleep(0.003)}, count=1):
        until(lambda: len(recorder.settled) >= 3_300)
    assert max(recorder.claimed) >= 100
    assert recorder.longest_wait <= 0.05


@noisy
def test_finished_work_is_settled_within_10_ms_while_other_work_runs(room: House) -> None:
    recorder, watched = recorded(room)
    gate = Gate()
    ended: dict[str, float] = {}

    def quick(args: object, context: Any) -> None:
        ended[context.id] = time.monotonic()

    ages = []
    with watched.pool({"quick": quick, "slow": gate}, count=1):
        for n in range(10):
            gate.opened.clear()
            room.queue.enqueue_many([room.new("quick"), room.new("slow")])
            gate.wait_for(1)
            until(lambda n=n: len(recorder.at) > 2 * n)
            gate.opened.set()
            until(lambda n=n: len(recorder.at) == 2 * n + 2)
    ages = sorted(recorder.at[id] - moment for id, moment in ended.items())
    assert ages[len(ages) // 2] < 0.02  # 10 ms and what the threads of a busy machine take to get their turn


def test_no_more_than_64_results_of_slow_handlers_wait_for_their_settlement(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wagoe_jobs.watchdog.FLUSH_AGE_US", 10**9)
    monkeypatch.setattr(Pace, "limit", lambda self, free: 400)
    recorder, watched = recorded(house)
    house.enqueue_numbers(400)
    with watched.pool({"work": lambda args: time.sleep(0.0015)}, count=4):
        until(lambda: len(recorder.settled) >= 400)
    assert max(recorder.flushes) <= 64 + 4


def test_no_settlement_is_lost_when_slots_watchdog_and_leader_race(
    house: House, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watchdog flushes at every chance while eight slots finish jobs of all lengths."""
    monkeypatch.setattr("wagoe_jobs.watchdog.FLUSH_AGE_US", 0)
    monkeypatch.setattr("wagoe_jobs.lane.UNFLUSHED", 3)
    chance = random.Random(3)
    naps = [chance.choice([0, 0, 0, 0.0005, 0.002, 0.012]) for _ in range(2_000)]
    recorder, watched = recorded(house)

    def work(args: dict[str, int]) -> None:
        ledger.note(args["n"])
        if naps[args["n"]]:
            time.sleep(naps[args["n"]])

    house.enqueue_numbers(2_000)
    with watched.pool({"work": work}, count=8) as pool:
        until(lambda: len(recorder.settled) >= 2_000, 60)
        until(lambda: pool.status().lanes[0].unsettled == 0)
    assert len({settlement.claim.id for settlement in recorder.settled}) == len(recorder.settled) == 2_000
    assert house.counts() == {Status.COMPLETED: 2_000}
    assert ledger.runs() == {str(n): 1 for n in range(2_000)}


def test_idle_slots_hear_of_new_work_while_the_one_that_fetched_is_in_a_long_job(house: House) -> None:
    gate = Gate()
    house.enqueue("slow")
    ran = threading.Event()
    with house.pool({"slow": gate, "quick": lambda args: ran.set()}, count=2, poll_interval=timedelta(seconds=30)):
        gate.wait_for(1)
        house.enqueue("quick")
        assert ran.wait(2)
        gate.opened.set()


@noisy
def test_an_idle_pool_uses_next_to_no_cpu(house: House) -> None:
    house.enqueue()
    with house.pool({"work": nothing}, count=10):
        until(lambda: house.counts() == {Status.COMPLETED: 1})
        time.sleep(0.3)
        began = time.process_time()
        time.sleep(2)
        assert time.process_time() - began < 0.2


@noisy
def test_a_handler_that_outlasts_its_time_out_is_settled_at_once_and_its_slot_replaced(
    house: House, ledger: Ledger, said: Callable[[], str]
) -> None:
    gate = Gate()
    stuck = house.enqueue("stuck", max_retries=0)
    hanging = handler("stuck", timeout=0.1)(lambda args: gate({}))
    with house.pool([hanging, handler("quick")(lambda args: ledger.note("quick"))]) as pool:
        gate.wait_for(1)
        began = time.monotonic()
        job = house.ended(stuck)
        assert time.monotonic() - began < 5  # long before the handler would end
        assert job.status is Status.FAILED
        assert job.error is not None
        assert job.error.type == "timeout"
        assert pool.status().lost == 1
        house.enqueue("quick")
        until(lambda: ledger.lines() == ["quick"])  # the only slot was replaced
        assert len(pool.status().lanes[0].slots) == 1
        assert "is lost to it and replaced" in said()
        gate.opened.set()
        until(lambda: pool.status().lost == 0)
        house.enqueue("quick")
        until(lambda: ledger.lines() == ["quick", "quick"])
    assert house.job(stuck).status is Status.FAILED
    assert house.counts() == {Status.FAILED: 1, Status.COMPLETED: 2}


def test_a_pool_with_a_lost_slot_does_not_stop_cleanly(room: House) -> None:
    gate = Gate()
    id = room.enqueue("stuck", max_retries=0)
    with room.pool([handler("stuck", timeout=0.05)(lambda args: gate({}))]) as pool:
        room.ended(id)
        assert not pool.stop(timedelta(milliseconds=100))
        gate.opened.set()
    assert room.counts() == {Status.FAILED: 1}


@pytest.mark.parametrize("late", [0.0, 0.02])
def test_a_run_ends_once_when_its_end_and_its_time_out_coincide(house: House, ledger: Ledger, late: float) -> None:
    def work(args: dict[str, int]) -> None:
        ledger.note(args["n"])
        time.sleep(0.02 + late * (args["n"] % 3) / 3)

    ids = house.enqueue_numbers(40, max_retries=0)
    with house.pool([handler("work", timeout=0.021 + late / 2)(work)], count=4):
        until(lambda: all(house.job(id).status.terminal for id in ids))
    assert ledger.runs() == {str(n): 1 for n in range(40)}
    assert {house.job(id).status for id in ids} <= {Status.COMPLETED, Status.FAILED}


def test_an_async_handler_that_blocks_its_loop_is_lost_like_any_other(room: House) -> None:
    gate = Gate()

    @handler("stuck", timeout=0.05)
    async def stuck(args: dict[str, Any]) -> None:
        gate(args)
        await asyncio.sleep(0)

    id = room.enqueue("stuck", max_retries=0)
    with room.pool([stuck]) as pool:
        job = room.ended(id)
        assert job.error is not None
        assert job.error.type == "timeout"
        assert pool.status().lost == 1
        gate.opened.set()
        until(lambda: pool.status().lost == 0)


@noisy
def test_handlers_that_await_run_in_every_slot(open_house: OpenHouse) -> None:
    house = open_house()

    async def work(args: object) -> int:
        await asyncio.sleep(0.2)
        return 1

    ids = [house.enqueue() for _ in range(8)]
    began = time.monotonic()
    with house.pool({"work": work}, count=8):
        until(lambda: house.counts() == {Status.COMPLETED: 8})
        assert time.monotonic() - began < 1.2
    assert {house.job(id).result for id in ids} == {1}


@noisy
def test_a_due_job_of_high_priority_starts_in_time_under_load(house: House) -> None:
    """The only slot never runs dry, so it never looks out for due jobs; the next regular round is hours away."""
    late: list[float] = []
    handlers = {"work": lambda args: time.sleep(0.002), "due": lambda args: late.append(time.time() - args["at"])}
    hours = timedelta(hours=1)
    house.enqueue_numbers(2_000)
    with house.pool(handlers, scheduled_interval=hours, reclaim_interval=hours) as pool:
        until(lambda: pool.status().busy)
        time.sleep(0.3)  # the first, early rounds are over
        for _ in range(5):
            soon = timedelta(milliseconds=100)
            house.enqueue("due", {"at": time.time() + 0.1}, delay=soon, priority="critical")
            time.sleep(0.2)
        assert house.queue.size("default") > 0
        assert len(late) == 5
    assert sorted(late)[2] < 0.08
