"""Says why a run stands still. It goes on by itself when the cause has gone, and gives up when that takes too long."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from examples.shop.nodes import Node
from examples.shop.places import Places, near, write_whole
from examples.shop.progress import Show

QUIET_SECONDS = 8.0
"""So long a killed worker's jobs wait for the end of their lease, which is no trouble."""
AGAIN_SECONDS = 15.0
ROOM = 64 * 1024
"""Bytes that are written to see whether the disk has room; a database is stuck with less."""


class GaveUp(Exception):
    """Nothing gets done any more, and waiting does not help."""


class Standstill:
    """Watches how much is done; one object for one run."""

    def __init__(self, places: Places, nodes: Sequence[Node], show: Show, patience: float) -> None:
        """`patience` is how many seconds may pass without anything done."""
        self._places = places
        self._nodes = nodes
        self._show = show
        self._patience = patience
        self._progress = -1
        self._since = self._said = time.monotonic()

    def look(self, progress: int, trouble: str | None) -> None:
        """Say why when `progress` has not grown for a while; `trouble` is a cause that is known. Raises GaveUp."""
        now = time.monotonic()
        if progress > self._progress:
            self._progress, self._since, self._said = progress, now, now + QUIET_SECONDS - AGAIN_SECONDS
        if now - self._since >= self._patience:
            raise GaveUp("\n".join([*self._told(trouble), "given up; what was done is kept"]))
        if now - self._said >= AGAIN_SECONDS:
            self._said = now
            self._show.say("\n".join(self._told(trouble)))

    def _told(self, trouble: str | None) -> Iterator[str]:
        yield f"nothing has been done for {time.monotonic() - self._since:.0f} s:"
        for one in (self._show.counts, *self._of_the_disk(), *filter(None, [trouble]), *self._of_the_logs()):
            yield f"  {one}"

    def _of_the_disk(self) -> Iterator[str]:
        """The first folder of the run that a file cannot be written to, and why; nothing when all can."""
        for folder in (self._places.root, *self._places.folders()):
            try:
                _try_to_write(folder)
            except OSError as error:
                yield f"{near(folder)} cannot be written to: {error.strerror}"
                return

    def _of_the_logs(self) -> Iterator[str]:
        """The last line of each node that has written one meanwhile."""
        written_since = time.time() - (time.monotonic() - self._since)
        for node in self._nodes:
            log = self._places.log(node.name)
            with suppress(OSError):
                if log.stat().st_mtime > written_since and (line := node.last_words(1)):
                    yield f"{near(log)}: {line}"


def _try_to_write(folder: Path) -> None:
    """Raises OSError when a file of `ROOM` bytes cannot be written to the folder."""
    probe = folder / "room"
    write_whole(probe, bytes(ROOM))
    probe.unlink()
