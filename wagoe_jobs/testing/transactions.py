"""Enqueue inside the application's own transaction."""

from wagoe_jobs.core.job import Status
from wagoe_jobs.errors import InvalidJob, NotATransaction
from wagoe_jobs.ports import Claimed, OnceJobQueue, Taken, TransactionalJobQueue
from wagoe_jobs.testing.backend import HOUR, SECOND, Backend, ending
from wagoe_jobs.testing.raising import raises
from wagoe_jobs.testing.subjects import Place, State, bring, standing
from wagoe_jobs.testing.table import covers


class Undo(Exception):
    """Ends a transaction without a commit."""


def _transactional(backend: Backend) -> TransactionalJobQueue:
    queue = backend.queue
    assert isinstance(queue, TransactionalJobQueue)
    return queue


@covers("enqueue_in_tx", State.UNKNOWN)
def case_a_job_is_seen_at_the_commit_and_never_before(backend: Backend) -> None:
    queue, other = _transactional(backend), backend.second()
    assert backend.transaction is not None
    jobs = [backend.job(), backend.job()]
    with backend.transaction() as tx:
        assert list(queue.enqueue_in_tx(tx, jobs)) == [True, True]
        assert (other.store.find(jobs[0].id), other.queue.size("line")) == (None, 0)
    assert backend.drain() == [job.id for job in jobs]


@covers("enqueue_in_tx", State.UNKNOWN)
def case_a_rollback_leaves_nothing(backend: Backend) -> None:
    queue, job = _transactional(backend), backend.job()
    assert backend.transaction is not None
    with raises(Undo), backend.transaction() as tx:
        queue.enqueue_in_tx(tx, [job])
        raise Undo
    assert backend.store.find(job.id) is None
    assert standing(backend) == {}
    assert backend.queue.enqueue(job) is True


@covers("enqueue_in_tx", State.READY, State.IN_FLIGHT, State.COMPLETED)
def case_a_known_id_is_a_duplicate_in_a_transaction_too(backend: Backend) -> None:
    queue = _transactional(backend)
    assert backend.transaction is not None
    done = bring(backend, State.COMPLETED).job
    busy = backend.put()
    claim = backend.take()
    waits, new = backend.put(), backend.job()
    with backend.transaction() as tx:
        assert list(queue.enqueue_in_tx(tx, [done, busy, waits, new, new])) == [False, False, False, True, False]
    assert backend.queue.ack(claim) is True
    assert backend.drain() == [waits.id, new.id]


@covers("enqueue_in_tx", State.SCHEDULED)
def case_a_delay_in_a_transaction(backend: Backend) -> None:
    queue, job = _transactional(backend), backend.job()
    assert backend.transaction is not None
    with backend.transaction() as tx:
        queue.enqueue_in_tx(tx, [job], delay=HOUR)
    assert standing(backend) == {Place.SCHEDULED: 1}
    backend.advance(HOUR + SECOND)
    assert backend.queue.process_scheduled() == 1


@covers("enqueue_in_tx", State.UNKNOWN)
def case_one_invalid_job_stores_none_and_leaves_the_transaction_usable(backend: Backend) -> None:
    queue, good = _transactional(backend), backend.job()
    assert backend.transaction is not None
    with backend.transaction() as tx:
        with raises(InvalidJob):
            queue.enqueue_in_tx(tx, [good, backend.job(args={"x": object()})])
        assert list(queue.enqueue_in_tx(tx, [good])) == [True]
    backend.queue.settle([ending(backend.take(), Status.COMPLETED)])
    assert standing(backend) == {Place.ENDED: 1}


@covers("enqueue_in_tx", State.UNKNOWN)
def case_what_is_no_transaction_is_refused(backend: Backend) -> None:
    queue, job = _transactional(backend), backend.job()
    assert backend.transaction is not None
    with backend.transaction() as finished:
        pass
    for tx in (None, object(), "tx", finished):
        with raises(NotATransaction):
            queue.enqueue_in_tx(tx, [job])
    assert backend.store.find(job.id) is None


@covers("enqueue_once", State.UNKNOWN)
def case_key_and_job_share_the_fate_of_the_transaction(backend: Backend) -> None:
    queue = backend.queue
    assert isinstance(queue, OnceJobQueue)
    assert backend.transaction is not None
    first, second = backend.job(), backend.job()
    with raises(Undo), backend.transaction() as tx:
        assert queue.enqueue_once("scope", "key", first, HOUR, tx=tx) == Claimed()
        raise Undo
    assert backend.idempotency.seen("scope", "key") is False
    with backend.transaction() as tx:
        assert queue.enqueue_once("scope", "key", second, HOUR, tx=tx) == Claimed()
    assert queue.enqueue_once("scope", "key", first, HOUR) == Taken(str(second.id))
    assert backend.drain() == [second.id]
