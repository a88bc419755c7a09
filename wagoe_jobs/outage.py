"""How a loop lives through trouble: what failed is logged once until it is over, and tries come ever more slowly.

One `Outage` belongs to one loop and what it depends on; it is not shared between threads.
"""

import logging
from threading import Thread
from time import monotonic

log = logging.getLogger("wagoe_jobs")

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 2.0
REMINDER = 60.0
PARTING = 3.0
"""Seconds that a stop waits for a thread which may be waiting for a store that does not answer, or only slowly."""


class Outage:
    """Trouble with `what`, from the first failure until `over`. `lasts` tells whether it is going on."""

    def __init__(self, what: str, *, longest: float = LONGEST_PAUSE) -> None:
        self.what = what
        self.lasts = False
        self._longest = longest
        self._failures = 0
        self._said = 0.0

    def failed(self, error: BaseException) -> float:
        """Note a failure and say so, but not each time; how many seconds to pause before the next try."""
        self.lasts = True
        pause = min(FIRST_PAUSE * 2.0 ** min(self._failures, 16), self._longest)
        self._failures += 1
        if self._failures == 1 or monotonic() - self._said >= REMINDER:
            self._said = monotonic()
            log.error("%s fails and is tried again: %s: %s", self.what, type(error).__name__, error)
            log.debug("%s fails", self.what, exc_info=error)
        return pause

    def over(self) -> None:
        """Note a success."""
        if self.lasts:
            log.warning("%s works again after %d failures", self.what, self._failures)
        self.lasts = False
        self._failures = 0


def part_from(thread: Thread, told: float | None = None) -> None:
    """Wait for the end of a thread that was told to end, unless a call to the store keeps it for long.

    It was told at this monotonic second, if not now: of many that were told at once, the last is waited for no longer.
    """
    thread.join(PARTING if told is None else max(0.0, told + PARTING - monotonic()))
    if thread.is_alive():
        log.warning("%s still waits for the store: it is left to end by itself", thread.name)
