"""Which workers there are: cards, beats, and that nothing is decided by either."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from wagoe_jobs.ports import BATCH_LIMIT, GONE_AFTER, RUNNING_LIMIT, Beat, RunningJob, WorkerCard
from wagoe_jobs.testing.backend import HOUR, SECOND, THREADS, Backend
from wagoe_jobs.testing.subjects import State
from wagoe_jobs.testing.table import covers

ABSENT, PRESENT, BEATEN, GONE = "no worker", "a worker", "a worker that beat", "a worker not heard of"
AWKWARD = "\0\x1b[31m \N{SNOWMAN} \U0001f600 \ud800 '\"\\ </script>"


def card(name: str = "ann", **other: object) -> WorkerCard:
    given: dict[str, object] = {
        "name": name,
        "host": "höst.example",
        "pid": 4_194_304,
        "version": "1.2.3",
        "queues": ("default", "e-mail"),
        "job_types": ("greet", "größe"),
        "slots": 8,
        **other,
    }
    return WorkerCard(**given)  # type: ignore[arg-type]  # the same keywords


def _names(backend: Backend) -> Sequence[str]:
    return [worker.card.name for worker in backend.presence.list()]


@covers("worker.announce", ABSENT)
@covers("worker.list", ABSENT, PRESENT)
def case_a_card_is_listed_with_the_start_that_the_store_gave_it(backend: Backend) -> None:
    assert list(backend.presence.list()) == []
    kept = backend.presence.announce(card())
    assert kept == card(started_us=kept.started_us)
    assert kept.started_us > 0
    backend.advance(SECOND)
    [worker] = backend.second().presence.list()
    assert worker.card == kept
    assert SECOND <= worker.age < 60 * SECOND
    assert (worker.polled_us, list(worker.running), worker.running_count) == (None, [], 0)


@covers("worker.announce", PRESENT, BEATEN)
def case_a_card_that_comes_again_replaces_what_was_told(backend: Backend) -> None:
    first = backend.presence.announce(card())
    assert backend.presence.beat("ann", Beat(polled=SECOND, running=[RunningJob("1", "greet", 5)], running_count=1))
    changed = card(job_types=("greet", "write"), slots=9, queues=(), started_us=first.started_us)
    assert backend.presence.announce(changed) == changed
    [worker] = backend.presence.list()
    assert worker.card == changed
    assert (worker.polled_us, list(worker.running), worker.running_count) == (None, [], 0)


@covers("worker.list", PRESENT)
def case_workers_are_listed_by_name_and_names_are_exact(backend: Backend) -> None:
    names = ["b", "ann", "Ann", "ann:2", "änn"]
    for name in names:
        backend.presence.announce(card(name))
    assert _names(backend) == sorted(names)
    assert backend.presence.leave("Ann") is True
    assert _names(backend) == sorted({*names} - {"Ann"})


@covers("worker.beat", PRESENT, BEATEN)
@covers("worker.list", BEATEN)
def case_a_beat_tells_what_a_worker_is_at(backend: Backend) -> None:
    started = backend.presence.announce(card()).started_us
    backend.advance(HOUR // 60)
    running = [RunningJob("1", "greet", started + 1), RunningJob("2", AWKWARD, started + 2)]
    assert backend.presence.beat("ann", Beat(polled=SECOND, running=running, running_count=2)) is True
    [worker] = backend.second().presence.list()
    assert list(worker.running) == running
    assert worker.running_count == 2
    assert worker.age < HOUR // 60
    assert worker.polled_us is not None
    ago = timedelta(microseconds=worker.polled_us - started)
    assert HOUR // 60 - SECOND <= ago < HOUR // 60 + 30 * SECOND
    assert backend.presence.beat("ann", Beat()) is True
    [worker] = backend.presence.list()
    assert (worker.polled_us, list(worker.running), worker.running_count) == (None, [], 0)


@covers("worker.beat", PRESENT)
def case_of_many_running_jobs_so_many_are_kept_and_all_are_counted(backend: Backend) -> None:
    backend.presence.announce(card())
    running = [RunningJob(str(n), "greet", n) for n in range(RUNNING_LIMIT + 50)]
    assert backend.presence.beat("ann", Beat(running=running, running_count=2_000))
    [worker] = backend.presence.list()
    assert list(worker.running) == running[:RUNNING_LIMIT]
    assert worker.running_count == 2_000


@covers("worker.beat", ABSENT)
@covers("worker.leave", ABSENT, PRESENT, BEATEN)
def case_a_worker_that_left_is_told_so_and_may_come_back(backend: Backend) -> None:
    presence = backend.presence
    assert (presence.beat("ann", Beat()), presence.leave("ann")) == (False, False)
    first = presence.announce(card())
    presence.announce(card("bob"))
    assert (presence.beat("ann", Beat()), presence.beat("bob", Beat())) == (True, True)
    assert (backend.second().presence.leave("ann"), presence.leave("ann")) == (True, False)
    assert _names(backend) == ["bob"]
    assert presence.beat("ann", Beat()) is False
    assert _names(backend) == ["bob"]
    assert presence.announce(first) == first
    assert _names(backend) == ["ann", "bob"]


@covers("worker.list", GONE)
@covers("worker.beat", GONE)
@covers("worker.leave", GONE)
@covers("worker.announce", GONE)
def case_a_worker_that_is_not_heard_of_is_as_good_as_none(backend: Backend) -> None:
    presence = backend.presence
    first = presence.announce(card())
    presence.announce(card("bob"))
    backend.advance(GONE_AFTER - 30 * SECOND)
    assert _names(backend) == ["ann", "bob"]
    assert presence.beat("bob", Beat()) is True
    backend.advance(31 * SECOND)
    assert presence.beat("ann", Beat()) is False
    assert presence.leave("ann") is False
    assert _names(backend) == ["bob"]
    assert presence.announce(first) == first
    assert _names(backend) == ["ann", "bob"]


@covers("worker.announce", GONE)
@covers("worker.list", GONE)
def case_many_that_are_gone_are_in_nobodys_way(backend: Backend) -> None:
    for n in range(BATCH_LIMIT + 3):
        backend.presence.announce(card(f"worker {n}"))
    assert len(backend.presence.list()) == BATCH_LIMIT + 3
    backend.advance(GONE_AFTER + SECOND)
    backend.presence.announce(card())
    assert _names(backend) == ["ann"]
    assert _names(backend.second()) == ["ann"]


@covers("worker.announce", PRESENT)
def case_many_announce_at_once_and_each_is_listed_once(backend: Backend) -> None:
    clients = [backend.second().presence for _ in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as threads:
        kept = list(threads.map(lambda client: client.announce(card()), clients))
    [worker] = backend.presence.list()
    assert worker.card in kept


@covers("reclaim_abandoned", State.IN_FLIGHT, State.EXPIRED)
@covers("worker.leave", PRESENT)
def case_reclaim_is_the_same_whoever_is_listed(backend: Backend) -> None:
    names = ("listed", "left", "never announced")
    jobs = [backend.put() for _ in names]
    for name in names[:2]:
        backend.presence.announce(card(name))
    claims = [claim for name in names for claim in backend.queue.claim("line", name, 1)]
    assert [claim.id for claim in claims] == [str(job.id) for job in jobs]
    assert backend.presence.leave("left")
    assert list(backend.queue.reclaim_abandoned()) == []
    backend.expire()
    assert backend.presence.beat("listed", Beat(running_count=1)) is True
    assert {one.id for one in backend.queue.reclaim_abandoned()} == {claim.id for claim in claims}
