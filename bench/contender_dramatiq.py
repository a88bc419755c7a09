"""dramatiq with its results kept, the fastest at-least-once redis peer that keeps a record of what it did.

contender_dramatiq.py URL (reset | fill N | one N | work FOLDER)

The worker is dramatiq's own command with one process and the 32 threads that drained fastest for it. That command
imports this module, which then finds what it needs in the environment.
"""

import os
import sys
import time
from pathlib import Path

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from bench.recorder import recorder

ARGS = {"user_id": 12345, "email": "a@example.com", "tags": ["a", "b"]}
THREADS = 32
URL, FOLDER = "BENCH_URL", "BENCH_FOLDER"


def actor(url: str, folder: str | None) -> "dramatiq.Actor[[dict[str, object]], bool]":
    """The broker's one actor; it notes its calls in `folder`."""
    broker = RedisBroker(url=url)
    broker.add_middleware(Results(backend=RedisBackend(url=url), store_results=True))
    dramatiq.set_broker(broker)
    note = recorder(Path(folder)) if folder else None

    @dramatiq.actor(actor_name="noop")
    def noop(args: dict[str, object]) -> bool:
        if note:
            note()
        return True

    return noop


def main(url: str, verb: str, *rest: str) -> None:
    match verb:
        case "reset":
            redis.Redis.from_url(url).flushdb()
        case "fill":
            noop = actor(url, None)
            for _ in range(int(rest[0])):
                noop.send(ARGS)
        case "one":
            noop = actor(url, None)
            noop.send(ARGS)
            began = time.perf_counter()
            for _ in range(int(rest[0])):
                noop.send(ARGS)
            print(time.perf_counter() - began)
        case "work":
            os.environ.update({URL: url, FOLDER: rest[0]})
            options = ["--processes", "1", "--threads", str(THREADS), "--skip-logging"]
            os.execv(sys.executable, [sys.executable, "-m", "dramatiq", "bench.contender_dramatiq", *options])


if __name__ == "__main__":
    main(*sys.argv[1:])
elif URL in os.environ:
    noop = actor(os.environ[URL], os.environ[FOLDER])
