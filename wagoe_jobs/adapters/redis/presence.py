"""Which workers there are: a card each, and when it was last heard of. Those that are gone go with who looks next."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.rows import refusing
from wagoe_jobs.adapters.redis.scripts import script
from wagoe_jobs.ports import GONE_AFTER, RUNNING_LIMIT, Beat, PresentWorker, RunningJob, WorkerCard

_US = timedelta(microseconds=1)
_GONE_US = GONE_AFTER // _US
_FIELDS = ("card", "started", "polled", "running", "count")
_ASKED_TOGETHER = 500


class RedisWorkerPresence:
    """WorkerPresence, each change one script."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def announce(self, card: WorkerCard) -> WorkerCard:
        with refusing("card"):
            started = self._redis.run(script("announce"), _GONE_US, card.name, _written(card), card.started_us)
        return replace(card, started_us=int(started))

    def beat(self, name: str, beat: Beat) -> bool:
        polled = "" if beat.polled is None else beat.polled // _US
        running = json.dumps(list(beat.running[:RUNNING_LIMIT]))
        with refusing("beat"):
            return bool(self._redis.run(script("beat"), _GONE_US, name, polled, running, beat.running_count))

    def leave(self, name: str) -> bool:
        with refusing("name"):
            return bool(self._redis.run(script("leave"), _GONE_US, name))

    def list(self) -> Sequence[PresentWorker]:
        flat = self._redis.run(script("present"), _GONE_US)
        heard = sorted(zip(flat[::2], map(int, flat[1::2]), strict=True))
        present: list[PresentWorker] = []
        for first in range(0, len(heard), _ASKED_TOGETHER):
            some = heard[first : first + _ASKED_TOGETHER]
            kept = self._redis.ask(*(("HMGET", self._redis.keys.worker(name), *_FIELDS) for name, _ in some))
            present += [
                _present(name, age, fields)
                for (name, age), fields in zip(some, kept, strict=True)
                if fields[0] is not None
            ]
        return present


def _written(card: WorkerCard) -> str:
    told = [card.host, card.pid, card.version, list(card.queues), list(card.job_types), card.slots]
    return json.dumps(told)


def _present(name: str, age_us: int, fields: Sequence[str]) -> PresentWorker:
    written, started, polled, running, count = fields
    host, pid, version, queues, job_types, slots = json.loads(written)
    return PresentWorker(
        card=WorkerCard(
            name=name,
            host=host,
            pid=pid,
            version=version,
            queues=tuple(queues),
            job_types=tuple(job_types),
            slots=slots,
            started_us=int(started),
        ),
        age=age_us * _US,
        polled_us=int(polled) if polled else None,
        running=tuple(RunningJob(*one) for one in json.loads(running or "[]")),
        running_count=int(count or 0),
    )
