"""Lost replies, broken connections and transactions in the way: nothing is lost, nothing is done twice."""

import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar

import pymysql
import pytest
from psycopg import errors
from sqlalchemy import Connection, Engine, event, insert, make_url, select
from sqlalchemy.exc import OperationalError

from tests.conftest import Engines
from tests.proxy import Proxy
from tests.sql.conftest import LINE, Parts, new_job
from tests.until import until
from wagoe_jobs.adapters import sql
from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.errors import BackendUnavailable, InvalidJob, JobsError
from wagoe_jobs.ports import Answer, Claim, Hold, Settlement, WakingJobQueue

T = TypeVar("T")
PROCESSES = 6
EACH = 1_000 // PROCESSES + 1


@pytest.fixture(params=["postgres", "mariadb"])
def proxied(request: pytest.FixtureRequest, open_parts: Callable[..., Parts]) -> Iterator[tuple[Parts, Proxy]]:
    """The parts behind a proxy that can misbehave."""
    url = make_url(request.getfixturevalue(f"{request.param}_url"))
    with Proxy(url.port or 0) as proxy:
        engine = sql.open_engine(url.set(port=proxy.port), timeout=timedelta(seconds=1))
        parts = open_parts(engine)
        yield parts, proxy
        parts.queue.close()
        engine.dispose()


def completed(claims: Any) -> list[Settlement]:
    return [Settlement(claim, Status.COMPLETED) for claim in claims]


@contextmanager
def replies_lost(parts: Parts, proxy: Proxy) -> Iterator[None]:
    """The server does what it is asked, and nobody hears of it: of the last step where it takes several."""

    def drop(_: Connection) -> None:
        proxy.drop_replies()

    if parts.engine.dialect.name == "mysql":
        event.listen(parts.engine, "commit", drop)
    else:
        proxy.drop_replies()
    with pytest.raises(BackendUnavailable):
        yield
    if parts.engine.dialect.name == "mysql":
        event.remove(parts.engine, "commit", drop)
    proxy.cut()
    proxy.drop_replies(False)


def claimed_unheard(parts: Parts, proxy: Proxy, count: int, limit: int) -> list[Job]:
    """So many jobs, the first `limit` of which were claimed by a call whose reply was lost."""
    jobs = [new_job() for _ in range(count)]
    parts.queue.enqueue_many(jobs)
    parts.queue.claim("elsewhere", "w", 1)
    with replies_lost(parts, proxy):
        parts.queue.claim(LINE, "w", limit)
    return jobs


@pytest.mark.fault(10)
def test_claims_of_a_statement_that_outlives_its_connection_are_found(
    postgres_url: str, open_parts: Callable[..., Parts]
) -> None:
    url = make_url(postgres_url)
    with Proxy(url.port or 0) as proxy:
        engine = sql.open_engine(url.set(port=proxy.port), timeout=timedelta(seconds=1))
        parts = open_parts(engine)
        jobs = [new_job() for _ in range(3)]
        parts.queue.enqueue_many(jobs)
        parts.queue.claim("elsewhere", "w", 1)
        proxy.hold()
        with pytest.raises(BackendUnavailable):
            parts.queue.claim(LINE, "w", 1)
        engine.dispose()
        (first,) = parts.queue.claim(LINE, "w", 1)  # which looks for that call's claims first
        proxy.release()
        until(lambda: parts.queue.size(LINE) == 1)
        (third,) = parts.queue.claim(LINE, "w", 1)
        (second,) = until(lambda: parts.queue.claim(LINE, "w", 1), within=10)
        assert {claim.id for claim in (first, second, third)} == {str(job.id) for job in jobs}
        assert parts.queue.settle(completed([first, second, third])) == [Answer.APPLIED] * 3
        parts.queue.close()
        engine.dispose()


@pytest.mark.fault(10)
def test_claims_whose_reply_was_lost_are_found_by_the_next_call(proxied: tuple[Parts, Proxy]) -> None:
    parts, proxy = proxied
    jobs = claimed_unheard(parts, proxy, 6, 4)
    assert parts.queue.size(LINE) == 2
    found = parts.queue.claim(LINE, "w", 4)
    assert [claim.id for claim in found] == [str(job.id) for job in jobs[:4]]
    assert parts.queue.settle(completed(found)) == [Answer.APPLIED] * 4
    assert [claim.id for claim in parts.queue.claim(LINE, "w", 4)] == [str(job.id) for job in jobs[4:]]


@contextmanager
def cut_off(parts: Parts, proxy: Proxy, when: Literal["checkin", "checkout"]) -> Iterator[None]:
    """The database is away from the moment at which a connection goes back to the pool, or is taken from it."""

    def cut(*_: object) -> None:
        proxy.refuse()
        proxy.cut()

    event.listen(parts.engine, when, cut)
    with pytest.raises(BackendUnavailable):
        yield
    event.remove(parts.engine, when, cut)
    proxy.refuse(False)


def reconnected(call: Callable[[], T]) -> T:
    """What the call answers; each of the two connections that were cut may first have to find out."""
    for _ in range(2):
        with suppress(BackendUnavailable):
            return call()
    return call()


def test_claims_that_were_found_are_found_again_when_the_rest_of_the_call_fails(proxied: tuple[Parts, Proxy]) -> None:
    parts, proxy = proxied
    parts.queue.enqueue(new_job())
    held = completed(parts.queue.claim(LINE, "w", 1))
    jobs = claimed_unheard(parts, proxy, 6, 4)
    with cut_off(parts, proxy, "checkin"):
        parts.queue.exchange(held, LINE, "w", 4)
    answers, found = reconnected(lambda: parts.queue.exchange(held, LINE, "w", 4))
    assert answers == [Answer.APPLIED]
    assert [claim.id for claim in found] == [str(job.id) for job in jobs[:4]]
    assert [claim.id for claim in parts.queue.claim(LINE, "w", 4)] == [str(job.id) for job in jobs[4:]]


def test_new_claims_are_found_when_what_else_was_to_be_settled_fails(proxied: tuple[Parts, Proxy]) -> None:
    """On PostgreSQL, a settlement that the statement did not apply is looked at on another connection."""
    parts, proxy = proxied
    parts.queue.enqueue(new_job())
    (lost,) = parts.queue.claim(LINE, "w", 1)
    parts.queue.hand_back([lost])
    if parts.engine.dialect.name == "postgresql":
        with cut_off(parts, proxy, "checkout"):
            parts.queue.exchange(completed([lost]), LINE, "w", 1)
    answers, found = reconnected(lambda: parts.queue.exchange(completed([lost]), LINE, "w", 1))
    assert answers == [Answer.LOST]
    assert [claim.id for claim in found] == [lost.id]


def test_claims_whose_reply_was_lost_are_found_by_one_of_several_callers(proxied: tuple[Parts, Proxy]) -> None:
    """Several pools of one process share a queue, and come back at the same moment."""
    parts, proxy = proxied
    jobs = claimed_unheard(parts, proxy, 40, 10)
    assert parts.queue.size(LINE) == 30
    with ThreadPoolExecutor(4) as threads:
        found = [
            claim
            for claims in threads.map(lambda n: parts.queue.claim(LINE, f"w{n}", 10), range(4))
            for claim in claims
        ]
    assert sorted(claim.id for claim in found) == sorted(str(job.id) for job in jobs)


def test_found_claims_beyond_the_limit_go_back_to_their_places(proxied: tuple[Parts, Proxy]) -> None:
    parts, proxy = proxied
    jobs = claimed_unheard(parts, proxy, 5, 4)
    assert [claim.id for claim in parts.queue.claim(LINE, "w", 1)] == [str(jobs[0].id)]
    assert [claim.id for claim in parts.queue.claim(LINE, "w", 9)] == [str(job.id) for job in jobs[1:]]


def test_settlements_whose_reply_was_lost_were_applied_already(proxied: tuple[Parts, Proxy]) -> None:
    parts, proxy = proxied
    parts.queue.enqueue_many([new_job() for _ in range(4)])
    # the statement is prepared, so that all of it is sent at once
    parts.queue.exchange(completed(parts.queue.claim(LINE, "w", 1)), "elsewhere", "w", 1)
    first, second, third = parts.queue.claim(LINE, "w", 3)
    ends = [
        Settlement(first, Status.COMPLETED, ran_us=5),
        Settlement(second, Status.RETRYING, delay=timedelta(hours=1)),
        Settlement(third, Status.FAILED),
    ]
    assert parts.queue.settle(ends[1:2]) == [Answer.APPLIED]
    with replies_lost(parts, proxy):
        parts.queue.exchange([ends[0], ends[2]], LINE, "w", 10)
    assert parts.queue.exchange(ends, LINE, "w", 10) == ([Answer.ALREADY] * 3, [])
    assert parts.rows() == (1, 3)


def test_an_enqueue_whose_reply_was_lost_is_a_duplicate_when_repeated(proxied: tuple[Parts, Proxy]) -> None:
    parts, proxy = proxied
    job = new_job()
    parts.queue.size(LINE)
    proxy.drop_replies()
    with pytest.raises(BackendUnavailable):
        parts.queue.enqueue(job)
    proxy.cut()
    proxy.drop_replies(False)
    parts.queue.enqueue(job)
    assert parts.queue.enqueue(job) is False
    assert parts.rows() == (1, 0)


def test_a_listener_says_so_when_its_connection_breaks_and_then_listens_again(proxied: tuple[Parts, Proxy]) -> None:
    parts, proxy = proxied
    if not isinstance(parts.queue, WakingJobQueue):
        assert parts.engine.dialect.name == "mysql"  # nobody listens there
        return
    with parts.queue.wake_up(LINE) as news:
        assert news.wait(timedelta(milliseconds=10)) is False
        proxy.cut()
        with pytest.raises(BackendUnavailable):
            news.wait(timedelta(seconds=2))
        assert news.wait(timedelta(seconds=2)) is True  # what was told meanwhile is lost
        assert news.wait(timedelta(milliseconds=10)) is False
        parts.queue.enqueue(new_job())
        assert news.wait(timedelta(seconds=2)) is True


def failing_writes(engine: Engine, numbers: set[int], only: str) -> Callable[[], None]:
    """Let the writes of these numbers that begin with `only` fail as a lost connection does; call to stop."""
    count = 0

    def fail(conn: Connection, cursor: Any, statement: str, *_: object) -> None:
        nonlocal count
        if statement.startswith(only):
            count += 1
            if count in numbers:
                raise OSError("the line is down")

    event.listen(engine, "before_cursor_execute", fail)
    return lambda: event.remove(engine, "before_cursor_execute", fail)


@pytest.mark.fault(13)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_promotion_that_fails_in_between_loses_and_doubles_nothing(parts: Parts, number: int) -> None:
    jobs = [new_job() for _ in range(503)]
    parts.queue.enqueue_many(jobs, delay=timedelta(seconds=5))
    parts.clock_offset.move(timedelta(seconds=10))
    stop = failing_writes(parts.engine, {number}, "UPDATE")
    promoted = 0
    for _ in range(4):
        try:
            promoted += parts.queue.process_scheduled()
        except BackendUnavailable:
            continue
    stop()
    assert promoted == 503
    assert parts.queue.size(LINE) == 503
    assert parts.queue.process_scheduled() == 0
    assert [job.id for job in parts.queue.peek(LINE, 503)] == [job.id for job in jobs]


@pytest.mark.fault(13)
@pytest.mark.parametrize("number", [1, 2, 501])
def test_promotion_one_by_one_that_fails_in_between(parts: Parts, number: int) -> None:
    jobs = [new_job() for _ in range(503)]
    parts.queue.enqueue_many(jobs, delay=timedelta(seconds=5))
    parts.clock_offset.move(timedelta(seconds=10))
    stop = failing_writes(parts.engine, {number}, "UPDATE")
    outcomes = Counter[str]()
    while parts.queue.size(LINE) < 503:
        try:
            outcomes["promoted"] += parts.queue.process_scheduled(1)
        except BackendUnavailable:
            outcomes["failed"] += 1
    stop()
    assert outcomes == {"promoted": 503, "failed": 1}


@pytest.mark.fault(12)
def test_each_reclaim_of_many_is_one_bounded_step(parts: Parts) -> None:
    parts.queue.enqueue_many([new_job() for _ in range(1_200)])
    while parts.queue.claim(LINE, "dead", 400):
        pass
    parts.clock_offset.move(timedelta(minutes=2))
    steps = [len(parts.queue.reclaim_abandoned(10_000)) for _ in range(4)]
    assert steps == [500, 500, 200, 0]


def busy(conn: Connection) -> OperationalError:
    """The error of a database where another transaction is in the way, as the driver raises it."""
    if conn.dialect.name == "sqlite":
        error: Any = sqlite3.OperationalError("database is locked")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    elif conn.dialect.name == "mysql":
        error = pymysql.OperationalError(1213, "Deadlock found when trying to get lock; try restarting transaction")
    else:
        error = errors.DeadlockDetected("deadlock detected")
    return OperationalError("injected", {}, error)


STEPS: dict[str, Callable[[Parts, Claim], object]] = {
    "enqueue": lambda parts, claim: parts.queue.enqueue(new_job()),
    "claim": lambda parts, claim: parts.queue.claim(LINE, "w", 1),
    "settle": lambda parts, claim: parts.queue.settle(completed([claim])),
    "follow up": lambda parts, claim: parts.queue.settle([Settlement(claim, Status.PENDING)]),
    "renew": lambda parts, claim: parts.queue.renew([claim]),
    "hand back": lambda parts, claim: parts.queue.hand_back([claim]),
    "interrupt": lambda parts, claim: parts.queue.interrupt([claim]),
    "reclaim": lambda parts, claim: parts.queue.reclaim_abandoned(),
    "promote": lambda parts, claim: parts.queue.process_scheduled(),
    "cancel": lambda parts, claim: parts.queue.cancel(new_job().id),
    "key": lambda parts, claim: parts.queue.enqueue_once("s", "k", new_job(), timedelta(hours=1)),
    "search": lambda parts, claim: parts.store.search(),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_transaction_in_the_way_is_met_by_trying_again(parts: Parts, step: str) -> None:
    """At every statement of the step in turn, once each."""
    for number in range(1, 20):
        parts.queue.enqueue(new_job())
        (claim,) = parts.queue.claim(LINE, "w", 1)
        count = 0

        def interfere(conn: Connection, *_: object) -> None:
            nonlocal count
            count += 1
            if count == number:  # noqa: B023
                raise busy(conn)

        event.listen(parts.engine, "before_cursor_execute", interfere)
        try:
            STEPS[step](parts, claim)
        finally:
            event.remove(parts.engine, "before_cursor_execute", interfere)
        if count < number:
            return
    pytest.fail("no end of statements")


def test_a_transaction_that_never_leaves_the_way_is_given_up(sqlite_url: str, engines: Engines) -> None:
    engine = engines(sqlite_url, connect_args={"timeout": 0.05})
    parts = Parts(engine=engine)
    object.__setattr__(parts.queue._db, "patience", timedelta(seconds=0.3))
    with engine.connect() as writer:
        writer.exec_driver_sql("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(BackendUnavailable):
            parts.queue.enqueue(new_job())
        assert time.monotonic() - began < 2
        writer.rollback()
    assert parts.queue.enqueue(new_job())


ENQUEUER = """
import sys
from tests.sql.conftest import Parts, new_job
from sqlalchemy import create_engine
parts = Parts(engine=create_engine(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    assert parts.queue.enqueue(new_job())
"""

CLAIMER = """
import sys, time
from tests.sql.conftest import LINE, Parts
from wagoe_jobs.core.job import Job, Status
from wagoe_jobs.ports import Settlement
from sqlalchemy import create_engine
parts = Parts(engine=create_engine(sys.argv[1]))
total, settled, until = int(sys.argv[2]), [], time.monotonic() + 60
while parts.rows()[1] < total and time.monotonic() < until:
    answers, claims = parts.queue.exchange(settled, LINE, sys.argv[3], 5)
    print(*(claim.id for claim in claims), sep="\\n")
    settled = [Settlement(claim, Status.COMPLETED) for claim in claims]
"""


@pytest.mark.fault(52)
@pytest.mark.parametrize("kind", ["sqlite", "mariadb"])
def test_twelve_processes_meet_no_lock_error(
    kind: str, request: pytest.FixtureRequest, open_parts: Callable[..., Parts], engines: Engines
) -> None:
    url: str = request.getfixturevalue(f"{kind}_url")
    parts = open_parts(engines(url))
    total = PROCESSES * EACH
    root = Path(__file__).parents[2]

    def run(script: str, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", script, url, *map(str, arguments)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root)

    enqueuers = [run(ENQUEUER, EACH) for _ in range(PROCESSES)]
    claimers = [run(CLAIMER, total, name) for name in range(PROCESSES)]
    said = [process.communicate(timeout=100) for process in enqueuers + claimers]
    assert [stderr for _, stderr in said] == [""] * len(said)
    ids = [line for stdout, _ in said for line in stdout.split()]
    assert len(ids) == len(set(ids)) == total
    assert parts.rows() == (0, total)


def test_renewal_and_settlement_of_the_same_claims_never_wait_for_one_another(parts: Parts) -> None:
    parts.queue.enqueue_many([new_job() for _ in range(2_000)])
    stop = threading.Event()
    held: list[Claim] = []
    failures: list[JobsError] = []

    def renew() -> None:
        try:
            while not stop.is_set():
                parts.queue.renew(held[::-1])
        except JobsError as exc:
            failures.append(exc)

    renewal = threading.Thread(target=renew, name="renewal")
    renewal.start()
    while claims := parts.queue.claim(LINE, "w", 100):
        held[:] = claims
        ends = [Settlement(c, Status.COMPLETED if n % 3 else Status.PENDING) for n, c in enumerate(claims)]
        ends = [s._replace(delay=timedelta(hours=1)) if s.status is Status.PENDING else s for s in ends]
        assert parts.queue.settle(ends) == [Answer.APPLIED] * len(ends)
    stop.set()
    renewal.join()
    assert failures == []


class TestRefusedData:
    """A settlement that the database cannot store is buried alone."""

    @pytest.mark.parametrize("bad", ["nul \0", "half a pair \ud800"])
    def test_its_neighbours_are_applied(self, postgres_parts: Parts, bad: str) -> None:
        jobs = [new_job() for _ in range(5)]
        postgres_parts.queue.enqueue_many(jobs)
        claims = postgres_parts.queue.claim(LINE, "w", 5)
        ends = completed(claims)
        ends[2] = ends[2]._replace(result=f'"{bad}"')
        assert postgres_parts.queue.settle(ends) == [Answer.APPLIED] * 5
        found = [postgres_parts.store.find(job.id) for job in jobs]
        assert [job.status for job in found if job] == [Status.COMPLETED] * 2 + [Status.FAILED] + [Status.COMPLETED] * 2
        assert found[2] is not None
        assert found[2].error is not None
        assert found[2].error.type == "refused-by-store"

    def test_on_sqlite_too(self, sqlite_parts: Parts) -> None:
        sqlite_parts.queue.enqueue_many([new_job() for _ in range(2)])
        ends = completed(sqlite_parts.queue.claim(LINE, "w", 2))
        ends[0] = ends[0]._replace(result='"\ud800"')
        assert sqlite_parts.queue.settle(ends) == [Answer.APPLIED] * 2
        statuses = sorted(str(job.status) for job in sqlite_parts.store.search().jobs)
        assert statuses == ["completed", "failed"]

    def test_the_next_claim_still_comes(self, postgres_parts: Parts) -> None:
        postgres_parts.queue.enqueue_many([new_job() for _ in range(3)])
        (claim,) = postgres_parts.queue.claim(LINE, "w", 1)
        bad = Settlement(claim, Status.COMPLETED, result="\0")
        answers, claims = postgres_parts.queue.exchange([bad], LINE, "w", 5)
        assert answers == [Answer.APPLIED]
        assert len(claims) == 2


def refuse_history(engine: Engine, type: str) -> None:
    """Let the database take no ended job of this type, as an application's own constraint or trigger may."""
    with engine.begin() as conn:
        if engine.dialect.name == "sqlite":
            conn.exec_driver_sql(
                f"CREATE TRIGGER refuse BEFORE INSERT ON job_store WHEN new.type = '{type}' "
                "BEGIN SELECT RAISE(ABORT, 'not this one'); END"
            )
        else:
            conn.exec_driver_sql(f"ALTER TABLE job_store ADD CONSTRAINT refuse CHECK (type <> '{type}')")


def put_into_history(parts: Parts, id: str) -> None:
    """A second row of a job that is claimed: what a restored backup of one table leaves."""
    queue, store = parts.db.tables.queue, parts.db.tables.store
    shared = [column.name for column in queue.c if column.name in store.c and column.name not in ("status", "token")]
    with parts.engine.begin() as conn:
        row = conn.execute(select(*(queue.c[name] for name in shared)).where(queue.c.id == id)).mappings().one()
        conn.execute(insert(store).values(**row, status="completed", completed_at=row["created_at"]))


@pytest.mark.parametrize("how", ["constraint", "duplicate"])
def test_a_settlement_that_the_database_can_never_take_is_told_apart_soon(parts: Parts, how: str) -> None:
    parts.queue.enqueue_many([new_job(), new_job()])
    first, second = parts.queue.claim(LINE, "w", 2)
    if how == "constraint":
        refuse_history(parts.engine, "greet")
    else:
        put_into_history(parts, first.id)
    began = time.monotonic()
    with pytest.raises(InvalidJob):
        parts.queue.settle(completed([first]))
    assert time.monotonic() - began < 2
    assert parts.queue.renew([first, second]) == {first: Hold.HELD, second: Hold.HELD}
    if how == "duplicate":
        assert parts.queue.settle(completed([second])) == [Answer.APPLIED]
