"""How commands reach the server: packed here, over connections that are never used while a reply may be unread.

`Redis` lends a few connections for short calls, `Held` keeps one for a user that must never wait for another.
Every error of the driver leaves as BackendUnavailable. Nothing is sent again by itself but a script that the server
had forgotten, which by that answer did nothing.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from threading import BoundedSemaphore, Lock
from typing import Any

from redis.exceptions import NoScriptError, RedisError, ResponseError

from wagoe_jobs.adapters.redis.dialling import Dial, Wire
from wagoe_jobs.adapters.redis.errors import BACKEND, FOREIGN, RefusedData, ends_connection, unavailable
from wagoe_jobs.adapters.redis.keys import DEFAULT_PREFIX, Keys
from wagoe_jobs.adapters.redis.scripts import Script
from wagoe_jobs.clock import ClockOffset
from wagoe_jobs.errors import BackendUnavailable

Word = str | int
Command = Sequence[Word]

WEEK = timedelta(days=7)
CONNECTIONS = 10
"""How many short calls may be on their way at once; further callers wait."""
PATIENCE = timedelta(seconds=10)
_MS = timedelta(milliseconds=1)


def connections_needed(pools: int) -> int:
    """How many connections a node with so many pools keeps busy: each exchanges and waits for news."""
    return 2 + 2 * pools  # and all together renew, and enqueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How long ended jobs stay to be looked at; dead letters stay until somebody deletes them."""

    completed: timedelta = WEEK
    cancelled: timedelta = WEEK


class Link:
    """One connection, for one caller at a time; dialled when it is first needed, and anew after it was dropped."""

    def __init__(self, dial: Dial) -> None:
        self._dial = dial
        self._pid = os.getpid()
        self._conn: Wire | None = None

    def ask(self, packed: bytes, replies: int = 1) -> list[Any]:
        """The replies in order, error replies among them as values. Raises BackendUnavailable."""
        conn = self.open()
        try:
            conn.send_packed_command((packed,), check_health=False)
            return [_reply(conn) for _ in range(replies)]
        except FOREIGN as exc:
            self.drop()
            raise unavailable(exc) from exc
        except BaseException:  # the caller was interrupted: what it asked for is still to come
            self.drop()
            raise

    def open(self) -> Wire:
        """The connection, whose replies have all been read. Raises BackendUnavailable."""
        if self._pid != os.getpid():  # two processes would talk over one socket
            raise BackendUnavailable(BACKEND, "opened before a fork: open the jobs runtime in the child process")
        if self._conn is not None and not _clean(self._conn):
            self.drop()
        if self._conn is None:
            try:
                self._conn = self._dial()
            except FOREIGN as exc:
                raise unavailable(exc) from exc
        return self._conn

    def checked(self, reply: Any) -> Any:
        """The reply, unless it is an error. Raises BackendUnavailable."""
        if isinstance(reply, ResponseError):
            if ends_connection(reply):
                self.drop()
            raise unavailable(reply) from reply
        return reply

    def drop(self) -> None:
        """Close the connection; the next call dials."""
        conn, self._conn = self._conn, None
        if conn is not None:
            conn.disconnect()


class Redis:
    """One store on one server, as all parts of it see it; may be used by any thread. `close` it."""

    def __init__(
        self,
        dial: Dial,
        *,
        prefix: str = DEFAULT_PREFIX,
        keep: Keep = Keep(),
        clock_offset: ClockOffset | None = None,
        patience: timedelta = PATIENCE,
        connections: int = CONNECTIONS,
    ) -> None:
        self.dial = dial
        self.keys = Keys(prefix)
        self.clock_offset = clock_offset or ClockOffset()
        self.keeps = keep.completed // _MS, keep.cancelled // _MS
        self._patience = patience
        self.connections = connections
        self._room = BoundedSemaphore(connections)
        self._idle: deque[Link] = deque()
        self._closed = False

    def run(self, script: Script, *args: Word) -> Any:
        """The script's reply. Raises BackendUnavailable, RefusedData."""
        with self._lent() as link:
            return evaluate(self, link, script, args)

    def run_all(self, script: Script, calls: Sequence[Sequence[Word]]) -> list[Any]:
        """The replies of several runs of one script that happen together, or not at all."""
        with self._lent() as link:
            return transact(self, link, script, calls)

    def ask(self, *commands: Command) -> list[Any]:
        """The replies of plain commands, in one round trip. Raises BackendUnavailable, RefusedData."""
        with self._lent() as link:
            return pipeline(link, commands)

    def words(self, script: Script, args: Sequence[Word], verb: str = "EVALSHA") -> Command:
        """The command that runs the script."""
        body = script.sha if verb == "EVALSHA" else script.text
        return (verb, body, 1, self.keys.seq, self.clock_offset.us, *self.keeps, *args)

    def close(self) -> None:
        """Close the connections, those in use once their call has ended; may be called twice.

        Whoever asks for more is answered all the same, over a connection for that call alone.
        """
        self._closed = True
        self._drop_idle()

    def _drop_idle(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().drop()

    @contextmanager
    def _lent(self) -> Iterator[Link]:
        if not self._room.acquire(timeout=self._patience.total_seconds()):
            raise BackendUnavailable(
                BACKEND, f"all {self.connections} connections were busy for {self._patience.total_seconds():.0f} s"
            )
        try:
            link = self._idle.pop()
        except IndexError:
            link = Link(self.dial)
        try:
            yield link
        finally:
            self._idle.append(link)  # the last in is the first out: those that a peak needed are the ones to age
            if self._closed:  # asked after the link is listed: whichever comes last, we or `close`, drops it
                self._drop_idle()
            self._room.release()


class Held:
    """One connection that is kept, so that its user never waits for others; one caller at a time."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._lock = Lock()
        self._link = Link(redis.dial)

    def run(self, script: Script, *args: Word) -> Any:
        """As `Redis.run`."""
        with self._lock:
            return evaluate(self._redis, self._link, script, args)

    def ask(self, *commands: Command) -> list[Any]:
        """As `Redis.ask`."""
        with self._lock:
            return pipeline(self._link, commands)

    def close(self) -> None:
        with self._lock:
            self._link.drop()


def evaluate(redis: Redis, link: Link, script: Script, args: Sequence[Word]) -> Any:
    """One run of the script, by its sum, or whole when the server does not know it yet, or any more."""
    [reply] = link.ask(packed(redis.words(script, args)))
    if isinstance(reply, NoScriptError):
        [reply] = link.ask(packed(redis.words(script, args, "EVAL")))
    return link.checked(reply)


def transact(redis: Redis, link: Link, script: Script, calls: Sequence[Sequence[Word]]) -> list[Any]:
    """All runs, one after the other with nothing between them; none of them when one cannot be."""
    # the first run brings the script: within the transaction it would be too late to learn that it is missing
    runs = [redis.words(script, args, "EVALSHA" if n else "EVAL") for n, args in enumerate(calls)]
    commands: list[Command] = [("MULTI",), *runs, ("EXEC",)]
    replies = link.ask(b"".join(map(packed, commands)), len(commands))
    *_, told = [link.checked(reply) for reply in replies]  # what was refused first tells why all of it was
    return [link.checked(reply) for reply in told]


def pipeline(link: Link, commands: Sequence[Command]) -> list[Any]:
    """The replies; the first that is an error is raised."""
    replies = link.ask(b"".join(map(packed, commands)), len(commands))
    return [link.checked(reply) for reply in replies]


def packed(words: Iterable[Word]) -> bytes:
    """A command as it is sent. Raises RefusedData for text that is none."""
    try:
        parts = [word.encode() if isinstance(word, str) else b"%d" % word for word in words]
    except UnicodeEncodeError:
        raise RefusedData("holds half a surrogate pair, which is not text") from None
    body = b"\r\n".join([b"$%d\r\n%b" % (len(part), part) for part in parts])
    return b"*%d\r\n%b\r\n" % (len(parts), body)


def _reply(conn: Wire) -> Any:
    try:
        return conn.read_response()
    except ResponseError as error:
        return error


def _clean(conn: Wire) -> bool:
    """Whether the connection stands and nothing waits to be read from it."""
    try:
        return conn.is_connected and not conn.can_read(0)
    except (RedisError, OSError):
        return False
