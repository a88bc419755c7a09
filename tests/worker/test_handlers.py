"""What a handler has at hand and may do: context, awaiting, time-outs, variables and args of its own."""

import asyncio
import logging
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.pool.conftest import OpenHouse
from tests.pool.house import SOON, House
from tests.until import until
from tests.worker.conftest import Run
from wagoe_jobs.context import JobContext
from wagoe_jobs.core.job import TENANT_ID, Priority, Status
from wagoe_jobs.registry import Registry, handler
from wagoe_jobs.worker import Worker


def test_a_handler_with_a_second_parameter_gets_the_context(house: House) -> None:
    seen: list[JobContext] = []

    def work(args: object, context: JobContext) -> None:
        seen.append(context)
        raise ValueError("again")

    id = house.enqueue("work", {"a": [1]}, metadata={TENANT_ID: "acme"}, priority=Priority.HIGH)
    with Worker(house.runtime, Registry({"work": work}), backoff=SOON) as worker:
        assert worker.work_one()
        house.offset.move(timedelta(seconds=1))
        assert house.queue.process_scheduled() == 1
        assert worker.work_one()
    first, second = seen
    assert (first.id, first.type, first.queue, first.tenant) == (str(id), "work", "default", "acme")
    assert (first.attempt, second.attempt) == (1, 2)
    assert first.deadline is None
    assert not first.cancelled()
    assert (second.job.id, second.job.args, second.job.retry_count) == (id, {"a": [1]}, 1)
    assert (second.job.status, second.job.priority) == (Status.RUNNING, Priority.HIGH)


def test_the_context_logs_with_the_job_on_each_record(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="wagoe_jobs.job")

    def work(args: object, context: JobContext) -> None:
        context.logger.info("half way")

    job = run(work)
    [record] = [record for record in caplog.records if record.getMessage() == "half way"]
    assert (record.job_id, record.job_type, record.attempt) == (str(job.id), "work", 1)  # type: ignore[attr-defined]


def test_the_deadline_is_the_time_out_after_the_start_by_the_stores_clock(house: House) -> None:
    house.offset.move(timedelta(days=365))
    deadlines: list[datetime | None] = []

    @handler("work", timeout=60)
    def work(args: object, context: JobContext) -> None:
        deadlines.append(context.deadline)

    id = house.enqueue()
    with Worker(house.runtime, Registry([work])) as worker:
        assert worker.work_one()
    started = house.job(id).started_at
    assert started is not None
    assert deadlines[0] is not None
    assert timedelta(seconds=59.9) < deadlines[0] - started < timedelta(seconds=60.5)


def test_a_running_job_learns_that_it_was_cancelled_at_the_next_renewal(open_house: OpenHouse) -> None:
    house = open_house(timedelta(milliseconds=600))

    def stops(args: object, context: JobContext) -> None:
        until(context.cancelled)
        raise RuntimeError("stopped half way")

    def goes_on(args: object, context: JobContext) -> str:
        until(context.cancelled)
        return "done all the same"

    with house.pool({"stops": stops, "goes-on": goes_on}, count=2):
        ids = [house.enqueue(name) for name in ("stops", "goes-on")]
        until(lambda: all(house.job(id).status is Status.RUNNING for id in ids))
        assert [house.queue.cancel(id) for id in ids] == [True, True]
        ended = [house.ended(id) for id in ids]
    assert [job.status for job in ended] == [Status.CANCELLED, Status.COMPLETED]
    assert ended[1].result == "done all the same"


def test_an_async_handler_is_awaited_on_one_loop_a_thread_which_is_closed(house: House) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def work(args: object) -> str:
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())
        return "awaited"

    ids = [house.enqueue() for _ in range(3)]
    with Worker(house.runtime, Registry({"work": work})) as worker:
        while worker.work_one():
            pass
        assert not loops[0].is_closed()
    assert {house.job(id).result for id in ids} == {"awaited"}
    assert len(set(loops)) == 1
    assert loops[0].is_closed()


def test_a_plain_function_that_answers_with_a_coroutine_is_awaited(run: Run) -> None:
    async def inner() -> int:
        return 7

    assert run(lambda args: inner()).result == 7


def test_an_async_handler_is_cancelled_by_its_time_out(run: Run) -> None:
    cleaned: list[bool] = []

    @handler("work", timeout=0.05)
    async def work(args: object) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            cleaned.append(True)

    job = run(work, max_retries=1)
    assert job.status is Status.RETRYING
    assert job.error is not None
    assert job.error.type == "timeout"
    assert cleaned == [True]


def test_a_handlers_own_time_out_error_is_its_own(run: Run) -> None:
    @handler("work", timeout=30)
    async def work(args: object) -> None:
        raise TimeoutError("the printer")

    error = run(work).error
    assert error is not None
    assert (error.type, error.message) == ("handler-error", "the printer")


def test_what_a_handler_binds_does_not_reach_the_next_job(house: House) -> None:
    bound: ContextVar[str] = ContextVar("bound", default="nothing")
    seen: list[str] = []

    def work(args: object) -> None:
        seen.append(bound.get())
        bound.set("leaked")

    async def awork(args: object) -> None:
        work(args)

    for name in ("work", "awork", "work", "awork"):
        house.enqueue(name)
    with Worker(house.runtime, Registry({"work": work, "awork": awork})) as worker:
        while worker.work_one():
            pass
    assert seen == ["nothing"] * 4


def test_a_handler_may_change_its_args_without_changing_the_job(house: House) -> None:
    def work(args: dict[str, Any]) -> None:
        args["list"].append("changed")
        raise ValueError("again")

    id = house.enqueue("work", {"list": []})
    with Worker(house.runtime, Registry({"work": work})) as worker:
        assert worker.work_one()
    assert house.job(id).args == {"list": []}


def test_what_a_handler_says_cannot_pose_as_a_log_line_of_its_own(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    forged = "no\n2026-01-01 ERROR wagoe_jobs: all is lost \x1b[2J" + "x" * 100_000

    def fail(args: object) -> None:
        raise ValueError(forged)

    job = run(fail)
    [line] = [record.getMessage() for record in caplog.records if "failed" in record.getMessage()]
    assert "\n" not in line
    assert "\x1b" not in line
    assert r"no\n2026" in line
    assert len(line) < 1_000
    assert job.error is not None
    assert "\n2026-01-01" in job.error.message
