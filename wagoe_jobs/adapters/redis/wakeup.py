"""Waiting for news of work: a blocking read of a list of one token, on a connection of its own.

Whoever reads the token has the news; a full claim puts it back for the next. No read outlives its wait: one that
ends otherwise is ended at the server too, and its reply read, so that a token never goes to who does not listen.
News may be lost with a connection; polling stays behind it.
"""

import select
import time
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from wagoe_jobs.adapters.redis.connections import Link, Redis, packed
from wagoe_jobs.adapters.redis.errors import FOREIGN, unavailable
from wagoe_jobs.adapters.redis.rows import refusing
from wagoe_jobs.doorbell import Doorbell
from wagoe_jobs.errors import BackendUnavailable

_GRACE = 1.0
"""Seconds that the server's own end of the read comes after ours."""
_TRIES = 20
_PAUSE = 0.05


class TokenWatch:
    """WakeUp for one queue."""

    def __init__(self, redis: Redis, queue: str) -> None:
        self._redis = redis
        self._list = redis.keys.wake(queue)
        with refusing("queue"):
            self._pop = packed(("LPOP", self._list))
        self._link = Link(redis.dial)
        self._client_id: int | None = None
        self._broke = False
        self._bell = Doorbell()

    def wait(self, timeout: timedelta) -> bool:
        until = time.monotonic() + timeout.total_seconds()
        try:
            return self._wait(until)
        except FOREIGN as exc:
            self._drop()
            raise unavailable(exc) from exc
        except BaseException:  # a read may be on its way
            self._drop()
            raise

    def interrupt(self) -> None:
        self._bell.ring()

    def __enter__(self) -> Self:
        self._connection()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._drop()
        self._bell.close()

    def _wait(self, until: float) -> bool:
        conn = self._connection()
        if self._broke:
            self._broke = False
            return True  # a token may have gone with the old connection
        if self._taken() or self._bell.answer():
            return True
        left = until - time.monotonic()
        if left <= 0:
            return False
        conn.send_packed_command((packed(("BLPOP", self._list, f"{left + _GRACE:.3f}")),), check_health=False)
        readable = self._readable(conn, until)
        if not readable:
            self._end_read(conn)
        token = conn.read_response() is not None
        return token or self._bell.answer()

    def _taken(self) -> bool:
        """Whether news was there already."""
        [token] = self._link.ask(self._pop)
        return self._link.checked(token) is not None

    def _readable(self, conn: Any, until: float) -> bool:
        """Wait for the reply; False when the time is over, or the wait was interrupted."""
        while not conn.can_read(0):  # also what a layer above the socket holds already
            left = until - time.monotonic()
            # the driver shows no socket, and its own wait ends for nobody
            ready, _, _ = select.select([conn._sock, self._bell], [], [], max(0.0, left))
            if self._bell in ready or left <= 0:
                return bool(conn.can_read(0))
        return True

    def _end_read(self, conn: Any) -> None:
        """Let the server answer the read now. One that does not is not asked again on this connection."""
        for _ in range(_TRIES):
            self._redis.ask(("CLIENT", "UNBLOCK", self._client_id or 0))
            if conn.can_read(_PAUSE):  # not yet: the read had not arrived when its end was asked for
                return
        raise BackendUnavailable("redis", "a blocking read did not end when it was asked to")

    def _connection(self) -> Any:
        """The connection; its number at the server is asked for when it is new."""
        conn = self._link.open()
        if self._client_id is None:
            [number] = self._link.ask(packed(("CLIENT", "ID")))
            self._client_id = self._link.checked(number)
        return conn

    def _drop(self) -> None:
        self._broke = self._client_id is not None
        self._client_id = None
        self._link.drop()
