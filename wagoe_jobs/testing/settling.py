"""Settling in batches, late, twice, by a loser, and with text that the store refuses."""

from datetime import timedelta

from wagoe_jobs.core import codec
from wagoe_jobs.core.job import Status, from_micros
from wagoe_jobs.ports import Answer, Hold, Settlement
from wagoe_jobs.testing.backend import QUEUE, Backend, ending
from wagoe_jobs.testing.subjects import Place, State, bring, standing
from wagoe_jobs.testing.table import covers

MINUTE = timedelta(minutes=1)


@covers("settle", State.IN_FLIGHT, State.RECLAIMED, State.COMPLETED)
def case_a_batch_is_answered_in_order_claim_by_claim(backend: Backend) -> None:
    jobs = [backend.put() for _ in range(6)]
    claims = backend.queue.claim(QUEUE, "ann", 6)
    backend.queue.ack(claims[2])
    backend.queue.hand_back([claims[4]])
    statuses = (Status.COMPLETED, Status.FAILED, Status.COMPLETED, Status.RETRYING, Status.COMPLETED, Status.CANCELLED)
    answers = backend.queue.settle([ending(*each) for each in zip(claims, statuses, strict=True)])
    assert [answer.value for answer in answers] == ["applied", "applied", "already", "applied", "lost", "applied"]
    assert [backend.look(job).status for job in jobs] == [
        Status.COMPLETED,
        Status.FAILED,
        Status.COMPLETED,
        Status.RETRYING,
        Status.PENDING,
        Status.CANCELLED,
    ]


@covers("settle", State.IN_FLIGHT)
def case_nothing_to_settle_is_nothing(backend: Backend) -> None:
    assert list(backend.queue.settle([])) == []
    assert backend.queue.renew([]) == {}
    assert (backend.queue.hand_back([]), backend.queue.interrupt([])) == (0, 0)


@covers("settle", State.IN_FLIGHT)
def case_a_claim_twice_in_one_batch_is_applied_once(backend: Backend) -> None:
    job = backend.put()
    claim = backend.take()
    answers = backend.queue.settle([ending(claim, Status.COMPLETED), ending(claim, Status.FAILED)])
    assert sorted(answer.value for answer in answers) == ["already", "applied"]
    assert backend.look(job).status in (Status.COMPLETED, Status.FAILED)
    assert standing(backend) == {Place.ENDED: 1}


@covers("settle", State.TAKEN)
@covers("ack", State.TAKEN)
@covers("renew", State.TAKEN)
def case_a_slow_holder_cannot_touch_what_another_took(backend: Backend) -> None:
    subject = bring(backend, State.TAKEN)
    assert subject.other is not None
    before = backend.look(subject.job)
    assert backend.queue.renew([subject.claim]) == {subject.claim: Hold.LOST}
    assert backend.queue.ack(subject.claim) is False
    assert list(backend.queue.settle([ending(subject.claim, Status.FAILED)])) == [Answer.LOST]
    assert backend.look(subject.job) == before
    assert list(backend.second().queue.settle([ending(subject.other, Status.COMPLETED)])) == [Answer.APPLIED]
    assert list(backend.queue.settle([ending(subject.claim, Status.FAILED)])) == [Answer.LOST]
    assert backend.look(subject.job).status is Status.COMPLETED
    assert standing(backend) == {Place.ENDED: 1}


@covers("settle", State.TAKEN)
def case_only_the_token_decides_not_the_worker(backend: Backend) -> None:
    backend.put()
    late = backend.take(worker="ann")
    backend.expire()
    backend.queue.reclaim_abandoned()
    claim = backend.take(worker="ann")
    assert list(backend.queue.settle([ending(late, Status.COMPLETED)])) == [Answer.LOST]
    assert backend.queue.renew([late, claim]) == {late: Hold.LOST, claim: Hold.HELD}
    assert list(backend.queue.settle([ending(claim, Status.COMPLETED)])) == [Answer.APPLIED]


@covers("settle", State.RECLAIMED, State.FAILED)
@covers("exchange", State.TAKEN)
def case_an_old_and_the_present_claim_of_a_job_in_one_batch(backend: Backend) -> None:
    for old_first in (True, False):
        for status in (Status.COMPLETED, Status.RETRYING):
            job = backend.put()
            late = backend.take()
            backend.expire()
            backend.queue.reclaim_abandoned()
            present = backend.take()
            batch = [ending(late, Status.FAILED), ending(present, status)]
            answers, _ = backend.queue.exchange(batch if old_first else batch[::-1], "elsewhere", "ann", 1)
            assert list(answers) == [Answer.LOST, Answer.APPLIED][:: 1 if old_first else -1]
            assert backend.look(job).status is status


@covers("settle", State.RETRYING)
def case_a_lost_reply_is_recognised_while_the_next_run_goes_on(backend: Backend) -> None:
    job = backend.put()
    first = backend.take()
    retried = ending(first, Status.RETRYING)._replace(delay=timedelta(0))
    assert list(backend.queue.settle([retried])) == [Answer.APPLIED]
    backend.queue.process_scheduled()
    assert list(backend.queue.settle([retried])) == [Answer.ALREADY]
    second = backend.take()
    assert list(backend.queue.settle([retried])) == [Answer.ALREADY]
    assert list(backend.queue.settle([ending(second, Status.COMPLETED)])) == [Answer.APPLIED]
    assert backend.look(job).status is Status.COMPLETED


@covers("settle", State.CANCELLED, State.FAILED)
def case_a_lost_reply_is_recognised_after_a_cancel_and_a_redrive(backend: Backend) -> None:
    parked, dead = backend.put(), backend.put()
    first, second = backend.queue.claim(QUEUE, "ann", 2)
    batch = [ending(first, Status.PENDING), ending(second, Status.FAILED)]
    assert list(backend.queue.settle(batch)) == [Answer.APPLIED] * 2
    assert backend.queue.cancel(parked.id)
    assert backend.store.retry(dead.id)
    assert list(backend.queue.settle(batch)) == [Answer.ALREADY] * 2
    assert standing(backend) == {Place.READY: 1, Place.ENDED: 1}


@covers("settle", State.EXPIRED)
@covers("renew", State.EXPIRED)
def case_an_expired_claim_that_nobody_took_can_be_renewed_and_settled(backend: Backend) -> None:
    job = backend.put()
    claim = backend.take()
    for _ in range(3):
        backend.expire()
        assert backend.queue.renew([claim]) == {claim: Hold.HELD}
        assert list(backend.queue.reclaim_abandoned()) == []
    backend.expire()
    assert list(backend.queue.settle([ending(claim, Status.COMPLETED)])) == [Answer.APPLIED]
    assert list(backend.queue.reclaim_abandoned()) == []
    assert backend.look(job).status is Status.COMPLETED


@covers("renew", State.IN_FLIGHT, State.COMPLETED, State.CANCEL_REQUESTED)
def case_renewal_answers_for_each_claim(backend: Backend) -> None:
    jobs = [backend.put() for _ in range(4)]
    claims = backend.queue.claim(QUEUE, "ann", 4)
    backend.queue.ack(claims[1])
    backend.queue.cancel(jobs[2].id)
    backend.advance(backend.queue.lease * 0.9)
    assert backend.queue.renew(claims[:3]) == {
        claims[0]: Hold.HELD,
        claims[1]: Hold.LOST,
        claims[2]: Hold.CANCEL_REQUESTED,
    }
    backend.advance(backend.queue.lease * 0.9)
    assert [each.id for each in backend.queue.reclaim_abandoned()] == [claims[3].id]


@covers("settle", State.IN_FLIGHT)
def case_text_that_the_store_refuses_fails_alone(backend: Backend) -> None:
    jobs = [backend.put() for _ in range(3)]
    claims = backend.queue.claim(QUEUE, "ann", 3)
    batch = [ending(claim, Status.COMPLETED) for claim in claims]
    batch[1] = batch[1]._replace(result='"half a pair: \ud800"')
    assert list(backend.queue.settle(batch)) == [Answer.APPLIED] * 3
    assert [backend.look(job).status for job in jobs] == [Status.COMPLETED, Status.FAILED, Status.COMPLETED]
    buried = backend.look(jobs[1])
    assert buried.error is not None
    assert buried.error.message
    assert buried.result is None


@covers("exchange", State.IN_FLIGHT)
def case_a_refused_follow_up_is_buried_and_the_claim_goes_on(backend: Backend) -> None:
    jobs = [backend.put() for _ in range(3)]
    claims = backend.queue.claim(QUEUE, "ann", 2)
    bad = Settlement(claims[0], Status.RETRYING, delay=timedelta(0), payload="\udfff")
    answers, more = backend.queue.exchange([bad, ending(claims[1], Status.COMPLETED)], QUEUE, "ann", 10)
    assert list(answers) == [Answer.APPLIED] * 2
    assert [claim.id for claim in more] == [str(jobs[2].id)]
    assert backend.look(jobs[0]).status is Status.FAILED
    assert backend.look(jobs[1]).status is Status.COMPLETED


@covers("settle", State.CANCEL_REQUESTED)
def case_a_cancelled_run_that_fails_keeps_its_error(backend: Backend) -> None:
    for status in (Status.FAILED, Status.RETRYING):
        subject = bring(backend, State.CANCEL_REQUESTED)
        backend.queue.settle([ending(subject.claim, status)])
        found = backend.look(subject.job)
        assert (found.status, found.error and found.error.message) == (Status.CANCELLED, "it broke")


@covers("settle", State.IN_FLIGHT)
def case_a_follow_up_with_new_text_is_what_the_next_claim_gets(backend: Backend) -> None:
    job = backend.put(args={"n": 1}, metadata={"tenant-id": "acme"})
    claim = backend.take()
    backend.queue.settle([ending(claim, Status.RETRYING)._replace(delay=timedelta(0))])
    backend.queue.process_scheduled()
    again = codec.decode_job(backend.take().payload)
    assert (again.id, again.args, again.retry_count) == (job.id, {"n": 1}, 1)
    assert again.error is not None
    assert (again.error.type, again.metadata) == ("handler-error", {"tenant-id": "acme"})


@covers("settle", State.IN_FLIGHT)
def case_a_parked_job_keeps_its_text(backend: Backend) -> None:
    job = backend.put(args={"n": 1})
    claim = backend.take()
    backend.queue.settle([Settlement(claim, Status.PENDING, delay=timedelta(0))])
    backend.queue.process_scheduled()
    assert backend.take().payload == claim.payload
    assert backend.look(job).repeats == 0


@covers("settle", State.IN_FLIGHT)
@covers("find", State.COMPLETED)
def case_history_tells_when_it_ran(backend: Backend) -> None:
    job = backend.put()
    claim = backend.take()
    backend.queue.settle([Settlement(claim, Status.COMPLETED, waited_us=1_500, ran_us=250_000)])
    found = backend.look(job)
    assert found.started_at is not None
    assert found.started_at == from_micros(claim.claimed_us + 1_500)
    assert found.completed_at is not None
    assert found.completed_at - found.created_at < MINUTE
    stats = backend.stats.queue_stats(QUEUE)
    assert (stats.mean, stats.p95) == (timedelta(milliseconds=250), timedelta(milliseconds=250))


@covers("ack", State.COMPLETED, State.TAKEN)
def case_a_late_ack_touches_neither_history_nor_a_newer_claim(backend: Backend) -> None:
    job = backend.put()
    first = backend.take()
    backend.queue.settle([ending(first, Status.PENDING)._replace(delay=timedelta(0))])
    backend.queue.process_scheduled()
    second = backend.take()
    assert backend.queue.ack(first) is False
    assert backend.queue.renew([second]) == {second: Hold.HELD}
    assert backend.queue.ack(second) is True
    ended = backend.look(job)
    assert (backend.queue.ack(first), backend.queue.ack(second)) == (False, False)
    assert backend.look(job) == ended


@covers("reclaim_abandoned", State.EXPIRED)
def case_reclaim_asks_nothing_but_the_claim_itself(backend: Backend) -> None:
    jobs = [backend.put(type=f"type-that-nobody-knows-{number}") for number in range(3)]
    backend.queue.claim(QUEUE, "a-worker-that-no-table-lists", 3)
    backend.expire()
    reclaimed = backend.second().queue.reclaim_abandoned()
    assert sorted(each.type for each in reclaimed) == [job.type for job in jobs]
    assert {backend.look(job).retry_count for job in jobs} == {0}
    assert list(backend.store.failed_jobs().jobs) == []
