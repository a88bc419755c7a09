"""What becomes of a process that a handler forks: one that comes back from the handler is ended at once.

It has this worker's connections, claims and half of a loop, but none of its other threads. If it went on it would
settle and claim over sockets that its parent uses too. A child that ends itself never comes here.
"""

import logging
import os

log = logging.getLogger("wagoe_jobs")

QUICKEST_US = 20
"""A fork takes longer than this, so that no child comes back from a run that was quicker."""


class Home:
    """The process that this was made in."""

    def __init__(self) -> None:
        self._pid = os.getpid()

    @property
    def left(self) -> bool:
        """Whether this process is a fork of it."""
        return os.getpid() != self._pid

    def end_child(self, who: str, error: BaseException | None = None) -> None:
        """Nothing at home; in a fork of it the end, with the status that returning or raising `error` stands for."""
        if not self.left:
            return
        status = _status(error)
        try:
            log.error(
                "%s: its handler forked, and the child came back%s. It shares this worker's connections, so it ends "
                "here, with status %d: end children with os._exit, or start them with subprocess",
                *(who, "" if error is None else f" with {type(error).__name__}", status),
                exc_info=None if error is None or isinstance(error, SystemExit) else error,
            )
        finally:
            os._exit(status)


def _status(error: BaseException | None) -> int:
    if error is None:
        return 0
    code = error.code if isinstance(error, SystemExit) else 1
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1
