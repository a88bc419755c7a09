"""What pools of threads promise, asked of pools whose slots are tasks: the same cases, with the same handlers.

Each case runs with its `def` handlers as they are, which hands run, and with the same ones awaited on the loop.
What is left out, and why, is said in `OF_THREADS`, `ONLY_BY_HAND` and `EITHER`.
"""

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.pool import test_faults, test_pool, test_stop, test_watch
from tests.pool.house import House
from wagoe_jobs.pool import WorkerPool
from wagoe_jobs.registry import Registry

STORES = ("memory", "redis")
"""Slots know nothing of stores, and pools of threads are tried on every one: here one in process, one over a socket."""

OF_THREADS = {
    "test_every_thread_has_a_name_and_is_joined": "the names are those of slots that are threads",
    "test_a_slot_outlives_a_run_that_cannot_even_be_settled": "it breaks the method that threads call",
    "test_a_batch_lasts_15_ms_and_grows_twofold_at_most": "no pool",
    "test_a_batch_of_slow_jobs_is_what_the_slots_get_through_in_15_ms": "no pool",
    "test_after_a_stall_only_free_slots_are_filled_until_batches_have_grown": "no pool",
    "test_a_job_that_was_abandoned_is_never_claimed_ahead_of_a_free_slot": "no pool",
    "test_a_stop_does_not_wait_for_every_thread_that_waits_for_a_dead_store": "it tries slots that are tasks itself",
    "test_a_pool_that_cannot_be_is_refused": "no pool",
    "test_a_queue_without_leases_is_refused": "no pool",
}
"""Case: why it says nothing of slots that are tasks."""

ONLY_BY_HAND = {
    "test_a_handler_that_outlasts_its_time_out_is_settled_at_once_and_its_slot_replaced": "awaited, it is cancelled",
    "test_a_pool_with_a_lost_slot_does_not_stop_cleanly": "awaited, it is cancelled",
    "test_a_run_ends_once_when_its_end_and_its_time_out_coincide": "awaited, it is cancelled",
    "test_a_handler_that_ends_after_the_stop_reports_nothing": "awaited, it is cancelled by the stop",
    "test_what_outlasts_the_grace_time_stays_claimed_and_is_reclaimed_uncharged": "awaited, it is cancelled",
}
"""Case: why it says nothing of a handler that is awaited."""

EITHER = {
    "test_all_loops_resume_within_5_s_of_a_long_outage": "no handler runs meanwhile",
    "test_a_stop_wakes_idle_slots_at_once": "no handler runs",
    "test_an_idle_pool_uses_next_to_no_cpu": "no handler runs while it is measured",
}
"""Case: why it says the same of either handler; it is tried with the one that is awaited."""


def _cases() -> Iterator[tuple[str, Callable[..., object]]]:
    """Each case by name, with what its module's marks say of it."""
    for module in (test_faults, test_pool, test_stop, test_watch):
        timed = getattr(module, "pytestmark", None)
        for name, case in vars(module).items():
            if name.startswith("test_") and inspect.isfunction(case) and name not in OF_THREADS:
                yield name, case if timed is None else timed(case)


globals().update(_cases())


def test_what_is_left_out_is_there() -> None:
    names = {name for module in (test_faults, test_pool, test_stop, test_watch) for name in vars(module)}
    assert names >= OF_THREADS.keys() | ONLY_BY_HAND.keys() | EITHER.keys()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    name = metafunc.function.__name__
    ways = ["by hand"] if name in ONLY_BY_HAND else ["awaited"] if name in EITHER else ["by hand", "awaited"]
    metafunc.parametrize("_slots_are_tasks", ways, indirect=True)


@pytest.fixture(autouse=True)
def _slots_are_tasks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = House.pool

    def tasks(house: House, handlers: Any, **options: Any) -> WorkerPool:
        if request.param == "awaited" and isinstance(handlers, dict):
            handlers = {type: awaited(function) for type, function in handlers.items()}
        return pool(house, handlers, **{"virtual_threads": True} | options)

    monkeypatch.setattr(House, "pool", tasks)


def awaited(function: Callable[..., object]) -> Callable[..., object]:
    """The same handler as a coroutine function: what blocks in it does so in a thread of asyncio's."""
    call = function if inspect.isfunction(function) else function.__call__  # type: ignore[operator]
    if inspect.iscoroutinefunction(call) or isinstance(function, Registry):
        return function

    @functools.wraps(call)
    async def run(*args: object) -> object:
        return await asyncio.to_thread(function, *args)

    return run
