"""Which workers there are. Everything here is for people to look at."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol, runtime_checkable

from wagoe_jobs.values import Beat, PresentWorker, WorkerCard

GONE_AFTER = timedelta(minutes=5)
"""How long a worker that is not heard of is still listed."""
RUNNING_LIMIT = 100
"""The most running jobs that are kept of one worker."""


@runtime_checkable
class WorkerPresence(Protocol):
    """Which workers there are and what they are at, for people to look at; the worker's own word, seconds old.

    Nothing is decided by it: a claim's lease alone says whether its holder is gone. A worker that has not been heard
    of for GONE_AFTER is no longer listed, and is forgotten by whoever announces or lists, at most BATCH_LIMIT at once.
    """

    def announce(self, card: WorkerCard) -> WorkerCard:
        """Keep the card, and answer it with `started_us`: the one it brings, else the store's now.

        It replaces the card of that name and what its beats told; announcing is a beat without news.
        """
        ...

    def beat(self, name: str, beat: Beat) -> bool:
        """Keep what the worker is at; False when it is no longer listed: announce it again."""
        ...

    def leave(self, name: str) -> bool:
        """Forget the worker; False when it was not listed."""
        ...

    def list(self) -> Sequence[PresentWorker]:
        """Those that were heard of lately, by name in the order of its code points."""
        ...
