"""wagoe_jobs on the database of a URL: one process, history kept, default settings but for the slots.

contender_wagoe.py URL (reset | fill N | work FOLDER [SLOTS [HANDLER_MS]])
"""

import signal
import sys
import threading
import time
from pathlib import Path

from sqlalchemy import create_engine, make_url, text

from bench.recorder import recorder
from wagoe_jobs import Jobs, Registry, WorkerPool
from wagoe_jobs.ports import Runtime
from wagoe_jobs.runtime import open_runtime
from wagoe_jobs.settings import JobsSettings

ARGS = {"user_id": 12345, "email": "a@example.com", "tags": ["a", "b"]}
CHUNK = 10_000


def reset(url: str) -> None:
    if url.startswith("sqlite"):
        path = Path(make_url(url).database or "")
        for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
            file.unlink(missing_ok=True)
        return
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("drop schema public cascade"))
        connection.execute(text("create schema public"))
    engine.dispose()


def fill(runtime: Runtime, jobs: int) -> None:
    client = Jobs(runtime)
    for first in range(0, jobs, CHUNK):
        client.enqueue_many([("noop", ARGS)] * min(CHUNK, jobs - first))


def work(runtime: Runtime, folder: Path, slots: int = 10, handler_ms: float = 0) -> None:
    note = recorder(folder)
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())

    def noop(args: object) -> None:
        note()

    def slow(args: object) -> None:
        note()
        time.sleep(handler_ms / 1000)

    with WorkerPool(runtime, Registry({"noop": slow if handler_ms else noop}), count=slots):
        stopped.wait()


def main(url: str, verb: str, *rest: str) -> None:
    if verb == "reset":
        reset(url)
        return
    with open_runtime(JobsSettings(provider="db", db={"url": url})) as runtime:
        match verb:
            case "fill":
                fill(runtime, int(rest[0]))
            case "work":
                work(runtime, Path(rest[0]), *(int(r) for r in rest[1:]))


if __name__ == "__main__":
    main(*sys.argv[1:])
