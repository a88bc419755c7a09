"""Keys that are taken once: one of many callers gets to do a thing, until the key expires."""

from datetime import timedelta
from typing import Protocol, runtime_checkable

from wagoe_jobs.ports.queue import BATCH_LIMIT
from wagoe_jobs.values import Claimed, Taken


@runtime_checkable
class IdempotencyStore(Protocol):
    """Keys that can be claimed once until they expire, by the store's clock; a scope is a name space."""

    def claim(self, scope: str, key: str, ttl: timedelta, value: str) -> Claimed | Taken:
        """Take the key for `ttl` unless it is taken; exactly one of many callers gets `Claimed`."""
        ...

    def seen(self, scope: str, key: str) -> bool:
        """Whether the key is taken now."""
        ...

    def release(self, scope: str, key: str) -> bool:
        """Free the key before it expires; False when it was free."""
        ...

    def purge(self, limit: int = BATCH_LIMIT) -> int:
        """Forget at most `limit` expired keys; how many."""
        ...
