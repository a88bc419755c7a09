"""A state machine that drives any backend beside a model: every job is in exactly one place, and in line.

    machine = machine_for(open_backend)          # open_backend() is a block in which the store is empty
    run_state_machine_as_test(machine, settings=settings(max_examples=100, stateful_step_count=50))

It needs hypothesis, and a queue whose lease is one minute.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import timedelta
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, RuleBasedStateMachine, invariant, multiple, rule

from wagoe_jobs.core.job import Job, Priority, Status
from wagoe_jobs.ports import Answer, Claim, Settlement
from wagoe_jobs.testing.backend import QUEUE, Backend, ending
from wagoe_jobs.testing.model import LEASE_MINUTES, Model, Record
from wagoe_jobs.testing.subjects import Place, standing

MINUTE = timedelta(minutes=1)
OpenBackend = Callable[[], AbstractContextManager[Backend]]

delays = st.integers(1, 4)
endings = st.sampled_from([Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.RETRYING, Status.PENDING])
limits = st.integers(1, 4)


def machine_for(open_backend: OpenBackend) -> Callable[[], "StoreMachine"]:
    """The machine over stores of this kind; each run opens one of its own."""
    return lambda: StoreMachine(open_backend)


class StoreMachine(RuleBasedStateMachine):
    """One run: random calls from two clients, each checked against the model, and the whole store after each."""

    jobs: Bundle[Job] = Bundle("jobs")
    claims: Bundle[Claim] = Bundle("claims")

    def __init__(self, open_backend: OpenBackend) -> None:
        super().__init__()
        self.model = Model()
        self._open = ExitStack()
        self.backend = self._open.enter_context(open_backend())
        self.other = self.backend.second()
        assert self.backend.queue.lease == LEASE_MINUTES * MINUTE

    def teardown(self) -> None:
        self._open.close()

    @rule(target=jobs, priority=st.sampled_from(Priority), max_retries=st.integers(0, 2))
    def enqueue(self, priority: Priority, max_retries: int) -> Job:
        job = self.backend.job(priority=priority, max_retries=max_retries)
        assert self.backend.queue.enqueue(job) is self.model.enqueue(job, 0) is True
        return job

    @rule(target=jobs, priority=st.sampled_from(Priority), delay=delays)
    def schedule(self, priority: Priority, delay: int) -> Job:
        job = self.backend.job(priority=priority, max_retries=1)
        assert self.other.queue.schedule(job, delay * MINUTE) is self.model.enqueue(job, delay) is True
        return job

    @rule(target=jobs, size=st.integers(1, 5), known=st.lists(jobs, max_size=2))
    def enqueue_many(self, size: int, known: Sequence[Job]) -> MultipleResults[Job]:
        fresh = [self.backend.job() for _ in range(size)]
        expected = [self.model.enqueue(job, 0) for job in [*known, *fresh]]
        assert list(self.backend.queue.enqueue_many([*known, *fresh])) == expected
        return multiple(*fresh)

    @rule(job=jobs)
    def enqueue_again(self, job: Job) -> None:
        assert self.other.queue.enqueue(job) is self.model.enqueue(job, 0)

    @rule(target=claims, limit=limits)
    def claim(self, limit: int) -> MultipleResults[Claim]:
        return self._claimed(self.backend.queue.claim(QUEUE, "ann", limit), limit)

    @rule(target=claims, batch=st.lists(st.tuples(claims, endings), max_size=3), limit=limits)
    def exchange(self, batch: Sequence[tuple[Claim, Status]], limit: int) -> MultipleResults[Claim]:
        settlements, right = self._settlements(batch)
        answers, claims = self.other.queue.exchange(settlements, QUEUE, "bob", limit)
        self._check_answers(answers, right)
        return self._claimed(claims, limit)

    @rule(batch=st.lists(st.tuples(claims, endings), min_size=1, max_size=4))
    def settle(self, batch: Sequence[tuple[Claim, Status]]) -> None:
        settlements, right = self._settlements(batch)
        self._check_answers(self.backend.queue.settle(settlements), right)

    @rule(claim=claims)
    def ack(self, claim: Claim) -> None:
        right = self.model.settle(claim, Status.COMPLETED, 0)
        assert self.other.queue.ack(claim) is (right == {Answer.APPLIED})

    @rule(some=st.lists(claims, max_size=4))
    def renew(self, some: Sequence[Claim]) -> None:
        assert self.backend.queue.renew(some) == {claim: self.model.renew(claim) for claim in some}

    @rule(some=st.lists(claims, min_size=1, max_size=4, unique=True))
    def hand_back(self, some: Sequence[Claim]) -> None:
        assert self.other.queue.hand_back(some) == sum([self.model.hand_back(claim) for claim in some])

    @rule(some=st.lists(claims, min_size=1, max_size=3, unique=True))
    def interrupt(self, some: Sequence[Claim]) -> None:
        assert self.backend.queue.interrupt(some) == sum([self.model.interrupt(claim) for claim in some])

    @rule(minutes=st.integers(1, 3))
    def advance(self, minutes: int) -> None:
        self.backend.advance(minutes * MINUTE)
        self.model.now += minutes

    @rule(limit=st.sampled_from([1, 2, 500]))
    def reclaim(self, limit: int) -> None:
        expired = {str(record.job.id): record for record in self.model.expired()}
        reclaimed = self.other.queue.reclaim_abandoned(limit)
        assert len(reclaimed) == min(limit, len(expired))
        for each in reclaimed:
            record = expired.pop(each.id)
            assert each.buried is self.model.reclaim(record)
            assert each.abandoned == record.abandoned

    @rule(limit=st.sampled_from([1, 2, 500]))
    def promote(self, limit: int) -> None:
        due = self.model.due()[:limit]
        assert self.backend.queue.process_scheduled(limit) == len(due)
        for record in due:
            self.model.promote(record)

    @rule(job=jobs)
    def cancel(self, job: Job) -> None:
        assert self.other.queue.cancel(job.id) is self.model.cancel(job.id)

    @rule(job=jobs)
    def delete(self, job: Job) -> None:
        assert self.backend.queue.delete(job.id) is self.model.delete(job.id)

    @rule(job=jobs)
    def retry(self, job: Job) -> None:
        assert self.other.store.retry(job.id) is self.model.retry(job.id)

    @invariant()
    def every_job_is_in_exactly_one_place(self) -> None:
        found = self.backend.store.search(limit=1000).jobs
        assert len(found) == len(self.model.records)
        assert {job.id: _told(job) for job in found} == {id: _known(it) for id, it in self.model.records.items()}
        counts = {place: len(self.model.at(place)) for place in Place if self.model.at(place)}
        assert standing(self.backend) == counts

    @invariant()
    def the_line_is_in_order(self) -> None:
        line = [record.job.id for record in self.model.line()]
        assert [job.id for job in self.other.queue.peek(QUEUE, 1000)] == line

    def _claimed(self, claims: Sequence[Claim], limit: int) -> MultipleResults[Claim]:
        expected = [record.job.id for record in self.model.claimable(limit)]
        assert [UUID(claim.id) for claim in claims] == expected
        self.model.claim(claims)
        return multiple(*claims)

    def _settlements(self, batch: Sequence[tuple[Claim, Status]]) -> tuple[list[Settlement], list[set[Answer]]]:
        """The settlements, each with a delay of its own so that no two are due together, and the right answers."""
        settlements = [
            ending(claim, status)._replace(delay=number * MINUTE) for number, (claim, status) in enumerate(batch, 1)
        ]
        right = [self.model.settle(claim, status, number) for number, (claim, status) in enumerate(batch, 1)]
        return settlements, right

    def _check_answers(self, answers: Sequence[Answer], right: Sequence[set[Answer]]) -> None:
        assert len(answers) == len(right)
        for answer, allowed in zip(answers, right, strict=True):
            assert answer in allowed


def _told(job: Job) -> tuple[Status, int, int]:
    return job.status, job.retry_count, job.abandoned


def _known(record: Record) -> tuple[Status, int, int]:
    return record.status, record.retries, record.abandoned
