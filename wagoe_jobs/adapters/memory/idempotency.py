"""Idempotency keys in memory. An expired key is as good as none; `purge` only frees its room."""

from datetime import timedelta

from wagoe_jobs.adapters.memory.state import MemoryState
from wagoe_jobs.ports import BATCH_LIMIT, Claimed, Taken

_US = timedelta(microseconds=1)


class MemoryIdempotencyStore:
    """IdempotencyStore over a `MemoryState`."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def claim(self, scope: str, key: str, ttl: timedelta, value: str) -> Claimed | Taken:
        with self._state.lock:
            return take_key(self._state, scope, key, ttl, value)

    def seen(self, scope: str, key: str) -> bool:
        with self._state.lock:
            return _value(self._state, scope, key) is not None

    def release(self, scope: str, key: str) -> bool:
        with self._state.lock:
            taken = _value(self._state, scope, key) is not None
            self._state.keys.pop((scope, key), None)
            return taken

    def purge(self, limit: int = BATCH_LIMIT) -> int:
        with self._state.lock:
            now = self._state.now_us()
            expired = [entry for entry, (until, _) in self._state.keys.items() if until <= now][:limit]
            for entry in expired:
                del self._state.keys[entry]
            return len(expired)


def take_key(state: MemoryState, scope: str, key: str, ttl: timedelta, value: str) -> Claimed | Taken:
    """Claim the key; to be called with the lock held."""
    taken = _value(state, scope, key)
    if taken is not None:
        return Taken(taken)
    state.keys[scope, key] = (state.now_us() + ttl // _US, value)
    return Claimed()


def _value(state: MemoryState, scope: str, key: str) -> str | None:
    until, value = state.keys.get((scope, key), (0, ""))
    return value if until > state.now_us() else None
