"""What happens to claims apart from settling them: renewal, interruption, hand-back, reclaim.

Reclaim also removes history that has been kept for its time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from wagoe_jobs.adapters.redis.connections import Held, Redis
from wagoe_jobs.adapters.redis.scripts import script
from wagoe_jobs.core.codec import encode_error
from wagoe_jobs.core.outcome import abandoned_error
from wagoe_jobs.ports import BATCH_LIMIT, Claim, Hold, Reclaimed

_HOLDS = {"h": Hold.HELD, "c": Hold.CANCEL_REQUESTED, "l": Hold.LOST}
SWEEPS = 100
"""How many steps of removal one reclaim takes at most; `STEP` in lua/sweep.lua says how long one is."""
_MARK = 987_654_321
"""A number of abandonments that stands for any other in the text of an error."""


class InFlight:
    """Acts on claims by their tokens. Renewal has a connection of its own; `close` it."""

    def __init__(self, redis: Redis, lease_us: int) -> None:
        self._redis = redis
        self._lease_us = lease_us
        self._renewal = Held(redis)
        self._letter = encode_error(abandoned_error(_MARK)).split(str(_MARK))

    def renew(self, claims: Sequence[Claim]) -> Mapping[Claim, Hold]:
        if not claims:
            self._renewal.ask(("PING",))
            return {}
        letters = [self._renewal.run(script("renew"), self._lease_us, pairs) for pairs in _pairs(claims)]
        return {claim: _HOLDS[letter] for claim, letter in zip(claims, "".join(letters), strict=True)}

    def interrupt(self, claims: Sequence[Claim]) -> int:
        return sum(self._redis.run(script("interrupt"), pairs) for pairs in _pairs(_once(claims)))

    def hand_back(self, claims: Sequence[Claim]) -> int:
        return sum(self._redis.run(script("hand_back"), pairs) for pairs in _pairs(claims))

    def reclaim(self, limit: int) -> list[Reclaimed]:
        self._sweep()  # every node comes by here every so often, also where nothing runs
        told = self._redis.run(script("reclaim"), min(limit, BATCH_LIMIT), *self._letter)
        jobs = zip(*[iter(told)] * 5, strict=True)
        return [
            Reclaimed(id, type, queue, int(abandoned), buried == "1") for id, type, queue, abandoned, buried in jobs
        ]

    def close(self) -> None:
        self._renewal.close()

    def _sweep(self) -> None:
        """Remove jobs that have been kept for their time, in short steps."""
        for _ in range(SWEEPS):
            if not self._redis.run(script("sweep")):
                break


def _once(claims: Sequence[Claim]) -> list[Claim]:
    return list({(claim.id, claim.token): claim for claim in claims}.values())


def _pairs(claims: Sequence[Claim]) -> Iterator[str]:
    """Ids and tokens, as many together as one run of a script may take."""
    for first in range(0, len(claims), BATCH_LIMIT):
        yield "\n".join(_words(claims[first : first + BATCH_LIMIT]))


def _words(claims: Iterable[Claim]) -> Iterator[str]:
    return (f"{claim.id} {claim.token}" for claim in claims)
