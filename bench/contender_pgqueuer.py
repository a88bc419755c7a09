"""pgqueuer, the fastest PostgreSQL peer that was measured, with the settings that drained fastest for it.

contender_pgqueuer.py URL (reset | fill N | one N | work FOLDER)
"""

import json
import sys
import time
from pathlib import Path

import asyncpg
import uvloop
from pgqueuer import PgQueuer, Queries
from pgqueuer.db import AsyncpgDriver

from bench.recorder import recorder

ARGS = {"user_id": 12345, "email": "a@example.com", "tags": ["a", "b"]}
CHUNK = 1_000


async def reset(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("drop schema public cascade; create schema public")
    await Queries(AsyncpgDriver(connection)).install()


async def fill(url: str, jobs: int) -> None:
    queries = Queries(AsyncpgDriver(await asyncpg.connect(url)))
    payload = json.dumps({"data": ARGS}).encode()
    for first in range(0, jobs, CHUNK):
        size = min(CHUNK, jobs - first)
        await queries.enqueue(["noop"] * size, [payload] * size, [0] * size)


async def one(url: str, jobs: int) -> None:
    queries = Queries(AsyncpgDriver(await asyncpg.connect(url)))
    await queries.enqueue("noop", json.dumps({"data": ARGS}).encode())
    began = time.perf_counter()
    for _ in range(jobs):
        await queries.enqueue("noop", json.dumps({"data": ARGS}).encode())
    print(time.perf_counter() - began)


async def work(url: str, folder: Path) -> None:
    note = recorder(folder)
    queue = PgQueuer(AsyncpgDriver(await asyncpg.connect(url)))

    @queue.entrypoint("noop")
    async def noop(job: object) -> None:
        json.loads(job.payload)
        note()

    await queue.run(batch_size=200)


async def main(url: str, verb: str, *rest: str) -> None:
    match verb:
        case "reset":
            await reset(url)
        case "fill":
            await fill(url, int(rest[0]))
        case "one":
            await one(url, int(rest[0]))
        case "work":
            await work(url, Path(rest[0]))


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
