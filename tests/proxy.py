"""A TCP proxy on loopback that misbehaves on request: it cuts connections, swallows replies, delays, holds, or refuses.

    with Proxy(server.port) as proxy:
        engine = create_engine(url with proxy.port)
        proxy.drop_replies()      # the server does what it is asked, nobody hears of it
        proxy.cut()               # every connection ends

It knows nothing of the protocol that goes through it.
"""

import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

CHUNK = 65536

Pair = tuple[socket.socket, socket.socket]
Pairs = set[Pair]
"""Who connected, and the server: each two ends."""


class Proxy:
    """Passes bytes between whoever connects to `port` and `target_port`; a context manager."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.delay = 0.0
        """Seconds that each chunk waits, both ways."""
        self.accepted = 0
        """Connections taken so far."""
        self.trips = 0
        """How often the client has spoken after the server did: its round trips, while it has one connection."""
        self._answered = True
        self._drops_replies = False
        self._held: Pairs = set()
        self._released = threading.Event()
        self._refuses = False
        self._closing = False
        self._lock = threading.Lock()
        self._pairs: Pairs = set()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._spawn(self._accept, "proxy-accept")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        self.release()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # ends accept(), which close() alone does not
        self._listener.close()
        self.cut()
        for thread in list(self._threads):
            thread.join()

    def cut(self) -> int:
        """End every connection at once, both sides; how many."""
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            _close(*pair)
        return len(pairs)

    def drop_replies(self, on: bool = True) -> None:
        """From now on pass requests and swallow what the server answers."""
        self._drops_replies = on

    def hold(self) -> None:
        """Keep what comes over the present connections, even when who sent it has gone, until `release`."""
        self._released.clear()
        with self._lock:
            self._held = set(self._pairs)

    def release(self) -> None:
        """Pass on what is held."""
        self._released.set()

    def refuse(self, on: bool = True) -> None:
        """Close new connections as they come; `cut` ends the old ones."""
        self._refuses = on

    def _accept(self) -> None:
        while not self._closing:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        self.accepted += 1
        if self._refuses or self._closing:
            _close(client)
            return
        try:
            server = socket.create_connection(("127.0.0.1", self.target_port))
        except OSError:
            _close(client)
            return
        pair = (client, server)
        with self._lock:
            self._pairs.add(pair)
        self._spawn(self._pump_requests, "proxy-requests", pair)
        self._spawn(self._pump_replies, "proxy-replies", pair)

    def _spawn(self, target: object, name: str, *args: object) -> None:
        thread = threading.Thread(target=target, args=args, name=name, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _pump_requests(self, pair: Pair) -> None:
        self._pump(pair, *pair, replies=False)

    def _pump_replies(self, pair: Pair) -> None:
        self._pump(pair, *reversed(pair), replies=True)

    def _pump(self, pair: Pair, source: socket.socket, sink: socket.socket, *, replies: bool) -> None:
        with suppress(OSError):
            while chunk := source.recv(CHUNK):
                self._note_trip(replies)
                if not replies and pair in self._held:
                    self._released.wait()
                if self.delay:
                    time.sleep(self.delay)
                if not (replies and self._drops_replies):
                    sink.sendall(chunk)
        _close(*pair)
        with self._lock:
            self._pairs.discard(pair)

    def _note_trip(self, reply: bool) -> None:
        with self._lock:
            self.trips += self._answered and not reply
            self._answered = reply


def _close(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads from it
        end.close()
