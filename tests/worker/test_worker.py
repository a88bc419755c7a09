"""What becomes of one job, whatever its handler does; on every store, through `work_one`."""

import asyncio
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from tests.pool.faulty import FaultyQueue
from tests.pool.house import SOON, House
from tests.worker.conftest import Run, Said
from wagoe_jobs.core.codec import PAYLOAD_LIMIT, encode_job
from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.core.outcome import Discard, Failure, Patience, Retry, Snooze, Success
from wagoe_jobs.registry import Registry, handler
from wagoe_jobs.worker import Worker


def raising(error: BaseException) -> Callable[[object], object]:
    def function(args: object) -> object:
        raise error

    return function


def answering(answer: object) -> Callable[[object], object]:
    return lambda args: answer


ENDS_WELL = [
    (None, None),
    (5, 5),
    ({}, {}),
    (0, 0),
    (False, False),
    ("", ""),
    ([1, (2, {3})], [1, (2, {3})]),
    (Success(), None),
    (Success("kept"), "kept"),
    ({"success": True, "result": 1}, 1),
    ({"success": True}, None),
]
ENDS_BADLY = [
    (Failure("x"), "handler-error", "x"),
    (Failure("x", type="mine"), "mine", "x"),
    ({"success": False, "error": {"message": "m", "type": "t"}}, "t", "m"),
    ({"success": False}, "handler-error", "the handler reported a failure"),
    ({"success": False, "error": "m"}, "handler-error", "m"),
    ({"success": "yes"}, "handler-error", "must be True or False"),
    ({"success": 1}, "handler-error", "must be True or False"),
    ({"success": None}, "handler-error", "must be True or False"),
]


@pytest.mark.fault(49)
@pytest.mark.parametrize(("answer", "result"), ENDS_WELL)
def test_an_answer_that_is_no_failure_completes_the_job_with_it(run: Run, answer: object, result: object) -> None:
    job = run(answering(answer))
    assert (job.status, job.result, job.error) == (Status.COMPLETED, result, None)
    assert type(job.result) is type(result)


@pytest.mark.fault(49)
@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize(("answer", "type", "message"), ENDS_BADLY)
def test_a_failure_that_is_reported_is_retried_and_then_buried(
    run: Run, answer: object, type: str, message: str, left: int
) -> None:
    job = run(answering(answer), max_retries=left)
    assert job.status is (Status.RETRYING if left else Status.FAILED)
    assert job.retry_count == left
    assert job.error is not None
    assert job.error.type == type
    assert message in job.error.message


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")

    __repr__ = __str__


class Unformatted(Exception):
    @property
    def __notes__(self) -> list[str]:
        raise ValueError("no notes")


RAISED = [
    ValueError("boom"),
    SystemExit(3),
    KeyboardInterrupt(),
    GeneratorExit(),
    asyncio.CancelledError(),
    MemoryError(),
    RecursionError("deep"),
    StopIteration("ends"),
    BaseException("base"),
    BaseExceptionGroup("several", [KeyboardInterrupt(), ValueError("x")]),
    Mute(),
    Unformatted("odd"),
    ValueError("half a pair \ud800 and nul \x00"),
    ValueError("x" * 100_000),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
]


@pytest.mark.fault(49)
@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("is_async", [False, True])
def test_whatever_a_handler_raises_fails_that_job_only(run: Run, error: BaseException, is_async: bool) -> None:
    async def function(args: object) -> None:
        raise error

    job = run(function if is_async else raising(error), max_retries=1)
    assert job.status is Status.RETRYING
    assert job.error is not None
    assert job.error.type == "handler-error"
    assert job.error.message
    assert len(job.error.message) <= 8_000
    assert job.error.exception_class is not None
    assert job.error.stacktrace
    assert len(job.error.stacktrace) <= 32_000
    if not isinstance(error, StopIteration):  # python turns it into a RuntimeError inside a coroutine
        assert job.error.exception_class.endswith(type(error).__qualname__)


def test_the_failure_keeps_class_message_and_the_line_that_raised(run: Run) -> None:
    def deep(args: object) -> None:
        raise LookupError("no such receipt")

    error = run(deep).error
    assert error is not None
    assert (error.exception_class, error.message) == ("builtins.LookupError", "no such receipt")
    assert 'raise LookupError("no such receipt")' in (error.stacktrace or "")


def test_a_failure_without_retry_is_buried_at_once(run: Run) -> None:
    assert run(answering(Failure("no", retry=False)), max_retries=3).status is Status.FAILED


def test_a_retry_waits_as_long_as_it_was_asked_to_and_uses_a_repeat(run: Run) -> None:
    job = run(answering(Retry(timedelta(hours=2), "later")), max_retries=1)
    assert (job.status, job.retry_count) == (Status.RETRYING, 1)
    assert job.execute_at is not None
    assert timedelta(hours=1.9) < job.execute_at - job.created_at < timedelta(hours=2.1)
    assert run(answering(Retry(timedelta(hours=2))), max_retries=0).status is Status.FAILED


def test_a_snooze_waits_and_uses_nothing(run: Run) -> None:
    job = run(answering(Snooze(timedelta(hours=1))), max_retries=0)
    assert (job.status, job.retry_count, job.error) == (Status.PENDING, 0, None)
    assert job.execute_at is not None


def test_a_discarded_job_is_cancelled_with_its_reason(run: Run) -> None:
    job = run(answering(Discard("already paid")))
    assert job.status is Status.CANCELLED
    assert job.error is not None
    assert (job.error.type, job.error.message) == ("discarded", "already paid")


ODD = [
    Retry(5),  # type: ignore[arg-type]
    Snooze("soon"),  # type: ignore[arg-type]
    Retry(None),  # type: ignore[arg-type]
    Retry(timedelta.max),
    Snooze(timedelta.max),
    Snooze(timedelta(seconds=-5)),
    Failure(ValueError("as a message")),  # type: ignore[arg-type]
    Failure(None, type=7, details=object()),  # type: ignore[arg-type]
    Failure(Mute(), details=Mute()),  # type: ignore[arg-type]
    Failure("x", details={"n": {1, 2}}, stacktrace=5, exception_class=object()),  # type: ignore[arg-type]
    Discard(7),  # type: ignore[arg-type]
    Discard("\ud800"),
    {"success": False, "error": {"message": object(), "type": Mute()}},
]


@pytest.mark.parametrize("answer", ODD, ids=range(len(ODD)))
def test_a_result_that_was_filled_in_oddly_still_ends_the_run(run: Run, answer: object) -> None:
    job = run(answering(answer), max_retries=1)
    assert job.status in (Status.RETRYING, Status.PENDING, Status.CANCELLED)


class Unkept:
    def __init__(self, text: str = "<unkept>") -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


@pytest.mark.parametrize(
    "result",
    [
        Unkept(),
        Unkept("é" * 5_000),
        Unkept("\ud800"),
        Mute(),
        object(),
        [1, {"deep": Unkept()}],
        datetime(2024, 1, 1),  # noqa: DTZ001 - naive on purpose
        "x" * (PAYLOAD_LIMIT + 1),
        lambda: None,
    ],
    ids=range(9),
)
def test_a_result_that_cannot_be_kept_completes_the_job_and_leaves_a_note(run: Run, result: object, said: Said) -> None:
    job = run(answering(result))
    assert job.status is Status.COMPLETED
    assert isinstance(job.result, dict)
    assert set(job.result) == {"unencodable", "repr"}
    assert job.result["unencodable"].endswith(type(result).__qualname__)
    assert len(job.result["repr"].encode()) <= 1024
    assert "cannot be kept" in said()


def test_a_result_that_refers_to_itself_completes_the_job(run: Run) -> None:
    endless: list[object] = []
    endless.append(endless)
    assert run(answering(endless)).status is Status.COMPLETED


def test_a_job_of_the_largest_size_is_repeated_parked_buried_and_redriven_all_the_same(house: House) -> None:
    room = PAYLOAD_LIMIT - len(encode_job(house.new("work", {"text": ""}, max_retries=1)))
    id = house.enqueue("work", {"text": "x" * room}, max_retries=1)
    registry = Registry({"work": raising(ValueError("y" * 5_000)), "other": print})

    def run_once(worker: Worker) -> Job:
        house.offset.move(timedelta(seconds=1))
        house.queue.process_scheduled()
        assert worker.work_one()
        return house.job(id)

    with Worker(house.runtime, registry, backoff=SOON) as worker:
        job = run_once(worker)
        assert (job.status, job.retry_count) == (Status.RETRYING, 1)
        registry.unregister("work")
        run_once(worker)
        assert run_once(worker).metadata["misses"] == 2
        registry.register("work", raising(ValueError("y" * 5_000)))
        assert run_once(worker).status is Status.FAILED
        assert house.runtime.store.retry(id)
        job = run_once(worker)
    assert (job.status, job.retry_count) == (Status.RETRYING, 1)
    assert isinstance(job.args, dict)
    assert len(job.args["text"]) == room


BAD_TEXTS = ["", "{", "null", "[]", "{}", '{"~:id":"~u1"}', "x" * 1_000, '["^ "]', "[" * 100_000]


@pytest.mark.parametrize("text", BAD_TEXTS, ids=range(len(BAD_TEXTS)))
def test_text_that_is_no_job_is_buried_and_its_neighbours_run(house: House, text: str, said: Said) -> None:
    """The claims' text is what another program may have written; the stored text is left as it is."""
    ids = [house.enqueue() for _ in range(3)]
    claims = house.queue.claim("default", "w", 3)
    claims = [claim._replace(payload=text) if n == 1 else claim for n, claim in enumerate(claims)]
    worker = Worker(house.runtime, Registry({"work": answering("fine")}))
    settlements = [worker.run_claim(claim, 0, worker._seat) for claim in claims]
    house.queue.settle(settlements)
    assert [house.job(id).status for id in ids] == [Status.COMPLETED, Status.FAILED, Status.COMPLETED]
    error = house.job(ids[1]).error
    assert error is not None
    assert error.type == "undecodable"
    assert settlements[1].payload is None
    assert "cannot be read" in said()


def test_an_unknown_type_is_parked_uncharged_and_says_since_when(house: House) -> None:
    id = house.enqueue("strange", max_retries=0)
    patience = Patience(delay=timedelta(seconds=1), max_age=timedelta(seconds=10))
    with Worker(house.runtime, Registry({"work": print}), patience=patience) as worker:
        assert worker.work_one()
        first = house.job(id)
        house.offset.move(timedelta(seconds=5))
        assert house.queue.process_scheduled() == 1
        assert worker.work_one()
        second = house.job(id)
        house.offset.move(timedelta(seconds=6))
        assert house.queue.process_scheduled() == 1
        assert worker.work_one()
        last = house.job(id)
    assert [job.status for job in (first, second, last)] == [Status.PENDING, Status.PENDING, Status.FAILED]
    assert first.repeats == second.repeats == 0
    assert first.metadata["first-missing-at"] == second.metadata["first-missing-at"]
    assert second.metadata["misses"] == 2
    assert last.error is not None
    assert last.error.type == "no-handler"
    assert "'strange'" in last.error.message


@pytest.mark.parametrize("answer", [Snooze(timedelta(seconds=1)), Failure("x"), Retry(timedelta(seconds=1))])
def test_a_node_that_knows_the_type_ends_the_time_it_was_missing(house: House, answer: object) -> None:
    id = house.enqueue("work")
    registry = Registry({"other": print})
    with Worker(house.runtime, registry, backoff=SOON) as worker:
        assert worker.work_one()
        assert "first-missing-at" in house.job(id).metadata
        registry.register("work", answering(answer))
        house.offset.move(timedelta(seconds=5))
        assert house.queue.process_scheduled() == 1
        assert worker.work_one()
    assert not {"first-missing-at", "misses"} & set(house.job(id).metadata)


class Order(BaseModel):
    to: str
    copies: int = 1


def test_args_that_the_model_refuses_are_buried_before_the_run(house: House) -> None:
    ran: list[object] = []

    @handler("work", args=Order)
    def work(args: dict[str, Any]) -> None:
        ran.append(args)

    bad = house.enqueue("work", {"to": 5, "copies": "secret"}, max_retries=3)
    good = house.enqueue("work", {"to": "ann"})
    with Worker(house.runtime, Registry([work])) as worker:
        assert worker.work_one()
        assert worker.work_one()
    job = house.job(bad)
    assert (job.status, job.retry_count) == (Status.FAILED, 0)
    assert job.error is not None
    assert job.error.type == "invalid-args"
    assert "args['to']" in job.error.message
    assert "secret" not in job.error.message
    assert house.job(good).status is Status.COMPLETED
    assert ran == [{"to": "ann"}]


def test_a_failure_is_logged_with_the_wait_in_seconds_and_the_last_one_as_a_dead_letter(run: Run, said: Said) -> None:
    again = run(answering(Failure("jammed", type="paper-jam")))
    over = run(answering(Failure("jammed", type="paper-jam", retry=False)))
    assert re.search(rf"job {again.id} \(work\) failed, again in \d+\.\d s: paper-jam: jammed", said())
    assert f"job {over.id} (work) failed for good, a dead letter now: paper-jam: jammed" in said()


def test_a_store_that_comes_back_gets_the_settlement_of_a_single_worker(house: House) -> None:
    queue = FaultyQueue(house.queue, lambda name, call: "after" if name == "settle" and call < 3 else None)
    id = house.enqueue()
    with Worker(house.with_queue(queue).runtime, Registry({"work": answering(1)})) as worker:  # type: ignore[arg-type]
        assert worker.work_one()
    assert house.job(id).result == 1
