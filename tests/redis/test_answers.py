"""What a settlement is answered that comes again, its first reply lost, after others have had the job."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.redis.parts import LINE, Parts
from wagoe_jobs.core.job import Status
from wagoe_jobs.ports import Answer, Claim, Settlement

AGAIN = timedelta(seconds=1)


def claimed(parts: Parts) -> Claim:
    [claim] = parts.queue.claim(LINE, "ann", 1)
    return claim


def reclaimed(parts: Parts) -> None:
    claimed(parts)
    parts.clock_offset.move(timedelta(hours=1))
    assert len(parts.queue.reclaim_abandoned()) == 1


def handed_back(parts: Parts) -> None:
    assert parts.queue.hand_back([claimed(parts)]) == 1


def deleted(parts: Parts) -> None:
    [job] = parts.store.search().jobs
    assert parts.queue.delete(job.id)


MEANWHILE: dict[str, tuple[Callable[[Parts], object], Answer]] = {
    "nothing": (lambda parts: None, Answer.ALREADY),
    "claimed": (claimed, Answer.ALREADY),
    "reclaimed": (reclaimed, Answer.ALREADY),
    "handed back": (handed_back, Answer.ALREADY),
    "reclaimed and claimed": (lambda parts: (reclaimed(parts), claimed(parts)), Answer.ALREADY),
    "ended by another": (lambda parts: parts.end(Status.COMPLETED), Answer.LOST),
    "deleted": (deleted, Answer.LOST),
}


@pytest.mark.parametrize("what", MEANWHILE)
def test_the_last_that_settled_a_job_is_known_for_as_long_as_the_job(parts: Parts, what: str) -> None:
    happens, answer = MEANWHILE[what]
    parts.put()
    settlement = Settlement(claimed(parts), Status.PENDING, delay=AGAIN)
    assert parts.queue.settle([settlement]) == [Answer.APPLIED]
    parts.clock_offset.move(2 * AGAIN)
    parts.queue.process_scheduled()
    happens(parts)
    assert parts.queue.settle([settlement]) == [answer]
