"""What a handler leaves behind in its thread: a process that it forked, or something that is raised later."""

import asyncio
import ctypes
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.pool.faulty import FaultyQueue, When
from tests.pool.house import House, Ledger
from tests.until import until
from wagoe_jobs.core.job import Status
from wagoe_jobs.registry import Registry
from wagoe_jobs.worker import Worker

Said = Callable[[], str]

pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # it has threads, and forks
both_kinds = pytest.mark.parametrize("tasks", [False, True], ids=["threads", "tasks"])


class TimeUp(BaseException):
    """What a decorator of the application raises in a thread that took too long; too late, here."""


class Children:
    """Processes that a handler forked; those that have not ended by themselves are killed."""

    def __init__(self) -> None:
        self._pids: list[int] = []

    def fork(self) -> bool:
        """True in the child."""
        pid = os.fork()
        if pid:
            self._pids.append(pid)
        return not pid

    def status(self) -> int:
        """The status of the one that there is; fails unless it ends soon."""
        until(lambda: self._pids)
        ended = until(lambda: [status for pid, status in [os.waitpid(self._pids[0], os.WNOHANG)] if pid], 5)
        self._pids.clear()
        return os.waitstatus_to_exitcode(ended[0])

    def kill(self) -> None:
        for pid in self._pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


@pytest.fixture
def children() -> Iterator[Children]:
    children = Children()
    yield children
    children.kill()


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Callable[[], str]]:
    """What the library has logged, in forked processes too."""
    to = logging.FileHandler(tmp_path / "log")
    logging.getLogger("wagoe_jobs").addHandler(to)
    yield (tmp_path / "log").read_text
    logging.getLogger("wagoe_jobs").removeHandler(to)
    to.close()


def exits(code: object) -> Callable[[], object]:
    return lambda: sys.exit(code)  # type: ignore[arg-type]


ENDS = [
    (lambda: None, 0),
    (lambda: {"a": "result"}, 0),
    (exits(None), 0),
    (exits(7), 7),
    (exits("so it ends"), 1),
    (lambda: 1 // 0, 1),
]


@both_kinds
@pytest.mark.parametrize("kind", ["def", "async def", "awaited"])
@pytest.mark.parametrize(("end", "status"), ENDS)
def test_a_child_that_comes_back_from_its_handler_ends_at_once(
    room: House,
    ledger: Ledger,
    children: Children,
    written: Callable[[], str],
    tasks: bool,
    kind: str,
    end: Callable[[], object],
    status: int,
) -> None:
    """It settles nothing, and runs none of the jobs that this process has claimed."""

    def fork(args: object) -> object:
        return end() if children.fork() else "parent"

    async def fork_async(args: object) -> object:
        return fork(args)

    handlers = {"fork": {"def": fork, "async def": fork_async, "awaited": lambda args: fork_async(args)}[kind]}
    forking = room.enqueue("fork")
    room.enqueue_numbers(20)
    with room.pool(handlers | {"work": lambda args: ledger.note(os.getpid())}, virtual_threads=tasks):
        assert children.status() == status
        until(lambda: room.counts() == {Status.COMPLETED: 21})
    assert ledger.runs() == {str(os.getpid()): 20}
    assert room.job(forking).result == "parent"
    assert f"it ends here, with status {status}" in written()


@pytest.mark.parametrize("seconds", [0, 0.05])
def test_a_child_does_not_wait_on_the_loop_of_its_parent(
    room: House, ledger: Ledger, children: Children, written: Callable[[], str], seconds: float
) -> None:
    """What other slots have begun there would go on in it."""

    async def fork(args: object) -> None:
        children.fork()
        await asyncio.sleep(seconds)

    async def sleep(args: object) -> None:
        await asyncio.sleep(0.5)
        ledger.note(os.getpid())

    room.enqueue_numbers(3, "sleep")
    room.enqueue("fork")
    with room.pool({"fork": fork, "sleep": sleep}, count=4, virtual_threads=True):
        assert children.status() == 1
        until(lambda: room.counts() == {Status.COMPLETED: 4})
    assert ledger.runs() == {str(os.getpid()): 3}
    assert ("it waits on its parent's event loop" if not seconds else "no running event loop") in written()


def test_a_child_comes_back_from_a_single_worker_neither(room: House, children: Children) -> None:
    id = room.enqueue("work")
    with Worker(room.runtime, Registry({"work": lambda args: children.fork() and None})) as worker:
        assert worker.work_one()
    assert children.status() == 0
    assert room.job(id).status is Status.COMPLETED


@pytest.mark.parametrize(("kind", "tasks"), [("def", False), ("def", True), ("async def", True)])
def test_slots_outlive_a_trace_function_that_raises(
    room: House, ledger: Ledger, said: Said, kind: str, tasks: bool
) -> None:
    """At each of the next calls that its thread makes after the handler."""

    def leave(args: dict[str, int]) -> None:
        calls = iter(range(args["n"]))

        def trace(*at: object) -> None:
            if next(calls, None) is None:
                raise TimeUp

        sys.settrace(trace)

    async def leave_async(args: dict[str, int]) -> None:
        leave(args)

    handlers = {"leave": leave if kind == "def" else leave_async, "work": lambda args: ledger.note(args["n"])}
    with room.pool(handlers, count=2, virtual_threads=tasks) as pool:
        for n in range(5):
            id = room.enqueue("leave", {"n": n}, max_retries=0)
            until(lambda id=id: room.job(id).status.terminal or str(id) in said() or "stumbles" in said())
            until(lambda: pool.status().busy == 0)
        room.enqueue_numbers(20)
        until(lambda: len(ledger.runs()) == 20)
        assert all(slot.alive for slot in pool._lanes[0].crew.slots)


@both_kinds
def test_slots_outlive_an_exception_that_comes_too_late(room: House, ledger: Ledger, said: Said, tasks: bool) -> None:
    """A decorator of the application throws it into the thread when the handler has ended; the next job is spared."""
    thrown = threading.Event()
    late = room.new("leave")

    def throw(thread: int) -> None:
        until(lambda: room.job(late.id).status.terminal)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TimeUp))
        thrown.set()

    def leave(args: object) -> None:
        threading.Thread(target=throw, args=(threading.get_ident(),)).start()

    room.queue.enqueue(late)
    with room.pool({"leave": leave, "work": lambda args: ledger.note(args["n"])}, virtual_threads=tasks) as pool:
        assert room.ended(late.id).status is Status.COMPLETED
        assert thrown.wait(20)
        room.enqueue_numbers(20)
        until(lambda: len(ledger.runs()) == 20)
        until(lambda: room.counts() == {Status.COMPLETED: 21})
        assert all(slot.alive for slot in pool._lanes[0].crew.slots)
    assert said().count("stumbles over what a handler left") == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_result_outlives_the_exchange_that_is_broken_off(room: House, ledger: Ledger, when: When) -> None:
    """By what comes too late for the handler, and meets its thread at the store."""
    slots: list[int] = []

    def work(args: dict[str, int]) -> None:
        ledger.note(args["n"])
        slots.append(threading.get_ident())

    def plan(name: str, call: int) -> When:
        if name not in ("exchange", "settle") or threading.get_ident() not in slots:
            return None
        slots.clear()
        return when

    queue = FaultyQueue(room.queue, plan, TimeUp)
    with room.with_queue(queue).pool({"work": work}) as pool:  # type: ignore[arg-type]
        for n in range(3):
            assert room.ended(room.enqueue(args={"n": n})).status is Status.COMPLETED
        until(lambda: pool.status().lanes[0].unsettled == 0)
    assert queue.failed, "nothing was broken off"
    assert ledger.runs() == {"0": 1, "1": 1, "2": 1}
