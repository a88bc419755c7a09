"""The contract and the machine can fail: each of these broken memory stores is caught, by the case that should.

A suite that passes everything would pass these too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.backends import memory_backend
from wagoe_jobs.adapters.memory.queue import MemoryJobQueue
from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.ports import BATCH_LIMIT, Answer, Claim, Hold, Reclaimed, Settlement
from wagoe_jobs.testing import contract
from wagoe_jobs.testing.backend import Backend
from wagoe_jobs.testing.machine import machine_for


class AcksWithoutToken(MemoryJobQueue):
    """Settles for whoever asks."""

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[Answer]:
        return super().settle([each._replace(claim=self._forged(each.claim)) for each in settlements])

    def _forged(self, claim: Claim) -> Claim:
        row = self.state.rows.get(claim.id)
        return claim if row is None or row.token is None else claim._replace(token=row.token)


class RenewsBlindly(MemoryJobQueue):
    """Takes a write that touched nothing for success."""

    def renew(self, claims: Sequence[Claim]) -> Mapping[Claim, Hold]:
        return dict.fromkeys(super().renew(claims), Hold.HELD)


class LosesOneOfMany(MemoryJobQueue):
    """Forgets the last job of a reclaimed batch."""

    def reclaim_abandoned(self, limit: int = BATCH_LIMIT) -> Sequence[Reclaimed]:
        reclaimed = super().reclaim_abandoned(limit)
        for each in reclaimed[1:][-1:]:
            self.state.forget(self.state.rows[each.id])
        return reclaimed


class ForgetsTheOrder(MemoryJobQueue):
    """Puts what is handed back at the end of the line."""

    def hand_back(self, claims: Sequence[Claim]) -> int:
        held = [row for claim in claims if (row := self.state.rows.get(claim.id)) and row.token == claim.token]
        count = super().hand_back(claims)
        for row in held:
            if row.waits:
                row.due_us = None
                self.state.arrive(row, self.state.now_us())
        return count


class OverwritesDuplicates(MemoryJobQueue):
    """An id that exists is stored again."""

    def enqueue_many(self, jobs: Sequence[Job], **options: object) -> Sequence[bool]:
        for job in jobs:
            if (row := self.state.rows.get(str(job.id))) is not None:
                self.state.forget(row)
        return super().enqueue_many(jobs, **options)  # type: ignore[arg-type]


class ClaimsTheAbandonedWithOthers(MemoryJobQueue):
    """Hides that a job was abandoned before."""

    def claim(self, queue: str, worker: str, limit: int) -> Sequence[Claim]:
        claims = list(super().claim(queue, worker, limit))
        while claims and len(claims) < limit and (more := super().claim(queue, worker, limit - len(claims))):
            claims += more
        return claims


class DropsCancelRequests(MemoryJobQueue):
    """Settles as asked, whoever wished otherwise."""

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[Answer]:
        for each in settlements:
            if (row := self.state.rows.get(each.claim.id)) is not None:
                row.cancel_requested = False
        return super().settle(settlements)


class PromotesTooMuch(MemoryJobQueue):
    """Makes every scheduled job ready, due or not."""

    def process_scheduled(self, limit: int = BATCH_LIMIT) -> int:
        rows = list(self.state.scheduled.rows())[:limit]
        for row in rows:
            row.due_us = None
            self.state.arrive(row, self.state.now_us())
        return len(rows)


class KeepsNoHistory(MemoryJobQueue):
    """Completed jobs are gone."""

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[Answer]:
        answers = super().settle(settlements)
        for each in settlements:
            row = self.state.rows.get(each.claim.id)
            if row is not None and row.status is Status.COMPLETED:
                self.state.forget(row)
        return answers


MUTANTS = {
    AcksWithoutToken: "settle_as_completed[taken by another]",
    RenewsBlindly: "renew[taken by another]",
    LosesOneOfMany: "reclaim_comes_in_bounded_batches_of_those_that_expired",
    ForgetsTheOrder: "what_is_handed_back_stands_where_it_stood",
    OverwritesDuplicates: "enqueue_of_an_id[in flight]",
    ClaimsTheAbandonedWithOthers: "an_abandoned_job_stands_where_it_stood_and_is_claimed_alone",
    DropsCancelRequests: "settle_as_failed[cancel requested]",
    PromotesTooMuch: "process_scheduled[scheduled]",
    KeepsNoHistory: "find[completed]",
}


def broken(kind: type[MemoryJobQueue]) -> Callable[[], AbstractContextManager[Backend]]:
    @contextmanager
    def opened() -> Iterator[Backend]:
        with memory_backend() as sound:
            assert isinstance(sound.queue, MemoryJobQueue)
            queue = kind(sound.queue.state, lease=sound.queue.lease)

            def client() -> Backend:
                return replace(sound, queue=queue, second=client)

            yield client()

    return opened


@pytest.mark.parametrize("kind", MUTANTS, ids=lambda kind: kind.__name__)
def test_the_contract_catches(kind: type[MemoryJobQueue]) -> None:
    [case] = [case for case in contract.cases() if case.name == MUTANTS[kind]]
    with memory_backend() as sound:
        case.run(sound)
    with broken(kind)() as backend, pytest.raises((AssertionError, ValueError)):
        case.run(backend)


@pytest.mark.parametrize("kind", MUTANTS, ids=lambda kind: kind.__name__)
def test_the_machine_catches(kind: type[MemoryJobQueue]) -> None:
    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            machine_for(broken(kind)),  # type: ignore[arg-type]  # whatever makes a machine will do
            settings=settings(
                max_examples=300,
                stateful_step_count=50,
                derandomize=True,
                database=None,
                deadline=None,
                phases=(Phase.generate,),
                suppress_health_check=list(HealthCheck),
            ),
        )
