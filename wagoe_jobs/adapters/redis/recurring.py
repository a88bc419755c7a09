"""Recurring schedules, their last ticks, and the lease of the one ticker that fires them."""

import json
from collections.abc import Sequence
from datetime import timedelta

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.rows import refusing
from wagoe_jobs.adapters.redis.scripts import script
from wagoe_jobs.ports import Schedule

_US = timedelta(microseconds=1)


class RedisRecurringState:
    """RecurringState, each change one script."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def register(self, schedule: Schedule) -> Schedule:
        # the script reads the text out of it; what is no text would be refused there with less to say
        what = json.dumps([schedule.text, schedule.queue, schedule.rank, schedule.args], ensure_ascii=False)
        with refusing("schedule"):
            first, last = self._redis.run(script("register"), schedule.type, what)
        return schedule._replace(first_seen_us=int(first), last_tick_us=int(last) if last else None)

    def unregister(self, type: str) -> bool:
        with refusing("type"):
            return bool(self._redis.run(script("unregister"), type))

    def schedules(self) -> Sequence[Schedule]:
        [flat] = self._redis.ask(("HGETALL", self._redis.keys.recurring))
        return sorted(_schedule(type, kept) for type, kept in zip(flat[::2], flat[1::2], strict=True))

    def mark_tick(self, type: str, tick_us: int) -> bool:
        with refusing("type"):
            return bool(self._redis.run(script("mark_tick"), type, tick_us))

    def hold(self, holder: str, lease: timedelta) -> bool:
        with refusing("holder"):
            return bool(self._redis.run(script("hold"), holder, lease // _US))

    def let_go(self, holder: str) -> bool:
        with refusing("holder"):
            return bool(self._redis.run(script("let_go"), holder))


def _schedule(type: str, kept: str) -> Schedule:
    first, last, what = kept.split("\n", 2)
    text, queue, rank, args = json.loads(what)
    return Schedule(type, text, queue, rank, args, int(first), int(last) if last else None)
