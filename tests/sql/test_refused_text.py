"""Text that no database takes, given to every port: the caller is told what to correct, in the library's own words."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.sql.conftest import Parts
from wagoe_jobs.adapters import sql
from wagoe_jobs.errors import InvalidJob
from wagoe_jobs.ports import Beat, JobFilter, Schedule, WakingJobQueue

HALF = "\ud800"
HOUR = timedelta(hours=1)

ASKED: dict[str, tuple[str, Callable[[Parts], object]]] = {
    "claim": ("queue", lambda parts: parts.queue.claim(HALF, "ann", 1)),
    "peek": ("queue", lambda parts: parts.queue.peek(HALF)),
    "size": ("queue", lambda parts: parts.queue.size(HALF)),
    "search": ("wanted", lambda parts: parts.store.search(JobFilter(tenant=HALF))),
    "queue_stats": ("queue", lambda parts: sql.job_stats(parts.engine).queue_stats(HALF)),
    "job_history": ("type", lambda parts: sql.job_stats(parts.engine).job_history(HALF)),
    "claim a key": ("key", lambda parts: sql.idempotency_store(parts.engine).claim("scope", HALF, HOUR, "ann")),
    "see a key": ("key", lambda parts: sql.idempotency_store(parts.engine).seen("scope", HALF)),
    "release a key": ("key", lambda parts: sql.idempotency_store(parts.engine).release(HALF, "key")),
    "register": ("schedule", lambda parts: sql.recurring_state(parts.engine).register(_schedule())),
    "unregister": ("type", lambda parts: sql.recurring_state(parts.engine).unregister(HALF)),
    "mark_tick": ("type", lambda parts: sql.recurring_state(parts.engine).mark_tick(HALF, 1)),
    "hold": ("holder", lambda parts: sql.recurring_state(parts.engine).hold(HALF, HOUR)),
    "let_go": ("holder", lambda parts: sql.recurring_state(parts.engine).let_go(HALF)),
    "beat": ("beat", lambda parts: sql.worker_presence(parts.engine).beat(HALF, Beat())),
    "leave": ("name", lambda parts: sql.worker_presence(parts.engine).leave(HALF)),
}


@pytest.mark.parametrize("asked", ASKED)
def test_half_a_surrogate_pair_is_refused_as_text_and_not_as_an_outage(parts: Parts, asked: str) -> None:
    path, ask = ASKED[asked]
    with pytest.raises(InvalidJob, match="the database refuses it") as refused:
        ask(parts)
    assert refused.value.path == path


def test_no_waiting_place_is_made_for_a_name_that_is_no_text(postgres_parts: Parts) -> None:
    queue = postgres_parts.queue
    assert isinstance(queue, WakingJobQueue)
    with pytest.raises(InvalidJob, match="queue: the database refuses it"):
        queue.wake_up(HALF)


def _schedule() -> Schedule:
    return Schedule(HALF, "0 2 * * *", "default", 2, "{}")
