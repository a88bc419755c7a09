"""wagoe_jobs on the store of a URL: one process, history kept, default settings but for the slots.

contender_wagoe.py URL (reset | fill N | one N | work FOLDER [SLOTS [HANDLER_MS]])
"""

import signal
import sys
import threading
import time
from pathlib import Path

from redis import Redis
from sqlalchemy import create_engine, make_url, text

from bench.recorder import recorder
from wagoe_jobs import Jobs, Registry, WorkerPool
from wagoe_jobs.ports import Runtime
from wagoe_jobs.runtime import open_runtime
from wagoe_jobs.settings import read_jobs

ARGS = {"user_id": 12345, "email": "a@example.com", "tags": ["a", "b"]}
CHUNK = 10_000


def reset(url: str) -> None:
    parsed = make_url(url)
    match parsed.get_backend_name():
        case "sqlite":
            path = Path(parsed.database or "")
            for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
                file.unlink(missing_ok=True)
        case "redis":
            with Redis.from_url(url) as client:
                client.flushdb()
        case "mysql":
            _execute(url, f"drop database {parsed.database}", f"create database {parsed.database}")
        case _:
            _execute(url, "drop schema public cascade", "create schema public")


def _execute(url: str, *statements: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def fill(runtime: Runtime, jobs: int) -> None:
    client = Jobs(runtime)
    for first in range(0, jobs, CHUNK):
        client.enqueue_many([("noop", ARGS)] * min(CHUNK, jobs - first))


def one(runtime: Runtime, jobs: int) -> None:
    """Enqueue one job after the other, and print how many seconds that took."""
    client = Jobs(runtime)
    client.enqueue("noop", ARGS)
    began = time.perf_counter()
    for _ in range(jobs):
        client.enqueue("noop", ARGS)
    print(time.perf_counter() - began)


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
    provider = "redis" if url.startswith("redis") else "db"
    with open_runtime(read_jobs({"provider": provider, provider: {"url": url}})) as runtime:
        match verb:
            case "fill":
                fill(runtime, int(rest[0]))
            case "one":
                one(runtime, int(rest[0]))
            case "work":
                work(runtime, Path(rest[0]), *(int(r) for r in rest[1:]))


if __name__ == "__main__":
    main(*sys.argv[1:])
