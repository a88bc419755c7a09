"""What only pools have whose slots are tasks: one loop, thousands of slots, and handlers that misuse either."""

import asyncio
import contextvars
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from tests.noise import noisy
from tests.pool.conftest import OpenHouse
from tests.pool.house import House, Ledger
from tests.pool.test_pool import Gate
from tests.until import until
from wagoe_jobs.context import JobContext
from wagoe_jobs.core.job import Status
from wagoe_jobs.loop_thread import LoopThread
from wagoe_jobs.pool import WorkerPool
from wagoe_jobs.registry import handler
from wagoe_jobs.worker import Worker

STORES = ("memory", "redis")  # as in test_async_behaviour

Said = Callable[[], str]


@pytest.fixture(autouse=True)
def _slots_are_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = House.pool
    monkeypatch.setattr(
        House, "pool", lambda house, handlers, **options: pool(house, handlers, **{"virtual_threads": True} | options)
    )


@pytest.fixture(autouse=True)
def _no_loop_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made: list[asyncio.AbstractEventLoop] = []
    new = asyncio.new_event_loop
    monkeypatch.setattr(asyncio, "new_event_loop", lambda: made.append(new()) or made[-1])
    yield
    until(lambda: all(loop.is_closed() for loop in made), 5)


async def nothing(args: object) -> None:
    pass


class Awaited:
    """An async handler that tells when it is entered and ends when it is let."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()
        self.cancelled: list[object] = []
        self._ledger = ledger

    async def __call__(self, args: dict[str, Any]) -> None:
        if self._ledger:
            self._ledger.note(args.get("n"))
        self.entered.release()
        try:
            while not self.opened.is_set():
                await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            self.cancelled.append(args.get("n"))
            raise

    def wait_for(self, count: int) -> None:
        for _ in range(count):
            assert self.entered.acquire(timeout=20)


@noisy
@pytest.mark.timed
def test_two_thousand_slots_sleep_side_by_side_in_a_handful_of_threads(room: House) -> None:
    asleep = most = ended = 0

    async def nap(args: object) -> None:
        nonlocal asleep, most, ended
        asleep += 1
        most = max(most, asleep)
        await asyncio.sleep(0.2)
        asleep -= 1
        ended += 1

    room.enqueue_numbers(4_000)
    before = threading.active_count()
    with room.pool({"work": nap}, count=2_000) as pool:
        began = time.monotonic()
        until(lambda: ended == 4_000)
        took = time.monotonic() - began
        assert threading.active_count() - before <= 6
        assert len(pool.status().lanes[0].slots) == 2_000
    assert most == 2_000
    assert took < 2
    assert room.counts() == {Status.COMPLETED: 4_000}


@noisy
@pytest.mark.timed
def test_both_kinds_of_handlers_share_the_slots(house: House) -> None:
    loops, threads = set(), set()

    async def awaits(args: object) -> str:
        loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0.05)
        return "awaited"

    def blocks(args: object) -> str:
        threads.add(threading.current_thread())
        time.sleep(0.05)
        return "blocked"

    ids = [house.enqueue("awaits" if n % 2 else "blocks") for n in range(40)]
    with house.pool({"awaits": awaits, "blocks": blocks}, count=8):
        until(lambda: house.counts() == {Status.COMPLETED: 40})
    assert [house.job(id).result for id in ids] == ["blocked", "awaited"] * 20
    assert len(loops) == 1
    assert 1 <= len(threads) <= 8


def test_all_runs_of_all_queues_share_one_loop(room: House) -> None:
    loops: list[object] = []

    async def work(args: object) -> None:
        loops.append(asyncio.get_running_loop())

    for _ in range(3):
        room.enqueue(queue="a")
        room.enqueue(queue="b")
    with room.pool({"work": work}, queues=["a", "b"], count=2):
        until(lambda: len(loops) == 6)
    assert len(set(loops)) == 1


variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


def test_each_run_has_context_variables_of_its_own(room: House) -> None:
    """Also after it has waited, in the tasks and threads that it starts, and whatever the starter of the pool bound."""
    seen: list[list[str]] = []

    async def child() -> str:
        return variable.get()

    async def work(args: dict[str, int]) -> None:
        first = variable.get()
        variable.set(str(args["n"]))
        await asyncio.sleep(0.001 * (args["n"] % 3))
        inside = [variable.get(), await asyncio.create_task(child()), await asyncio.to_thread(variable.get)]
        seen.append([first, *inside, str(args["n"])])

    variable.set("the starter's")
    room.enqueue_numbers(50)
    with room.pool({"work": work}, count=4):
        until(lambda: len(seen) == 50)
    assert all(first == "unset" and {*inside} == {n} for first, *inside, n in seen)


def test_what_asyncio_offers_works_inside_a_handler(house: House) -> None:
    async def work(args: object) -> list[object]:
        me = asyncio.current_task()
        assert me is not None
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.sleep(5)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(asyncio.sleep(0.001, n)) for n in range(3)]
        with pytest.raises(ExceptionGroup):
            await _group_of(_raising(ValueError("one of them")), asyncio.sleep(5))
        queue: asyncio.Queue[int] = asyncio.Queue()
        asyncio.get_running_loop().call_later(0.001, queue.put_nowait, 7)
        gathered = await asyncio.gather(queue.get(), asyncio.to_thread(lambda: 8), asyncio.wait_for(_giving(9), 5))
        assert asyncio.current_task() is me
        return [[task.result() for task in tasks], gathered]

    ids = house.enqueue_numbers(6, max_retries=0)
    with house.pool({"work": work}, count=2):
        jobs = [house.ended(id) for id in ids]
    assert [job.error for job in jobs] == [None] * 6
    assert [job.result for job in jobs] == [[[0, 1, 2], [7, 8, 9]]] * 6


async def _group_of(*members: Coroutine[Any, Any, object]) -> None:
    async with asyncio.TaskGroup() as group:
        for member in members:
            group.create_task(member)


async def _raising(error: BaseException) -> None:
    raise error


async def _giving(value: object) -> object:
    await asyncio.sleep(0)
    return value


RAISED = [
    ValueError("x"),
    SystemExit(3),
    KeyboardInterrupt(),
    asyncio.CancelledError(),
    GeneratorExit(),
    StopIteration(),
]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("way", ["at once", "after a wait", "in a thread", "in a task of its own"])
def test_whatever_a_handler_raises_fails_that_job_only(room: House, error: BaseException, way: str) -> None:
    async def at_once(args: object) -> None:
        raise error

    async def after_a_wait(args: object) -> None:
        await asyncio.sleep(0.001)
        raise error

    def in_a_thread(args: object) -> None:
        raise error

    async def in_a_task(args: object) -> None:
        await asyncio.create_task(_raising(error))

    bad = {"at once": at_once, "after a wait": after_a_wait, "in a thread": in_a_thread}.get(way, in_a_task)
    failed = room.enqueue("bad", max_retries=0)
    with room.pool({"bad": bad, "good": nothing}, count=1):
        job = room.ended(failed)
        assert room.ended(room.enqueue("good")).status is Status.COMPLETED
    assert job.status is Status.FAILED
    assert job.error is not None
    assert job.error.type == "handler-error"
    if not isinstance(error, StopIteration):  # python turns it into a RuntimeError inside a coroutine
        assert (job.error.exception_class or "").endswith(type(error).__qualname__)


def test_a_task_left_behind_that_raises_system_exit_does_not_end_the_others(room: House, said: Said) -> None:
    gate = Awaited()

    async def leaves(args: object) -> None:
        asyncio.get_running_loop().call_soon(_exit)

    slow = room.enqueue("slow")
    with room.pool({"slow": gate, "leaves": leaves}, count=2):
        gate.wait_for(1)
        assert room.ended(room.enqueue("leaves")).status is Status.COMPLETED
        until(lambda: "ends with SystemExit" in said())
        gate.opened.set()
        assert room.ended(slow).status is Status.COMPLETED


def _exit() -> None:
    raise SystemExit(3)


@pytest.mark.parametrize("way", ["now", "later", "stop"])
def test_a_handler_that_cancels_its_own_task_or_stops_the_loop_harms_no_other_job(room: House, way: str) -> None:
    async def rude(args: object) -> None:
        loop, me = asyncio.get_running_loop(), asyncio.current_task()
        assert me is not None
        match way:
            case "now":
                me.cancel()
            case "later":
                loop.call_soon(me.cancel)
            case _:
                loop.stop()

    ids = [room.enqueue("rude", max_retries=0) for _ in range(3)]
    with room.pool({"rude": rude, "good": nothing}, count=1):
        assert [room.ended(id).status for id in ids] == [Status.COMPLETED] * 3
        time.sleep(0.05)  # a cancellation that was left behind comes while the slot is idle
        assert room.ended(room.enqueue("good", max_retries=0)).status is Status.COMPLETED


@noisy
@pytest.mark.timed
def test_an_async_handler_is_cancelled_at_its_time_out_and_keeps_its_slot(house: House, ledger: Ledger) -> None:
    @handler("slow", timeout=0.1)
    async def slow(args: object) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            ledger.note("tidied up")

    id = house.enqueue("slow", max_retries=0)
    with house.pool([slow, handler("good")(nothing)], count=1) as pool:
        job = house.ended(id, 5)
        assert house.ended(house.enqueue("good"), 5).status is Status.COMPLETED
        assert pool.status().lost == 0
    assert job.error is not None
    assert job.error.type == "timeout"
    assert ledger.lines() == ["tidied up"]


def test_one_that_swallows_its_cancellation_is_given_up_and_replaced(house: House, said: Said) -> None:
    let_go = threading.Event()

    @handler("deaf", timeout=0.05)
    async def deaf(args: object) -> None:
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    id = house.enqueue("deaf", max_retries=0)
    with house.pool([deaf, handler("good")(nothing)], count=1) as pool:
        job = house.ended(id, 10)
        assert job.error is not None
        assert job.error.type == "timeout"
        assert house.ended(house.enqueue("good"), 5).status is Status.COMPLETED
        assert (pool.status().lost, len(pool.status().lanes[0].slots)) == (1, 1)
        let_go.set()
        until(lambda: pool.status().lost == 0)
    assert "is lost to it and replaced" in said()
    assert house.job(id).status is Status.FAILED


def test_a_lost_thread_does_not_cost_a_slot(room: House) -> None:
    """The executor grows by one for each `def` handler that never returns."""
    gate = Gate()
    stuck = [room.enqueue("stuck", max_retries=0) for _ in range(2)]
    hanging = handler("stuck", timeout=0.05)(lambda args: gate({}))
    with room.pool([hanging, handler("good")(lambda args: 1)], count=2) as pool:
        for id in stuck:
            room.ended(id)
        assert pool.status().lost == 2
        assert room.ended(room.enqueue("good")).result == 1
        gate.opened.set()
        until(lambda: pool.status().lost == 0)


@noisy
@pytest.mark.timed
def test_a_blocked_loop_costs_no_lease_and_is_reported_by_the_handlers_name(
    open_house: OpenHouse, ledger: Ledger, said: Said
) -> None:
    house = open_house(timedelta(milliseconds=500))

    async def blocks(args: object) -> None:
        ledger.note("blocks")
        time.sleep(2)

    quick = house.enqueue("quick")
    with house.pool({"blocks": blocks, "quick": nothing}, count=4):
        house.ended(quick)
        id = house.enqueue("blocks")
        until(lambda: "is blocked by the handler of 'blocks'" in said(), 5)
        assert f"job {id}" in said()
        assert "test_async_slots.py" in said()
        assert house.ended(id).status is Status.COMPLETED
    assert ledger.runs() == {"blocks": 1}
    assert house.job(id).repeats == 0


def test_while_the_loop_is_blocked_results_are_settled_and_claims_handed_back(house: House) -> None:
    blocked, gate = threading.Event(), threading.Event()

    async def blocks(args: object) -> None:
        blocked.set()
        assert gate.wait(20)

    quick = [house.enqueue("quick") for _ in range(3)]
    house.enqueue("blocks")
    waiting = [house.enqueue("quick") for _ in range(50)]
    with house.pool({"blocks": blocks, "quick": nothing}, count=8):
        assert blocked.wait(20)
        until(lambda: all(house.job(id).status is Status.COMPLETED for id in quick), 5)
        until(lambda: house.queue.size("default") == 50, 5)
        later = [house.enqueue("quick") for _ in range(5)]  # news that no slot here can follow
        with house.pool({"quick": nothing}, count=1):  # another node is free
            until(lambda: all(house.job(id).status is Status.COMPLETED for id in waiting + later), 10)
        gate.set()
    assert {job.repeats for job in house.all()} == {0}


def test_a_handler_that_sees_a_request_to_cancel_ends_as_cancelled(open_house: OpenHouse) -> None:
    house = open_house(timedelta(milliseconds=300))
    entered = threading.Event()

    async def work(args: object, context: JobContext) -> None:
        entered.set()
        while not context.cancelled():
            await asyncio.sleep(0.01)
        raise RuntimeError("stopped")

    id = house.enqueue()
    with house.pool({"work": work}, count=2):
        assert entered.wait(20)
        assert house.queue.cancel(id)
        assert house.ended(id).status is Status.CANCELLED


@pytest.mark.fault(7, 8)
def test_a_lost_claim_reports_nothing(open_house: OpenHouse, said: Said) -> None:
    """Someone else takes the job over while the handler waits; its own end has no effect."""
    house = open_house(timedelta(milliseconds=300))
    entered, told = threading.Event(), threading.Event()

    async def work(args: object, context: JobContext) -> str:
        entered.set()
        while not context.cancelled():
            await asyncio.sleep(0.01)
        told.set()
        return "the zombie's"

    id = house.enqueue()
    with house.pool({"work": work}, reclaim_interval=timedelta(hours=1)):
        assert entered.wait(20)
        house.offset.move(timedelta(seconds=10))
        while not (thief := _stolen(house)):
            house.offset.move(timedelta(seconds=10))
        assert told.wait(20)
        assert house.queue.ack(thief)
        until(lambda: "its run is dropped here" in said())
    job = house.job(id)
    assert (job.status, job.result) == (Status.COMPLETED, None)


def _stolen(house: House) -> Any:
    house.queue.reclaim_abandoned()
    claims = house.queue.claim("default", "another", 1)
    return claims[0] if claims else None


def test_a_stop_cancels_what_outlasts_it_and_leaves_its_job_uncharged(open_house: OpenHouse, ledger: Ledger) -> None:
    house = open_house(timedelta(seconds=1))
    gate = Awaited(ledger)
    id = house.enqueue(args={"n": 0}, max_retries=0)
    pool = house.pool({"work": gate})
    pool.start()
    gate.wait_for(1)
    assert not pool.stop(timedelta(milliseconds=100))
    assert gate.cancelled == [0]
    assert house.job(id).status is Status.RUNNING
    gate.opened.set()
    house.offset.move(timedelta(seconds=2))
    with house.pool({"work": gate}):
        job = house.ended(id)
    assert (job.status, job.repeats) == (Status.COMPLETED, 0)


def test_many_stop_a_pool_at_once_and_each_returns_when_it_has_stopped(room: House) -> None:
    room.enqueue_numbers(200)
    pool = room.pool({"work": nothing}, count=20)
    pool.start()
    threads = [threading.Thread(target=pool.stop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    assert pool.stop()
    assert not pool.status().running
    assert set(room.counts()) <= {Status.COMPLETED, Status.PENDING}


def test_a_signal_handler_may_stop_the_pool(room: House) -> None:
    gate = Awaited()
    id = room.enqueue()
    pool = room.pool({"work": gate}, count=2)
    before = signal.signal(signal.SIGUSR1, lambda *_: pool.stop(timedelta(seconds=10)))
    try:
        pool.start()
        gate.wait_for(1)
        threading.Timer(0.2, gate.opened.set).start()
        os.kill(os.getpid(), signal.SIGUSR1)
        until(lambda: not pool.status().running)
    finally:
        signal.signal(signal.SIGUSR1, before)
        pool.stop()
    assert room.job(id).status is Status.COMPLETED


@pytest.mark.parametrize("failing", ["the loop's thread", "the waiting place"])
def test_a_start_that_fails_leaves_no_thread_and_no_loop(
    room: House, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def broken(*_: object) -> object:
        raise RuntimeError("no more of these")

    if failing == "the loop's thread":
        start = threading.Thread.start
        monkeypatch.setattr(
            threading.Thread, "start", lambda thread: broken() if thread.name.endswith("-loop") else start(thread)
        )
    else:
        monkeypatch.setattr(room.queue, "wake_up", broken)
    before = set(threading.enumerate())
    with pytest.raises(RuntimeError, match="no more of these"):
        room.pool({"work": nothing}, count=3).start()
    until(lambda: set(threading.enumerate()) == before)


def test_tasks_that_handlers_leave_are_cancelled_with_the_pool(room: House) -> None:
    ended = threading.Event()

    async def lingers() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    kept: list[object] = []

    async def work(args: object) -> None:
        kept.append(asyncio.create_task(lingers()))
        await asyncio.sleep(0.001)

    id = room.enqueue()
    with room.pool({"work": work}):
        room.ended(id)
        assert not ended.is_set()
    assert ended.is_set()


def test_a_def_handler_may_return_something_to_await(room: House) -> None:
    loops: list[object] = []

    async def inner() -> int:
        loops.append(asyncio.get_running_loop())
        return 5

    async def native(args: object) -> None:
        loops.append(asyncio.get_running_loop())

    first, second = room.enqueue("lazy"), room.enqueue("native")
    with room.pool({"lazy": lambda args: inner(), "native": native}):
        assert room.ended(first).result == 5
        room.ended(second)
    assert len(loops) == 2
    assert loops[0] is loops[1]


def test_a_loop_that_ended_takes_no_more_calls() -> None:
    loop = LoopThread("wagoe-test")
    loop.start()
    done = threading.Event()
    loop.call(done.set)
    assert done.wait(5)
    loop.close()
    loop.call(done.set)
    assert loop.late_us(time.monotonic_ns() // 1000) == 0


def test_the_setting_makes_the_pools_slots_tasks() -> None:
    from wagoe_jobs.containers import JobsContainer  # noqa: PLC0415
    from wagoe_jobs.node import running  # noqa: PLC0415

    loops: list[object] = []

    async def work(args: object) -> None:
        loops.append(asyncio.get_running_loop())

    class Module:
        job_handlers = {"work": work}  # noqa: RUF012

    settings = {"jobs": {"provider": "memory", "workers": {"count": 3, "virtual_threads": True}}}
    with running(JobsContainer(settings=settings, modules=[Module])) as system:
        assert isinstance(system.job_workers(), WorkerPool)
        client = system.client()
        for id in [client.enqueue("work") for _ in range(5)]:
            client.wait(id, timeout=10)
    assert len(set(loops)) == 1


def test_a_slot_outlives_a_run_that_cannot_even_be_settled(
    room: House, monkeypatch: pytest.MonkeyPatch, said: Said
) -> None:
    begin, broken = Worker.begin, [RuntimeError("ours")]

    def breaks_once(worker: Worker, *args: Any) -> Any:
        if broken:
            raise broken.pop()
        return begin(worker, *args)

    monkeypatch.setattr(Worker, "begin", breaks_once)
    first, unknown, second = room.enqueue("good"), room.enqueue("unknown"), room.enqueue("good")
    with room.pool({"good": nothing}, count=1):
        assert room.ended(second).status is Status.COMPLETED
    assert (room.job(first).status, room.job(unknown).status) == (Status.RUNNING, Status.PENDING)
    assert "could neither be run nor settled" in said()
