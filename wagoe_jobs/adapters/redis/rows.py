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
IDS = 500
"""How many ids one step takes where no text is asked for."""

_HEAD = ("place", "type", "queue", "rank", "payload", "created", "updated", "abandoned", "seq", "tenant")
_TAIL = ("due", "claimed", "started", "status", "retrying", "completed", "result", "error")
_WAITING = {"ready": Status.PENDING, "scheduled": Status.PENDING, "flight": Status.RUNNING}

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
        reads = [("HMGET", self._redis.keys.job(id), *_HEAD, *_TAIL) for id in ids]
        (seconds, micros), *replies = self._redis.ask(("TIME",), *reads)
        now_us = int(seconds) * 1_000_000 + int(micros) + self._redis.offset.us
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
    """Tell the caller about text that redis cannot hold."""
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
    place, type, queue, rank, payload, created, updated, abandoned, seq, tenant = reply[: len(_HEAD)]
    if place is None or type is None or queue is None or payload is None:
        return None
    due, claimed, started, status, retrying, completed, result, error = reply[len(_HEAD) :]
    stored = Stored(
        id=id,
        type=type,
        queue=queue,
        status=_status(place, status, retrying),
        rank=int(rank or 0),
        payload=payload,
        created_us=int(created or 0),
        updated_us=int((claimed if place == "flight" else completed if place == "ended" else updated) or 0),
        due_us=_number(due),
        started_us=_number(claimed if place == "flight" else started if place == "ended" else None),
        completed_us=_number(completed) if place == "ended" else None,
        abandoned=int(abandoned or 0),
        result=result,
        error=error,
    )
    return Found(stored, tenant, seq)


def _status(place: str, status: str | None, retrying: str | None) -> Status:
    if status is not None and place == "ended":
        return Status(status)
    return Status.RETRYING if retrying is not None and place == "scheduled" else _WAITING[place]


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
