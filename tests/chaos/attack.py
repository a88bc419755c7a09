"""One attack: jobs come in while workers and the store are killed, frozen and cut off; then everything is counted.

Each blow meets a worker that is known to work, moments after new jobs came in. What must hold: every job ran;
each has exactly one terminal record, and none is a dead letter; extra runs are at most blows x (slots + 64) for
handlers over 1 ms, blows x (slots + one batch) below. A seed replays the moments.
"""

import itertools
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from sqlalchemy import make_url

from tests.chaos.node import STORE_DOWN
from tests.chaos.stores import held, settings
from tests.proxy import Proxy
from tests.servers import Server
from wagoe_jobs import Jobs, Runtime, new_job
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.runtime import open_runtime

ROOT = Path(__file__).parents[2]
LARGEST_BATCH = 400
PATIENCE = 300.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How hard to attack.

    `freezes` stop a worker for three leases and let it go on; `outages` kill the store's server and `cuts` end
    the workers' connections, where it has one.
    """

    jobs: int = 10_000
    kills: int = 200
    freezes: int = 10
    outages: int = 20
    cuts: int = 20
    workers: int = 2
    slots: int = 10
    handler_ms: int = 2
    lease_ms: int = 1_000
    seed: int = 0

    @property
    def extra_runs_allowed(self) -> int:
        unsettled = 64 if self.handler_ms > 1 else LARGEST_BATCH
        return (self.kills + self.freezes + (self.outages + self.cuts) * self.workers) * (self.slots + unsettled)


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
    """The worker processes, all of the same kind; one that is killed, or finds no store at its start, is replaced."""

    def __init__(self, url: str, ledger: Path, plan: Plan) -> None:
        options = map(str, (plan.slots, plan.handler_ms, plan.lease_ms))
        self._command = [sys.executable, "-m", "tests.chaos.node", url, str(ledger), *options]
        self._ledger = ledger
        self._hands = [self._new() for _ in range(plan.workers)]

    def kill(self, which: int) -> None:
        self._hands[which].kill()
        self._hands[which].wait()
        self._hands[which] = self._new()

    def freeze(self, which: int, seconds: float) -> None:
        self._hands[which].send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self._hands[which].send_signal(signal.SIGCONT)

    def at_work(self) -> list[int]:
        """Which of them are ready to work."""
        self.revive()
        ready = self._ledger.with_suffix(".ready")
        known = set(ready.read_text().split()) if ready.exists() else set()
        return [n for n, hand in enumerate(self._hands) if str(hand.pid) in known]

    def revive(self) -> None:
        """Replace those that found no store. Raises RuntimeError for one that ended in any other way."""
        for n, hand in enumerate(self._hands):
            if hand.poll() is None:
                continue
            if hand.returncode != STORE_DOWN:
                raise RuntimeError(f"a worker ended by itself: {hand.returncode}")
            self._hands[n] = self._new()

    def close(self) -> None:
        for hand in self._hands:
            hand.kill()
            hand.wait()

    def _new(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self._command, cwd=ROOT)


def attack(url: str, folder: Path, plan: Plan, server: Server | None = None) -> Verdict:
    """Attack the store at `url`. Raises TimeoutError when it is not empty long after the last blow."""
    began, chance, ledger = time.monotonic(), random.Random(plan.seed), folder / "ledger"
    blows = ["kill"] * plan.kills + ["freeze"] * plan.freezes
    blows += ["outage"] * plan.outages + ["cut"] * plan.cuts if server else []
    chance.shuffle(blows)
    portions = _portions(plan.jobs, len(blows))
    with (
        open_runtime(settings(url)) as runtime,
        _proxied(url, server) as (way, proxy),
        _crew(way, ledger, plan) as crew,
    ):
        for blow, numbers in zip(blows, portions, strict=True):
            victim = chance.choice(_until(crew.at_work))
            _enqueue(runtime, numbers)
            time.sleep(chance.uniform(0, 0.05))
            if blow == "kill":
                crew.kill(victim)
            elif blow == "freeze":
                crew.freeze(victim, 3 * plan.lease_ms / 1000)
            elif blow == "cut" and proxy:
                proxy.drop_replies()
                time.sleep(chance.uniform(0, 0.01))
                proxy.cut()
                proxy.drop_replies(False)
            elif server:
                server.kill()
                time.sleep(chance.uniform(0, 1))
                server.start()
        _until(lambda: _is_empty(url, crew))
    runs, left = Counter(ledger.read_text().split()), held(url)
    return Verdict(
        plan=plan,
        lost=plan.jobs - len(runs),
        extra_runs=runs.total() - len(runs),
        unfinished=left.unfinished,
        ends=left.ends,
        seconds=time.monotonic() - began,
    )


@contextmanager
def _proxied(url: str, server: Server | None) -> Iterator[tuple[str, Proxy | None]]:
    """The workers' way to the store, and what it leads through."""
    if server is None:
        yield url, None
        return
    with Proxy(server.port) as proxy:
        yield make_url(url).set(port=proxy.port).render_as_string(hide_password=False), proxy


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
    client = Jobs(runtime)
    # the same job may be hit by many blows; how many a job survives is not what is attacked here
    jobs = [new_job("note", {"n": n}, id=UUID(int=n + 1), max_retries=25) for n in numbers]
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            client.enqueue_many(jobs)
            return
        except BackendUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _until(answer: Callable[[], T]) -> T:
    """The first answer that is not empty."""
    deadline = time.monotonic() + PATIENCE
    while not (value := answer()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing moves for {PATIENCE:.0f} s")
        time.sleep(0.02)
    return value


def _is_empty(url: str, crew: Crew) -> bool:
    crew.revive()
    return not held(url).unfinished
