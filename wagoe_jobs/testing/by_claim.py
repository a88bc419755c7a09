"""Every method that takes a claim, in every state that its job may be in by then."""

from wagoe_jobs.core.job import Status
from wagoe_jobs.ports import Answer, Hold
from wagoe_jobs.testing.backend import Backend, ending
from wagoe_jobs.testing.subjects import CLAIMED, HELD, SETTLED, Place, State, Subject, standing
from wagoe_jobs.testing.table import covers_each


@covers_each("settle", CLAIMED)
def case_settle_as_completed(backend: Backend, subject: Subject) -> None:
    _settle(backend, subject, Status.COMPLETED)


@covers_each("settle", CLAIMED)
def case_settle_as_failed(backend: Backend, subject: Subject) -> None:
    _settle(backend, subject, Status.FAILED)


@covers_each("settle", CLAIMED)
def case_settle_as_cancelled(backend: Backend, subject: Subject) -> None:
    _settle(backend, subject, Status.CANCELLED)


@covers_each("settle", CLAIMED)
def case_settle_as_retrying(backend: Backend, subject: Subject) -> None:
    _settle(backend, subject, Status.RETRYING)


@covers_each("settle", CLAIMED)
def case_settle_as_pending(backend: Backend, subject: Subject) -> None:
    _settle(backend, subject, Status.PENDING)


def _settle(backend: Backend, subject: Subject, status: Status) -> None:
    before, places = backend.store.find(subject.job.id), standing(backend)
    assert list(backend.queue.settle([ending(subject.claim, status)])) == [_answer(subject)]
    after = backend.store.find(subject.job.id)
    if subject.state not in HELD:
        assert (after, standing(backend)) == (before, places)
        return
    assert after is not None
    requested = subject.state is State.CANCEL_REQUESTED and status is not Status.COMPLETED
    assert after.status is (Status.CANCELLED if requested else status)
    assert standing(backend) == {Place.ENDED if after.status.terminal else Place.SCHEDULED: 1}
    assert list(backend.queue.settle([ending(subject.claim, status)])) == [Answer.ALREADY]
    assert backend.store.find(subject.job.id) == after


def _answer(subject: Subject) -> Answer:
    if subject.state in HELD:
        return Answer.APPLIED
    return Answer.ALREADY if subject.state in SETTLED else Answer.LOST


@covers_each("exchange", CLAIMED)
def case_exchange_that_settles(backend: Backend, subject: Subject) -> None:
    waits = backend.put(queue="elsewhere")
    answers, claims = backend.queue.exchange([ending(subject.claim, Status.COMPLETED)], "elsewhere", "eve", 10)
    assert list(answers) == [_answer(subject)]
    assert [claim.id for claim in claims] == [str(waits.id)]


@covers_each("ack", CLAIMED)
def case_ack(backend: Backend, subject: Subject) -> None:
    before, places = backend.store.find(subject.job.id), standing(backend)
    held = subject.state in HELD
    assert backend.queue.ack(subject.claim) is held
    if held:
        found = backend.look(subject.job)
        assert (found.status, found.result) == (Status.COMPLETED, None)
        assert standing(backend) == {Place.ENDED: 1}
    else:
        assert (backend.store.find(subject.job.id), standing(backend)) == (before, places)
    assert backend.queue.ack(subject.claim) is False


@covers_each("hand_back", CLAIMED)
def case_hand_back(backend: Backend, subject: Subject) -> None:
    before, places = backend.store.find(subject.job.id), standing(backend)
    held = subject.state in HELD
    assert backend.queue.hand_back([subject.claim]) == (1 if held else 0)
    if not held:
        assert (backend.store.find(subject.job.id), standing(backend)) == (before, places)
        return
    found = backend.look(subject.job)
    cancelled = subject.state is State.CANCEL_REQUESTED
    assert found.status is (Status.CANCELLED if cancelled else Status.PENDING)
    assert found.repeats == 0
    assert standing(backend) == {Place.ENDED if cancelled else Place.READY: 1}
    assert backend.queue.hand_back([subject.claim]) == 0


@covers_each("renew", CLAIMED)
def case_renew(backend: Backend, subject: Subject) -> None:
    holds = dict.fromkeys(HELD, Hold.HELD) | {State.CANCEL_REQUESTED: Hold.CANCEL_REQUESTED}
    places = standing(backend)
    assert backend.queue.renew([subject.claim]) == {subject.claim: holds.get(subject.state, Hold.LOST)}
    assert standing(backend) == places
    if subject.state in HELD:
        backend.advance(backend.queue.lease / 2)
        assert list(backend.queue.reclaim_abandoned()) == []
        assert backend.queue.ack(subject.claim) is True


@covers_each("interrupt", CLAIMED)
def case_interrupt(backend: Backend, subject: Subject) -> None:
    held = subject.state in HELD
    assert backend.queue.interrupt([subject.claim]) == (1 if held else 0)
    if held:
        backend.expire()
        [reclaimed] = backend.queue.reclaim_abandoned()
        assert (reclaimed.abandoned, reclaimed.buried) == (0, False)
        assert backend.store.find(subject.job.id) is not None
