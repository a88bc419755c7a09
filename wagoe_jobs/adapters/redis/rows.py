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
HEADS = 500
"""How many without their texts."""

_HEAD = ("place", "status", "retrying", "type", "queue", "tenant", "created", "completed")
_TAIL = ("seq", "rank", "payload", "updated", "due", "claimed", "started", "abandoned", "result", "error")
_WAITING = {"ready": Status.PENDING, "scheduled": Status.PENDING, "flight": Status.RUNNING}


class Head(NamedTuple):
    """What a job is asked for by."""

    id: str
    status: Status
    type: str
    queue: str
    tenant: str | None
    created_us: int
    completed_us: int | None


class Found(NamedTuple):
    """One job, whole; `seq` is its place in the line."""

    head: Head
    stored: Stored
    seq: int


class Rows:
    """Reads jobs by id, in the order of the ids that are given."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def heads(self, ids: Sequence[str]) -> list[Head]:
        """Those that are there, without their texts."""
        return [head for _, head, _ in self._read(ids, _HEAD, HEADS)]

    def found(self, ids: Sequence[str]) -> list[Found]:
        """Those that are there, whole."""
        return [
            Found(head, _stored(head, place, tail), int(seq or 0))
            for place, head, (seq, *tail) in self._read(ids, _HEAD + _TAIL, CHUNK)
        ]

    def jobs(self, ids: Sequence[str]) -> list[Job]:
        return [read_job(found.stored) for found in self.found(ids)]

    def _read(
        self, ids: Sequence[str], fields: Sequence[str], chunk: int
    ) -> Iterator[tuple[str, Head, Sequence[str | None]]]:
        """Place, head, and what was asked for beyond that."""
        for first in range(0, len(ids), chunk):
            some = ids[first : first + chunk]
            (seconds, micros), *replies = self._redis.ask(
                ("TIME",), *(("HMGET", self._redis.keys.job(id), *fields) for id in some)
            )
            now_us = int(seconds) * 1_000_000 + int(micros) + self._redis.offset.us
            for id, reply in zip(some, replies, strict=True):
                head = _head(id, reply)
                if head is not None and not self._over(head, now_us):
                    yield reply[0], head, reply[len(_HEAD) :]

    def _over(self, head: Head, now_us: int) -> bool:
        """Whether the job ended longer ago than such are kept: redis removes it by its own clock, at its own time."""
        completed, cancelled = self._redis.keeps
        kept_ms = {Status.COMPLETED: completed, Status.CANCELLED: cancelled}.get(head.status)
        return kept_ms is not None and head.completed_us is not None and head.completed_us <= now_us - kept_ms * 1_000


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


def _head(id: str, reply: Sequence[str | None]) -> Head | None:
    place, status, retrying, type, queue, tenant, created, completed = reply[: len(_HEAD)]
    if place is None or type is None or queue is None or created is None:
        return None
    told = _status(place, status, retrying)
    return Head(id, told, type, queue, tenant, int(created), _number(completed) if told.terminal else None)


def _status(place: str, status: str | None, retrying: str | None) -> Status:
    if status is not None and place == "ended":
        return Status(status)
    return Status.RETRYING if retrying is not None and place == "scheduled" else _WAITING[place]


def _stored(head: Head, place: str, tail: Sequence[str | None]) -> Stored:
    rank, payload, updated, due, claimed, started, abandoned, result, error = tail
    return Stored(
        id=head.id,
        type=head.type,
        queue=head.queue,
        status=head.status,
        rank=int(rank or 0),
        payload=payload or "",
        created_us=head.created_us,
        updated_us=int(updated or head.created_us),
        due_us=_number(due),
        started_us=_number(claimed if place == "flight" else started),
        completed_us=head.completed_us,
        abandoned=int(abandoned or 0),
        result=result,
        error=error,
    )


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
