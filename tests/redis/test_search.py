"""Pages over many jobs: complete, whichever index they are made from, and never long in the server's way."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice, product

import pytest

from tests.noise import noisy
from tests.redis.parts import LINE, Parts, new_job, open_parts
from tests.servers import RedisServer
from wagoe_jobs.adapters.redis import candidates, store
from wagoe_jobs.adapters.redis.rows import Found, Rows
from wagoe_jobs.core.job import Job, Priority, Status
from wagoe_jobs.errors import InvalidJob
from wagoe_jobs.ports import JobFilter, JobStore

MANY = 50_000
LONGEST = timedelta(milliseconds=20)


def through(jobs: JobStore, wanted: JobFilter, limit: int) -> Iterator[Job]:
    """All jobs of all pages."""
    cursor: str | None = None
    while True:
        page = jobs.search(wanted, limit=limit, cursor=cursor)
        yield from page.jobs
        if (cursor := page.cursor) is None:
            return


def mixed(parts: Parts) -> None:
    """Jobs of three types in two queues in every place."""
    for number in range(60):
        parts.put(f"t{number % 3}", queue=f"q{number % 2}", metadata={"tenant-id": f"x{number % 5}"})
    for queue, status in product(("q0", "q1"), (Status.COMPLETED, Status.FAILED, Status.CANCELLED)):
        parts.end(status, queue=queue, limit=5)
    for number in range(8):
        parts.queue.schedule(new_job(f"t{number % 3}", queue=f"q{number % 2}"), timedelta(hours=1))
    for queue in ("q0", "q1"):
        parts.queue.claim(queue, "ann", 3)


@pytest.mark.parametrize(
    ("small", "part"), [(0, 1e-9), (0, 10), (10_000, 1)], ids=["all", "some, then the index", "the index"]
)
def test_every_index_finds_what_looking_at_all_finds(
    parts: Parts, small: int, part: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "SMALL", small)
    monkeypatch.setattr(candidates, "PART", part)
    monkeypatch.setattr(candidates, "KEPT", 7)
    monkeypatch.setattr(store, "IDS", 3)
    mixed(parts)
    everything = list(through(parts.store, JobFilter(), 7))
    assert len(everything) == 68
    statuses, types, queues = (None, *Status), (None, "t0", "t2", "none"), (None, "q0", "none")
    for status, type, queue, tenant in product(statuses, types, queues, (None, "x1")):
        wanted = JobFilter(status=status, type=type, queue=queue, tenant=tenant)
        expected = [job for job in everything if matches(job, wanted)]
        assert list(through(parts.store, wanted, 4)) == expected, wanted


def matches(job: Job, wanted: JobFilter) -> bool:
    pairs = ((wanted.status, job.status), (wanted.type, job.type), (wanted.queue, job.queue))
    return all(one is None or one == other for one, other in (*pairs, (wanted.tenant, job.tenant)))


def test_a_large_index_is_read_only_where_a_page_is_not_soon_full(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "SMALL", 3)
    monkeypatch.setattr(store, "IDS", 10)
    parts.queue.enqueue_many([new_job() for _ in range(50)])
    assert commands(parts, JobFilter(status=Status.PENDING)) == {"zrevrangebylex"}
    parts.end(Status.FAILED, limit=4)
    assert commands(parts, JobFilter(status=Status.FAILED)) == {"zrevrangebylex", "zscan"}
    assert commands(parts, JobFilter(status=Status.CANCELLED)) == {"zscan"}
    assert commands(parts, JobFilter(type="greet")) == {"zrevrangebylex"}


def commands(parts: Parts, wanted: JobFilter) -> set[str]:
    """By which command the ids came."""
    parts.client.config_resetstat()
    parts.store.search(wanted, limit=5)
    used = {name.removeprefix("cmdstat_") for name in parts.client.info("commandstats")}
    return used & {"zscan", "zrevrangebylex"}


def test_jobs_that_come_go_and_move_meanwhile_leave_the_rest_of_the_pages_whole(parts: Parts) -> None:
    jobs = [parts.put() for _ in range(40)]
    pages = through(parts.store, JobFilter(queue=LINE), 4)
    seen = [job.id for job in islice(pages, 8)]
    parts.end(Status.COMPLETED, limit=10)
    parts.put()
    assert parts.queue.delete(jobs[20].id)
    seen += [job.id for job in pages]
    assert seen == [job.id for job in reversed(jobs) if job is not jobs[20]]


@pytest.mark.parametrize("wanted", [JobFilter(), JobFilter(queue=LINE), JobFilter(status=Status.PENDING)], ids=str)
def test_one_that_goes_between_two_steps_takes_no_other_with_it(
    parts: Parts, wanted: JobFilter, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [parts.put() for _ in range(8)]
    read = Rows.found

    def late(self: Rows, ids: Sequence[str]) -> list[Found]:
        for job in jobs[7:4:-1]:
            parts.queue.delete(job.id)
        return read(self, ids)

    monkeypatch.setattr(Rows, "found", late)
    assert [job.id for job in through(parts.store, wanted, 2)] == [job.id for job in jobs[4::-1]]


HOSTILE = (
    "a",
    "a:b",
    "a:normal",
    "normal",
    "{a}",
    "}{",
    "{wagoe}:",
    "a}:queue:b",
    "*",
    "?[a-z]",
    "\\",
    '"',
    "ünï💥",
    "a b",
)


@pytest.mark.parametrize("kind", ["queue", "type", "tenant"])
def test_names_never_meet_in_a_key(parts: Parts, kind: str) -> None:
    put = {
        "queue": lambda name: parts.put(queue=name),
        "type": lambda name: parts.put(name),
        "tenant": lambda name: parts.put(metadata={"tenant-id": name}),
    }[kind]
    jobs = {name: put(name) for name in HOSTILE}
    for name, job in jobs.items():
        wanted = JobFilter(**{kind: name})
        assert [found.id for found in parts.store.search(wanted).jobs] == [job.id]
    for status in (Status.COMPLETED, Status.FAILED):
        for queue in {job.queue for job in jobs.values()}:
            parts.end(status, queue=queue, limit=1 if kind == "queue" else len(HOSTILE) // 2)
    for name, job in jobs.items():
        for status in (Status.COMPLETED, Status.FAILED):
            found = parts.store.search(JobFilter(**{kind: name, "status": status})).jobs
            assert [each.id for each in found] == ([job.id] if parts.store.find(job.id).status is status else [])  # type: ignore[union-attr]


def test_queues_whose_names_hold_those_of_lines_are_counted_apart(parts: Parts) -> None:
    for priority in Priority:
        parts.put(queue="a", priority=priority)
        parts.put(queue=f"a:{priority}")
    assert parts.queue.list_queues() == sorted(["a", *(f"a:{priority}" for priority in Priority)])
    assert parts.queue.size("a") == 4
    assert [parts.queue.size(f"a:{priority}") for priority in Priority] == [1] * 4
    assert parts.stats.queue_stats("a").waiting == {str(priority): 1 for priority in Priority}


def test_scopes_and_keys_never_meet(parts: Parts) -> None:
    pairs = [
        ("a:b", "c"),
        ("a", "b:c"),
        ("", "a:b:c"),
        ("1", "a:b"),
        ("é", ":x"),
        ("é:", "x"),
        ("a\n", "b"),
        ("a", "\nb"),
    ]
    for scope, key in pairs:
        parts.idempotency.claim(scope, key, timedelta(hours=1), f"{scope}|{key}\n")
    for scope, key in pairs:
        taken = parts.idempotency.claim(scope, key, timedelta(hours=1), "other")
        assert taken == (f"{scope}|{key}\n",)


HALF = "\ud800"


def test_half_a_surrogate_pair_is_refused_as_text_and_not_as_an_outage(parts: Parts) -> None:
    parts.put()
    for ask in (
        lambda: parts.queue.peek(HALF),
        lambda: parts.queue.size(HALF),
        lambda: parts.queue.claim(HALF, "ann", 1),
        lambda: parts.queue.wake_up(HALF),  # type: ignore[attr-defined]
        lambda: parts.stats.queue_stats(HALF),
        lambda: parts.stats.job_history(HALF),
        lambda: parts.idempotency.seen("scope", HALF),
        lambda: parts.idempotency.claim("scope", "key", timedelta(hours=1), HALF),
        lambda: parts.store.search(JobFilter(queue=HALF, status=Status.FAILED)),
        lambda: parts.store.search(JobFilter(tenant=HALF)),
    ):
        with pytest.raises(InvalidJob, match="surrogate"):
            ask()


@pytest.fixture(scope="module")
def crowd(redis_server: RedisServer) -> Iterator[Parts]:
    """A store with many jobs, most of them ended."""
    with redis_server.database() as url, open_parts(url) as parts:
        for first in range(0, MANY, 10_000):
            jobs = [new_job(f"t{number % 100}", queue=f"q{number % 7}") for number in range(first, first + 10_000)]
            parts.queue.enqueue_many(jobs)
        for queue in ("q0", "q1", "q2", "q3"):
            while parts.end(Status.FAILED if queue == "q3" else Status.COMPLETED, queue=queue, limit=400):
                pass
        yield parts


@contextmanager
def slow_log(parts: Parts) -> Iterator[list[object]]:
    """The commands of the block that kept the server busy for longer than `LONGEST`, known after it."""
    parts.client.config_set("slowlog-log-slower-than", LONGEST // timedelta(microseconds=1))
    parts.client.slowlog_reset()
    slow: list[object] = []
    yield slow
    slow += parts.client.slowlog_get(100)


CROWDED = (
    JobFilter(),
    JobFilter(status=Status.COMPLETED),
    JobFilter(status=Status.FAILED),
    JobFilter(status=Status.PENDING, queue="q5"),
    JobFilter(type="t42"),
    JobFilter(tenant="nobody"),
    JobFilter(status=Status.COMPLETED, queue="q1", type="t7"),
    JobFilter(since=datetime(2099, 1, 1, tzinfo=UTC)),
)


@noisy
@pytest.mark.timed
@pytest.mark.parametrize("wanted", CROWDED, ids=str)
def test_no_page_of_many_jobs_keeps_the_server_busy(crowd: Parts, wanted: JobFilter) -> None:
    with slow_log(crowd) as slow:
        found = list(islice(through(crowd.store, wanted, 1_000), 4_000))
    assert slow == []
    assert len({job.id for job in found}) == len(found)


@noisy
@pytest.mark.timed
def test_no_count_of_many_jobs_keeps_the_server_busy(crowd: Parts) -> None:
    with slow_log(crowd) as slow:
        totals = crowd.stats.job_stats()
        crowd.queue.list_queues()
        crowd.queue.peek("q6", 1_000)
        crowd.stats.job_history("t1", 1_000)
    assert slow == []
    assert totals.succeeded + totals.failed + sum(sum(each.waiting.values()) for each in totals.queues) == MANY
