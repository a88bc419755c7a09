"""One node of the example as a child process, watched over by the runner."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0


class Node:
    """A process that is started again, ever more slowly, while it keeps dying. Its output goes to `log`."""

    def __init__(self, name: str, arguments: Sequence[str], log: Path, lock: int) -> None:
        """`lock` is a descriptor that the process holds open as long as it lives."""
        self.name = name
        self.deaths = 0
        self._command = [*tied_to_us(), sys.executable, *arguments]
        self._log = log
        self._lock = lock
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = self._start_at = 0.0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # an interrupt from the keyboard is the runner's to pass on
                pass_fds=[self._lock],
            )
        self._started_at = time.monotonic()

    def ended(self) -> int | None:
        """The exit code of a process that has ended, None while it runs or waits for its next start."""
        return self._process.poll() if self._process else None

    @property
    def lived(self) -> float:
        """Seconds since its last start."""
        return time.monotonic() - self._started_at

    def start_later(self) -> float:
        """Plan the next start after a death; how many seconds until then."""
        pause = min(FIRST_PAUSE * 2.0 ** min(self.deaths, 16), LONGEST_PAUSE)
        self.deaths += 1
        self._process = None
        self._start_at = time.monotonic() + pause
        return pause

    def start_if_due(self) -> bool:
        if self._process is None and time.monotonic() >= self._start_at:
            self.start()
            return True
        return False

    def stop(self, patience: float) -> int | None:
        """End it politely, or at once after `patience` seconds; its exit code, None if it was not running."""
        if self._process is None:
            return None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(patience)
        except subprocess.TimeoutExpired:
            return self.end()

    def end(self) -> int | None:
        """End it at once; its exit code, None if it was not running."""
        if self._process is None:
            return None
        self._process.kill()
        return self._process.wait()

    def last_words(self, lines: int = 15) -> str:
        text = self._log.read_text(errors="replace") if self._log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])


def how_it_ended(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def tied_to_us() -> list[str]:
    """A prefix that ends the node when the runner dies, be it before the system is told to, where it can be told."""
    if not shutil.which("setpriv"):
        return []
    unless_orphaned = f'[ "$PPID" = {os.getpid()} ] && exec "$@"'
    return ["setpriv", "--pdeathsig", "TERM", "sh", "-c", unless_orphaned, "node"]
