"""What a handler leaves behind in its thread: something that is raised later."""

import ctypes
import sys
import threading
import time
from collections.abc import Callable

import pytest

from tests.pool.house import House, Ledger
from tests.until import until
from wagoe_jobs.core.job import Status

Said = Callable[[], str]

both_kinds = pytest.mark.parametrize("tasks", [False, True], ids=["threads", "tasks"])


class TimeUp(BaseException):
    """What a decorator of the application raises in a thread that took too long; too late, here."""


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

    def throw(thread: int) -> None:
        time.sleep(0.2)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TimeUp))
        thrown.set()

    def leave(args: object) -> None:
        threading.Thread(target=throw, args=(threading.get_ident(),)).start()

    late = room.enqueue("leave")
    with room.pool({"leave": leave, "work": lambda args: ledger.note(args["n"])}, virtual_threads=tasks) as pool:
        assert room.ended(late).status is Status.COMPLETED
        assert thrown.wait(20)
        room.enqueue_numbers(20)
        until(lambda: len(ledger.runs()) == 20)
        until(lambda: room.counts() == {Status.COMPLETED: 21})
        assert all(slot.alive for slot in pool._lanes[0].crew.slots)
    assert said().count("stumbles over what a handler left") == 1
