"""Worker processes that are killed, on stores that outlive them. Runs are counted by a file."""

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from tests.noise import noisy
from tests.pool.conftest import OpenHouse
from tests.pool.house import House, Ledger
from tests.until import until
from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.core.outcome import ABANDONED, Patience

ROOT = Path(__file__).parents[2]
LEASE = timedelta(milliseconds=500)
TASKS = ("--tasks",)
"""Given to a node beside its types, it makes its slots tasks."""


class Node:
    """One worker process; `supervised` starts it anew whenever it dies by itself."""

    def __init__(self, house: House, ledger: Ledger, *types: str, slots: int = 1) -> None:
        lease_ms = str(LEASE // timedelta(milliseconds=1))
        self._command = [sys.executable, "-m", "tests.pool.node", house.url, str(ledger.path), str(slots), lease_ms]
        self._command += types
        self.process = self._new()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def replace(self) -> None:
        self.kill()
        self.process = self._new()

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(30)

    def _new(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, cwd=ROOT)

    @contextmanager
    def supervised(self) -> Iterator[None]:
        ending = threading.Event()

        def supervise() -> None:
            while not ending.wait(0.02):
                if self.process.poll() is not None:
                    self.process = self._new()

        thread = threading.Thread(target=supervise)
        thread.start()
        try:
            yield
        finally:
            ending.set()
            thread.join()
            self.kill()


@pytest.mark.fault(16)
@pytest.mark.parametrize(("max_retries", "starts", "slots"), [(3, 4, ()), (0, 2, ()), (1, 2, ()), (1, 2, TASKS)])
def test_a_job_that_kills_its_process_is_buried_after_a_bounded_number_of_starts(
    open_durable: OpenHouse, ledger: Ledger, max_retries: int, starts: int, slots: tuple[str, ...]
) -> None:
    """max_retries + 1 starts, and one repeat at least: the first death may have had any reason."""
    house = open_durable(LEASE)
    killer = house.enqueue("die", {"n": "x"}, max_retries=max_retries)
    behind = house.enqueue("note", {"n": "y"})
    with Node(house, ledger, "die", "note", *slots).supervised():
        dead = house.ended(killer, 60)
        after = house.ended(behind, 60)
    assert dead.status is Status.FAILED
    assert dead.error is not None
    assert dead.error.type == ABANDONED
    assert ledger.runs()["die x"] == starts
    assert after.status is Status.COMPLETED


@pytest.mark.fault(17)
@pytest.mark.parametrize("slots", [(), TASKS])
def test_a_killed_attempt_leads_to_another_until_the_attempts_are_used_up(
    open_durable: OpenHouse, ledger: Ledger, slots: tuple[str, ...]
) -> None:
    """max_retries counts repeats: 3 of them, 4 runs, whether each is killed or fails."""
    house = open_durable(LEASE)
    id = house.enqueue("hang", {"n": 0}, max_retries=3)
    node = Node(house, ledger, "hang", *slots)
    for attempt in range(1, 5):
        until(lambda attempt=attempt: len(ledger.lines()) == attempt)
        node.replace()
    job = house.ended(id)
    node.kill()
    assert job.status is Status.FAILED
    assert ledger.runs() == {"hang 0": 4}
    assert house.counts() == {Status.FAILED: 1}


@pytest.mark.fault(17)
def test_kills_and_failures_use_up_the_same_attempts(open_durable: OpenHouse, ledger: Ledger) -> None:
    house = open_durable(LEASE)
    id = house.enqueue("mixed", {"n": 0}, max_retries=3)

    def fail(args: object) -> None:
        ledger.note("failed")
        raise ValueError("not today")

    [claim] = house.queue.claim("default", "a worker that dies", 1)
    house.offset.move(2 * LEASE)
    with house.pool({"mixed": fail}):
        job = house.ended(id)
    assert claim.id == str(id)
    assert (job.status, job.retry_count, job.abandoned) == (Status.FAILED, 2, 1)
    assert ledger.runs() == {"failed": 3}


@noisy
@pytest.mark.timed
@pytest.mark.fault(2, 6)
@pytest.mark.parametrize("slots", [(), TASKS])
def test_an_abandoned_job_and_those_behind_it_start_in_time(
    open_durable: OpenHouse, ledger: Ledger, slots: tuple[str, ...]
) -> None:
    house = open_durable(LEASE)
    id = house.enqueue("sleep", {"n": 0, "ms": 1_500})
    node = Node(house, ledger, "sleep", *slots)
    until(lambda: ledger.lines() == ["sleep 0"])
    behind = house.enqueue("sleep", {"n": 1})
    node.replace()
    killed = time.monotonic()
    until(lambda: ledger.runs()["sleep 0"] == 2, 10)
    lease, start_of_a_process = LEASE.total_seconds(), 3
    assert time.monotonic() - killed < lease * 1.25 + start_of_a_process
    assert house.ended(behind).status is Status.COMPLETED
    assert house.ended(id).status is Status.COMPLETED
    assert node.stop() == 0


@pytest.mark.fault(10, 17)
@pytest.mark.parametrize(("seed", "kind"), [(1, ()), (2, ()), (3, TASKS)])
def test_nothing_is_lost_when_workers_are_killed_over_and_over(
    open_durable: OpenHouse, ledger: Ledger, seed: int, kind: tuple[str, ...]
) -> None:
    house, chance, kills, slots = open_durable(LEASE), random.Random(seed), 8, 4
    jobs = [house.new("note", {"n": n, "ms": 2}, max_retries=25) for n in range(1_500)]
    assert all(house.queue.enqueue_many(jobs))
    nodes = [Node(house, ledger, "note", *kind, slots=slots) for _ in range(2)]
    for kill in range(kills):
        seen = len(ledger.lines())
        until(lambda seen=seen: len(ledger.lines()) >= seen + chance.randrange(1, 60))
        nodes[kill % 2].replace()
    until(lambda: house.counts() == {Status.COMPLETED: 1_500}, 60)
    assert [node.stop() for node in nodes] == [0, 0]
    runs = ledger.runs()
    assert set(runs) == {f"note {n}" for n in range(1_500)}
    assert sum(runs.values()) - 1_500 <= kills * (slots + 64)


@pytest.mark.fault(47)
def test_who_reclaims_a_job_need_not_know_its_type(open_house: OpenHouse, ledger: Ledger) -> None:
    """B, which alone knows the type, dies; A reclaims the job and parks it; B's successor runs it."""
    house = open_house(timedelta(seconds=1))
    id = house.enqueue("b", {"n": 0}, max_retries=0)
    assert len(house.queue.claim("default", "B", 1)) == 1
    house.offset.move(timedelta(seconds=2))
    soon = Patience(delay=timedelta(milliseconds=50))
    with house.pool({"a": lambda args: ledger.note("a")}, patience=soon):
        until(lambda: misses(house.job(id)) >= 3)
        with house.pool({"b": lambda args: ledger.note("b")}, patience=soon):
            job = house.ended(id)
    assert (job.status, job.retry_count, job.abandoned) == (Status.COMPLETED, 0, 1)
    assert house.counts() == {Status.COMPLETED: 1}
    assert ledger.lines() == ["b"]


@pytest.mark.fault(47)
def test_who_promotes_a_job_need_not_know_its_type(open_house: OpenHouse, ledger: Ledger) -> None:
    house = open_house()
    id = house.enqueue("b", delay=timedelta(milliseconds=50))
    soon = Patience(delay=timedelta(milliseconds=50))
    with house.pool({"a": print}, patience=soon):
        until(lambda: misses(house.job(id)) >= 1)
    with house.pool({"b": lambda args: ledger.note("b")}):
        assert house.ended(id).retry_count == 0
    assert ledger.lines() == ["b"]


def test_two_processes_never_choose_the_same_token(open_durable: OpenHouse) -> None:
    house = open_durable()
    house.enqueue_numbers(40)
    command = [sys.executable, "-m", "tests.pool.node", house.url, "-", "20", "60000"]
    both = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    tokens = [set(process.communicate(timeout=30)[0].split()) for process in both]
    assert all(tokens)
    assert not tokens[0] & tokens[1]


def misses(job: Job) -> int:
    count = job.metadata.get("misses", 0)
    assert isinstance(count, int)
    return count
