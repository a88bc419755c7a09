"""The script as people run it: a process, a worker beside it, a terminal, and a Ctrl-C."""

import errno
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import bury_many
from tests.until import until as await_until
from wagoe_jobs.client import Jobs
from wagoe_jobs.core.job import Status
from wagoe_jobs.runtime import open_runtime
from wagoe_jobs.values import JobFilter

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = [sys.executable, "-m", "wagoe_jobs.cli"]
SHOP = """
import time
from wagoe_jobs import handler
from wagoe_jobs.containers import JobsContainer

@handler("fetch")
def fetch(args):
    if args["mood"] == "bad":
        raise RuntimeError("\\x1b[2J the shop is closed")

@handler("nap")
def nap(args):
    time.sleep(600)

job_handlers = [fetch, nap]
jobs = {"provider": "db", "db": {"url": "sqlite:///jobs.sqlite"}, "workers": {"count": 2, "shutdown_timeout_ms": 100}}
container = JobsContainer(settings={"modules": [__name__], "jobs": jobs})
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "corner_shop.py").write_text(SHOP)
    return tmp_path


def environment() -> Mapping[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", "TERM": "xterm"}


def script(shop: Path, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [*SCRIPT, *arguments, "-a", "corner_shop"],
        cwd=shop,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    return done.stdout


@contextmanager
def worker(shop: Path) -> Iterator[None]:
    node = subprocess.Popen([*SCRIPT, "worker", "-a", "corner_shop"], cwd=shop, env=environment())
    try:
        yield
    finally:
        node.send_signal(signal.SIGTERM)
        assert node.wait(30) == 0


def until(shop: Path, status: Status, count: int) -> list[str]:
    """The ids of so many jobs in this state, once there are that many."""
    with open_runtime({"provider": "db", "db": {"url": f"sqlite:///{shop}/jobs.sqlite"}}) as runtime:

        def found() -> list[str]:
            return [str(job.id) for job in runtime.store.search(JobFilter(status=status)).jobs]

        await_until(lambda: len(found()) == count, within=60)
        return found()


def test_a_dead_letter_from_its_first_run_to_its_second(shop: Path):
    bad = script(shop, "enqueue", "fetch", '{"mood": "bad"}', "--max-retries", "0").strip()
    nap = script(shop, "enqueue", "nap").strip()
    with worker(shop):
        assert until(shop, Status.FAILED, 1) == [bad]
        assert until(shop, Status.RUNNING, 1) == [nap]
        assert [job["id"] for job in json.loads(script(shop, "jobs", "list", "--json"))["jobs"]] == [nap, bad]
        [told] = json.loads(script(shop, "workers", "--json"))["workers"]
        assert (told["queues"], told["types"], told["slots"]) == (["default"], ["fetch", "nap"], 2)
        [queue] = json.loads(script(shop, "queues", "list", "--json"))["queues"]
        assert (queue["queue"], queue["in_flight"], queue["failed"], queue["workers"]) == ("default", 1, 1, 1)
        assert "\\x1b[2J the shop is closed" in script(shop, "failed", "list")
        assert script(shop, "failed", "retry", "--all", "--yes") == "retried 1 dead letter\n"
        assert until(shop, Status.FAILED, 1) == [bad]
        assert script(shop, "jobs", "retry", bad) == f"{bad}  retried\n"
        assert script(shop, "jobs", "cancel", nap) == f"{nap}  asked to stop\n"
    assert [type["type"] for type in json.loads(script(shop, "types", "--json"))["types"]] == ["fetch", "nap"]


@contextmanager
def terminal(shop: Path, *arguments: str, columns: int) -> Iterator[tuple[int, int]]:
    """The command on a terminal so wide: its process and the terminal's other end."""
    program = "import sys; from wagoe_jobs.cli import main; sys.argv[0] = 'wagoe-jobs'; main()"
    pid, end = pty.fork()
    if pid == 0:
        os.chdir(shop)
        size = struct.pack("HHHH", 24, columns, 0, 0)
        fcntl.ioctl(1, termios.TIOCSWINSZ, size)
        os.execve(sys.executable, [sys.executable, "-c", program, *arguments, "-a", "corner_shop"], environment())
    try:
        yield pid, end
    finally:
        os.close(end)


def read(end: int, until: str | None = None) -> str:
    """What comes out of the terminal, to its end or until this pattern is in it."""
    out = ""
    while until is None or not re.search(until, out):
        more = _some(end)
        if not more:
            break
        out += more
    return out


def _some(end: int) -> str:
    try:
        return os.read(end, 4096).decode()
    except OSError as error:
        if error.errno == errno.EIO:  # how Linux tells that the process has closed its side
            return ""
        raise


def test_a_terminal_of_80_columns_gets_rows_that_fit(shop: Path):
    ids = [script(shop, "enqueue", "a-type-with-a-rather-long-name", "--queue", "long-queue").strip() for _ in range(2)]
    with terminal(shop, "jobs", "list", columns=80) as (pid, end):
        out = read(end)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    lines = [line.replace("\x1b[1m", "").replace("\x1b[0m", "") for line in out.splitlines()]
    assert [line.split()[0] for line in lines] == ["id", *ids[::-1]]
    assert max(len(line) for line in lines) <= 80
    assert lines[1].endswith(" ago")


def test_ctrl_c_stops_a_long_redrive_and_loses_nothing(shop: Path):
    count = 8_000
    with open_runtime({"provider": "db", "db": {"url": f"sqlite:///{shop}/jobs.sqlite"}}) as runtime:
        for _ in range(count // 2_000):
            bury_many(Jobs(runtime), 2_000)
    with terminal(shop, "failed", "retry", "--all", columns=100) as (pid, end):
        assert "Retry 8,000 dead letters? [y/N]" in read(end, r"\[y/N\]: ")
        os.write(end, b"y\n")
        assert "/8000" in read(end, r"[1-9]\d*/8000")  # the bar
        os.write(end, b"\x03")
        out = read(end)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code == 130
    assert "stopped before the end" in out
    assert "Traceback" not in out
    with open_runtime({"provider": "db", "db": {"url": f"sqlite:///{shop}/jobs.sqlite"}}) as runtime:
        stats = runtime.stats.queue_stats("default")
    retried = stats.waiting["normal"]
    assert 0 < retried < count
    assert retried + stats.failed == count
    assert f"retried {retried:,} dead letter" in out
