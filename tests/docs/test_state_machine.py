"""The page about a job's life, held against what becomes of jobs: every change of status is drawn, and no other."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from itertools import pairwise
from uuid import UUID

import pytest

from tests.docs.test_pages import ROOT, blocks
from wagoe_jobs import Discard, Failure, Jobs, Registry, Retry, Runtime, Snooze, Success, Worker
from wagoe_jobs.adapters import memory
from wagoe_jobs.clock import ClockOffset
from wagoe_jobs.context import JobContext
from wagoe_jobs.core.job import Status

PAGE = (ROOT / "docs" / "state_machine.md").read_text()
LEASE = timedelta(seconds=5)
LONG = timedelta(hours=1)
START, END = "[*]", "[*]"


class Life:
    """One job on a store in memory, whose clock is moved, and every status that a reader has seen."""

    def __init__(self, answer: object = None, **options: object) -> None:
        self._answer = answer
        self._clock = ClockOffset()
        self.queue = memory.job_queue(lease=LEASE, clock_offset=self._clock)
        state = self.queue.state
        store, stats = memory.job_store(state), memory.job_stats(state)
        runtime = Runtime(provider="memory", queue=self.queue, store=store, stats=stats)
        self.registry = Registry({"act": self._run})
        self._worker = Worker(runtime, self.registry)
        self.jobs = Jobs(runtime)
        self.seen: list[str] = [START]
        self.id: UUID = self.jobs.enqueue("act", **options)  # type: ignore[arg-type]
        self._look()

    def run(self) -> "Life":
        self._worker.work_one()
        self._look()
        return self

    def claim(self) -> "Life":
        self.claims = self.queue.claim("default", "w", 1)
        self._look()
        return self

    def then(self, act: Callable[["Life"], object]) -> "Life":
        act(self)
        self._look()
        return self

    def later(self) -> "Life":
        """An hour on, when everything is due and every lease has ended."""
        self._clock.move(LONG)
        self.queue.process_scheduled()
        self.queue.reclaim_abandoned()
        self._look()
        return self

    def _run(self, args: object, context: JobContext) -> object:
        self._look()
        if callable(self._answer):
            return self._answer(self)
        return self._answer

    def _look(self) -> None:
        job = self.jobs.get(self.id)
        assert job is not None
        if job.status != self.seen[-1]:
            self.seen.append(str(job.status))


def cancelled_and_failed(life: Life) -> Failure:
    life.jobs.cancel(life.id)
    return Failure("too late")


def cancelled(life: Life) -> None:
    assert life.jobs.cancel(life.id)


def redriven(life: Life) -> None:
    assert life.jobs.retry(life.id)


LIVES: Mapping[str, Callable[[], Life]] = {
    "success": lambda: Life(Success(1)).run(),
    "failure": lambda: Life(Failure("no")).run().later().run().later(),
    "failure, none left": lambda: Life(Failure("no"), max_retries=0).run(),
    "failure for good, redriven": lambda: Life(Failure("no", retry=False)).run().then(redriven),
    "asked for a repeat": lambda: Life(Retry(timedelta(seconds=1))).run().later(),
    "snoozed": lambda: Life(Snooze(timedelta(seconds=1))).run().later(),
    "discarded": lambda: Life(Discard("pointless")).run(),
    "cancelled while it waits": lambda: Life().then(cancelled),
    "cancelled before its repeat": lambda: Life(Failure("no")).run().then(cancelled),
    "cancelled while it runs": lambda: Life(cancelled_and_failed).run(),
    "handed back": lambda: Life().claim().then(lambda life: life.queue.hand_back(life.claims)),
    "no handler": lambda: Life().then(lambda life: life.registry.unregister("act")).run(),
    "lease ended": lambda: Life().claim().later(),
    "abandoned for good": lambda: Life(max_retries=0).claim().later().claim().later(),
    "cancelled, then abandoned": lambda: Life().claim().then(cancelled).later(),
    "scheduled": lambda: Life(delay=60).later().run(),
}
TERMINAL = {str(status) for status in Status if status.terminal}


def drawn() -> set[tuple[str, str]]:
    (diagram,) = blocks("mermaid", PAGE)
    return set(re.findall(r"^ +(\S+) --> (\w+|\[\*\])", diagram, re.M))


def lived() -> Iterator[tuple[str, str]]:
    for live in LIVES.values():
        yield from pairwise(live().seen)
    yield from ((status, END) for status in TERMINAL)


def test_every_change_is_drawn_and_no_other():
    assert set(lived()) == drawn()


def test_it_shows_every_status():
    assert {name for pair in drawn() for name in pair} - {START} == {str(status) for status in Status}


@pytest.mark.parametrize("status", sorted(TERMINAL - {"failed"}))
def test_what_has_ended_well_stays_so(status: str):
    life = Life(Success(1) if status == "completed" else Discard("pointless")).run()
    assert life.seen[-1] == status
    assert not life.jobs.retry(life.id)
    assert not life.jobs.cancel(life.id)
    assert life.later().seen[-1] == status


ANSWERS = {
    "`Failure(retry=False)`": Failure("no", retry=False),
    "`Retry(after)`": Retry(timedelta(seconds=1)),
    "`Snooze(delay)`": Snooze(timedelta(seconds=1)),
    "`Discard(reason)`": Discard("pointless"),
    "`Success`": Success(1),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_table_says_what_an_answer_leads_to(answer: str):
    (row,) = [line for line in PAGE.splitlines() if line.startswith("| ") and answer in line]
    _, leads_to, uses_a_repeat = row.removeprefix("|").removesuffix("|").split("|")
    life = Life(ANSWERS[answer]).run()
    job = life.jobs.get(life.id)
    assert job is not None
    assert leads_to.strip().startswith(f"`{job.status}`")
    assert (uses_a_repeat.strip() == "yes") == (job.retry_count == 1)
