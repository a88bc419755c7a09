"""Claims that end without a settlement: handed back, interrupted, or reclaimed from a worker that died."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from wagoe_jobs.core.job import Priority, Status
from wagoe_jobs.testing.backend import QUEUE, THREADS, Backend, ending
from wagoe_jobs.testing.subjects import Place, State, bring, standing
from wagoe_jobs.testing.table import covers


@covers("claim", State.HANDED_BACK, State.RECLAIMED, State.READY)
def case_no_token_is_used_twice_for_a_job(backend: Backend) -> None:
    backend.put(max_retries=25)
    tokens = []
    for _ in range(3):
        claim = backend.take()
        tokens.append(claim.token)
        backend.queue.hand_back([claim])
    for _ in range(3):
        tokens.append(backend.take().token)
        backend.expire()
        backend.queue.reclaim_abandoned()
    assert len(set(tokens)) == 6


@covers("hand_back", State.IN_FLIGHT)
def case_what_is_handed_back_stands_where_it_stood(backend: Backend) -> None:
    jobs = [backend.put() for _ in range(4)]
    first = backend.queue.claim(QUEUE, "ann", 2)
    assert [UUID(claim.id) for claim in backend.queue.claim(QUEUE, "ann", 1)] == [jobs[2].id]
    assert backend.queue.hand_back(first) == 2
    assert backend.queue.hand_back([*first, *first]) == 0
    assert backend.drain() == [jobs[0].id, jobs[1].id, jobs[3].id]


@covers("reclaim_abandoned", State.EXPIRED)
@covers("claim", State.RECLAIMED)
def case_an_abandoned_job_stands_where_it_stood_and_is_claimed_alone(backend: Backend) -> None:
    high = backend.put(priority=Priority.HIGH)
    jobs = [backend.put() for _ in range(5)]
    claims = backend.queue.claim(QUEUE, "ann", 4)
    backend.queue.settle([ending(claims[0], Status.COMPLETED)])
    backend.queue.hand_back([claims[1], claims[3]])
    backend.expire()
    assert [each.id for each in backend.queue.reclaim_abandoned()] == [str(jobs[1].id)]
    assert [job.id for job in backend.queue.peek(QUEUE, 10)] == [job.id for job in jobs]
    batches = [backend.claim_ids(10) for _ in range(4)]
    assert batches == [[jobs[0].id], [jobs[1].id], [job.id for job in jobs[2:]], []]
    assert backend.look(high).status is Status.COMPLETED


@covers("claim", State.RECLAIMED)
@covers("exchange", State.RECLAIMED)
def case_each_of_several_abandoned_jobs_comes_alone(backend: Backend) -> None:
    jobs = [backend.put() for _ in range(3)]
    backend.queue.claim(QUEUE, "ann", 10)
    backend.expire()
    assert len(backend.queue.reclaim_abandoned()) == 3
    waits = backend.put()
    batches = [[UUID(claim.id) for claim in backend.queue.exchange([], QUEUE, "ann", 10)[1]] for _ in range(4)]
    assert batches == [[jobs[0].id], [jobs[1].id], [jobs[2].id], [waits.id]]


@covers("reclaim_abandoned", State.EXPIRED)
def case_reclaim_comes_in_bounded_batches_of_those_that_expired(backend: Backend) -> None:
    jobs = [backend.put() for _ in range(7)]
    backend.queue.claim(QUEUE, "ann", 7)
    assert list(backend.queue.reclaim_abandoned()) == []
    backend.expire()
    batches = [[UUID(each.id) for each in backend.queue.reclaim_abandoned(3)] for _ in range(4)]
    assert [len(batch) for batch in batches] == [3, 3, 1, 0]
    assert sorted(id for batch in batches for id in batch) == [job.id for job in jobs]
    assert standing(backend) == {Place.READY: 7}


@covers("reclaim_abandoned", State.EXPIRED)
def case_twenty_thousand_claims_of_a_dead_worker_come_back_each_once(backend: Backend) -> None:
    jobs = [backend.job() for _ in range(20_000)]
    for start in range(0, 20_000, 5_000):
        backend.queue.enqueue_many(jobs[start : start + 5_000])
    while backend.queue.claim(QUEUE, "ann", 500):
        pass
    backend.expire()
    ids: Counter[str] = Counter()
    while batch := backend.queue.reclaim_abandoned(500):
        assert len(batch) <= 500
        ids.update(each.id for each in batch)
    assert ids == Counter(str(job.id) for job in jobs)
    assert standing(backend) == {Place.READY: 20_000}


@covers("reclaim_abandoned", State.EXPIRED)
def case_many_reclaim_at_once_and_each_job_once(backend: Backend) -> None:
    jobs = [backend.put() for _ in range(40)]
    backend.queue.claim(QUEUE, "ann", 40)
    backend.expire()
    clients = [backend.second().queue for _ in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as threads:
        taken = list(threads.map(lambda queue: [queue.reclaim_abandoned(5) for _ in range(10)], clients))
    ids = sorted(UUID(each.id) for batches in taken for batch in batches for each in batch)
    assert ids == [job.id for job in jobs]
    assert {backend.look(job).abandoned for job in jobs} == {1}


@covers("reclaim_abandoned", State.EXPIRED)
def case_reclaim_buries_when_the_budget_is_used_up_and_never_at_the_first_time(backend: Backend) -> None:
    for max_retries, deaths in ((0, 2), (1, 2), (2, 3), (3, 4)):
        job = backend.put(max_retries=max_retries)
        for death in range(1, deaths + 1):
            assert backend.take().abandoned == death - 1
            backend.expire()
            [reclaimed] = backend.queue.reclaim_abandoned()
            assert (reclaimed.abandoned, reclaimed.buried) == (death, death == deaths)
        found = backend.look(job)
        assert (found.status, found.abandoned) == (Status.FAILED, deaths)
        assert found.completed_at is not None


@covers("reclaim_abandoned", State.EXPIRED, State.RETRYING)
def case_repeats_and_abandonments_share_one_budget(backend: Backend) -> None:
    job = backend.put(max_retries=2)
    backend.queue.settle([ending(backend.take(), Status.RETRYING)])
    backend.promote_one()
    buried = []
    for _ in range(2):
        backend.take()
        backend.expire()
        buried += [each.buried for each in backend.queue.reclaim_abandoned()]
    assert buried == [False, True]
    found = backend.look(job)
    assert (found.retry_count, found.abandoned, found.status) == (1, 2, Status.FAILED)


@covers("retry", State.BURIED)
def case_a_redriven_job_has_its_whole_budget(backend: Backend) -> None:
    subject = bring(backend, State.BURIED)
    assert backend.store.retry(subject.job.id)
    assert backend.take().abandoned == 0
    backend.expire()
    [reclaimed] = backend.queue.reclaim_abandoned()
    assert (reclaimed.abandoned, reclaimed.buried) == (1, False)


@covers("interrupt", State.IN_FLIGHT)
def case_an_interrupted_claim_uses_nothing_up_and_the_next_one_does(backend: Backend) -> None:
    backend.put(max_retries=0)
    for _ in range(3):
        backend.queue.interrupt([backend.take()])
        backend.expire()
        assert [each.buried for each in backend.queue.reclaim_abandoned()] == [False]
    counts = []
    for _ in range(2):
        backend.take()
        backend.expire()
        counts += [(each.abandoned, each.buried) for each in backend.queue.reclaim_abandoned()]
    assert counts == [(1, False), (2, True)]


@covers("reclaim_abandoned", State.CANCEL_REQUESTED)
def case_a_job_whose_holder_died_before_it_saw_the_wish_to_cancel_ends_as_cancelled(backend: Backend) -> None:
    for max_retries in (3, 0):
        job = backend.put(max_retries=max_retries)
        backend.take()
        backend.queue.cancel(job.id)
        backend.expire()
        [reclaimed] = backend.queue.reclaim_abandoned()
        assert (reclaimed.id, reclaimed.abandoned, reclaimed.buried) == (str(job.id), 1, False)
        assert backend.look(job).status is Status.CANCELLED
    assert standing(backend) == {Place.ENDED: 2}
