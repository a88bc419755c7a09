"""What the memory store keeps beyond the contract: no growth by what left, a clock that only goes forward."""

import time
from datetime import timedelta

import pytest

from tests.backends import memory_backend
from wagoe_jobs.adapters import memory
from wagoe_jobs.adapters.memory.line import Line, Row
from wagoe_jobs.core.job import Status
from wagoe_jobs.ports import (
    LeasedJobQueue,
    OnceJobQueue,
    Settlement,
    TransactionalJobQueue,
    WakingJobQueue,
    transactional_queue,
)


def row(number: int) -> Row:
    return Row(
        id=str(number), type="t", queue="q", tenant=None, rank=2, budget=3, payload="", created_us=0, updated_us=0
    )


def test_a_line_drops_what_left() -> None:
    line, other = Line(), Line()
    rows = [row(number) for number in range(1000)]
    for each in rows:
        line.add(each, 0, int(each.id))
    for each in rows[:990]:
        other.add(each, 0, 0)
    assert (len(line), len(other)) == (10, 990)
    assert list(line.rows()) == rows[990:]
    assert line.first() is rows[990]
    assert len(line._heap) < 100


def test_renewals_do_not_make_the_store_grow() -> None:
    with memory_backend() as backend:
        backend.put()
        claim = backend.take()
        for _ in range(10_000):
            backend.queue.renew([claim])
        assert isinstance(backend.queue, memory.MemoryJobQueue)
        assert len(backend.queue.state.in_flight._heap) < 100


def test_the_cost_of_a_claim_does_not_follow_the_length_of_the_line() -> None:
    with memory_backend() as backend:
        for _ in range(8):
            backend.queue.enqueue_many([backend.job() for _ in range(5000)])
        settlements: list[Settlement] = []
        seconds = []
        while True:
            start = time.perf_counter()
            _, claims = backend.queue.exchange(settlements, "line", "ann", 400)
            seconds.append(time.perf_counter() - start)
            if not claims:
                break
            settlements = [Settlement(claim, Status.COMPLETED) for claim in claims]
        assert len(seconds) == 101
        assert sum(seconds) < 20  # it takes a half; scanning the line for each claim would take hours


def test_the_clock_does_not_follow_the_hosts_back(monkeypatch: pytest.MonkeyPatch) -> None:
    state = memory.MemoryState()
    before = state.now_us()
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    assert state.now_us() >= before


def test_it_has_every_capability_but_transactions() -> None:
    queue = memory.job_queue(lease=timedelta(seconds=5))
    assert isinstance(queue, LeasedJobQueue)
    assert isinstance(queue, WakingJobQueue)
    assert isinstance(queue, OnceJobQueue)
    assert not isinstance(queue, TransactionalJobQueue)
    assert not transactional_queue(queue)
    assert queue.lease == timedelta(seconds=5)


def test_parts_of_one_state_see_the_same_jobs() -> None:
    with memory_backend() as backend:
        assert isinstance(backend.queue, memory.MemoryJobQueue)
        job = backend.put()
        state = backend.queue.state
        assert memory.job_store(state).find(job.id) is not None
        assert memory.job_stats(state).queue_stats("line").waiting["normal"] == 1
        assert memory.job_store().find(job.id) is None
