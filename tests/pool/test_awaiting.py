"""What is awaited of what a handler returns: the same in slots that are threads and in slots that are tasks."""

import asyncio
import contextvars
import functools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any

import pytest

from tests.pool.house import House
from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.core.outcome import Success
from wagoe_jobs.registry import handler

RunIn = Callable[..., Job]

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(params=[False, True], ids=["threads", "tasks"])
def run(request: pytest.FixtureRequest, room: House, recwarn: pytest.WarningsRecorder) -> Iterator[RunIn]:
    """Run one job for a handler in a slot of either kind; nothing may be left that was never awaited."""

    def run_once(function: Callable[..., object], args: object = None) -> Job:
        id = room.enqueue(args=args, max_retries=0)
        handlers: object = [function] if hasattr(function, "__wagoe_job__") else {"work": function}
        with room.pool(handlers, count=1, virtual_threads=request.param) as pool:
            job = room.ended(id, 10)
            assert pool.status().lost == 0
        return job

    yield run_once
    assert [str(warning.message) for warning in recwarn if "never awaited" in str(warning.message)] == []


async def seven(args: object = None) -> int:
    return 7


async def seven_later(args: object = None) -> int:
    await asyncio.sleep(0.001)
    return 7


class Sevens:
    async def method(self, args: object) -> int:
        return await seven_later()

    @staticmethod
    async def static(args: object) -> int:
        return 7

    @classmethod
    async def of_class(cls, args: object) -> int:
        return 7

    async def __call__(self, args: object) -> int:
        return 7


class Promise:
    def __await__(self) -> Generator[Any, Any, int]:
        return seven_later().__await__()


def hides_async(function: Callable[..., Awaitable[object]]) -> Callable[..., object]:
    def wrapper(args: object) -> object:
        return function(args)

    return wrapper


AWAITED: list[Callable[..., object]] = [
    seven,
    seven_later,
    Sevens(),
    Sevens().method,
    Sevens.static,
    Sevens.__dict__["static"],
    Sevens.of_class,
    functools.partial(seven),
    functools.partial(Sevens()),
    functools.partial(Sevens().method),
    lambda args: seven(),
    lambda args: seven_later(),
    lambda args: Promise(),
    hides_async(seven_later),
    hides_async(Sevens()),
    functools.partial(lambda how, args: how(), seven),
]


@pytest.mark.parametrize("function", AWAITED, ids=range(len(AWAITED)))
def test_whatever_hides_an_async_function_it_is_awaited(run: RunIn, function: Callable[..., object]) -> None:
    job = run(function)
    assert (job.status, job.result, job.error) == (Status.COMPLETED, 7, None)


def counting() -> Iterator[int]:
    yield 1


async def counting_later() -> AsyncIterator[int]:
    yield 1


async def answers(args: object) -> object:
    return UNRUN[int(str(args))]()


async def answers_later(args: object) -> object:
    await asyncio.sleep(0.001)
    return UNRUN[int(str(args))]()


def answers_twice(args: object) -> object:
    return answers(args)


UNRUN: list[Callable[[], object]] = [
    seven,
    Promise,
    lambda: asyncio.create_task(seven()),
    lambda: Success(seven()),
    lambda: {"success": True, "result": seven()},
    lambda: [1, seven(), seven()],
    lambda: (seven(),),
    lambda: {"a": 1, "b": seven()},
    counting,
    counting_later,
]
UNTOUCHED: list[Callable[[], object]] = [lambda: Success(seven()), lambda: [seven()], counting, counting_later]
"""What a `def` handler may return that is not awaited either."""


@pytest.mark.parametrize("function", [answers, answers_later, answers_twice])
@pytest.mark.parametrize("number", range(len(UNRUN)))
def test_what_comes_of_awaiting_is_not_awaited_again_but_told(
    run: RunIn, function: Callable[..., object], number: int
) -> None:
    assert_told(run(function, number))


@pytest.mark.parametrize("number", range(len(UNTOUCHED)))
def test_what_nobody_would_run_is_no_success_of_a_def_handler(run: RunIn, number: int) -> None:
    assert_told(run(lambda args: UNTOUCHED[number]()))


def assert_told(job: Job) -> None:
    assert job.status is Status.FAILED
    assert job.error is not None
    assert job.error.type == "handler-error"
    assert "the handler returned what nobody runs" in job.error.message


bound: contextvars.ContextVar[str] = contextvars.ContextVar("bound", default="nothing")


def test_a_coroutine_is_awaited_under_the_variables_of_the_call_that_made_it(run: RunIn) -> None:
    async def inner() -> str:
        await asyncio.sleep(0)
        return bound.get()

    def work(args: object) -> Awaitable[str]:
        bound.set("by the wrapper")
        return inner()

    assert run(work).result == "by the wrapper"
    assert bound.get() == "nothing"


def test_a_time_out_cancels_what_a_def_handler_has_awaited_and_costs_no_slot(run: RunIn) -> None:
    """Counted from the start of the run, what the function itself took included."""
    ended: list[float] = []

    async def inner() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            ended.append(time.monotonic())

    @handler("work", timeout=0.3)
    def work(args: object) -> Awaitable[None]:
        ended.append(time.monotonic())
        time.sleep(0.2)
        return inner()

    job = run(work)
    assert job.error is not None
    assert (job.error.type, job.error.message) == ("timeout", "ran longer than its time-out of 0:00:00.300000")
    assert 0.29 < ended[1] - ended[0] < 0.9
