"""huey, the fastest redis peer that keeps results, though a job is gone from redis before it runs (at most once).

contender_huey.py URL (reset | fill N | one N | work FOLDER)

Four threads drained fastest for it.
"""

import logging
import sys
import time
from pathlib import Path

import redis
from huey import RedisHuey

from bench.recorder import recorder

ARGS = {"user_id": 12345, "email": "a@example.com", "tags": ["a", "b"]}
THREADS = 4


def main(url: str, verb: str, *rest: str) -> None:
    app = RedisHuey("bench", url=url)
    note = recorder(Path(rest[0])) if verb == "work" else None

    @app.task(name="noop")
    def noop(args: dict[str, object]) -> bool:
        if note:
            note()
        return True

    match verb:
        case "reset":
            redis.Redis.from_url(url).flushdb()
        case "fill":
            for _ in range(int(rest[0])):
                noop(ARGS)
        case "one":
            noop(ARGS)
            began = time.perf_counter()
            for _ in range(int(rest[0])):
                noop(ARGS)
            print(time.perf_counter() - began)
        case "work":
            logging.getLogger("huey").setLevel(logging.WARNING)
            app.create_consumer(workers=THREADS, worker_type="thread").run()


if __name__ == "__main__":
    main(*sys.argv[1:])
