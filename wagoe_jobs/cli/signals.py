"""What runs until a signal ends it: a worker process, or a command with much to do.

The first TERM or INT lets `wait` return, and the caller stops politely; an INT after it ends the process at once.
A pipe tells them apart from a lock: a handler may run while the main thread is inside any lock's own code.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from wagoe_jobs.cli.exits import Exit


class Signals:
    """What was received so far."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self._stopping = False

    @property
    def stopping(self) -> bool:
        """Whether one has come."""
        return self._stopping

    def wait(self) -> signal.Signals:
        """Block until the first TERM or INT and say which it was."""
        return signal.Signals(os.read(self._read, 1)[0])

    def receive(self, number: int, _: FrameType | None) -> None:
        if self._stopping and number == signal.SIGINT:
            end_at_once(Exit.INTERRUPTED)
        self._stopping = True
        os.write(self._write, bytes([number]))

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


@contextmanager
def signals() -> Iterator[Signals]:
    """TERM and INT as this block sees them; what handled them before comes back at its end."""
    received = Signals()
    before = {number: signal.signal(number, received.receive) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        received.close()


def end_at_once(code: int) -> NoReturn:
    """End without waiting for threads: a handler that never returns must not keep a stopped process."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def others_run() -> bool:
    """Whether a thread is left for which the interpreter would wait."""
    main = threading.main_thread()
    return any(thread is not main and not thread.daemon and thread.is_alive() for thread in threading.enumerate())
