"""What is made with a runtime says so when it gets something else; it would fail later, somewhere inside."""

from collections.abc import Callable
from typing import Any

import pytest

from wagoe_jobs import Jobs, Registry, Worker, WorkerPool, open_runtime
from wagoe_jobs.adapters import memory
from wagoe_jobs.containers import JobsContainer
from wagoe_jobs.errors import WiringError
from wagoe_jobs.ports import checked_runtime

SETTINGS = {"provider": "memory"}
MADE: list[tuple[str, Callable[[Any], object]]] = [
    ("Jobs(runtime)", Jobs),
    ("Worker(runtime, registry)", lambda given: Worker(given, Registry({}))),
    ("WorkerPool(runtime, registry)", lambda given: WorkerPool(given, Registry({}))),
]
OTHERS: list[Callable[[], object]] = [
    lambda: open_runtime(SETTINGS),
    memory.job_queue,
    lambda: SETTINGS,
    lambda: None,
    lambda: object(),
]


@pytest.mark.parametrize(("call", "make"), MADE, ids=[call for call, _ in MADE])
@pytest.mark.parametrize("other", OTHERS, ids=["not entered", "queue", "settings", "none", "object"])
def test_what_is_no_runtime_is_refused_with_how_to_get_one(
    call: str, make: Callable[[Any], object], other: Callable[[], object]
) -> None:
    given = other()
    with pytest.raises(WiringError) as caught:
        make(given)
    assert type(given).__name__ in str(caught.value)
    assert str(caught.value).endswith(f"with open_runtime(settings) as runtime: {call}")


@pytest.mark.parametrize(("call", "make"), MADE, ids=[call for call, _ in MADE])
def test_a_runtime_that_was_not_entered_is_told_from_the_rest(call: str, make: Callable[[Any], object]) -> None:
    with pytest.raises(WiringError, match=r"open_runtime\(\) is a context manager"):
        make(open_runtime(SETTINGS))


@pytest.mark.parametrize(("call", "make"), MADE, ids=[call for call, _ in MADE])
def test_a_container_or_its_provider_is_refused_with_what_it_has(call: str, make: Callable[[Any], object]) -> None:
    container = JobsContainer(settings={"jobs": SETTINGS})
    for given in (container, container.jobs_runtime):
        with pytest.raises(WiringError, match=r"container\.jobs_runtime\(\) is the runtime"):
            make(given)


def test_a_runtime_is_handed_through() -> None:
    with open_runtime(SETTINGS) as runtime:
        assert checked_runtime(runtime, "Jobs(runtime)") is runtime
        assert Jobs(runtime).runtime is runtime
