"""`wagoe-jobs worker` as a process: signals, exit codes, and what they leave behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest

from tests.noise import noisy
from wagoe_jobs.client import Jobs
from wagoe_jobs.core.job import Status
from wagoe_jobs.runtime import open_runtime

NODE = """
import time
from pathlib import Path

from wagoe_jobs import handler
from wagoe_jobs.containers import JobsContainer

@handler("work")
def work(args):
    with Path(__file__).with_name("runs").open("a") as runs:
        runs.write("begun\\n")
    time.sleep(args["seconds"])
    with Path(__file__).with_name("runs").open("a") as runs:
        runs.write("ended\\n")

job_handlers = [work]
container = JobsContainer(settings={"modules": [__name__], "jobs": JOBS})
"""
pytestmark = pytest.mark.timed
PATIENCE = 30


class House:
    """A folder that holds a node's module and its database."""

    def __init__(self, folder: Path, grace_ms: int = 10_000, url: str | None = None) -> None:
        self.folder = folder
        self.jobs = {
            "provider": "db",
            "lease_ms": 1_000,
            "db": {"url": url or f"sqlite:///{folder}/jobs.sqlite"},
            "workers": {"count": 1, "reclaim_interval_ms": 200, "shutdown_timeout_ms": grace_ms},
        }
        (folder / "slow_node.py").write_text(NODE.replace("JOBS}", f"{self.jobs!r}}}"))

    @contextmanager
    def worker(self) -> Iterator[subprocess.Popen[str]]:
        """A worker process, started in the house as a user would; killed if the block leaves it running."""
        command = [sys.executable, "-m", "wagoe_jobs.cli", "worker", "-a", "slow_node"]
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=_without_pythonpath(),
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()

    def use(self, act: Callable[[Jobs], object]) -> None:
        with open_runtime(self.jobs) as runtime:
            act(Jobs(runtime))

    def enqueue(self, seconds: float, times: int = 1) -> list[UUID]:
        made: list[UUID] = []
        self.use(lambda jobs: made.extend(jobs.enqueue_many([("work", {"seconds": seconds})] * times)))
        return made

    def statuses(self) -> list[Status]:
        found: list[Status] = []
        self.use(lambda jobs: found.extend(job.status for job in jobs.find(limit=1000).jobs))
        return sorted(found)

    def holder(self) -> int:
        """The process whose slot holds a job now."""
        found: list[str] = []
        self.use(lambda jobs: found.extend(jobs.runtime.stats.job_stats().workers))
        (name,) = found
        return int(name.split(":")[1])

    def runs(self, word: str) -> int:
        file = self.folder / "runs"
        return file.read_text().split().count(word) if file.exists() else 0

    def await_runs(self, word: str, count: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while self.runs(word) < count:
            assert time.monotonic() < deadline, f"only {self.runs(word)} of {count} have {word}"
            time.sleep(0.01)


def _without_pythonpath() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def ended(process: subprocess.Popen[str], within: float = PATIENCE) -> tuple[int, str]:
    """The exit code and what was said on stderr."""
    _, said = process.communicate(timeout=within)
    return process.returncode, said


@pytest.mark.fault(9, 21)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_running_job_end_and_leaves_the_others_ready(tmp_path: Path, number: signal.Signals):
    house = House(tmp_path)
    house.enqueue(1.0, times=11)
    with house.worker() as process:
        house.await_runs("begun", 1)
        process.send_signal(number)
        code, said = ended(process)
    assert code == 0
    assert "worker node up: queues default; slots for each: 1" in said
    assert "Traceback" not in said
    assert (house.runs("begun"), house.runs("ended")) == (1, 1)
    assert house.statuses() == [Status.COMPLETED] + [Status.PENDING] * 10


@noisy
@pytest.mark.fault(21)
def test_a_job_that_outlives_the_grace_time_is_run_again_and_charged_nothing(tmp_path: Path):
    house = House(tmp_path, grace_ms=500)
    (id,) = house.enqueue(4.0)
    with house.worker() as process:
        house.await_runs("begun", 1)
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        code, _ = ended(process)
    assert code == 0
    assert time.monotonic() - began < 3.5
    assert house.statuses() == [Status.RUNNING]
    with house.worker() as process:
        house.await_runs("ended", 1)
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 0
    house.use(lambda jobs: check_uncharged(jobs, id))
    assert house.runs("begun") == 2


@pytest.mark.fault(4)
def test_the_lease_is_renewed_while_a_stopping_worker_waits_for_its_handler(tmp_path: Path):
    house = House(tmp_path)
    house.enqueue(4.0)
    with house.worker() as first, house.worker() as second:
        house.await_runs("begun", 1)
        holder = first if house.holder() == first.pid else second
        holder.send_signal(signal.SIGTERM)
        assert ended(holder)[0] == 0
        assert (house.runs("begun"), house.runs("ended")) == (1, 1)
    assert house.statuses() == [Status.COMPLETED]


def check_uncharged(jobs: Jobs, id: UUID) -> None:
    job = jobs.get(id)
    assert job is not None
    assert (job.status, job.repeats) == (Status.COMPLETED, 0)


@noisy
@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupt_after_the_first_signal_ends_the_process_at_once(tmp_path: Path, first: signal.Signals):
    house = House(tmp_path)
    house.enqueue(20.0)
    with house.worker() as process:
        house.await_runs("begun", 1)
        process.send_signal(first)
        for line in process.stderr or ():
            if "stopping" in line:
                break
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert time.monotonic() - began < 2


def test_a_second_term_does_not_hurry_it(tmp_path: Path):
    house = House(tmp_path)
    house.enqueue(1.0)
    with house.worker() as process:
        house.await_runs("begun", 1)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 0
    assert house.runs("ended") == 1


@noisy
def test_an_idle_worker_stops_soon(tmp_path: Path):
    house = House(tmp_path)
    house.enqueue(0.0)
    with house.worker() as process:
        house.await_runs("ended", 1)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 0
    assert time.monotonic() - began < 3


def test_a_store_that_is_down_at_the_start_exits_3_in_one_line(tmp_path: Path):
    house = House(tmp_path, url="postgresql+psycopg://ann:s3cret@127.0.0.1:1/app")
    with house.worker() as process:
        code, said = ended(process)
    assert code == 3
    assert said.startswith("wagoe-jobs: db is unavailable")
    assert said.count("\n") == 1
    assert "s3cret" not in said


def test_a_handler_of_two_modules_exits_2_and_names_both(tmp_path: Path):
    house = House(tmp_path)
    (tmp_path / "twin.py").write_text('from slow_node import work\njob_handlers = {"work": work}\n')
    source = (tmp_path / "slow_node.py").read_text()
    (tmp_path / "slow_node.py").write_text(source.replace("[__name__]", '[__name__, "twin"]'))
    with house.worker() as process:
        code, said = ended(process)
    assert code == 2
    assert said == "wagoe-jobs: job type 'work' is contributed by slow_node and by twin\n"


def test_a_container_without_slots_is_refused_with_what_to_do(tmp_path: Path):
    house = House(tmp_path)
    source = (tmp_path / "slow_node.py").read_text()
    (tmp_path / "slow_node.py").write_text(source.replace("'count': 1", "'count': 0"))
    with house.worker() as process:
        code, said = ended(process)
    assert code == 2
    assert said.startswith("wagoe-jobs: jobs.workers.count: is 0, so that this node would run nothing: ")
    assert "WAGOE_JOBS__WORKERS__COUNT" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "jobs.sqlite").exists()
