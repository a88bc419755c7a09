"""What readers see: search, filters, pages that stay put, dead letters, history, and exact counts."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import count

from wagoe_jobs.core import codec
from wagoe_jobs.core.job import TENANT_ID, ErrorInfo, Job, Priority, Status
from wagoe_jobs.core.outcome import UNDECODABLE
from wagoe_jobs.errors import InvalidJob
from wagoe_jobs.ports import JobFilter, Page, QueueStats, Settlement
from wagoe_jobs.testing.backend import HOUR, QUEUE, Backend, ending
from wagoe_jobs.testing.raising import raises
from wagoe_jobs.testing.subjects import BROKEN_TEXT, Place, State, bring, standing
from wagoe_jobs.testing.table import covers


@covers("search", State.READY, State.COMPLETED)
def case_search_covers_every_place_newest_first(backend: Backend) -> None:
    jobs = _one_in_each_place(backend)
    assert [job.id for job in backend.store.search().jobs] == [job.id for job in reversed(jobs)]
    assert list(backend.store.search().jobs) == [backend.look(job) for job in reversed(jobs)]


def _one_in_each_place(backend: Backend) -> list[Job]:
    done, dead, busy = backend.put(), backend.put(), backend.put()
    claims = backend.queue.claim(QUEUE, "ann", 3)
    backend.queue.settle([ending(claims[0], Status.COMPLETED), ending(claims[1], Status.FAILED)])
    waits, later = backend.put(), backend.job()
    backend.queue.schedule(later, HOUR)
    return [done, dead, busy, waits, later]


@covers("search", State.READY, State.COMPLETED)
def case_every_filter_holds_and_they_hold_together(backend: Backend) -> None:
    done, dead, busy, waits, later = _one_in_each_place(backend)
    mail = backend.put(type="mail", queue="mails", metadata={TENANT_ID: "acme"})
    _found(backend, JobFilter(type="mail"), mail)
    _found(backend, JobFilter(queue="mails"), mail)
    _found(backend, JobFilter(tenant="acme"), mail)
    _found(backend, JobFilter(tenant="other"))
    _found(backend, JobFilter(type="greet"), later, waits, busy, dead, done)
    _found(backend, JobFilter(status=Status.PENDING), mail, later, waits)
    _found(backend, JobFilter(status=Status.PENDING, queue="mails"), mail)
    _found(backend, JobFilter(status=Status.COMPLETED, queue="mails"))
    _found(backend, JobFilter(status=Status.FAILED), dead)
    backend.drain("mails")
    _found(backend, JobFilter(status=Status.COMPLETED, tenant="acme", type="mail", queue="mails"), mail)
    _found(backend, JobFilter(tenant="ac"))


def _found(backend: Backend, wanted: JobFilter, *jobs: Job) -> None:
    assert [job.id for job in backend.store.search(wanted).jobs] == [job.id for job in jobs], wanted


@covers("search", State.READY)
def case_since_is_included_and_until_is_not(backend: Backend) -> None:
    jobs = []
    for _ in range(3):
        jobs.append(backend.put())
        backend.advance(HOUR)
    first, second, third = (backend.look(job).created_at for job in jobs)
    _found(backend, JobFilter(since=second), jobs[2], jobs[1])
    _found(backend, JobFilter(until=second), jobs[0])
    _found(backend, JobFilter(since=first, until=third), jobs[1], jobs[0])
    _found(backend, JobFilter(since=second, until=second))


@covers("search", State.READY)
def case_pages_cover_everything_once(backend: Backend) -> None:
    jobs = [backend.put(queue=f"q{number % 3}") for number in range(11)]
    backend.drain("q1")
    for limit in (1, 2, 3, 5, 10, 11, 12):
        assert _through(backend, limit) == [job.id for job in reversed(jobs)]


@covers("search", State.READY)
def case_a_page_of_no_or_too_many_jobs_is_refused(backend: Backend) -> None:
    backend.put()
    for limit in (0, -1, 1_001):
        with raises(InvalidJob):
            backend.store.search(limit=limit)
        with raises(InvalidJob):
            backend.store.failed_jobs(limit=limit)
    assert len(backend.store.search(limit=1_000).jobs) == 1


def _through(backend: Backend, limit: int) -> list[object]:
    ids: list[object] = []
    page = Page([], "")
    while page.cursor is not None:
        page = backend.store.search(limit=limit, cursor=page.cursor or None)
        assert len(page.jobs) <= limit
        assert page.cursor is None or len(page.jobs) == limit
        ids += [job.id for job in page.jobs]
    return ids


@covers("search", State.READY, State.COMPLETED, State.IN_FLIGHT)
def case_a_page_stays_put_while_jobs_come_move_and_end(backend: Backend) -> None:
    jobs = [backend.put() for _ in range(9)]
    first = backend.store.search(limit=4)
    backend.put()
    backend.queue.settle([ending(claim, Status.COMPLETED) for claim in backend.queue.claim(QUEUE, "ann", 5)])
    backend.queue.claim(QUEUE, "ann", 1)
    rest = backend.store.search(limit=10, cursor=first.cursor)
    assert [job.id for job in [*first.jobs, *rest.jobs]] == [job.id for job in reversed(jobs)]
    assert rest.cursor is None


@covers("search", State.READY)
@covers("failed_jobs", State.FAILED)
def case_a_cursor_that_is_none_is_refused(backend: Backend) -> None:
    backend.put()
    for cursor in ("", "nonsense", "' OR 1=1 --", "\ud800", "9" * 500):
        with raises(InvalidJob):
            backend.store.search(cursor=cursor)
        with raises(InvalidJob):
            backend.store.failed_jobs(cursor=cursor)


@covers("failed_jobs", State.FAILED, State.COMPLETED)
def case_dead_letters_come_in_pages_by_queue(backend: Backend) -> None:
    jobs = [backend.put(queue=f"q{number % 2}") for number in range(6)]
    for queue in ("q0", "q1"):
        backend.queue.settle([ending(claim, Status.FAILED) for claim in backend.queue.claim(queue, "ann", 9)])
    backend.drain("q0")
    first = backend.store.failed_jobs(limit=4)
    second = backend.store.failed_jobs(limit=4, cursor=first.cursor)
    assert [job.id for job in [*first.jobs, *second.jobs]] == [job.id for job in reversed(jobs)]
    assert [job.id for job in backend.store.failed_jobs("q1").jobs] == [jobs[5].id, jobs[3].id, jobs[1].id]


@covers("queue_stats", State.READY, State.SCHEDULED, State.IN_FLIGHT, State.COMPLETED, State.FAILED)
def case_the_counts_of_a_queue_are_exact(backend: Backend) -> None:
    _one_in_each_place(backend)
    backend.put(priority=Priority.CRITICAL)
    backend.put(priority=Priority.LOW)
    backend.put(queue="other")
    backend.queue.cancel(backend.put().id)
    stats = backend.stats.queue_stats(QUEUE)
    assert stats.waiting == {"critical": 1, "high": 0, "normal": 1, "low": 1}
    assert (stats.scheduled, stats.in_flight, stats.processed, stats.failed) == (1, 1, 3, 1)
    totals = backend.stats.job_stats()
    assert [each.queue for each in totals.queues] == [QUEUE, "other"]
    assert (totals.processed, totals.succeeded, totals.failed) == (3, 1, 1)
    assert totals.queues[0].waiting == stats.waiting


@covers("queue_stats", State.UNKNOWN)
@covers("job_stats", State.UNKNOWN)
def case_a_queue_that_nobody_used_is_all_zeros(backend: Backend) -> None:
    stats = backend.stats.queue_stats("nobody")
    assert standing(backend, "nobody") == {}
    assert stats.waiting == {"critical": 0, "high": 0, "normal": 0, "low": 0}
    assert (stats.queue, stats.failed, stats.oldest_ready, stats.mean, stats.p95) == ("nobody", 0, None, None, None)
    totals = backend.stats.job_stats()
    assert (list(totals.queues), list(totals.workers), totals.processed) == ([], [], 0)


@covers("queue_stats", State.READY)
def case_the_oldest_ready_job_tells_how_long_it_waits(backend: Backend) -> None:
    backend.put(priority=Priority.LOW)
    backend.advance(HOUR)
    backend.put(priority=Priority.HIGH)
    backend.advance(HOUR)
    oldest = backend.stats.queue_stats(QUEUE).oldest_ready
    assert oldest is not None
    assert 2 * HOUR <= oldest < 2 * HOUR + timedelta(minutes=5)


@covers("queue_stats", State.COMPLETED)
def case_durations_are_those_of_completed_runs(backend: Backend) -> None:
    for _ in range(101):
        backend.put()
    claims = backend.queue.claim(QUEUE, "ann", 101)
    runs = [Settlement(claim, Status.COMPLETED, ran_us=ms * 1000) for ms, claim in enumerate(claims[:100], 1)]
    backend.queue.settle([*runs, Settlement(claims[100], Status.FAILED, ran_us=10**9)])
    stats = backend.stats.queue_stats(QUEUE)
    assert stats.mean is not None
    assert stats.p95 is not None
    assert stats.mean == timedelta(milliseconds=50.5)
    assert timedelta(milliseconds=95) <= stats.p95 <= timedelta(milliseconds=96)


@covers("job_stats", State.IN_FLIGHT)
def case_workers_are_the_holders_of_claims(backend: Backend) -> None:
    for worker in ("cid", "ann", "bob", "ann"):
        backend.put()
        claim = backend.take(worker=worker)
        if worker == "bob":
            backend.queue.ack(claim)
    assert list(backend.stats.job_stats().workers) == ["ann", "cid"]


@covers("job_history", State.COMPLETED, State.FAILED, State.CANCELLED)
def case_history_is_by_end_last_first(backend: Backend) -> None:
    jobs = [backend.put() for _ in range(4)]
    claims = backend.queue.claim(QUEUE, "ann", 3)
    for index, status in ((1, Status.COMPLETED), (2, Status.FAILED), (0, Status.CANCELLED)):
        backend.advance(timedelta(seconds=1))
        backend.queue.settle([ending(claims[index], status)])
    backend.put(type="other")
    history = backend.stats.job_history("greet")
    assert [job.id for job in history] == [jobs[0].id, jobs[2].id, jobs[1].id]
    assert [job.id for job in backend.stats.job_history("greet", 1)] == [jobs[0].id]


@covers("find", State.COMPLETED, State.CANCELLED)
def case_another_client_sees_the_same(backend: Backend) -> None:
    subject = bring(backend, State.COMPLETED)
    other = backend.second()
    assert other.store.find(subject.job.id) == backend.store.find(subject.job.id)
    waits = backend.put()
    assert other.queue.cancel(waits.id)
    assert backend.look(waits).status is Status.CANCELLED
    assert standing(other) == {Place.ENDED: 2}


@covers("retry", State.FAILED, State.BURIED)
@covers("claim", State.UNREADABLE)
def case_an_unreadable_dead_letter_goes_round_as_it_is(backend: Backend) -> None:
    subject = bring(backend, State.UNREADABLE)
    refusal = codec.encode_error(ErrorInfo(type=UNDECODABLE, message="not JSON"))
    backend.queue.settle([Settlement(backend.take(), Status.FAILED, error=refusal)])
    deaths = []
    for _ in range(2):
        assert backend.store.retry(subject.job.id) is True
        deaths.append(_deaths(backend))
        found = backend.look(subject.job)
        assert (found.status, found.args) == (Status.FAILED, BROKEN_TEXT)
    assert deaths == [subject.job.max_retries + 1] * 2


def _deaths(backend: Backend) -> int:
    """How many workers die over the only job until it is buried; each finds the text that nobody can read."""
    for died in count(1):
        assert backend.take().payload == BROKEN_TEXT
        backend.expire()
        [reclaimed] = backend.queue.reclaim_abandoned()
        if reclaimed.buried:
            return died
    raise AssertionError("it is never buried")


@covers("job_stats", State.READY, State.IN_FLIGHT, State.COMPLETED)
@covers("queue_stats", State.READY, State.IN_FLIGHT, State.COMPLETED)
def case_a_job_on_its_way_is_counted_once(backend: Backend) -> None:
    total, other = 120, backend.second()
    assert all(backend.queue.enqueue_many([backend.job() for _ in range(total)]))
    with ThreadPoolExecutor(1) as threads:
        drained = threads.submit(other.drain)
        while not drained.done():
            totals = backend.stats.job_stats()
            counted = [_all_of(stats) for stats in totals.queues]
            assert (counted, _all_of(backend.stats.queue_stats(QUEUE))) == ([total], total)
    assert len(drained.result()) == backend.stats.job_stats().succeeded == total


def _all_of(stats: QueueStats) -> int:
    return stats.to_do + stats.processed
