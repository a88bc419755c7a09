"""The line: what enters it where, who is claimed when, and what leaves it by its own end."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID

from wagoe_jobs.clock import Clock
from wagoe_jobs.core.job import Job, Priority, Status, from_micros
from wagoe_jobs.errors import InvalidJob
from wagoe_jobs.ports import BATCH_BYTES, Settlement
from wagoe_jobs.testing.backend import HOUR, QUEUE, SECOND, THREADS, Backend, ending
from wagoe_jobs.testing.raising import raises
from wagoe_jobs.testing.subjects import Place, State, bring, standing
from wagoe_jobs.testing.table import covers


@covers("claim", State.READY)
@covers("peek", State.READY)
def case_higher_priority_goes_first_then_first_in_first_out(backend: Backend) -> None:
    mixed = [Priority.LOW, Priority.CRITICAL, Priority.NORMAL, Priority.HIGH] * 3
    jobs = [backend.put(priority=priority) for priority in mixed]
    expected = [job.id for job in sorted(jobs, key=lambda job: job.priority.rank)]
    assert [job.id for job in backend.queue.peek(QUEUE, 100)] == expected
    assert backend.claim_ids(5) == expected[:5]
    assert backend.drain() == expected[5:]


@covers("claim", State.READY)
@covers("exchange", State.READY)
def case_a_batch_ends_before_its_payloads_are_too_many_bytes(backend: Backend) -> None:
    texts = ["#" * 900_000] * 5 + ["é" * 900_000] * 3 + ["\N{PILE OF POO}" * 990_000] * 2 + ["#"] * 20
    jobs = [backend.put(args={"text": text}) for text in texts]
    batches = [backend.queue.claim(QUEUE, "ann", 400)]
    while batches[-1]:
        ends = [ending(claim, Status.COMPLETED) for claim in batches[-1]]
        batches.append(backend.queue.exchange(ends, QUEUE, "ann", 400)[1])
    assert [claim.id for batch in batches for claim in batch] == [str(job.id) for job in jobs]
    assert [len(batch) for batch in batches[:4]] == [4, 2, 2, 1]
    assert max(sum(len(claim.payload.encode()) for claim in batch) for batch in batches) <= BATCH_BYTES


@covers("enqueue_many", State.READY)
def case_a_bulk_stands_in_line_in_its_own_order(backend: Backend) -> None:
    first, bulk = backend.put(), [backend.job() for _ in range(25)]
    assert list(backend.queue.enqueue_many(bulk)) == [True] * 25
    last = backend.put()
    assert backend.claim_ids(100) == [first.id, *(job.id for job in bulk), last.id]


@covers("enqueue_many", State.UNKNOWN)
def case_an_id_twice_in_a_bulk_is_a_duplicate(backend: Backend) -> None:
    one, two = backend.job(), backend.job()
    assert list(backend.queue.enqueue_many([one, two, one])) == [True, True, False]
    assert backend.drain() == [one.id, two.id]


@covers("enqueue_many", State.UNKNOWN)
def case_an_empty_bulk_is_nothing(backend: Backend) -> None:
    assert list(backend.queue.enqueue_many([])) == []
    assert list(backend.queue.list_queues()) == []


@covers("enqueue_many", State.UNKNOWN)
def case_a_bulk_of_more_than_ten_thousand_is_refused(backend: Backend) -> None:
    job = backend.job()
    with raises(InvalidJob):
        backend.queue.enqueue_many([job] * 10_001)
    assert backend.store.find(job.id) is None


@covers("enqueue_many", State.SCHEDULED)
def case_the_delay_of_a_bulk_overrides_each_due_time(backend: Backend) -> None:
    jobs = [backend.job(execute_at=Clock().now() + 5 * HOUR), backend.job()]
    backend.queue.enqueue_many(jobs, delay=HOUR)
    assert standing(backend) == {Place.SCHEDULED: 2}
    backend.advance(HOUR + SECOND)
    assert backend.queue.process_scheduled() == 2
    assert sorted(backend.drain()) == sorted(job.id for job in jobs)


@covers("enqueue", State.SCHEDULED)
def case_a_due_time_decides_between_ready_and_scheduled(backend: Backend) -> None:
    now = backend.look(backend.put(queue="clock")).created_at
    past = backend.put(execute_at=now - HOUR)
    future = backend.put(execute_at=now + HOUR)
    assert backend.claim_ids(10) == [past.id]
    assert backend.look(past).execute_at == now - HOUR
    assert backend.look(future).execute_at == now + HOUR
    backend.advance(HOUR - SECOND * 10)
    assert backend.queue.process_scheduled() == 0
    backend.advance(SECOND * 20)
    assert backend.queue.process_scheduled() == 1
    assert backend.claim_ids(10) == [future.id]


@covers("schedule", State.SCHEDULED)
@covers("schedule", State.READY)
def case_a_delay_of_nothing_is_ready_at_once(backend: Backend) -> None:
    now, behind, later = backend.job(), backend.job(), backend.job()
    assert backend.queue.schedule(now, timedelta(0))
    assert backend.queue.schedule(behind, -HOUR)
    assert backend.queue.schedule(later, timedelta(milliseconds=1) + HOUR)
    assert backend.claim_ids(10) == [now.id, behind.id]


@covers("process_scheduled", State.DUE)
def case_promotion_goes_by_due_time_and_to_the_end_of_the_line(backend: Backend) -> None:
    jobs = [backend.job() for _ in range(4)]
    for job, hours in zip(jobs, (3, 1, 4, 2), strict=True):
        backend.queue.schedule(job, hours * HOUR)
    waits = backend.put()
    backend.advance(10 * HOUR)
    came_meanwhile = backend.put()
    assert [backend.queue.process_scheduled(3), backend.queue.process_scheduled(3)] == [3, 1]
    by_due = [jobs[1].id, jobs[3].id, jobs[0].id, jobs[2].id]
    assert backend.drain() == [waits.id, came_meanwhile.id, *by_due]


@covers("process_scheduled", State.DUE)
def case_many_promote_at_once_and_each_job_once(backend: Backend) -> None:
    jobs = [backend.job() for _ in range(60)]
    backend.queue.enqueue_many(jobs, delay=SECOND)
    backend.advance(2 * SECOND)
    clients = [backend.second().queue for _ in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as threads:
        counts = list(threads.map(lambda queue: sum(queue.process_scheduled(7) for _ in range(10)), clients))
    assert sum(counts) == 60
    assert sorted(backend.drain()) == [job.id for job in jobs]


@covers("next_due", State.SCHEDULED)
def case_next_due_is_the_earliest(backend: Backend) -> None:
    for hours in (3, 1, 2):
        backend.queue.schedule(backend.job(queue=f"q{hours}"), hours * HOUR)
    due = backend.queue.next_due()
    assert due is not None
    assert HOUR - 30 * SECOND < due <= HOUR
    backend.advance(2 * HOUR)
    late = backend.queue.next_due()
    assert late is not None
    assert late <= -HOUR + 30 * SECOND


@covers("claim", State.READY)
def case_a_claim_takes_its_queue_alone_and_no_more_than_asked(backend: Backend) -> None:
    jobs = [backend.put() for _ in range(3)]
    other = backend.put(queue="other")
    assert list(backend.queue.claim("nobody", "ann", 10)) == []
    assert list(backend.queue.claim(QUEUE, "ann", 0)) == []
    assert backend.claim_ids(2) == [jobs[0].id, jobs[1].id]
    assert (backend.queue.size(QUEUE), backend.queue.size("other")) == (1, 1)
    assert backend.claim_ids(10, "other") == [other.id]
    assert list(backend.queue.list_queues()) == [QUEUE, "other"]


@covers("claim", State.READY)
def case_a_claim_says_what_it_is_about(backend: Backend) -> None:
    job = backend.put(priority=Priority.HIGH)
    claim = backend.take()
    found = backend.look(job)
    assert (claim.id, claim.queue, claim.rank, claim.abandoned) == (str(job.id), QUEUE, Priority.HIGH.rank, 0)
    assert claim.payload
    assert claim.token
    assert found.status is Status.RUNNING
    assert found.started_at is not None
    assert abs(from_micros(claim.claimed_us) - found.started_at) < SECOND


@covers("claim", State.READY)
def case_many_claim_at_once_and_each_job_once(backend: Backend) -> None:
    jobs = [backend.job() for _ in range(120)]
    backend.queue.enqueue_many(jobs)
    clients = [backend.second().queue for _ in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as threads:
        taken = list(threads.map(lambda queue: [queue.claim(QUEUE, "ann", 5) for _ in range(30)], clients))
    ids = Counter(UUID(claim.id) for claims in taken for batch in claims for claim in batch)
    assert ids == Counter(job.id for job in jobs)


@covers("settle", State.IN_FLIGHT)
def case_a_follow_up_goes_to_the_end_of_the_line_when_it_is_due(backend: Backend) -> None:
    jobs = [backend.put() for _ in range(3)]
    claims = backend.queue.claim(QUEUE, "ann", 2)
    backend.queue.settle([ending(claims[0], Status.RETRYING), ending(claims[1], Status.PENDING)])
    assert (backend.look(jobs[0]).status, backend.look(jobs[1]).status) == (Status.RETRYING, Status.PENDING)
    backend.advance(HOUR + SECOND)
    waits = backend.put()
    backend.queue.process_scheduled()
    assert [backend.look(job).status for job in jobs] == [Status.PENDING] * 3
    order = backend.drain()
    assert order[:2] == [jobs[2].id, waits.id]
    assert set(order[2:]) == {jobs[0].id, jobs[1].id}


@covers("settle", State.IN_FLIGHT)
def case_a_follow_up_without_delay_is_due_at_once(backend: Backend) -> None:
    job = backend.put()
    waits = backend.put()
    claim = backend.queue.claim(QUEUE, "ann", 1)[0]
    backend.queue.settle([Settlement(claim, Status.PENDING, delay=timedelta(0))])
    backend.queue.process_scheduled()
    assert backend.drain() == [waits.id, job.id]


@covers("retry", State.FAILED)
def case_a_redriven_job_goes_to_the_end_of_the_line(backend: Backend) -> None:
    subject = bring(backend, State.FAILED)
    waits = backend.put()
    assert backend.store.retry(subject.job.id)
    assert backend.store.retry(subject.job.id) is False
    assert backend.drain() == [waits.id, subject.job.id]
    found = backend.look(subject.job)
    assert (found.status, found.error and found.error.message) == (Status.COMPLETED, "it broke")


@covers("cancel", State.READY)
@covers("delete", State.READY)
def case_what_was_cancelled_or_deleted_is_never_claimed(backend: Backend) -> None:
    jobs = [backend.put() for _ in range(5)]
    assert backend.queue.cancel(jobs[1].id)
    assert backend.queue.delete(jobs[3].id)
    assert backend.queue.size(QUEUE) == 3
    assert backend.claim_ids(10) == [jobs[0].id, jobs[2].id, jobs[4].id]


@covers("list_queues", State.READY)
def case_queues_are_listed_in_order(backend: Backend) -> None:
    for name in ("b", "a", "c"):
        backend.put(queue=name)
    backend.queue.schedule(backend.job(queue="d"), HOUR)
    backend.drain("c")
    assert list(backend.queue.list_queues()) == ["a", "b", "d"]


@covers("exchange", State.IN_FLIGHT)
def case_a_line_drains_by_exchanges_alone(backend: Backend) -> None:
    jobs = [backend.put() for _ in range(25)]
    settlements: list[Settlement] = []
    order: list[str] = []
    while True:
        answers, claims = backend.queue.exchange(settlements, QUEUE, "ann", 10)
        assert len(answers) == len(settlements)
        if not claims:
            break
        order += [claim.id for claim in claims]
        settlements = [ending(claim, Status.COMPLETED) for claim in claims]
    assert order == [str(job.id) for job in jobs]
    assert standing(backend) == {Place.ENDED: 25}


def case_the_types_and_statuses_of_a_whole_life(backend: Backend) -> None:
    job: Job = backend.put(max_retries=1)
    statuses = [backend.look(job).status]
    backend.queue.settle([ending(backend.take(), Status.RETRYING)])
    statuses.append(backend.look(job).status)
    backend.promote_one()
    statuses.append(backend.look(job).status)
    claim = backend.take()
    statuses.append(backend.look(job).status)
    backend.queue.ack(claim)
    found = backend.look(job)
    statuses.append(found.status)
    assert statuses == [Status.PENDING, Status.RETRYING, Status.PENDING, Status.RUNNING, Status.COMPLETED]
    assert (found.retry_count, found.error and found.error.type) == (1, "handler-error")


@covers("close", State.READY)
def case_close_may_be_called_twice_and_leaves_the_jobs(backend: Backend) -> None:
    job, other = backend.put(), backend.second()
    assert other.queue.size(QUEUE) == 1
    other.queue.close()
    other.queue.close()
    assert backend.drain() == [job.id]
