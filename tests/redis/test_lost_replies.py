"""Connections that break at any moment and replies that never come: nothing is lost, done twice, or mixed up."""

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import timedelta
from functools import partial
from itertools import count

import pytest
from redis import Redis as Client

from tests.proxy import Proxy
from tests.redis.parts import LINE, Parts, new_job
from tests.redis.saboteur import Saboteur
from tests.servers import RedisServer
from tests.until import until
from wagoe_jobs.adapters import redis
from wagoe_jobs.adapters.redis.dialling import dial_of
from wagoe_jobs.adapters.redis.queue import RedisJobQueue
from wagoe_jobs.adapters.redis.scripts import script
from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.ports import Answer, Claim, Claimed, Settlement, Taken

HOUR = timedelta(hours=1)
ROUNDS = 500


@pytest.fixture
def proxied(redis_server: RedisServer, redis_url: str) -> Iterator[tuple[RedisJobQueue, Proxy]]:
    """A queue behind a proxy that can misbehave."""
    db = int(redis_url.rpartition("/")[2])
    with (
        Proxy(redis_server.port) as proxy,
        Client(port=proxy.port, db=db, socket_timeout=0.3) as client,
        closing(redis.job_queue(client)) as queue,
    ):
        yield queue, proxy


@contextmanager
def replies_lost(proxy: Proxy) -> Iterator[None]:
    """The server does what it is asked, and nobody hears of it."""
    proxy.drop_replies()
    try:
        with pytest.raises(BackendUnavailable):
            yield
    finally:
        proxy.drop_replies(on=False)
        proxy.cut()


def completed(claims: object) -> list[Settlement]:
    return [Settlement(claim, Status.COMPLETED) for claim in claims]  # type: ignore[attr-defined]


def cut(number: int) -> None:
    raise ConnectionResetError("cut")


STEPS: dict[str, Callable[[RedisJobQueue, Claim], object]] = {
    "claim": lambda queue, held: queue.claim(LINE, "bob", 10),
    "exchange": lambda queue, held: queue.exchange(completed([held]), LINE, "bob", 10),
    "settle": lambda queue, held: queue.settle(completed([held])),
    "hand back": lambda queue, held: queue.hand_back([held]),
    "enqueue": lambda queue, held: queue.enqueue(new_job(queue="elsewhere")),
    "enqueue many": lambda queue, held: queue.enqueue_many([new_job(queue="elsewhere") for _ in range(600)]),
}


@pytest.mark.fault(10)
def test_a_call_that_comes_after_its_repair_claims_nothing(proxied: tuple[RedisJobQueue, Proxy]) -> None:
    queue, proxy = proxied
    jobs = [new_job() for _ in range(4)]
    queue.enqueue_many(jobs)
    (held,) = queue.claim(LINE, "w", 1)
    proxy.hold()
    with pytest.raises(BackendUnavailable):
        queue.exchange(completed([held]), LINE, "w", 1)
    (second,) = queue.claim(LINE, "w", 1)  # which looks for that call's claims first
    proxy.release()
    until(lambda: queue.settle(completed([held])) == [Answer.ALREADY])  # the late call has been there
    assert queue.size(LINE) == 2, "nobody would know of what it claimed"
    rest = queue.claim(LINE, "w", 10)
    assert [claim.id for claim in (second, *rest)] == [str(job.id) for job in jobs[1:]]
    assert queue.settle(completed([second, *rest])) == [Answer.APPLIED] * 3


@pytest.mark.fault(10)
def test_a_lost_call_that_did_nothing_hides_none_that_did(parts: Parts) -> None:
    jobs = [parts.put() for _ in range(3)]
    for name in ("exchange", "repair"):
        parts.client.script_load(script(name).text)  # so that each step below is one command
    saboteur = Saboteur(dial_of(parts.client, 0))
    with closing(redis.Redis(saboteur)) as server, closing(redis.job_queue(server)) as queue:
        saboteur.before = lambda sent: cut(sent) if sent in (1, 4) else None
        saboteur.after = lambda sent: cut(sent) if sent == 3 else None
        # nothing is sent; nothing is found, then the reply is lost; the look for it fails
        assert [_broke(partial(queue.claim, LINE, "w", 1)) for _ in range(3)] == [True] * 3
        claims = [claim for _ in jobs for claim in queue.claim(LINE, "w", 1)]
        assert [claim.id for claim in claims] == [str(job.id) for job in jobs]
        assert queue.settle(completed(claims)) == [Answer.APPLIED] * 3


@pytest.mark.fault(10)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_cut_at_any_command_loses_no_job(parts: Parts, step: str, moment: str) -> None:
    for number in count(1):
        parts.client.flushdb()
        waits, runs = parts.put(), parts.put()
        unstarted, held = parts.queue.claim(LINE, "ann", 2)
        parts.queue.hand_back([unstarted])
        saboteur = Saboteur(dial_of(parts.client, 0))
        with (
            closing(redis.Redis(saboteur, clock_offset=parts.clock_offset)) as server,
            closing(redis.job_queue(server)) as queue,
        ):
            struck = _cut_at(saboteur, number, moment)
            broke = _broke(partial(STEPS[step], queue, held))
            assert broke is bool(struck)
        _check_one_place(parts, [waits, runs])
        elsewhere = parts.queue.size("elsewhere")
        assert elsewhere in (0, 1, 600), "a bulk is stored whole or not at all"
        if not broke:
            return


def _cut_at(saboteur: Saboteur, number: int, moment: str) -> list[int]:
    """Arm the saboteur for that command from now on; tells the numbers at which it struck."""
    struck: list[int] = []
    target = saboteur.sent + number

    def strike(sent: int) -> None:
        if sent == target and not struck:
            struck.append(sent)
            cut(sent)

    setattr(saboteur, moment, strike)
    return struck


def _broke(act: Callable[[], object]) -> bool:
    try:
        act()
    except BackendUnavailable:
        return True
    return False


def _check_one_place(parts: Parts, jobs: list[Job]) -> None:
    """Once every lease has ended and was reclaimed, each job is ready or has ended, and is there once."""
    parts.clock_offset.move(HOUR)
    parts.queue.reclaim_abandoned()
    ready = {claim.id for _ in jobs for claim in parts.queue.claim(LINE, "carl", 10)}
    for job in jobs:
        found = parts.store.find(job.id)
        assert found is not None
        assert (found.status is Status.RUNNING) is (str(job.id) in ready)
        assert found.status in (Status.RUNNING, Status.COMPLETED)
    assert parts.queue.size(LINE) == 0


@pytest.mark.fault(57)
def test_an_enqueue_whose_reply_was_lost_is_repeated_without_a_second_copy(
    proxied: tuple[RedisJobQueue, Proxy],
) -> None:
    queue, proxy = proxied
    job, bulk, keyed = new_job(), [new_job() for _ in range(600)], new_job()
    with replies_lost(proxy):
        queue.enqueue(job)
    assert queue.enqueue(job) is False
    with replies_lost(proxy):
        queue.enqueue_many(bulk)
    assert set(queue.enqueue_many(bulk)) == {False}
    with replies_lost(proxy):
        queue.enqueue_once("scope", "key", keyed, HOUR)
    assert queue.enqueue_once("scope", "key", keyed, HOUR) in (Claimed(), Taken(str(keyed.id)))
    assert queue.size(LINE) == 602


@pytest.mark.fault(57)
def test_claims_that_nobody_heard_of_come_with_the_next_exchange(proxied: tuple[RedisJobQueue, Proxy]) -> None:
    queue, proxy = proxied
    jobs = [new_job() for _ in range(5)]
    queue.enqueue_many(jobs)
    with replies_lost(proxy):
        queue.exchange([], LINE, "ann", 3)
    assert queue.size(LINE) == 2
    _, claims = queue.exchange([], LINE, "ann", 3)
    assert [claim.id for claim in claims] == [str(job.id) for job in jobs[:3]]
    answers, rest = queue.exchange(completed(claims), LINE, "ann", 3)
    assert list(answers) == [Answer.APPLIED] * 3
    assert [claim.id for claim in rest] == [str(job.id) for job in jobs[3:]]


@pytest.mark.fault(57)
def test_what_was_found_again_goes_back_as_far_as_it_is_too_much(proxied: tuple[RedisJobQueue, Proxy]) -> None:
    queue, proxy = proxied
    jobs = [new_job() for _ in range(4)]
    queue.enqueue_many(jobs)
    with replies_lost(proxy):
        queue.claim(LINE, "ann", 4)
    assert [claim.id for claim in queue.claim(LINE, "ann", 1)] == [str(jobs[0].id)]
    assert [claim.id for claim in queue.claim(LINE, "ann", 9)] == [str(job.id) for job in jobs[1:]]


@pytest.mark.fault(57)
def test_a_repair_whose_reply_was_lost_is_made_again(proxied: tuple[RedisJobQueue, Proxy]) -> None:
    queue, proxy = proxied
    job = new_job()
    queue.enqueue(job)
    for _ in range(3):
        with replies_lost(proxy):
            queue.claim(LINE, "ann", 9)
    [claim] = queue.claim(LINE, "ann", 9)
    assert (claim.id, queue.ack(claim)) == (str(job.id), True)


@pytest.mark.fault(57)
def test_a_settlement_whose_reply_was_lost_is_answered_as_done(proxied: tuple[RedisJobQueue, Proxy]) -> None:
    queue, proxy = proxied
    queue.enqueue_many([new_job() for _ in range(3)])
    first, second, third = queue.claim(LINE, "ann", 3)
    batch = [*completed([first]), Settlement(second, Status.RETRYING, delay=HOUR)]
    with replies_lost(proxy):
        queue.exchange(batch, LINE, "ann", 1)
    assert list(queue.exchange(batch, LINE, "ann", 1)[0]) == [Answer.ALREADY] * 2
    with replies_lost(proxy):
        queue.hand_back([third])
    assert list(queue.settle(completed([third]))) == [Answer.LOST]
    assert queue.size(LINE) == 1


class Stopped(BaseException):
    """What ends a call in the middle, as an interrupt from the keyboard does."""


@pytest.mark.fault(58)
def test_replies_are_never_mixed_up_by_calls_that_end_in_the_middle(redis_url: str) -> None:
    chance = random.Random(58)
    with Client.from_url(redis_url) as client:
        saboteur = Saboteur(dial_of(client, 0))
        with closing(redis.Redis(saboteur, connections=4)) as server:
            spoiled: set[int] = set()

            def strike(_: int) -> None:
                if threading.get_ident() in spoiled and chance.random() < 0.8:
                    raise chance.choice([TimeoutError("time is up"), Stopped(), ConnectionResetError("cut")])

            def spoil() -> int:
                spoiled.add(threading.get_ident())
                ended = 0
                while ended < ROUNDS:
                    try:
                        # the last reply comes late: whoever has the connection by then would take it for his
                        echoes = [f"spoiled {ended} {i}" for i in range(chance.randrange(3))]
                        answers = server.ask(*(("ECHO", echo) for echo in echoes), ("BLPOP", "nothing", "0.01"))
                        assert answers == [*echoes, None]
                    except (BackendUnavailable, Stopped):
                        ended += 1
                return ended

            def verify(name: int) -> int:
                for number in range(1_500):
                    words = [f"{name} {number} {i}" for i in range(number % 3 + 1)]
                    assert server.ask(*[("ECHO", word) for word in words]) == words
                return 1_500

            saboteur.after = strike
            with ThreadPoolExecutor(4) as threads:
                spoiler = threads.submit(spoil)
                assert list(threads.map(verify, range(3))) == [1_500] * 3
                assert spoiler.result() == ROUNDS


@pytest.mark.fault(58)
def test_a_reply_that_comes_late_is_not_taken_for_the_next(proxied: tuple[RedisJobQueue, Proxy]) -> None:
    queue, proxy = proxied
    queue.enqueue_many([new_job() for _ in range(3)])
    proxy.delay = 0.4
    with pytest.raises(BackendUnavailable):
        queue.size(LINE)
    proxy.delay = 0.0
    assert [queue.size("elsewhere"), queue.size(LINE)] == [0, 3]
