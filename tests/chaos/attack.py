"""One attack: jobs come in while workers and the store are killed; at the end files and store are counted.

What must hold: every job ran; each has exactly one terminal record, and none is a dead letter; extra runs are at
most kills x (slots + 64) for handlers over 1 ms, kills x (slots + one batch) below. A seed replays the moments.
"""

import itertools
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from sqlalchemy import create_engine, text

from tests.servers import Server
from wagoe_jobs import Jobs, Runtime, new_job
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.runtime import open_runtime
from wagoe_jobs.settings import JobsSettings

ROOT = Path(__file__).parents[2]
LARGEST_BATCH = 400
PATIENCE = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How hard to attack; `outages` are kills of the store's server, where it has one."""

    jobs: int = 10_000
    kills: int = 200
    outages: int = 20
    workers: int = 2
    slots: int = 10
    handler_ms: int = 2
    lease_ms: int = 1_000
    seed: int = 0

    @property
    def extra_runs_allowed(self) -> int:
        unsettled = 64 if self.handler_ms > 1 else LARGEST_BATCH
        return (self.kills + self.outages * self.workers) * (self.slots + unsettled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was counted: `ends` are terminal records by status."""

    plan: Plan
    lost: int
    extra_runs: int
    unfinished: int
    ends: Counter[str]
    seconds: float

    @property
    def holds(self) -> bool:
        return (
            self.lost == self.unfinished == 0
            and self.ends == Counter(completed=self.plan.jobs)
            and self.extra_runs <= self.plan.extra_runs_allowed
        )


class Crew:
    """The worker processes, all of the same kind; one that is killed is replaced."""

    def __init__(self, url: str, ledger: Path, plan: Plan) -> None:
        options = map(str, (plan.slots, plan.handler_ms, plan.lease_ms))
        self._command = [sys.executable, "-m", "tests.chaos.node", url, str(ledger), *options]
        self._hands = [self._new() for _ in range(plan.workers)]

    def kill(self, which: int) -> None:
        self._hands[which].kill()
        self._hands[which].wait()
        self._hands[which] = self._new()

    def dead(self) -> list[int]:
        """Exit codes of workers that ended without being killed: there must be none."""
        return [hand.returncode for hand in self._hands if hand.poll() is not None]

    def close(self) -> None:
        for hand in self._hands:
            hand.kill()
            hand.wait()

    def _new(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self._command, cwd=ROOT)


def attack(url: str, folder: Path, plan: Plan, server: Server | None = None) -> Verdict:
    """Attack the store at `url`. Raises TimeoutError when it is not empty long after the last blow."""
    began, chance, ledger = time.monotonic(), random.Random(plan.seed), folder / "ledger"
    blows = ["kill"] * plan.kills + (["outage"] * plan.outages if server else [])
    chance.shuffle(blows)
    portions = _portions(plan.jobs, len(blows))
    with open_runtime(JobsSettings(provider="db", db={"url": url})) as runtime, _crew(url, ledger, plan) as crew:
        for blow, numbers in zip(blows, portions, strict=True):
            _enqueue(runtime, numbers)
            time.sleep(chance.uniform(0.02, 0.4))
            if blow == "kill" or server is None:
                crew.kill(chance.randrange(plan.workers))
            else:
                server.kill()
                time.sleep(chance.uniform(0, 1))
                server.start()
        _await_empty(url, crew)
    runs = Counter(ledger.read_text().split())
    return Verdict(
        plan=plan,
        lost=plan.jobs - len(runs),
        extra_runs=runs.total() - len(runs),
        unfinished=sum(_counted(url, "select 'queue', count(*) from job_queue").values()),
        ends=_counted(url, "select status, count(*) from job_store group by status"),
        seconds=time.monotonic() - began,
    )


@contextmanager
def _crew(url: str, ledger: Path, plan: Plan) -> Iterator[Crew]:
    crew = Crew(url, ledger, plan)
    try:
        yield crew
    finally:
        crew.close()


def _portions(jobs: int, blows: int) -> list[range]:
    edges = [jobs * blow // blows for blow in range(blows + 1)]
    return [range(first, last) for first, last in itertools.pairwise(edges)]


def _enqueue(runtime: Runtime, numbers: range) -> None:
    """Repeat until the store has answered: by id, a repeated enqueue adds nothing."""
    client, jobs = Jobs(runtime), [new_job("note", {"n": n}, id=UUID(int=n + 1)) for n in numbers]
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            client.enqueue_many(jobs)
            return
        except BackendUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _await_empty(url: str, crew: Crew) -> None:
    deadline = time.monotonic() + PATIENCE
    while _counted(url, "select 'queue', count(*) from job_queue")["queue"]:
        if crew.dead():
            raise RuntimeError(f"a worker ended by itself: {crew.dead()}")
        if time.monotonic() > deadline:
            raise TimeoutError(f"jobs are left {PATIENCE:.0f} s after the last blow")
        time.sleep(0.2)


def _counted(url: str, query: str) -> Counter[str]:
    engine = create_engine(url)
    with engine.connect() as connection:
        counts = Counter(dict(connection.execute(text(query)).tuples().all()))
    engine.dispose()
    return counts
