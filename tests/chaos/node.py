"""A worker process for the attacks: each entry into the handler appends one line to a file.

When it is ready to work it adds its process id to FILE.ready; it ends as `STORE_DOWN` when its store is down then.

python -m tests.chaos.node URL FILE SLOTS HANDLER_MS LEASE_MS
"""

import os
import signal
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

from tests.chaos.stores import settings
from wagoe_jobs import Registry, WorkerPool
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.runtime import open_runtime

STORE_DOWN = 75


def main(url: str, file: str, slots: str, handler_ms: str, lease_ms: str) -> None:
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    ledger = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(args: dict[str, int]) -> None:
        os.write(ledger, b"%d\n" % args["n"])
        time.sleep(int(handler_ms) / 1000)

    every = timedelta(milliseconds=int(lease_ms) / 4)
    with (
        open_runtime(settings(url, lease_ms=int(lease_ms))) as runtime,
        WorkerPool(runtime, Registry({"note": note}), count=int(slots), reclaim_interval=every),
    ):
        with Path(file).with_suffix(".ready").open("a") as ready:
            ready.write(f"{os.getpid()}\n")
        stopped.wait()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except BackendUnavailable:
        sys.exit(STORE_DOWN)
