"""A worker process to be killed: each entry into a handler appends a line to a file, before anything else.

python -m tests.pool.node URL FILE SLOTS LEASE_MS TYPE...     run jobs until killed; in slots that are tasks where
                                                              one type is --tasks
python -m tests.pool.node URL - COUNT LEASE_MS                claim so many and print their tokens
"""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.pool.house import SOON, Ledger, durable_house
from wagoe_jobs.pool import WorkerPool
from wagoe_jobs.registry import Registry


def main(url: str, file: str, count: str, lease_ms: str, *types: str) -> None:
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    lease = timedelta(milliseconds=int(lease_ms))
    with durable_house(url, lease) as house:
        if file == "-":
            print(*[claim.token for claim in house.queue.claim("default", "w", int(count))])
            return
        tasks = "--tasks" in types
        ledger = Ledger(Path(file))
        make = awaited if tasks else handler
        registry = Registry({type: make(type, ledger) for type in types if type != "--tasks"})
        pool = WorkerPool(
            *(house.runtime, registry),
            count=int(count),
            backoff=SOON,
            reclaim_interval=lease / 4,
            virtual_threads=tasks,
        )
        with pool:
            stopped.wait()


def awaited(type: str, ledger: Ledger) -> Callable[[dict[str, Any]], Coroutine[Any, Any, None]]:
    """The same as a coroutine function, which waits without blocking."""

    async def run(args: dict[str, Any]) -> None:
        if type == "hang":
            ledger.note(f"{type} {args.get('n')}")
            await asyncio.sleep(3600)
        handler(type, ledger)(args | {"ms": 0})
        await asyncio.sleep(args.get("ms", 0) / 1000)

    return run


def handler(type: str, ledger: Ledger) -> Callable[[dict[str, Any]], None]:
    """What the type says: die, hang, fail, or sleep for args["ms"]."""

    def run(args: dict[str, Any]) -> None:
        ledger.note(f"{type} {args.get('n')}")
        match type:
            case "die":
                os._exit(137)
            case "hang":
                time.sleep(3600)
            case "fail":
                raise ValueError("not today")
            case _:
                time.sleep(args.get("ms", 0) / 1000)

    return run


if __name__ == "__main__":
    main(*sys.argv[1:])
