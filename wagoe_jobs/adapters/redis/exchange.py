"""Settle and claim in one call to the server.

The token of a claim is chosen here before it is sent. When no reply came, nobody knows whether the server did it; the
next exchange of that queue asks for that token, and gets the claims that nobody heard of.
"""

import logging
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import repeat
from typing import Any
from uuid import uuid4

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.errors import RefusedData
from wagoe_jobs.adapters.redis.inflight import InFlight
from wagoe_jobs.adapters.redis.rows import refusing
from wagoe_jobs.adapters.redis.scripts import script
from wagoe_jobs.adapters.redis.settling import answers_of, batches, buried, words
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.ports import BATCH_LIMIT, Answer, Claim, Settlement

log = logging.getLogger("wagoe_jobs")

Lost = tuple[str, str]
"""Worker and token of a call that went unanswered."""

_NOTHING = ("", "lines", "")
"""What `settle` takes when there is nothing to settle."""


class Exchange:
    """Settles and claims; knows which of its claims went unanswered."""

    def __init__(self, redis: Redis, lease_us: int, in_flight: InFlight) -> None:
        self._redis = redis
        self._lease_us = lease_us
        self._in_flight = in_flight
        self._both = script("exchange")
        self._settle_only = script("settle")
        self._again = script("repair")
        # by queue, the claims whose replies were lost: one process may have several pools on it
        self._unanswered: dict[str, deque[Lost]] = defaultdict(deque)

    def exchange(
        self, settlements: Sequence[Settlement], queue: str, worker: str, limit: int
    ) -> tuple[Sequence[Answer], Sequence[Claim]]:
        with refusing("queue"):
            if limit < 1:
                return self.settle(settlements), []
            with self._repaired(queue, worker, limit) as claims:
                answers, new = self._exchange(settlements, queue, worker, 0 if claims else limit)
                claims += new
            return answers, claims

    def settle(self, settlements: Sequence[Settlement]) -> list[Answer]:
        if not settlements:
            return []
        return [answer for batch in batches(settlements, self._redis) for answer in self._settled(batch)]

    def _exchange(
        self, settlements: Sequence[Settlement], queue: str, worker: str, limit: int
    ) -> tuple[list[Answer], list[Claim]]:
        *early, last = batches(settlements, self._redis)
        answers = [answer for batch in early for answer in self._settled(batch)]
        token = uuid4().hex
        claim = (queue, worker, token, self._lease_us, min(limit, BATCH_LIMIT))
        try:
            letters, told = self._sent(last, lambda rows: self._redis.run(self._both, *claim, *rows))
        except BackendUnavailable:
            if limit > 0:
                self._unanswered[queue].append((worker, token))
            raise
        return answers + answers_of(letters), claims_of(told, queue, token)

    def _settled(self, batch: Sequence[Settlement]) -> list[Answer]:
        return answers_of(self._sent(batch, lambda rows: self._redis.run(self._settle_only, *rows)))

    def _sent(self, batch: Sequence[Settlement], send: Any) -> Any:
        """What `send` answered; what is no text is buried, alone."""
        try:
            return send(words(batch) if batch else _NOTHING)
        except RefusedData:
            return send(words([buried(each, self._redis) for each in batch]))

    @contextmanager
    def _repaired(self, queue: str, worker: str, limit: int) -> Iterator[list[Claim]]:
        """What an earlier call claimed without hearing of it; should the block raise, it is unheard of again."""
        lost = self._next_unanswered(queue, worker)
        if lost is None:
            yield []
            return
        claims, unheard = list[Claim](), True
        try:
            claims += self._repair(queue, *lost, limit)
            unheard = bool(claims)
            yield claims
        except BackendUnavailable:
            if unheard:
                self._unanswered[queue].append(lost)
            raise

    def _next_unanswered(self, queue: str, worker: str) -> Lost | None:
        """Taken out, so that no two callers find the same claims; the worker's own first: its next claim hides them."""
        waiting = self._unanswered[queue]
        for lost in [*(lost for lost in tuple(waiting) if lost[0] == worker), *tuple(waiting)]:
            with suppress(ValueError):  # another took it
                waiting.remove(lost)
                return lost
        return None

    def _repair(self, queue: str, worker: str, token: str, limit: int) -> list[Claim]:
        told = self._redis.run(self._again, queue, worker, token, self._lease_us)
        claims = claims_of(told, queue, token)
        if claims[limit:]:
            self._in_flight.hand_back(claims[limit:])
        return claims[:limit]


def claims_of(told: Sequence[Any], queue: str, token: str) -> list[Claim]:
    """The claims that `answer` in lua/shared_claims.lua tells."""
    claimed_us, ids, ranks, seqs, deaths, texts, dropped = told
    report_dropped(dropped, f"queue {queue!r}")
    apart = bool(texts) and isinstance(texts[0], list)
    payloads = texts[0] if apart else "\n".join(texts).split("\n")
    numbers = (map(int, ranks.split()), map(int, seqs.split()), repeat(claimed_us), map(int, deaths.split()))
    return list(map(Claim, ids.split(), repeat(token), repeat(queue), payloads, *numbers))


def report_dropped(ids: Sequence[str], where: str) -> None:
    """Say so when ids had no job any more: somebody or something deletes keys behind our back."""
    if ids:
        log.warning("%d ids without their jobs were dropped from %s, the first is %s", len(ids), where, ids[0])
