"""What ends a `select` from another thread: a pair of sockets, one to wait on beside the others (the self-pipe trick).

Interrupts that come together are one. They may come before the wait, which then ends at once.
"""

import socket
from contextlib import suppress


class Doorbell:
    """Waited on by one thread as a file is, rung by any; `close` it when nobody rings any more."""

    def __init__(self) -> None:
        self._here, self._there = socket.socketpair()
        self._here.setblocking(False)
        self._there.setblocking(False)

    def ring(self) -> None:
        with suppress(BlockingIOError):  # full of earlier rings, which will do
            self._there.send(b"!")

    def fileno(self) -> int:
        """Readable after a ring, until it is answered."""
        return self._here.fileno()

    def answer(self) -> bool:
        """Whether somebody rang since the last answer."""
        rang = False
        with suppress(BlockingIOError):
            while self._here.recv(4096):
                rang = True
        return rang

    def close(self) -> None:
        self._here.close()
        self._there.close()
