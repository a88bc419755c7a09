"""How jobs are read back from their hashes: many in one round trip, each as the row that core lays over its payload.

What is not there any more is left out: an id without its hash, and what ended longer ago than such jobs are kept.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from wagoe_jobs.adapters.redis.connections import Redis
from wagoe_jobs.adapters.redis.errors import RefusedData
from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.core.stored import Stored, read_job
from wagoe_jobs.errors import InvalidJob

CHUNK = 100
"""How many whole jobs one round trip brings: each may have a million characters."""
IDS = 250
"""How many ids one step takes where no text is asked for."""

_FIELDS = ("is", "at", "payload", "created", "due", "abandoned", "result", "error")
_WAITING = {"ready": Status.PENDING, "scheduled": Status.PENDING, "flight": Status.RUNNING}
_NONE = "-"

Fields = Sequence[str | None]


class Found(NamedTuple):
    """One job; `seq` is its place in the line, None before it ever had one."""

    stored: Stored
    tenant: str | None
    seq: str | None


class Rows:
    """Reads jobs by id, in the order of the ids that are given."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def found(self, ids: Sequence[str]) -> list[Found]:
        """Those that are there."""
        return [found for chunk in in_chunks(ids, CHUNK) for found in self._read(chunk)]

    def jobs(self, ids: Sequence[str]) -> list[Job]:
        return [read_job(found.stored) for found in self.found(ids)]

    def _read(self, ids: Sequence[str]) -> Iterator[Found]:
        reads = [("HMGET", self._redis.keys.job(id), *_FIELDS) for id in ids]
        (seconds, micros), *replies = self._redis.ask(("TIME",), *reads)
        now_us = int(seconds) * 1_000_000 + int(micros) + self._redis.clock_offset.us
        for id, reply in zip(ids, replies, strict=True):
            found = _found(id, reply)
            if found is not None and not self._over(found.stored, now_us):
                yield found

    def _over(self, row: Stored, now_us: int) -> bool:
        """Whether the job ended longer ago than such are kept, and nobody has removed it yet."""
        completed, cancelled = self._redis.keeps
        kept_ms = {Status.COMPLETED: completed, Status.CANCELLED: cancelled}.get(row.status)
        return kept_ms is not None and row.completed_us is not None and row.completed_us <= now_us - kept_ms * 1_000


@contextmanager
def refusing(path: str) -> Iterator[None]:
    """Tell the caller about text that redis cannot hold; `path` says which it is."""
    try:
        yield
    except RefusedData as exc:
        raise InvalidJob(path, exc.reason) from exc


def in_chunks(ids: Iterable[str], size: int) -> Iterator[list[str]]:
    chunk: list[str] = []
    for id in ids:
        chunk.append(id)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _found(id: str, reply: Fields) -> Found | None:
    """None for what is no job, or not one that was written here: one bad hash must not hide all others."""
    what, where, payload, *_ = reply
    if what is None or where is None or payload is None:
        return None
    try:
        return _job_in(id, what, where, payload, reply)
    except (ValueError, LookupError):
        return None


def _job_in(id: str, what: str, where: str, payload: str, reply: Fields) -> Found:
    """Raises ValueError or LookupError for rubbish."""
    *_, created, due, abandoned, result, error = reply
    type, queue, rank, tenant = what.split("\n", 3)
    place, seq, since, _, *more = where.split(" ")
    ended = place == "ended"
    stored = Stored(
        id=id,
        type=type,
        queue=queue,
        status=_status(place, more),
        rank=int(rank),
        payload=payload,
        created_us=int(created or 0),
        updated_us=int(since),
        due_us=_number(due),
        started_us=int(since) if place == "flight" else _number(more[1]) if ended else None,
        completed_us=int(since) if ended else None,
        abandoned=int(abandoned or 0),
        result=result,
        error=error,
    )
    return Found(stored, tenant[1:] if tenant else None, None if seq == _NONE else seq)


def _status(place: str, more: Sequence[str]) -> Status:
    """`more` is what belongs to the place, as lua/shared_job.lua tells."""
    if place == "ended":
        return Status(more[0])
    return Status.RETRYING if more == ["retrying"] else _WAITING[place]


def worker_of(where: str | None) -> str | None:
    """Who holds a job, by its field `at`; None for one that is not claimed."""
    place, *words = (where or _NONE).split(" ", 5)
    return words[4] if place == "flight" else None


def _number(text: str | None) -> int | None:
    return None if text is None or text == _NONE else int(text)
