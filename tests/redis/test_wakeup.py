"""News of work by one token and a blocking read: heard by one, passed on, never lost to who does not listen."""

import os
import threading
import time
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from redis import Redis as Client

from tests.proxy import Proxy
from tests.redis.parts import LINE, Parts, new_job, open_parts
from tests.servers import RedisServer
from wagoe_jobs.adapters import redis
from wagoe_jobs.errors import BackendUnavailable

NOTHING = timedelta(0)
SHORT = timedelta(milliseconds=50)
LONG = timedelta(seconds=10)


def soon(act: Any) -> threading.Timer:
    timer = threading.Timer(0.05, act)
    timer.start()
    return timer


def seconds_of(wait: Any, timeout: timedelta) -> tuple[bool, float]:
    began = time.monotonic()
    return wait(timeout), time.monotonic() - began


def tokens(parts: Parts) -> int:
    return int(parts.client.llen(parts.keys.wake(LINE)))


def blocked(parts: Parts) -> int:
    return int(parts.client.info("clients")["blocked_clients"])


def test_an_interrupt_from_another_thread_leaves_no_read_at_the_server(parts: Parts) -> None:
    with parts.queue.wake_up(LINE) as place:  # type: ignore[attr-defined]
        for _ in range(5):
            timer = soon(place.interrupt)
            news, took = seconds_of(place.wait, LONG)
            timer.join()
            assert news
            assert took < 2
            assert blocked(parts) == 0
            parts.put()
            assert tokens(parts) == 1, "nobody took the token without listening"
            assert place.wait(LONG)
            assert tokens(parts) == 0


def test_a_wait_that_ends_by_its_time_leaves_no_read_either(parts: Parts) -> None:
    with parts.queue.wake_up(LINE) as place:  # type: ignore[attr-defined]
        news, took = seconds_of(place.wait, SHORT)
        assert news is False
        assert 0.04 < took < 1
        assert blocked(parts) == 0


def test_news_at_the_very_moment_that_a_wait_ends_is_heard_or_kept(parts: Parts) -> None:
    moment = timedelta(milliseconds=2)
    heard = kept = 0
    with parts.queue.wake_up(LINE) as place:  # type: ignore[attr-defined]
        for number in range(300):
            parts.client.delete(parts.keys.wake(LINE))
            teller = threading.Timer(number % 40 / 10_000, parts.client.rpush, (parts.keys.wake(LINE), "1"))
            teller.start()
            news = place.wait(moment)
            teller.join()
            assert news is (tokens(parts) == 0), "the wait that takes the token says so, and no other"
            heard, kept = heard + news, kept + (not news)
    assert heard
    assert kept


def test_one_token_stands_for_any_number_of_jobs(parts: Parts) -> None:
    for _ in range(5):
        parts.put()
    assert tokens(parts) == 1


def test_a_full_claim_passes_the_news_on(parts: Parts) -> None:
    parts.queue.enqueue_many([new_job() for _ in range(5)])
    with parts.queue.wake_up(LINE) as place:  # type: ignore[attr-defined]
        assert place.wait(LONG)
        parts.queue.claim(LINE, "ann", 2)
        assert place.wait(NOTHING)
        parts.queue.claim(LINE, "ann", 3)
        assert place.wait(NOTHING) is False


def test_a_place_whose_connection_broke_tells_and_then_hears_again(redis_server: RedisServer, redis_url: str) -> None:
    db = int(redis_url.rpartition("/")[2])
    with (
        Proxy(redis_server.port) as proxy,
        Client(port=proxy.port, db=db, socket_timeout=1) as client,
        closing(redis.job_queue(client)) as queue,
        queue.wake_up(LINE) as place,
    ):
        timer = soon(proxy.cut)
        with pytest.raises(BackendUnavailable):
            place.wait(LONG)
        timer.join()
        assert place.wait(LONG), "a token may have gone with the connection"
        timer = soon(lambda: queue.enqueue(new_job()))
        assert place.wait(LONG)
        timer.join()


def test_a_server_that_hangs_does_not_hold_a_wait_for_ever() -> None:
    with (
        RedisServer(persistent=False) as server,
        Client(port=server.port, socket_timeout=0.3) as client,
        closing(redis.job_queue(client)) as queue,
        queue.wake_up(LINE) as place,
    ):
        server.pause()
        try:
            began = time.monotonic()
            with pytest.raises(BackendUnavailable):
                place.wait(SHORT)
            assert time.monotonic() - began < 2
        finally:
            server.resume()
        queue.enqueue(new_job())
        assert place.wait(LONG)


def test_waiting_over_tls() -> None:
    with (
        RedisServer(persistent=False, tls=True) as server,
        open_parts(server.url()) as parts,
        parts.queue.wake_up(LINE) as place,  # type: ignore[attr-defined]
    ):
        for _ in range(3):
            timer = soon(parts.put)
            news, took = seconds_of(place.wait, LONG)
            timer.join()
            assert news
            assert took < 2
            parts.queue.claim(LINE, "ann", 10)
            assert place.wait(SHORT) is False
            timer = soon(place.interrupt)
            assert place.wait(LONG)
            timer.join()


def test_a_closed_place_holds_nothing_open(parts: Parts) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with parts.queue.wake_up(LINE) as place:  # type: ignore[attr-defined]
            place.wait(NOTHING)
    assert len(os.listdir("/proc/self/fd")) <= before + 1
