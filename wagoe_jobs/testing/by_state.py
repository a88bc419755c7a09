"""Every method that names a job or a queue, in every state that it may meet; `by_claim` has those that take a claim.

What must not change is compared whole: the job as `find` tells it, and how many jobs are in each place.
"""

from collections.abc import Callable
from datetime import timedelta

from wagoe_jobs.core import codec
from wagoe_jobs.core.job import Status
from wagoe_jobs.core.outcome import ABANDONED, UNDECODABLE
from wagoe_jobs.ports import Claimed, Hold, JobFilter, OnceJobQueue, Reclaimed, Taken
from wagoe_jobs.testing.backend import ERROR, HOUR, QUEUE, Backend, ending
from wagoe_jobs.testing.subjects import (
    ALL,
    BROKEN_TEXT,
    Place,
    State,
    Subject,
    bring,
    standing,
)
from wagoe_jobs.testing.table import covers_each

WAITING = (Place.READY, Place.SCHEDULED)


@covers_each("find", ALL)
def case_find(backend: Backend, subject: Subject) -> None:
    found = backend.second().store.find(subject.job.id)
    if subject.state is State.UNKNOWN:
        assert found is None
        return
    assert found is not None
    assert (found.id, found.type, found.queue) == (subject.job.id, subject.job.type, subject.job.queue)
    assert found.status is subject.status
    assert (found.completed_at is not None) is (subject.place is Place.ENDED)
    assert (found.started_at is not None) or subject.place is not Place.IN_FLIGHT
    _check_error(subject, None if found.error is None else found.error.type)
    if subject.state is State.UNREADABLE:
        assert found.args == BROKEN_TEXT
    if subject.state is State.COMPLETED:
        assert found.result == {"sent": 1}


def _check_error(subject: Subject, error_type: str | None) -> None:
    match subject.state:
        case State.UNREADABLE:
            assert error_type == UNDECODABLE
        case State.BURIED:
            assert error_type == ABANDONED
        case State.RETRYING | State.FAILED | State.CANCELLED:
            assert error_type == ERROR.type
        case _:
            assert error_type is None


@covers_each("enqueue", ALL)
def case_enqueue_of_an_id(backend: Backend, subject: Subject) -> None:
    _only_if_unknown(backend, subject, lambda: backend.queue.enqueue(subject.job))


@covers_each("enqueue_many", ALL)
def case_enqueue_many_with_an_id(backend: Backend, subject: Subject) -> None:
    neighbour = backend.job(queue="elsewhere")

    def enqueue() -> bool:
        first, second = backend.queue.enqueue_many([subject.job, neighbour])
        assert second is True
        return first

    _only_if_unknown(backend, subject, enqueue)
    assert backend.drain("elsewhere") == [neighbour.id]


@covers_each("schedule", ALL)
def case_schedule_of_an_id(backend: Backend, subject: Subject) -> None:
    _only_if_unknown(backend, subject, lambda: backend.queue.schedule(subject.job, HOUR))


@covers_each("enqueue_once", ALL)
def case_enqueue_once_of_an_id(backend: Backend, subject: Subject) -> None:
    queue = backend.queue
    assert isinstance(queue, OnceJobQueue)

    def enqueue() -> bool:
        answer = queue.enqueue_once("scope", "key", subject.job, HOUR)
        assert answer in (Claimed(), Taken(str(subject.job.id)))
        return answer == Claimed()

    _only_if_unknown(backend, subject, enqueue)


def _only_if_unknown(backend: Backend, subject: Subject, enqueue: Callable[[], bool]) -> None:
    before, places = backend.store.find(subject.job.id), standing(backend)
    assert enqueue() is (subject.state is State.UNKNOWN)
    if subject.state is not State.UNKNOWN:
        assert backend.store.find(subject.job.id) == before
        assert standing(backend) == places
    elif subject.job.execute_at is None:
        assert sum(standing(backend).values()) == 1


@covers_each("cancel", ALL)
def case_cancel(backend: Backend, subject: Subject) -> None:
    before = backend.store.find(subject.job.id)
    assert backend.queue.cancel(subject.job.id) is (subject.place in (*WAITING, Place.IN_FLIGHT))
    if subject.place in WAITING:
        assert backend.look(subject.job).status is Status.CANCELLED
        assert standing(backend) == {Place.ENDED: 1}
    elif subject.place is Place.IN_FLIGHT:
        holder = subject.other or subject.claim
        assert backend.queue.renew([holder]) == {holder: Hold.CANCEL_REQUESTED}
        assert standing(backend) == {Place.IN_FLIGHT: 1}
    else:
        assert backend.store.find(subject.job.id) == before


@covers_each("delete", ALL)
def case_delete(backend: Backend, subject: Subject) -> None:
    before = backend.store.find(subject.job.id)
    deleted = subject.place in (*WAITING, Place.ENDED)
    assert backend.queue.delete(subject.job.id) is deleted
    assert backend.store.find(subject.job.id) == (None if deleted else before)
    assert standing(backend) == ({Place.IN_FLIGHT: 1} if subject.place is Place.IN_FLIGHT else {})


@covers_each("retry", ALL)
def case_retry(backend: Backend, subject: Subject) -> None:
    before, places = backend.store.find(subject.job.id), standing(backend)
    dead = subject.state in (State.FAILED, State.BURIED)
    assert backend.store.retry(subject.job.id) is dead
    after = backend.store.find(subject.job.id)
    if not dead:
        assert (after, standing(backend)) == (before, places)
        return
    assert before is not None
    assert after is not None
    assert (after.status, after.repeats, after.abandoned) == (Status.PENDING, 0, 0)
    assert (after.error, after.result, after.completed_at) == (before.error, None, None)
    assert standing(backend) == {Place.READY: 1}


@covers_each("claim", ALL)
def case_claim(backend: Backend, subject: Subject) -> None:
    claims = backend.queue.claim(QUEUE, "eve", 10)
    assert [claim.id for claim in claims] == ([str(subject.job.id)] if subject.place is Place.READY else [])


@covers_each("exchange", ALL)
def case_exchange_that_only_claims(backend: Backend, subject: Subject) -> None:
    answers, claims = backend.queue.exchange([], QUEUE, "eve", 10)
    assert list(answers) == []
    assert [claim.id for claim in claims] == ([str(subject.job.id)] if subject.place is Place.READY else [])


@covers_each("peek", ALL)
def case_peek(backend: Backend, subject: Subject) -> None:
    places = standing(backend)
    peeked = backend.queue.peek(QUEUE, 10)
    assert list(peeked) == ([backend.store.find(subject.job.id)] if subject.place is Place.READY else [])
    assert standing(backend) == places


@covers_each("size", ALL)
def case_size(backend: Backend, subject: Subject) -> None:
    assert backend.queue.size(QUEUE) == (1 if subject.place is Place.READY else 0)


@covers_each("list_queues", ALL)
def case_list_queues(backend: Backend, subject: Subject) -> None:
    works = subject.place in (*WAITING, Place.IN_FLIGHT)
    assert list(backend.queue.list_queues()) == ([QUEUE] if works else [])


@covers_each("process_scheduled", ALL)
def case_process_scheduled(backend: Backend, subject: Subject) -> None:
    before, places = backend.store.find(subject.job.id), standing(backend)
    due = subject.state is State.DUE
    assert backend.queue.process_scheduled() == (1 if due else 0)
    assert standing(backend) == ({Place.READY: 1} if due else places)
    assert due or backend.store.find(subject.job.id) == before
    assert backend.queue.process_scheduled() == 0


@covers_each("next_due", ALL)
def case_next_due(backend: Backend, subject: Subject) -> None:
    due = backend.queue.next_due()
    if subject.place is not Place.SCHEDULED:
        assert due is None
        return
    assert due is not None
    assert (due <= timedelta(0)) is (subject.state is State.DUE)
    assert due <= HOUR


@covers_each("reclaim_abandoned", ALL)
def case_reclaim(backend: Backend, subject: Subject) -> None:
    before, places = backend.store.find(subject.job.id), standing(backend)
    reclaimed = list(backend.second().queue.reclaim_abandoned())
    if subject.state is not State.EXPIRED:
        assert reclaimed == []
        assert (backend.store.find(subject.job.id), standing(backend)) == (before, places)
        return
    assert reclaimed == [Reclaimed(str(subject.job.id), subject.job.type, QUEUE, 1, False)]
    assert standing(backend) == {Place.READY: 1}
    found = backend.look(subject.job)
    assert (found.status, found.abandoned, found.retry_count) == (Status.PENDING, 1, 0)


@covers_each("search", ALL)
def case_search_by_status(backend: Backend, subject: Subject) -> None:
    for status in Status:
        found = [job.id for job in backend.store.search(JobFilter(status=status)).jobs]
        known = subject.state is not State.UNKNOWN and status is subject.status
        assert found == ([subject.job.id] if known else [])


@covers_each("failed_jobs", ALL)
def case_failed_jobs(backend: Backend, subject: Subject) -> None:
    dead = [backend.store.find(subject.job.id)] if subject.state in (State.FAILED, State.BURIED) else []
    assert list(backend.store.failed_jobs().jobs) == dead
    assert list(backend.store.failed_jobs(QUEUE).jobs) == dead
    assert list(backend.store.failed_jobs("elsewhere").jobs) == []


@covers_each("queue_stats", ALL)
def case_queue_stats(backend: Backend, subject: Subject) -> None:
    stats = backend.stats.queue_stats(QUEUE)
    assert standing(backend) == ({} if subject.place is Place.NOWHERE else {subject.place: 1})
    assert stats.failed == (1 if subject.state in (State.FAILED, State.BURIED) else 0)
    assert (stats.oldest_ready is not None) is (subject.place is Place.READY)
    ran = timedelta(milliseconds=2) if subject.state is State.COMPLETED else None
    assert (stats.mean, stats.p95) == (ran, ran)


@covers_each("job_stats", ALL)
def case_job_stats(backend: Backend, subject: Subject) -> None:
    totals = backend.stats.job_stats()
    assert [each.queue for each in totals.queues] == ([] if subject.place is Place.NOWHERE else [QUEUE])
    assert totals.processed == (1 if subject.place is Place.ENDED else 0)
    assert totals.succeeded == (1 if subject.state is State.COMPLETED else 0)
    assert totals.failed == (1 if subject.state in (State.FAILED, State.BURIED) else 0)
    holder = "bob" if subject.other else "ann"
    assert list(totals.workers) == ([holder] if subject.place is Place.IN_FLIGHT else [])


@covers_each("job_history", ALL)
def case_job_history(backend: Backend, subject: Subject) -> None:
    history = list(backend.stats.job_history(subject.job.type))
    assert history == ([backend.store.find(subject.job.id)] if subject.place is Place.ENDED else [])
    assert list(backend.stats.job_history("another")) == []


def case_unreadable_text_ends_as_a_dead_letter_with_its_text_kept(backend: Backend) -> None:
    subject = bring(backend, State.UNREADABLE)
    neighbour = backend.put()
    first, second = backend.queue.claim(QUEUE, "ann", 10)
    assert (first.payload, codec.decode_job(second.payload).id) == (BROKEN_TEXT, neighbour.id)
    backend.queue.settle([ending(first, Status.FAILED), ending(second, Status.COMPLETED)])
    dead = backend.look(subject.job)
    assert (dead.status, dead.args) == (Status.FAILED, BROKEN_TEXT)
    assert [job.id for job in backend.store.failed_jobs().jobs] == [subject.job.id]
    assert backend.look(neighbour).status is Status.COMPLETED
