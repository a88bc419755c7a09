"""Where a run keeps what it makes: one folder, `out/shop` unless SHOP_FOLDER names another."""

import errno
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from wagoe_jobs import Snooze

FOLDER = "SHOP_FOLDER"
OF_THE_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES})
DISK_PAUSE = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Places:
    """Paths below the run's folder."""

    root: Path

    @property
    def receipts(self) -> Path:
        """One .eml file for each order."""
        return self.root / "receipts"

    @property
    def reports(self) -> Path:
        return self.root / "reports"

    @property
    def carrier(self) -> Path:
        """What the carrier knows."""
        return self.root / "carrier"

    @property
    def runs(self) -> Path:
        """One line for each entry into the handler of receipts: the order's number and the attempt."""
        return self.root / "runs.log"

    @property
    def database(self) -> Path:
        """SQLite: the shop's tables, and the jobs' beside them unless these are elsewhere."""
        return self.root / "shop.sqlite"

    @property
    def run(self) -> Path:
        """Which store the present run uses; there from its start on."""
        return self.root / "run.json"

    @property
    def finished(self) -> Path:
        """There once everything was done; the next run then starts anew."""
        return self.root / "finished"

    @property
    def lock(self) -> Path:
        """Locked by the processes of a run, so that no other begins among them; empty."""
        return self.root / "run.lock"

    def receipt(self, order: str) -> Path:
        return self.receipts / f"{order}.eml"

    def log(self, node: str) -> Path:
        return self.root / f"{node}.log"

    def folders(self) -> list[Path]:
        """Folders that hold nothing but what a run makes."""
        return [self.receipts, self.reports, self.carrier]

    def files(self) -> list[Path]:
        """Every other file that a run makes; SQLite keeps two of its own beside the database."""
        beside = [self.database.with_name(f"{self.database.name}{end}") for end in ("-shm", "-wal")]
        return [self.runs, self.database, *beside, self.run, self.finished, self.log("web"), self.log("worker")]


def places() -> Places:
    return Places(Path(os.environ.get(FOLDER, "out/shop")))


def near(path: Path) -> Path:
    """The path as it is seen from here, where that is shorter."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def until_it_can_be_written(error: OSError) -> Snooze:
    """What a handler answers when the disk is full, or not ours to write to: that is no fault of its job.

    Raises the error if it is about anything else.
    """
    if error.errno not in OF_THE_DISK:
        raise error
    return Snooze(DISK_PAUSE)


def write_whole(path: Path, content: bytes) -> None:
    """Put a file in its place whole: who is killed meanwhile leaves the old one, or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}-{time.monotonic_ns()}.part")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError:  # a disk that is full does not get fuller
        with suppress(OSError):
            unfinished.unlink()
        raise
