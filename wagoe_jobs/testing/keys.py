"""Idempotency keys: claimed once until they expire, alone or together with an enqueue."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from wagoe_jobs.ports import Claimed, OnceJobQueue, Taken
from wagoe_jobs.testing.backend import HOUR, SECOND, Backend
from wagoe_jobs.testing.subjects import Place, State, standing
from wagoe_jobs.testing.table import covers

THREADS = 6
FREE, TAKEN, EXPIRED, RELEASED = "free key", "taken key", "expired key", "released key"


@covers("key.claim", FREE, TAKEN, EXPIRED)
@covers("key.seen", FREE, TAKEN, EXPIRED)
def case_a_key_is_claimed_once_until_it_expires(backend: Backend) -> None:
    keys, other = backend.idempotency, backend.second().idempotency
    assert keys.claim("scope", "key", HOUR, "first") == Claimed()
    assert other.claim("scope", "key", HOUR, "second") == Taken("first")
    assert (other.seen("scope", "key"), other.seen("scope", "other")) == (True, False)
    backend.advance(HOUR - SECOND)
    assert other.claim("scope", "key", HOUR, "second") == Taken("first")
    backend.advance(2 * SECOND)
    assert keys.seen("scope", "key") is False
    assert other.claim("scope", "key", HOUR, "second") == Claimed()
    assert keys.claim("scope", "key", HOUR, "third") == Taken("second")


@covers("key.claim", FREE, TAKEN)
def case_a_scope_is_a_name_space(backend: Backend) -> None:
    keys = backend.idempotency
    pairs = [("a", "key"), ("b", "key"), ("a", "other"), ("ab", "c"), ("a", "bc"), ("A", "key"), ("ä", "%_'\"💥")]
    assert [keys.claim(scope, key, HOUR, scope + key) for scope, key in pairs] == [Claimed()] * len(pairs)
    assert [keys.claim(scope, key, HOUR, "x") for scope, key in pairs] == [Taken(a + b) for a, b in pairs]


@covers("key.release", FREE, TAKEN, EXPIRED, RELEASED)
@covers("key.claim", RELEASED)
@covers("key.seen", RELEASED)
def case_a_key_can_be_released(backend: Backend) -> None:
    keys = backend.idempotency
    assert keys.release("scope", "key") is False
    keys.claim("scope", "key", HOUR, "first")
    assert (keys.release("scope", "key"), keys.release("scope", "key")) == (True, False)
    assert keys.seen("scope", "key") is False
    assert keys.claim("scope", "key", SECOND, "second") == Claimed()
    backend.advance(2 * SECOND)
    assert keys.release("scope", "key") is False


@covers("key.purge", FREE, TAKEN, EXPIRED)
@covers("key.seen", TAKEN)
def case_purge_forgets_expired_keys_alone(backend: Backend) -> None:
    keys = backend.idempotency
    for number in range(5):
        keys.claim("old", str(number), HOUR, "x")
    keys.claim("new", "key", 3 * HOUR, "x")
    assert keys.purge() == 0
    backend.advance(2 * HOUR)
    assert [keys.purge(3), keys.purge(3), keys.purge(3)] == [3, 2, 0]
    assert keys.seen("new", "key")


@covers("key.claim", FREE, TAKEN)
def case_exactly_one_of_many_claims_a_key(backend: Backend) -> None:
    clients = [backend.second().idempotency for _ in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as threads:
        for key in map(str, range(10)):
            futures = [threads.submit(each.claim, "s", key, HOUR, str(i)) for i, each in enumerate(clients)]
            answers = [future.result() for future in futures]
            winner = str(answers.index(Claimed()))
            assert sorted(map(str, answers)) == sorted([str(Claimed()), *[str(Taken(winner))] * (THREADS - 1)])


@covers("enqueue_once", State.UNKNOWN, State.READY)
@covers("enqueue_once", FREE, TAKEN, EXPIRED)
def case_one_job_per_key_until_the_key_expires(backend: Backend) -> None:
    queue = _once(backend)
    jobs = [backend.job() for _ in range(4)]
    assert queue.enqueue_once("greet", "k", jobs[0], HOUR) == Claimed()
    assert _once(backend.second()).enqueue_once("greet", "k", jobs[1], HOUR) == Taken(str(jobs[0].id))
    assert backend.drain() == [jobs[0].id]
    assert queue.enqueue_once("greet", "k", jobs[2], HOUR) == Taken(str(jobs[0].id))
    assert backend.idempotency.seen("greet", "k")
    backend.advance(HOUR + SECOND)
    assert queue.enqueue_once("greet", "k", jobs[3], HOUR) == Claimed()
    assert backend.drain() == [jobs[3].id]
    assert [backend.store.find(job.id) for job in jobs[1:3]] == [None, None]


def _once(backend: Backend) -> OnceJobQueue:
    queue = backend.queue
    assert isinstance(queue, OnceJobQueue)
    return queue


@covers("enqueue_once", State.SCHEDULED)
def case_enqueue_once_with_a_delay(backend: Backend) -> None:
    job = backend.job()
    assert _once(backend).enqueue_once("greet", "k", job, HOUR, delay=timedelta(minutes=1)) == Claimed()
    assert standing(backend) == {Place.SCHEDULED: 1}
    backend.advance(timedelta(minutes=1) + SECOND)
    assert backend.queue.process_scheduled() == 1
    assert backend.drain() == [job.id]


@covers("enqueue_once", State.UNKNOWN)
def case_exactly_one_of_many_enqueues_with_a_key(backend: Backend) -> None:
    clients = [_once(backend.second()) for _ in range(THREADS)]
    jobs = [backend.job() for _ in clients]
    with ThreadPoolExecutor(THREADS) as threads:
        futures = [
            threads.submit(queue.enqueue_once, "s", "k", job, HOUR) for queue, job in zip(clients, jobs, strict=True)
        ]
        answers = [future.result() for future in futures]
    winner = jobs[answers.index(Claimed())]
    assert answers.count(Taken(str(winner.id))) == THREADS - 1
    assert backend.drain() == [winner.id]
