"""How long a job waits before its next run.

`delay = min(max_delay, initial * 2**n)` for the n-th repeat, n counted from 0, then +-10 % of jitter.
The chance comes in as an argument, so that this stays a function.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import assert_never

JITTER = 0.1


class Strategy(StrEnum):
    EXPONENTIAL = "exponential"
    LINEAR = "linear"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """The shape of the waits. With `jitter`, each is moved by at most a tenth of itself, either way."""

    strategy: Strategy = Strategy.EXPONENTIAL
    initial: timedelta = timedelta(seconds=1)
    max_delay: timedelta = timedelta(seconds=60)
    jitter: bool = True

    def delay(self, retry_count: int, *, chance: float = 0.5) -> timedelta:
        """The wait when `retry_count` repeats are used; `chance` is in [0, 1], 0.5 moves nothing."""
        delay = self._capped(retry_count)
        if not self.jitter:
            return delay
        factor = 1 + JITTER * (2 * chance - 1)
        return delay * (factor if delay < timedelta.max / 2 else min(factor, 1.0))  # or else it might overflow

    def _capped(self, n: int) -> timedelta:
        if not self.initial:
            return timedelta(0)
        most = self.max_delay / self.initial  # compared as a factor: the product itself may overflow
        match self.strategy:
            case Strategy.EXPONENTIAL:
                reached = n >= 1023 or 2.0**n >= most
                return self.max_delay if reached else self.initial * 2.0**n
            case Strategy.LINEAR:
                return self.max_delay if n + 1 >= most else self.initial * (n + 1)
            case Strategy.CONSTANT:
                return min(self.max_delay, self.initial)
            case _:
                assert_never(self.strategy)
