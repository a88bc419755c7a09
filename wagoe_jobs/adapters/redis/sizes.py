"""How long one text may be: the server's `proto-max-bulk-len`, which answers what is longer by hanging up.

It is 512 MB unless somebody lowered it, to 1 MB at the least, so only texts beyond that are worth a question.
"""

from collections.abc import Iterable

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.errors import RefusedData
from wagoe_jobs.errors import BackendUnavailable

ALWAYS = 1024 * 1024
"""Bytes that every server takes."""
_WIDEST = 4


def checked_size(redis: Redis, texts: Iterable[str]) -> None:
    """Raises RefusedData for a text that the server would not take."""
    longest = max((len(text.encode("utf-8", "replace")) for text in texts if len(text) * _WIDEST > ALWAYS), default=0)
    if longest <= ALWAYS:
        return
    limit = _limit(redis)
    if limit is not None and longest > limit:
        raise RefusedData(f"has {longest:,} bytes, and the server takes {limit:,} (proto-max-bulk-len)")


def _limit(redis: Redis) -> int | None:
    """None when the server does not tell: then it has the usual one, which no job reaches."""
    try:
        [reply] = redis.ask(("CONFIG", "GET", "proto-max-bulk-len"))
    except BackendUnavailable as exc:
        if exc.reason.startswith(("NoPermission", "Response")):  # managed servers keep CONFIG to themselves
            return None
        raise
    return int(reply[1]) if reply else None
