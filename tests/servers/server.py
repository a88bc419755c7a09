"""One private, throw-away server: its process, its port, its folder, and how it is brought down and back.

Its kinds say what to run and when that answers. A guard process holds the other end of a pipe, so that the server
ends with the process that made it, however that one ends.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

START_SECONDS = 60.0
STOP_SECONDS = 30.0

# Starts the server and tells its pid, then ends it with the signal that it reads. The end of input is the death
# of the process that holds the pipe: then it ends it with $1 and removes the folder too.
_GUARD = """
at_eof=$1 folder=$2; shift 2
"$@" >>"$folder/server.log" 2>&1 &
echo $!
if read -r signal; then kill -"$signal" $!; wait $!; else kill -"$at_eof" $!; wait $!; rm -rf "$folder"; fi
"""


class MissingServer(RuntimeError):
    """The machine lacks a server's binaries; the message names the Debian package to install."""


class Server(ABC):
    """One server process, its port and its folder. Subclasses say what to run and when it answers."""

    package: str
    user: str
    polite: signal.Signals
    """The signal that ends it cleanly without waiting for its clients."""
    abrupt: signal.Signals
    """The signal that ends it at once, with whatever processes it has."""

    def __init__(self) -> None:
        self.port = free_port()
        self._guard: subprocess.Popen[str] | None = None
        self._pid = 0

    @abstractmethod
    def prepare(self) -> None:
        """Make the data folder, once."""

    @abstractmethod
    def command(self) -> Sequence[str | Path]:
        """What runs in the foreground until it gets a signal."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether a client can use it now."""

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="wagoe-jobs-", dir=place()))
        try:
            if self._account:
                os.chown(self.folder, self._account.pw_uid, self._account.pw_gid)
            self.prepare()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end(self.abrupt)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        """Start on the same port with the same data, and return when it answers."""
        deadline = time.monotonic() + START_SECONDS
        while not self._started(deadline):  # a predecessor that was killed may hold its lock a little longer
            if time.monotonic() >= deadline:
                raise RuntimeError(f"{type(self).__name__} did not start:\n{self.log()[-4000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        """End it cleanly; its clients are cut off."""
        self._end(self.polite)

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        self.stop()
        self.start()

    def pause(self) -> None:
        """Let it hang: connections stay open and nothing answers. What forks for its clients goes on serving them."""
        os.kill(self._pid, signal.SIGSTOP)
        while _states(self._pid) - set("TZ"):  # until then some of its threads may answer
            time.sleep(0.001)

    def resume(self) -> None:
        os.kill(self._pid, signal.SIGCONT)

    def log(self) -> str:
        path = self.folder / "server.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def run(self, *command: str | Path) -> None:
        """Run a preparing command as the server's user; raises RuntimeError with what it said."""
        done = subprocess.run(self._as_user(command), capture_output=True, text=True, cwd="/", check=False)
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")

    def binary(self, name: str, *places: str) -> Path:
        """The newest of the binaries with this name in these folders (patterns below /), then on the PATH."""
        found = sorted(path for place in places for path in Path("/").glob(f"{place}/{name}"))
        if found:
            return max(found, key=lambda path: [int(part) for part in path.parts if part.isdigit()])
        on_path = shutil.which(name)
        if on_path is None:
            raise MissingServer(
                f"these tests need {name}, which is not on this machine: apt-get install {self.package} "
                "(`./dev test` does it as root)"
            )
        return Path(on_path)

    @property
    def _account(self) -> pwd.struct_passwd | None:
        return _unprivileged(self.user) if os.geteuid() == 0 else None

    def _as_user(self, command: Sequence[str | Path]) -> list[str]:
        drop = []
        if self._account:
            drop = ["setpriv", f"--reuid={self._account.pw_uid}", f"--regid={self._account.pw_gid}", "--clear-groups"]
        return [*drop, *map(str, command)]

    def _started(self, deadline: float) -> bool:
        guard = ["sh", "-c", _GUARD, "guard", self.abrupt.name[3:], self.folder, *self.command()]
        self._guard = subprocess.Popen(
            self._as_user(guard),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # where the shell notes that a server was killed
            text=True,
            cwd="/",
            start_new_session=True,  # an interrupt from the keyboard is ours to handle
        )
        assert self._guard.stdout is not None
        self._pid = int(self._guard.stdout.readline())
        while time.monotonic() < deadline:
            if self.answers():
                return True
            if _gone(self._pid):
                break
            time.sleep(0.02)
        self._end(signal.SIGKILL)
        return False

    def _end(self, how: signal.Signals) -> None:
        guard, self._guard = self._guard, None
        if guard is None:
            return
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGCONT)
        try:
            guard.communicate(how.name[3:] + "\n", timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.kill(self._pid, signal.SIGKILL)
            guard.wait()


def place() -> str | None:
    """Where servers keep their data: where SERVERS_FOLDER says, else among temporary files.

    In a folder that is memory a store flushes as often as ever, but waits for no disk. What a killed process had
    written is still there, as on a disk; only the machine may not go down.
    """
    return os.environ.get("SERVERS_FOLDER") or None


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _unprivileged(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return pwd.getpwnam("nobody")


def _gone(pid: int) -> bool:
    """Whether the process has ended, be it that its guard has not asked for its exit code yet."""
    return _states(pid) <= {"Z"}


def _states(pid: int) -> set[str]:
    """What its threads are doing, in the letters of proc(5); nothing for one that is gone."""
    states = set()
    for path in Path("/proc").glob(f"{pid}/task/*/stat"):
        with suppress(OSError):
            states.add(path.read_text().rpartition(")")[2].split()[0])
    return states
