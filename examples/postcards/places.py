"""Where a run keeps what it makes: one folder, `out/postcards` unless POSTCARDS_FOLDER names another."""

import os
from dataclasses import dataclass
from pathlib import Path

FOLDER = "POSTCARDS_FOLDER"


@dataclass(frozen=True, slots=True)
class Places:
    """Paths below the run's folder."""

    root: Path

    @property
    def cards(self) -> Path:
        """One text file for each postcard that was printed."""
        return self.root / "cards"

    @property
    def runs(self) -> Path:
        """One line for each entry into a handler: the order's number and the attempt."""
        return self.root / "runs.log"

    @property
    def database(self) -> Path:
        return self.root / "jobs.sqlite"

    @property
    def report(self) -> Path:
        """What the web node enqueued, as JSON; there once it is through."""
        return self.root / "shop.json"

    @property
    def finished(self) -> Path:
        """There once everything was done; the next run then starts anew."""
        return self.root / "finished"

    def log(self, node: str) -> Path:
        return self.root / f"{node}.log"

    def files(self) -> list[Path]:
        """Every file that a run makes, but the cards; SQLite keeps two of its own beside the database."""
        beside = [self.database.with_name(f"{self.database.name}{end}") for end in ("-shm", "-wal")]
        return [self.runs, self.database, *beside, self.report, self.finished, self.log("web"), self.log("worker")]

    def card(self, order: str) -> Path:
        return self.cards / f"{order}.txt"


def places() -> Places:
    return Places(Path(os.environ.get(FOLDER, "out/postcards")))


def near(path: Path) -> Path:
    """The path as it is seen from here, where that is shorter."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
