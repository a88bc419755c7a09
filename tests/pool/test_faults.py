"""Pools whose store fails: at every call in turn, now and then, or for a long time."""

import random
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.noise import noisy
from tests.pool.conftest import OpenHouse
from tests.pool.faulty import CALLED_BY_POOLS, FaultyQueue, When, healthy
from tests.pool.house import House, Ledger
from tests.until import until
from wagoe_jobs.context import Seat
from wagoe_jobs.core.job import Status
from wagoe_jobs.crossing import KEPT_THROUGH_OUTAGE
from wagoe_jobs.pace import Pace
from wagoe_jobs.ports import Claim, Settlement, WakingJobQueue
from wagoe_jobs.registry import handler
from wagoe_jobs.worker import Worker

Said = Callable[[], str]
SHORT = timedelta(milliseconds=300)
OFTEN = {
    "reclaim_interval": timedelta(milliseconds=50),
    "scheduled_interval": timedelta(milliseconds=50),
    "poll_interval": timedelta(milliseconds=20),
    "max_poll_interval": timedelta(milliseconds=50),
}


def noting(ledger: Ledger) -> dict[str, object]:
    return {"work": lambda args: ledger.note(args["n"])}


def always_called(house: House) -> set[str]:
    """Not every run has an occasion to settle alone or to hand back, which tests below give; not every store wakes."""
    silent = set() if isinstance(house.queue, WakingJobQueue) else {"wait"}
    return set(CALLED_BY_POOLS) - {"settle", "hand_back"} - silent


@pytest.mark.fault(10)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("method", CALLED_BY_POOLS)
def test_no_job_is_lost_whichever_call_fails(open_house: OpenHouse, ledger: Ledger, method: str, when: When) -> None:
    """The first, the third and the fourth call of the method fail; the ones in between do not."""
    house = open_house(SHORT)
    queue = FaultyQueue(house.queue, healthy)

    def handler(args: dict[str, int]) -> None:
        ledger.note(args["n"])
        time.sleep(0.4 if method == "renew" else 0)

    with house.with_queue(queue).pool({"work": handler}, count=2, **OFTEN):  # type: ignore[arg-type]
        queue.calls.clear()
        queue.plan = lambda name, call: when if name == method and call in (1, 3, 4) else None
        for n in range(6):
            house.enqueue(args={"n": n}, delay=timedelta(milliseconds=n))
            time.sleep(0.02)  # so that the loops get to make each of their calls
        until(lambda: house.counts() == {Status.COMPLETED: 6})
        if method in always_called(house):
            until(lambda: queue.failed[method] == 3)
    assert set(ledger.runs()) == {str(n) for n in range(6)}
    assert {job.retry_count for job in house.all()} == {0}


@pytest.mark.fault(10, 18)
@pytest.mark.parametrize("seed", range(4))
def test_no_job_is_lost_when_every_third_call_fails(open_house: OpenHouse, ledger: Ledger, seed: int) -> None:
    house = open_house(SHORT)
    chance = random.Random(seed)
    queue = FaultyQueue(house.queue, healthy)
    jobs = house.enqueue_numbers(60, max_retries=25)
    with house.with_queue(queue).pool(noting(ledger), count=3, **OFTEN):  # type: ignore[arg-type]
        queue.plan = lambda name, call: chance.choice(["before", "after", None, None, None, None])
        until(lambda: sum(queue.failed.values()) >= 20)
        queue.plan = healthy
        until(lambda: house.counts() == {Status.COMPLETED: 60}, within=30)
    assert set(ledger.runs()) == {str(n) for n in range(60)}
    assert {house.job(id).retry_count for id in jobs} == {0}


@pytest.mark.fault(10)
def test_a_settlement_whose_reply_was_lost_is_offered_again_and_counts_once(house: House, ledger: Ledger) -> None:
    queue = FaultyQueue(house.queue, healthy)
    house.enqueue_numbers(1)
    lost: list[int] = []

    def lose_reply(name: str, call: int) -> When:
        if name == "exchange" and ledger.lines() and not lost:
            lost.append(call)
            return "after"
        return None

    queue.plan = lose_reply
    with house.with_queue(queue).pool(noting(ledger)):  # type: ignore[arg-type]
        until(lambda: lost and queue.calls["exchange"] > lost[0])
        house.enqueue(args={"n": 1})
        until(lambda: len(ledger.lines()) == 2)
    assert house.counts() == {Status.COMPLETED: 2}
    assert ledger.runs() == {"0": 1, "1": 1}


@pytest.mark.fault(10)
@pytest.mark.parametrize("when", ["before", "after"])
def test_claims_whose_return_failed_are_returned_again_and_never_run_here(
    house: House, ledger: Ledger, when: When
) -> None:
    """Two slots are busy; what was claimed with their jobs goes back at the third try, and runs after them."""
    gate = threading.Event()
    busy = threading.Semaphore(0)

    def slow(args: object) -> None:
        busy.release()
        assert gate.wait(20)

    queue = FaultyQueue(house.queue, lambda name, call: when if name == "hand_back" and call < 3 else None)
    # enough for batches to grow: one that ends just behind the slow jobs has nothing to give back
    house.queue.enqueue_many([house.new("quick", {"n": -1}) for _ in range(200)])
    for _ in range(2):
        house.enqueue("slow")
    house.enqueue_numbers(10, "quick")
    handlers = {"quick": lambda args: ledger.note(args["n"]), "slow": slow}
    with house.with_queue(queue).pool(handlers, count=2) as pool:  # type: ignore[arg-type]
        for _ in range(2):
            assert busy.acquire(timeout=20)
        until(lambda: queue.calls["hand_back"] >= 3 and pool.status().lanes[0].waiting == 0)
        until(lambda: house.queue.size("default") == 10)
        gate.set()
        until(lambda: house.counts() == {Status.COMPLETED: 212})
    assert {ledger.runs()[str(n)] for n in range(10)} == {1}


@pytest.mark.fault(18)
@pytest.mark.parametrize("error", [RuntimeError, KeyError, OSError])
@pytest.mark.parametrize("method", CALLED_BY_POOLS)
def test_each_loop_outlives_whatever_its_first_call_raises(
    room: House, ledger: Ledger, said: Said, method: str, error: type[Exception]
) -> None:
    queue = FaultyQueue(room.queue, healthy, error=lambda: error("out of order"))
    with room.with_queue(queue).pool(noting(ledger), count=2, **OFTEN) as pool:  # type: ignore[arg-type]
        queue.calls.clear()
        queue.plan = lambda name, call: "before" if name == method and call == 1 else None
        room.enqueue(args={"n": 1})
        until(lambda: ledger.lines() == ["1"], within=5)
        until(lambda: room.counts() == {Status.COMPLETED: 1}, within=5)
        room.enqueue(args={"n": 2}, delay=timedelta(milliseconds=50))
        until(lambda: ledger.lines() == ["1", "2"], within=5)
        assert pool.status().running


@noisy
@pytest.mark.timed
@pytest.mark.fault(18, 19)
@pytest.mark.parametrize("seconds", [3, 10])
def test_all_loops_resume_within_5_s_of_a_long_outage(room: House, ledger: Ledger, said: Said, seconds: int) -> None:
    """Every call fails for so long, before and after its effect in turn."""
    queue = FaultyQueue(room.queue, healthy)
    with room.with_queue(queue).pool(noting(ledger), count=4, **OFTEN):  # type: ignore[arg-type]
        room.enqueue(args={"n": 0})
        until(lambda: ledger.lines() == ["0"])
        queue.plan = lambda name, call: "before" if call % 2 else "after"
        time.sleep(seconds)
        queue.plan = healthy
        back = time.monotonic()
        room.enqueue(args={"n": 1})
        room.enqueue(args={"n": 2}, delay=timedelta(milliseconds=10))
        until(lambda: set(ledger.lines()) == {"0", "1", "2"}, within=5)
        until(lambda: room.counts() == {Status.COMPLETED: 3}, within=5)
        assert time.monotonic() - back < 5
    assert said().count("the exchange of queue 'default' with the store fails") == 1


@pytest.mark.fault(18)
def test_an_outage_is_no_busy_loop(room: House) -> None:
    queue = FaultyQueue(room.queue, healthy)
    with room.with_queue(queue).pool({"work": print}, count=8):  # type: ignore[arg-type]
        queue.plan = lambda name, call: "before"
        queue.calls.clear()
        began = time.process_time()
        time.sleep(2)
        assert sum(queue.calls.values()) < 60
        assert time.process_time() - began < 0.5
        queue.plan = healthy


@pytest.mark.fault(18)
def test_results_are_kept_through_an_outage_and_then_nothing_more_is_started(
    house: House, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pace, "limit", lambda self, free: 400)
    queue = FaultyQueue(house.queue, healthy)
    most = 2 + KEPT_THROUGH_OUTAGE
    house.enqueue_numbers(400)
    down = threading.Event()

    def plan(name: str, call: int) -> When:
        return "before" if down.is_set() and name in ("exchange", "settle", "hand_back", "wait", "next_due") else None

    def handler(args: dict[str, int]) -> None:
        down.set()
        time.sleep(0.001)
        ledger.note(args["n"])

    queue.plan = plan
    with house.with_queue(queue).pool({"work": handler}, count=2) as pool:  # type: ignore[arg-type]
        until(lambda: pool.status().lanes[0].unsettled >= most)
        time.sleep(0.2)
        assert most <= len(ledger.lines()) <= most + 2
        queue.plan = healthy
        until(lambda: house.counts() == {Status.COMPLETED: 400}, within=10)
    assert ledger.runs() == {str(n): 1 for n in range(400)}


def test_one_settlement_that_the_store_never_takes_does_not_hold_up_the_rest(
    room: House, ledger: Ledger, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even when it is the only one: an idle queue has nothing else that could be accepted."""
    monkeypatch.setattr("wagoe_jobs.crossing.FIRST_REFUSAL_US", 1_000)
    monkeypatch.setattr("wagoe_jobs.crossing.LONGEST_REFUSAL_US", 1_000)
    cursed = room.enqueue(args={"n": 0})
    real, refused = room.queue, threading.Semaphore(0)

    class Choosy(FaultyQueue):
        def settle(self, settlements):  # type: ignore[no-untyped-def]
            if any(s.claim.id == str(cursed) for s in settlements):
                refused.release()
                raise ValueError("this one cannot be")
            return real.settle(settlements)

        def exchange(self, settlements, queue, worker, limit):  # type: ignore[no-untyped-def]
            if any(s.claim.id == str(cursed) for s in settlements):
                raise ValueError("one of these cannot be")
            return real.exchange(settlements, queue, worker, limit)

    queue = Choosy(real, healthy)
    with room.with_queue(queue).pool(noting(ledger), count=2, **OFTEN) as pool:  # type: ignore[arg-type]
        assert refused.acquire(timeout=20)
        others = [room.enqueue(args={"n": n}) for n in range(1, 20)]
        until(lambda: all(room.job(id).status is Status.COMPLETED for id in others), within=1)
        until(lambda: "1 results are given up" in said(), within=30)
        assert pool.status().lanes[0].unsettled == 0
    assert f"job {cursed} cannot be settled" in said()
    assert room.job(cursed).status is Status.RUNNING


def test_a_settlement_that_was_refused_for_a_while_counts_in_the_end(room: House, ledger: Ledger) -> None:
    real, refusals = room.queue, iter(range(4))

    class Moody(FaultyQueue):
        def exchange(self, settlements, queue, worker, limit):  # type: ignore[no-untyped-def]
            if settlements and next(refusals, None) is not None:
                raise ValueError("not now")
            return real.exchange(settlements, queue, worker, limit)

        def settle(self, settlements):  # type: ignore[no-untyped-def]
            return self.exchange(settlements, "", "", 0)[0]

    with room.with_queue(Moody(real, healthy)).pool(noting(ledger)):  # type: ignore[arg-type]
        id = room.enqueue(args={"n": 0})
        until(lambda: room.job(id).status is Status.COMPLETED, within=10)
    assert next(refusals, None) is None
    assert ledger.lines() == ["0"]


@pytest.mark.fault(9, 18)
def test_a_stop_during_an_outage_waits_for_the_store_to_take_what_has_ended(house: House, ledger: Ledger) -> None:
    queue = FaultyQueue(house.queue, healthy)
    gate = threading.Event()
    entered = threading.Event()

    def handler(args: object) -> None:
        entered.set()
        assert gate.wait(20)

    id = house.enqueue()
    with house.with_queue(queue).pool({"work": handler}) as pool:  # type: ignore[arg-type]
        assert entered.wait(20)
        queue.plan = lambda name, call: "before"
        gate.set()
        threading.Timer(0.5, lambda: setattr(queue, "plan", healthy)).start()
        assert pool.stop(timedelta(seconds=10))
    assert house.job(id).status is Status.COMPLETED


def test_a_stop_during_an_endless_outage_ends_all_the_same_and_says_so(
    room: House, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wagoe_jobs.ending.CLEARING", timedelta(milliseconds=100))
    queue = FaultyQueue(room.queue, healthy)
    ran = threading.Event()
    with room.with_queue(queue).pool({"work": lambda args: ran.set()}) as pool:  # type: ignore[arg-type]
        queue.plan = lambda name, call: "before" if name != "exchange" or ran.is_set() else None
        room.enqueue()
        assert ran.wait(20)
        assert not pool.stop(timedelta(milliseconds=200))
    assert "1 results could not be settled" in said()


@pytest.mark.fault(18)
def test_a_slot_outlives_a_run_that_cannot_even_be_settled(
    room: House, ledger: Ledger, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something of ours is broken, with a time-out running: the job is left to its lease, and the slot goes on."""
    run_claim = Worker.run_claim

    def broken(self: Worker, claim: Claim, claimed_us: int, seat: Seat) -> Settlement:
        settlement = run_claim(self, claim, claimed_us, seat)
        if claim.id == str(cursed):
            raise ZeroDivisionError("a bug")
        return settlement

    monkeypatch.setattr(Worker, "run_claim", broken)
    cursed = room.enqueue(args={"n": 0})
    note = handler("work", timeout=0.1)(lambda args: ledger.note(args["n"]))
    with room.pool([note]) as pool:
        until(lambda: "could neither be run nor settled" in said())
        time.sleep(0.2)  # the time-out passes
        assert pool.status().lost == 0
        other = room.enqueue(args={"n": 1})
        assert room.ended(other).status is Status.COMPLETED
    assert room.job(cursed).status is Status.RUNNING
