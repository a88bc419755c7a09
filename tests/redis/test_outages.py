"""A server that refuses, forgets or goes away: a clear error meanwhile, and work goes on by itself afterwards."""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import Any

import pytest
from redis import Redis as Client
from redis.exceptions import RedisError

from tests.redis.parts import LINE, Parts, new_job, open_parts
from tests.servers import RedisServer
from tests.until import until
from wagoe_jobs import Registry, WorkerPool
from wagoe_jobs.adapters import redis
from wagoe_jobs.core.job import Status
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.ports import Answer, Claim, Hold, Runtime, Settlement

SECONDS = 5.0
"""How soon after an outage work must go on."""
DOWN = 2.0


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    """A server that only this test bends."""
    with RedisServer(persistent=False) as server:
        yield server


def runtime_of(server: redis.Redis, queue: Any) -> Runtime:
    return Runtime(provider="redis", queue=queue, store=redis.job_store(server), stats=redis.job_stats(server))


def accepted(parts: Parts) -> bool:
    try:
        return parts.queue.enqueue(new_job())
    except BackendUnavailable:
        return False


@contextmanager
def refused(parts: Parts, word: str) -> Iterator[None]:
    """Meanwhile every way to write is refused with `word`, and the way out is known within SECONDS."""
    [claim] = parts.queue.claim(LINE, "ann", 1)
    yield
    for act in (
        lambda: parts.queue.enqueue(new_job()),
        lambda: parts.queue.enqueue_many([new_job() for _ in range(600)]),
        lambda: parts.queue.exchange([Settlement(claim, Status.COMPLETED)], LINE, "ann", 1),
        lambda: parts.queue.renew([claim]),
    ):
        with pytest.raises(BackendUnavailable) as told:
            act()
        assert word in told.value.reason


@pytest.mark.parametrize("times", [1, 2])
def test_a_server_that_forgot_its_scripts_is_told_them_again(parts: Parts, times: int) -> None:
    for _ in range(times):
        parts.client.script_flush()
        jobs = [new_job() for _ in range(600)]
        assert parts.queue.enqueue_many(jobs) == [True] * 600
        parts.client.script_flush()
        assert len(parts.queue.claim(LINE, "ann", 500)) == 500
        parts.client.script_flush()
        assert parts.queue.process_scheduled() == 0
        with parts.queue.wake_up(LINE) as place:  # type: ignore[attr-defined]
            assert place.wait(parts.queue.lease)
        parts.client.flushdb()


@pytest.mark.fault(59)
def test_a_primary_that_became_a_replica_and_came_back(own_server: RedisServer) -> None:
    runs: Counter[str] = Counter()
    with (
        own_server.client() as client,
        closing(redis.open_redis(client)) as server,
        closing(redis.job_queue(server)) as queue,
    ):
        runtime = runtime_of(server, queue)
        kept, refusals, stop = list[str](), list[str](), threading.Event()

        def enqueue() -> None:
            while not stop.is_set():
                job = new_job()
                try:
                    queue.enqueue(job)
                    kept.append(str(job.id))
                except BackendUnavailable as exc:
                    refusals.append(exc.reason)
                time.sleep(0.002)

        registry = Registry()
        registry.register("greet", lambda args, context: runs.update([str(context.id)]))
        with WorkerPool(runtime, registry, queues=[LINE], count=4):
            source = threading.Thread(target=enqueue, name="source")
            source.start()
            until(lambda: len(runs) > 50, within=SECONDS)
            client.execute_command("REPLICAOF", "127.0.0.1", "1")
            time.sleep(DOWN)
            client.execute_command("REPLICAOF", "NO", "ONE")
            before = len(runs)
            until(lambda: len(runs) > before + 20, within=SECONDS)
            stop.set()
            source.join()
            until(lambda: set(kept) <= set(runs), within=SECONDS)
        assert refusals
        assert all("READONLY" in reason or "UNBLOCKED" in reason for reason in refusals)
        assert queue.size(LINE) == 0
        assert runtime.stats.queue_stats(LINE).processed == len(runs)
        again = [id for id, times in runs.items() if times > 1]
        assert len(again) <= 4 + 64


def test_a_full_memory_refuses_new_jobs_and_lets_those_there_be_worked_off(own_server: RedisServer) -> None:
    with open_parts(own_server.url()) as parts:
        jobs = [parts.put() for _ in range(6)]
        claims = parts.queue.claim(LINE, "ann", 4)
        parts.client.config_set("maxmemory", 1)
        for enqueue in (lambda: parts.queue.enqueue(new_job()), lambda: parts.queue.enqueue_many([new_job()] * 600)):
            with pytest.raises(BackendUnavailable) as told:
                enqueue()
            assert "OOM" in told.value.reason
        assert set(parts.queue.renew(claims).values()) == {Hold.HELD}
        assert parts.queue.hand_back(claims[3:]) == 1
        assert parts.queue.cancel(jobs[5].id)
        done = Settlement(claims[0], Status.COMPLETED, result='"done"')
        answers, more = parts.queue.exchange([done], LINE, "ann", 10)
        assert (answers, [claim.id for claim in more]) == ([Answer.APPLIED], [claims[3].id, str(jobs[4].id)])
        again = Settlement(claims[1], Status.RETRYING, delay=timedelta(seconds=1), payload=claims[1].payload)
        assert parts.queue.settle([again]) == [Answer.APPLIED]
        parts.clock_offset.move(timedelta(seconds=2))
        assert parts.queue.process_scheduled() == 1
        assert parts.queue.interrupt(claims[2:3]) == 1
        parts.clock_offset.move(timedelta(minutes=2))
        assert len(parts.queue.reclaim_abandoned()) == 3
        parts.client.config_set("maxmemory", 0)
        until(lambda: accepted(parts), within=SECONDS)


SPOILT: dict[str, Callable[[Any, str], object]] = {
    "no place": lambda client, key: client.hdel(key, "at"),
    "no kind": lambda client, key: client.hdel(key, "is"),
    "a place that is none": lambda client, key: client.hset(key, "at", "rubbish"),
    "an end that is none": lambda client, key: client.hset(key, "at", "ended"),
    "a kind that is none": lambda client, key: client.hset(key, "is", "rubbish"),
    "a string": lambda client, key: client.delete(key) and client.set(key, "rubbish"),
}


def settled(parts: Parts, claims: Sequence[Claim]) -> Sequence[Answer]:
    parts.queue.renew(claims)
    return parts.queue.settle([Settlement(claim, Status.COMPLETED) for claim in claims])


@pytest.mark.parametrize("how", SPOILT)
def test_a_job_that_somebody_spoilt_stops_no_other(parts: Parts, how: str) -> None:
    spoilt, later, good = parts.put(), parts.put(), parts.put()
    [claim] = parts.queue.claim(LINE, "ann", 1)
    parts.queue.hand_back([claim])
    SPOILT[how](parts.client, parts.keys.job(str(spoilt.id)))
    if how != "a string":
        assert [job.id for job in parts.store.search().jobs] == [good.id, later.id]
        assert not parts.queue.cancel(spoilt.id)
    claims = parts.queue.claim(LINE, "ann", 3)
    expected = {str(later.id): Answer.APPLIED, str(good.id): Answer.APPLIED}
    got = dict(zip([claim.id for claim in claims], settled(parts, claims), strict=True))
    assert {id: answer for id, answer in got.items() if id != str(spoilt.id)} == expected
    assert got.get(str(spoilt.id), Answer.LOST) is Answer.LOST
    assert parts.queue.claim(LINE, "ann", 3) == []


def test_a_payload_of_bytes_that_are_no_text_is_told_as_it_is(parts: Parts) -> None:
    bad, good = parts.put(), parts.put()
    parts.client.hset(parts.keys.job(str(bad.id)), "payload", b"\xff\x00{")
    claims = parts.queue.claim(LINE, "ann", 2)
    assert [claim.id for claim in claims] == [str(bad.id), str(good.id)]
    assert claims[0].payload == "\\xff\0{"
    assert [job.id for job in parts.store.search().jobs] == [good.id, bad.id]


def test_a_server_that_cannot_save_refuses_and_is_used_once_it_can() -> None:
    settings = {"save": "3600 1", "stop-writes-on-bgsave-error": "yes"}
    with RedisServer(persistent=False, settings=settings) as server, open_parts(server.url()) as parts:
        parts.put()
        with refused(parts, "MISCONF"):
            server.folder.chmod(0o500)
            parts.client.bgsave()
            until(lambda: parts.client.info("persistence")["rdb_last_bgsave_status"] == "err", within=SECONDS)
        server.folder.chmod(0o700)
        parts.client.bgsave()
        until(lambda: accepted(parts), within=SECONDS)


@pytest.mark.fault(19)
def test_a_server_that_still_reads_its_data_is_waited_for() -> None:
    slow = {"save": "3600 1", "key-load-delay": 1_000, "loading-process-events-interval-bytes": 1_024}
    with RedisServer(persistent=False, settings=slow) as server, open_parts(server.url()) as parts:
        parts.queue.enqueue_many([new_job() for _ in range(1_000)])
        server.stop()
        starting = threading.Thread(target=server.start, name="starting")
        starting.start()
        reasons: set[str] = set()
        try:
            while not accepted_or_told(parts, reasons):
                time.sleep(0.02)
        finally:
            starting.join()
        assert any("LOADING" in reason or "BusyLoading" in reason for reason in reasons), reasons
        assert parts.queue.size(LINE) == 1_001


def accepted_or_told(parts: Parts, reasons: set[str]) -> bool:
    try:
        return parts.queue.enqueue(new_job())
    except BackendUnavailable as exc:
        reasons.add(exc.reason)
        return False


@pytest.mark.fault(19)
def test_work_goes_on_after_each_restart() -> None:
    with RedisServer() as server, open_parts(server.url()) as parts:
        for number in range(1, 4):
            assert parts.queue.enqueue(new_job())
            server.restart()
            until(lambda: accepted(parts), within=SECONDS)
            assert parts.queue.size(LINE) == 2 * number


@pytest.mark.fault(61)
def test_more_slots_than_connections_is_slow_and_not_stuck(redis_url: str) -> None:
    done = Counter[str]()
    with (
        Client.from_url(redis_url, max_connections=2) as client,
        closing(redis.open_redis(client, connections=2)) as server,
        closing(redis.job_queue(server)) as queue,
    ):

        def greet(args: object, context: Any) -> None:
            queue.enqueue(new_job(queue="elsewhere"))  # a handler needs a connection too
            done.update([str(context.id)])

        registry = Registry()
        registry.register("greet", greet)
        queue.enqueue_many([new_job() for _ in range(200)])
        with WorkerPool(runtime_of(server, queue), registry, queues=[LINE], count=8):
            until(lambda: len(done) == 200, within=30)
        assert queue.size("elsewhere") == 200


def test_a_caller_that_gets_no_connection_in_time_is_told_why(own_server: RedisServer) -> None:
    with (
        own_server.client() as client,
        closing(redis.open_redis(client, connections=1, patience=timedelta(milliseconds=200))) as server,
    ):
        own_server.pause()
        hanging = threading.Thread(target=lambda: server.ask(("PING",)), name="hanging")
        hanging.start()
        time.sleep(0.1)
        try:
            with pytest.raises(BackendUnavailable, match="connections were busy"):
                server.ask(("PING",))
        finally:
            own_server.resume()
            hanging.join()


@pytest.mark.fault(71)
def test_use_after_fork_is_refused_and_the_parent_goes_on(parts: Parts, redis_url: str) -> None:
    parts.put()
    [claim] = parts.queue.claim(LINE, "ann", 1)
    parts.queue.renew([claim])
    children = [_forked(parts, redis_url) for _ in range(4)]
    for number in range(100):
        assert parts.queue.enqueue(new_job(queue="parent")), number
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
    assert (parts.queue.size("parent"), parts.queue.size("children")) == (100, 400)
    assert parts.queue.ack(claim)


def _forked(parts: Parts, url: str) -> int:
    """A child that tries the parent's queue, then uses its own; its exit code is 0 when both went as they must."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        try:
            parts.queue.enqueue(new_job())
        except BackendUnavailable as exc:
            code = 0 if "fork" in exc.reason else 2
        parts.queue.close()
        with Client.from_url(url) as client, closing(redis.job_queue(client)) as queue:
            for _ in range(100):
                queue.enqueue(new_job(queue="children"))
    except (RedisError, BackendUnavailable, AssertionError):
        code = 3
    finally:
        os._exit(code)


def test_close_in_the_middle_and_twice(parts: Parts) -> None:
    parts.put()
    parts.queue.close()
    parts.queue.close()
    assert parts.queue.size(LINE) == 1, "a closed queue dials anew when it is asked again"
