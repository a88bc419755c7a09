"""What goes in comes out: the same types, the same instants, no aliasing; and what cannot go in leaves nothing."""

import json
import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from uuid import UUID

from wagoe_jobs.core import codec
from wagoe_jobs.core.job import ErrorInfo, Job, Status
from wagoe_jobs.errors import InvalidJob, PayloadTooLarge
from wagoe_jobs.ports import JobFilter, OnceJobQueue, Settlement
from wagoe_jobs.testing.backend import HOUR, QUEUE, SECOND, Backend, ending
from wagoe_jobs.testing.raising import raises
from wagoe_jobs.testing.subjects import State
from wagoe_jobs.testing.table import covers

WEST = timezone(timedelta(hours=-8))
LOCAL = datetime(2024, 1, 1, 13, 30, 45, 123456, tzinfo=WEST)
VALUES = {
    "on": True,
    "off": False,
    "l": [1, [2]],
    "t": (1, "two"),
    "d": {"x": {}},
    "s": {1, 2},
    "n": None,
    "i": [0, -1, 2**53, 2**63, -(10**40)],
    "f": [0.1, 1.0, -0.0, 1e300],
    "decimal": Decimal("0.10"),
    "bytes": b"\x00\xff",
    "uuid": UUID(int=7),
    "date": date(2024, 2, 29),
    "time": time(23, 59, 59, 999999),
    "delta": timedelta(microseconds=-1),
    "text": "~:not-a-keyword ^ ` \x00 é 💥",
    "keys": {1: "one", "1": "text", (1, 2): "pair"},
}


class Colour(IntEnum):
    RED = 1


REFUSED: Sequence[object] = (
    {"when": datetime(2024, 1, 1)},  # noqa: DTZ001  a naive instant is what must be refused
    {"colour": Colour.RED},
    {"ordered": OrderedDict(a=1)},
    {"thing": object()},
    {"text": "\ud800"},
)


@covers("enqueue", State.UNKNOWN)
@covers("claim", State.READY)
@covers("find", State.READY, State.COMPLETED)
def case_arguments_come_back_as_the_types_that_were_given(backend: Backend) -> None:
    job = backend.put(args=VALUES)
    claim = backend.take()
    backend.queue.ack(claim)
    for args in (codec.decode_job(claim.payload).args, codec.decode_run(claim.payload).args, backend.look(job).args):
        assert _typed(args) == _typed(VALUES)
        assert isinstance(args, dict)
        assert args["off"] is False
        assert json.dumps([args["on"], args["l"], args["d"], args["n"]]) == '[true, [1, [2]], {"x": {}}, null]'


def _typed(value: object) -> object:
    """The value with the type of each part beside it, since True == 1 and 1 == 1.0."""
    match value:
        case dict():
            return "dict", {(type(key).__name__, key): _typed(part) for key, part in value.items()}
        case list() | tuple():
            return type(value).__name__, [_typed(part) for part in value]
        case set():
            return "set", sorted((type(part).__name__, part) for part in value)
        case float():
            return "float", value.hex()
        case _:
            return type(value).__name__, value


@covers("find", State.READY)
def case_nan_comes_back_as_nan(backend: Backend) -> None:
    found = backend.look(backend.put(args={"x": math.nan}))
    assert isinstance(found.args, dict)
    assert math.isnan(found.args["x"])


@covers("find", State.READY)
@covers("peek", State.READY)
def case_nothing_is_shared_between_enqueuer_handler_and_store(backend: Backend) -> None:
    args = {"list": [1]}
    job = backend.put(args=args)
    args["list"].append(2)
    for read in (backend.look(job), backend.queue.peek(QUEUE)[0], codec.decode_job(backend.take().payload)):
        assert read.args == {"list": [1]}
        assert isinstance(read.args, dict)
        read.args["list"].append(3)
        read.args["more"] = True
    assert backend.look(job).args == {"list": [1]}


@covers("find", State.COMPLETED, State.FAILED)
def case_results_and_errors_come_back_as_given(backend: Backend) -> None:
    done, dead = backend.put(), backend.put()
    first, second = backend.queue.claim(QUEUE, "ann", 2)
    error = ErrorInfo(
        type="card-declined", message="nö ~: \x00", exception_class="a.B", stacktrace="line\n", details={"code": 51}
    )
    backend.queue.settle(
        [
            Settlement(first, Status.COMPLETED, result=codec.encode_value(VALUES)),
            Settlement(second, Status.FAILED, error=codec.encode_error(error)),
        ]
    )
    assert _typed(backend.look(done).result) == _typed(VALUES)
    assert backend.look(dead).error == error


@covers("find", State.COMPLETED)
def case_a_result_of_none_is_none_and_falsy_ones_are_kept(backend: Backend) -> None:
    falsy: Sequence[object] = (None, False, 0, "", [], {})
    for value in falsy:
        job = backend.put()
        text = codec.encode_value(value)
        backend.queue.settle([Settlement(backend.take(), Status.COMPLETED, result=text)])
        found = backend.look(job)
        assert (type(found.result), found.result) == (type(value), value)


@covers("enqueue", State.SCHEDULED)
@covers("find", State.SCHEDULED)
def case_a_local_instant_stays_the_same_instant(backend: Backend) -> None:
    later = LOCAL.replace(year=2099)
    job = backend.put(args={"at": LOCAL}, execute_at=later)
    found = backend.look(job)
    assert found.execute_at == later
    assert found.execute_at is not None
    assert found.execute_at.utcoffset() == timedelta(0)
    assert isinstance(found.args, dict)
    assert found.args["at"] == LOCAL
    assert found.args["at"].utcoffset() == timedelta(0)
    assert found.args["at"].microsecond == 123456
    past = backend.put(execute_at=LOCAL)
    assert backend.take().id == str(past.id)
    assert backend.look(past).execute_at == LOCAL


@covers("find", State.COMPLETED)
def case_the_due_time_is_kept_to_the_end(backend: Backend) -> None:
    job = backend.put(execute_at=LOCAL)
    backend.queue.ack(backend.take())
    assert backend.look(job).execute_at == LOCAL


@covers("enqueue", State.UNKNOWN)
@covers("search", State.READY)
def case_naive_instants_are_refused(backend: Backend) -> None:
    naive = datetime(2024, 1, 1, 13, 30)  # noqa: DTZ001
    with raises(InvalidJob):
        backend.job(execute_at=naive)
    with raises(InvalidJob):
        backend.queue.enqueue(backend.job(args={"deep": [naive]}))
    with raises(InvalidJob):
        backend.store.search(JobFilter(since=naive))
    with raises(InvalidJob):
        backend.store.search(JobFilter(until=naive))
    assert list(backend.store.search().jobs) == []


@covers("enqueue", State.UNKNOWN)
@covers("enqueue_many", State.UNKNOWN)
@covers("schedule", State.UNKNOWN)
@covers("enqueue_once", State.UNKNOWN)
def case_what_cannot_be_encoded_is_refused_and_nothing_is_stored(backend: Backend) -> None:
    queue = backend.queue
    assert isinstance(queue, OnceJobQueue)
    for args in REFUSED:
        bad = backend.job(args=args)
        _refused(backend, bad, InvalidJob)
        with raises(InvalidJob):
            queue.enqueue_once("scope", "key", bad, HOUR)
    assert backend.idempotency.seen("scope", "key") is False


def _refused(backend: Backend, bad: Job, kind: type[Exception]) -> None:
    with raises(kind):
        backend.queue.enqueue(bad)
    with raises(kind):
        backend.queue.schedule(bad, HOUR)
    with raises(kind):
        backend.queue.enqueue_many([backend.job(), bad, backend.job()])
    assert list(backend.store.search().jobs) == []
    assert list(backend.queue.list_queues()) == []


@covers("enqueue", State.UNKNOWN)
@covers("enqueue_many", State.UNKNOWN)
def case_a_payload_that_is_too_large_is_refused(backend: Backend) -> None:
    _refused(backend, backend.job(args={"x": "x" * 1_000_001}), PayloadTooLarge)
    job = backend.put(args={"x": "é" * 900_000})
    found = backend.look(job)
    assert isinstance(found.args, dict)
    assert found.args["x"] == "é" * 900_000


@covers("find", State.READY)
def case_a_job_comes_back_whole(backend: Backend) -> None:
    job = backend.put(type="send-émail 💌", args={"to": "ann"}, max_retries=7, metadata={"tenant-id": "acme", "n": 1})
    found = backend.look(job)
    assert abs(found.created_at - datetime.now(UTC)) < timedelta(hours=1)
    assert abs(found.created_at - found.updated_at) < SECOND
    stamps = {"created_at": job.created_at, "updated_at": job.updated_at}
    assert replace(found, **stamps) == job  # type: ignore[arg-type]


@covers("find", State.READY, State.IN_FLIGHT)
def case_the_stores_clock_gives_the_instants(backend: Backend) -> None:
    backend.advance(timedelta(days=400))
    job = backend.put()
    start = backend.look(job).created_at
    assert start - job.created_at > timedelta(days=399)
    backend.advance(HOUR)
    claim = backend.take()
    found = backend.look(job)
    assert found.started_at is not None
    assert HOUR <= found.started_at - start < 2 * HOUR
    assert HOUR <= found.updated_at - start < 2 * HOUR
    backend.advance(HOUR)
    backend.queue.settle([ending(claim, Status.COMPLETED)])
    ended = backend.look(job)
    assert ended.completed_at is not None
    assert 2 * HOUR <= ended.completed_at - start < 3 * HOUR
    assert ended.created_at == start


@covers("enqueue", State.READY)
@covers("claim", State.READY)
def case_names_that_are_hostile_to_stores(backend: Backend) -> None:
    names = ("'; DROP TABLE job_queue; --", 'a"b', "%s %(x)s :y ?", "{}", "ünï💥", "x" * 200, "A", "a")
    jobs = {name: backend.put(queue=name, type=name) for name in names}
    assert list(backend.queue.list_queues()) == sorted(names)
    for name, job in jobs.items():
        assert backend.take(queue=name, worker=name).id == str(job.id)
        assert backend.stats.queue_stats(name).in_flight == 1
