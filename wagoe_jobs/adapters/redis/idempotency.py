"""Idempotency keys: taken once until they expire, by the store's clock. `enqueue_once` takes the same ones."""

from datetime import timedelta

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.rows import refusing
from wagoe_jobs.adapters.redis.scripts import script
from wagoe_jobs.ports import BATCH_LIMIT, Claimed, Taken

_US = timedelta(microseconds=1)


class RedisIdempotencyStore:
    """IdempotencyStore, each method one script."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def claim(self, scope: str, key: str, ttl: timedelta, value: str) -> Claimed | Taken:
        with refusing("key"):
            taken = self._redis.run(script("take_key"), scope, key, ttl // _US, value)
        return Taken(taken[0]) if taken else Claimed()

    def seen(self, scope: str, key: str) -> bool:
        with refusing("key"):
            return bool(self._redis.run(script("see_key"), scope, key))

    def release(self, scope: str, key: str) -> bool:
        with refusing("key"):
            return bool(self._redis.run(script("release_key"), scope, key))

    def purge(self, limit: int = BATCH_LIMIT) -> int:
        return int(self._redis.run(script("purge_keys"), max(0, min(limit, BATCH_LIMIT))))
