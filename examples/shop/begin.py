"""Before a run: its folder is taken, made or emptied, and it is told whether an interrupted run goes on there."""

import fcntl
import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import select

from examples.shop.database import Database
from examples.shop.places import Places, near, write_whole
from examples.shop.tables import orders
from wagoe_jobs.errors import SettingsError
from wagoe_jobs.settings import Settings

LOOK_SECONDS = 0.2
PATIENCE_SECONDS = 15.0
"""How long the nodes of a run that was killed may take to end; they let what they run end first."""


@contextmanager
def alone(places: Places, say: Callable[[str], None]) -> Iterator[int]:
    """Hold the folder's lock; its nodes hold it as well, so that none of a run that was killed is among ours.

    Raises SettingsError when another run does not end soon.
    """
    places.root.mkdir(parents=True, exist_ok=True)
    with places.lock.open("ab") as lock:
        if not _locked(lock.fileno()):
            say(f"waiting for another run to end in {near(places.root)}")
            deadline = time.monotonic() + PATIENCE_SECONDS
            while not _locked(lock.fileno()):
                if time.monotonic() > deadline:
                    raise SettingsError("--folder", f"another run is at work in {near(places.root)}: give another one")
                time.sleep(LOOK_SECONDS)
        yield lock.fileno()


def prepared(places: Places, store: str, *, fresh: bool) -> bool:
    """Make the run's folder; True when an interrupted run of this store is in it. Without that it begins empty."""
    resumed = _kept_in(places.run) == store and not fresh and not places.finished.exists()
    if not resumed:
        _clear(places)
    for folder in (places.root, *places.folders()):
        folder.mkdir(parents=True, exist_ok=True)
    write_whole(places.run, json.dumps({"store": store}).encode())
    return resumed


def store_of(settings: Settings) -> str:
    """Tells one store from another without saying where it is: the url may hold a password."""
    jobs = settings.jobs
    assert jobs is not None
    urls = [secret.get_secret_value() for secret in (jobs.db.url, jobs.redis.url) if secret is not None]
    return hashlib.sha256(json.dumps([jobs.provider, *urls]).encode()).hexdigest()


def is_new(database: Database) -> bool:
    with database.engine.connect() as conn:
        return conn.execute(select(orders.c.number).limit(1)).first() is None


def _kept_in(file: Path) -> object:
    """Which store the run uses that this file tells of; None when it tells of none."""
    try:
        return json.loads(file.read_text())["store"]
    except (FileNotFoundError, ValueError, LookupError, TypeError):
        return None


def _clear(places: Places) -> None:
    """Remove what runs make, and nothing else: the folder may be one that holds other things."""
    for folder in places.folders():
        shutil.rmtree(folder, ignore_errors=True)
    for path in places.files():
        path.unlink(missing_ok=True)


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
