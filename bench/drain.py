"""One drain: N jobs wait, then one worker process starts.

The rate is of the time from the first handler call to the last one, or to the moment the store holds no unfinished
job where that is later, so that a contender which acknowledges lazily is charged for it.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.recorder import calls, count
from bench.unfinished import Counting

ROOT = Path(__file__).parent.parent
PATIENCE = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A module of this folder, the interpreter that runs it, and how its unfinished jobs are counted."""

    name: str
    module: str
    unfinished: Counting
    python: str = sys.executable


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """So many jobs drained, or enqueued one at a time, by one contender."""

    contender: str
    store: str
    jobs: int
    seconds: float

    @property
    def rate(self) -> float:
        """Jobs a second."""
        return self.jobs / self.seconds


def drain(contender: Contender, store: str, url: str, jobs: int, *options: str) -> Run:
    """Fill the store at `url` and let one process of `contender` empty it."""
    call(contender, url, "reset")
    call(contender, url, "fill", str(jobs))
    with tempfile.TemporaryDirectory() as folder:
        command = _command(contender, url, "work", folder, *options)
        worker = subprocess.Popen(command, cwd=ROOT, start_new_session=True)  # a peer's process may have children
        try:
            _await(lambda: count(Path(folder)) >= jobs, worker, pause=0.05)
            empty = _await_empty(contender, url, worker)
        finally:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
        times = calls(Path(folder))
    end = times[-1] if empty is None else empty
    return Run(contender=contender.name, store=store, jobs=jobs, seconds=end - times[0])


def _await_empty(contender: Contender, url: str, worker: "subprocess.Popen[bytes]") -> float | None:
    """When the store was seen empty; None when it was so at the first look."""
    with contender.unfinished(url) as unfinished:
        if unfinished() == 0:
            return None
        _await(lambda: unfinished() == 0, worker)
    return time.time()


def _await(done: Callable[[], bool], worker: "subprocess.Popen[bytes]", pause: float = 0.01) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        if worker.poll() is not None:
            raise RuntimeError(f"the worker ended with {worker.returncode}")
        if time.monotonic() > deadline:
            raise TimeoutError(f"not drained after {PATIENCE:.0f} s")
        time.sleep(pause)


def call(contender: Contender, url: str, *words: str) -> str:
    """Run the contender to its end; what it printed."""
    done = subprocess.run(_command(contender, url, *words), check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return done.stdout


def _command(contender: Contender, url: str, *words: str) -> Sequence[str]:
    return [contender.python, "-m", contender.module, _plain(contender, url), *words]


def _plain(contender: Contender, url: str) -> str:
    return url if contender.python == sys.executable else url.replace("+psycopg", "")
