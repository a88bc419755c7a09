"""Counts of many queues: of one moment, in few round trips, and how old the oldest job is said to be."""

from datetime import timedelta

import pytest

from tests.redis.parts import LINE, Parts, new_job
from wagoe_jobs.adapters.redis.connections import Link
from wagoe_jobs.core.job import Status

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def asked(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What goes to the server from now on, one entry a round trip."""
    sent: list[bytes] = []
    ask = Link.ask

    def noting(self: Link, packed: bytes, replies: int = 1) -> list[object]:
        sent.append(packed)
        return ask(self, packed, replies)

    monkeypatch.setattr(Link, "ask", noting)
    return sent


@pytest.mark.parametrize("queues", [1, 2, 30])
def test_totals_take_as_many_round_trips_for_many_queues_as_for_two(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, queues: int
) -> None:
    for number in range(queues):
        name = f"line-{number}"
        parts.queue.enqueue_many([new_job(queue=name) for _ in range(3)])
        parts.end(Status.COMPLETED, queue=name, limit=1)
        parts.queue.claim(name, f"ann-{number}", 1)
    parts.stats.job_stats()
    sent = asked(monkeypatch)
    totals = parts.stats.job_stats()
    assert len(sent) == 4, "queues, counts, ids in flight, their holders"
    assert totals.succeeded == queues
    assert [(one.waiting["normal"], one.in_flight) for one in totals.queues] == [(1, 1)] * queues
    assert list(totals.workers) == sorted(f"ann-{number}" for number in range(queues))


def test_more_queues_than_one_step_counts_are_all_told(parts: Parts) -> None:
    names = sorted(f"line-{number}" for number in range(120))
    parts.queue.enqueue_many([new_job(queue=name) for name in names])
    assert [one.queue for one in parts.stats.job_stats().queues] == names


def age(parts: Parts) -> timedelta:
    oldest = parts.stats.queue_stats(LINE).oldest_ready
    assert oldest is not None
    return oldest


def late(parts: Parts, others: int) -> None:
    """Enqueue one, to be ready in an hour, and as many others that stand before it by then; and let it get ready."""
    parts.queue.schedule(new_job(), HOUR)
    parts.clock_offset.move(HOUR - MINUTE)
    parts.queue.enqueue_many([new_job() for _ in range(others)])
    parts.clock_offset.move(2 * MINUTE)
    assert parts.queue.process_scheduled() == 1


def test_the_oldest_is_found_behind_others_that_were_ready_before_it(parts: Parts) -> None:
    late(parts, others=99)
    assert age(parts) > HOUR


def test_behind_a_hundred_others_it_is_told_when_they_have_gone(parts: Parts) -> None:
    late(parts, others=150)
    assert 2 * MINUTE <= age(parts) < HOUR
    parts.queue.claim(LINE, "ann", 51)
    assert age(parts) > HOUR
