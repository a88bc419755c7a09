"""One drain: N jobs wait, then one worker process starts.

The rate is of the time from the first handler call to the last one, or to the moment the store holds no unfinished
job where that is later, so that a contender which acknowledges lazily is charged for it.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import create_engine, make_url, text

from bench.recorder import calls, count

ROOT = Path(__file__).parent.parent
PATIENCE = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A module of this folder, the interpreter that runs it, and the table that holds its unfinished jobs."""

    name: str
    module: str
    table: str
    python: str = sys.executable


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    contender: str
    store: str
    jobs: int
    seconds: float

    @property
    def rate(self) -> float:
        """Jobs a second."""
        return self.jobs / self.seconds


def drain(contender: Contender, url: str, jobs: int, *options: str) -> Drain:
    """Fill the store at `url` and let one process of `contender` empty it."""
    _call(contender, url, "reset")
    _call(contender, url, "fill", str(jobs))
    with tempfile.TemporaryDirectory() as folder:
        worker = subprocess.Popen(_command(contender, url, "work", folder, *options), cwd=ROOT)
        try:
            _await(lambda: count(Path(folder)) >= jobs, worker, pause=0.05)
            empty = _await_empty(contender, url, worker)
        finally:
            worker.kill()
            worker.wait()
        times = calls(Path(folder))
    end = times[-1] if empty is None else empty
    return Drain(contender=contender.name, store=make_url(url).get_backend_name(), jobs=jobs, seconds=end - times[0])


def _await_empty(contender: Contender, url: str, worker: "subprocess.Popen[bytes]") -> float | None:
    """When the store was seen empty; None when it was so at the first look."""
    engine = create_engine(url)
    unfinished = text(f"select count(*) from {contender.table}")
    looks = 0

    def empty() -> bool:
        nonlocal looks
        looks += 1
        with engine.connect() as connection:
            return connection.execute(unfinished).scalar_one() == 0

    _await(empty, worker)
    engine.dispose()
    return None if looks == 1 else time.time()


def _await(done: Callable[[], bool], worker: "subprocess.Popen[bytes]", pause: float = 0.01) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        if worker.poll() is not None:
            raise RuntimeError(f"the worker ended with {worker.returncode}")
        if time.monotonic() > deadline:
            raise TimeoutError(f"not drained after {PATIENCE:.0f} s")
        time.sleep(pause)


def _call(contender: Contender, url: str, *words: str) -> None:
    subprocess.run(_command(contender, url, *words), check=True, cwd=ROOT)


def _command(contender: Contender, url: str, *words: str) -> Sequence[str]:
    return [contender.python, "-m", contender.module, _plain(contender, url), *words]


def _plain(contender: Contender, url: str) -> str:
    return url if contender.python == sys.executable else url.replace("+psycopg", "")
