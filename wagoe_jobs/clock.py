"""The host's clock, and the ids that are made from it. Stores decide by their own clock, never by this one."""

import os
import time
from datetime import UTC, datetime, timedelta
from threading import Lock
from uuid import UUID


class Clock:
    """Aware UTC now, and a monotonic count of seconds for durations."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class ClockOffset:
    """How far a store's clock is moved from its own reading, in microseconds; zero unless a test moves it."""

    def __init__(self) -> None:
        self.us = 0

    def move(self, by: timedelta) -> None:
        self.us += by // timedelta(microseconds=1)


class Ids:
    """UUIDv7 (RFC 9562, section 6.2, method 1): 48 bits of Unix milliseconds, a 12-bit counter, 62 random bits.

    Ids of one maker ascend strictly, also while the clock stands still or steps back.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._last = 0

    def new(self) -> UUID:
        with self._lock:
            tick = max(time.time_ns() // 1_000_000 << 12, self._last + 1)
            self._last = tick
        chance = int.from_bytes(os.urandom(8), "big") >> 2
        return UUID(int=(tick >> 12) << 80 | 0x7 << 76 | (tick & 0xFFF) << 64 | 0b10 << 62 | chance)
