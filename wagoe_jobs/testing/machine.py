"""A state machine that drives any backend beside a model: every job is in exactly one place, and in line.

    machine = machine_for(open_backend)          # open_backend() is a block in which the store is empty
    run_state_machine_as_test(machine, settings=settings(max_examples=100, stateful_step_count=50))

It needs hypothesis, and a queue whose lease is one minute.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import timedelta
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, RuleBasedStateMachine, invariant, multiple, precondition, rule

from wagoe_jobs.core.job import Job, Priority, Status
from wagoe_jobs.ports import Answer, Claim, Settlement
from wagoe_jobs.testing.backend import QUEUE, Backend, ending
from wagoe_jobs.testing.model import LEASE_MINUTES, Model, Record
from wagoe_jobs.testing.subjects import Place, standing

MINUTE = timedelta(minutes=1)
OpenBackend = Callable[[], AbstractContextManager[Backend]]

endings = st.sampled_from([Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.RETRYING, Status.PENDING])
limits = st.integers(1, 4)
numbers = st.integers(0, 7)
touches = st.sampled_from(["renew", "hand back", "interrupt", "ack"])


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

    @rule(target=jobs, priority=st.sampled_from(Priority), max_retries=st.integers(0, 2), delay=st.integers(-2, 3))
    def enqueue(self, priority: Priority, max_retries: int, delay: int) -> Job:
        job = self.backend.job(priority=priority, max_retries=max_retries)
        if delay > 0:
            assert self.other.queue.schedule(job, delay * MINUTE) is self.model.enqueue(job, delay) is True
        else:
            assert self.backend.queue.enqueue(job) is self.model.enqueue(job, 0) is True
        return job

    @rule(target=jobs, size=st.integers(0, 4), known=st.lists(jobs, max_size=2))
    def enqueue_many(self, size: int, known: Sequence[Job]) -> MultipleResults[Job]:
        fresh = [self.backend.job() for _ in range(size)]
        expected = [self.model.enqueue(job, 0) for job in [*known, *fresh]]
        assert list(self.backend.queue.enqueue_many([*known, *fresh])) == expected
        return multiple(*fresh)

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

    @rule(some=st.lists(claims, min_size=1, max_size=4, unique=True), verb=touches)
    def touch(self, some: Sequence[Claim], verb: str) -> None:
        """What a holder may do to claims, late or not."""
        queue, model = self.other.queue, self.model
        match verb:
            case "renew":
                assert queue.renew(some) == {claim: model.renew(claim) for claim in some}
            case "hand back":
                assert queue.hand_back(some) == sum([model.hand_back(claim) for claim in some])
            case "interrupt":
                assert queue.interrupt(some) == sum([model.interrupt(claim) for claim in some])
            case _:
                for claim in some:
                    right = model.settle(claim, Status.COMPLETED, 0)
                    assert queue.ack(claim) is (right == {Answer.APPLIED})

    @precondition(lambda self: self.model.at(Place.IN_FLIGHT))
    @rule(number=numbers, status=endings, verb=st.sampled_from(["settle", "hand back"]), requested=st.booleans())
    def end_one_that_is_held(self, number: int, status: Status, verb: str, requested: bool) -> None:
        held = self.model.at(Place.IN_FLIGHT)
        record = held[number % len(held)]
        assert record.claim is not None
        if requested:
            self.end(record.job, "cancel")
        if verb == "settle":
            self.settle([(record.claim, status)])
        else:
            self.touch([record.claim], verb)

    @rule(
        minutes=st.integers(0, 3), verb=st.sampled_from(["reclaim", "promote", "both"]), limit=st.sampled_from([1, 500])
    )
    def pass_time(self, minutes: int, verb: str, limit: int) -> None:
        self.backend.advance(minutes * MINUTE)
        self.model.now += minutes
        if verb != "promote":
            self._reclaim(limit)
        if verb != "reclaim":
            self._promote(limit)

    @rule(job=jobs, verb=st.sampled_from(["cancel", "delete", "retry"]))
    def end(self, job: Job, verb: str) -> None:
        """What people may do to a job."""
        match verb:
            case "cancel":
                assert self.other.queue.cancel(job.id) is self.model.cancel(job.id)
            case "delete":
                assert self.backend.queue.delete(job.id) is self.model.delete(job.id)
            case _:
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

    def _reclaim(self, limit: int) -> None:
        expired = {str(record.job.id): record for record in self.model.expired()}
        reclaimed = self.other.queue.reclaim_abandoned(limit)
        assert len(reclaimed) == min(limit, len(expired))
        for each in reclaimed:
            record = expired.pop(each.id)
            assert each.buried is self.model.reclaim(record)
            assert each.abandoned == record.abandoned

    def _promote(self, limit: int) -> None:
        due = self.model.due()[:limit]
        assert self.backend.queue.process_scheduled(limit) == len(due)
        for record in due:
            self.model.promote(record)

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
        several = Counter(id for id, _ in {(claim.id, claim.token) for claim, _ in batch})
        for (claim, _), allowed in zip(batch, right, strict=True):
            if Answer.ALREADY in allowed and several[claim.id] > 1:
                allowed.add(Answer.LOST)  # a batch may be settled in any order, and the last token alone is kept
        return settlements, right

    def _check_answers(self, answers: Sequence[Answer], right: Sequence[set[Answer]]) -> None:
        assert len(answers) == len(right)
        for answer, allowed in zip(answers, right, strict=True):
            assert answer in allowed


def _told(job: Job) -> tuple[Status, int, int]:
    return job.status, job.retry_count, job.abandoned


def _known(record: Record) -> tuple[Status, int, int]:
    return record.status, record.retries, record.abandoned
