"""A session that keeps one claimed row locked holds up that one, not its neighbours nor the claims that follow."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

import pytest
from sqlalchemy import Engine, select

from tests.sql.conftest import LINE, Parts, new_job
from tests.until import until
from wagoe_jobs.adapters import sql
from wagoe_jobs.core.job import Status
from wagoe_jobs.errors import BackendUnavailable
from wagoe_jobs.ports import Answer, Claim, Hold, Settlement

SOON = 0.7
"""Seconds within which an answer must be there that waits for no lock; a lock is waited for at least one second."""


@pytest.fixture(params=["postgres", "mariadb"])
def engine(request: pytest.FixtureRequest) -> Engine:
    lent: Engine = request.getfixturevalue(f"{request.param}_engine")
    return lent


@pytest.fixture(params=["best", "portable"])
def locking(request: pytest.FixtureRequest, engine: Engine, open_parts: Callable[..., Parts]) -> Parts:
    """The parts over a database that locks rows."""
    return open_parts(engine, strategy=request.param)


@contextmanager
def locked(parts: Parts, *claims: Claim) -> Iterator[None]:
    """A transaction of somebody else's has these rows, and does not end."""
    ids = parts.db.tables.queue.c.id
    rows = select(ids).where(ids.in_([claim.id for claim in claims])).with_for_update()
    with parts.engine.connect() as foreign:
        assert len(foreign.execute(rows).all()) == len(claims)
        yield
        foreign.rollback()


def claimed(parts: Parts, count: int, more: int = 0) -> Sequence[Claim]:
    parts.queue.enqueue_many([new_job() for _ in range(count + more)])
    return parts.queue.claim(LINE, "w", count)


def end(claim: Claim, status: Status = Status.COMPLETED) -> Settlement:
    return Settlement(claim, status, delay=None if status.terminal else timedelta(hours=1))


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.PENDING])
def test_its_neighbours_are_settled_and_the_next_claims_come(locking: Parts, status: Status) -> None:
    first, stuck, third = claimed(locking, 3, more=2)
    with locked(locking, stuck):
        began = time.monotonic()
        answers, claims = locking.queue.exchange([end(first), end(stuck, status), end(third)], LINE, "w", 9)
        assert time.monotonic() - began < 3
        assert answers == [Answer.APPLIED, Answer.LOCKED, Answer.APPLIED]
        assert len(claims) == 2
        assert locking.rows() == (3, 2)
        assert locking.queue.renew([stuck]) == {stuck: Hold.HELD}
    assert locking.queue.settle([end(stuck, status)]) == [Answer.APPLIED]
    assert locking.queue.settle([end(stuck, status)]) == [Answer.ALREADY]
    assert locking.rows() == ((2, 3) if status.terminal else (3, 2))


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.PENDING])
def test_it_is_waited_for_once_however_often_it_is_offered(locking: Parts, status: Status) -> None:
    stuck, *others = claimed(locking, 4, more=1)
    with locked(locking, stuck):
        assert locking.queue.settle([end(stuck, status)]) == [Answer.LOCKED]
        began = time.monotonic()
        assert locking.queue.settle([end(stuck, status)]) == [Answer.LOCKED]
        answers, claims = locking.queue.exchange([end(stuck, status), end(others[0])], LINE, "w", 1)
        assert (answers, len(claims)) == ([Answer.LOCKED, Answer.APPLIED], 1)
        assert locking.queue.settle([end(claim) for claim in others[1:]]) == [Answer.APPLIED] * 2
        assert time.monotonic() - began < SOON
    assert locking.queue.settle([end(stuck, status)] * 2) == [Answer.APPLIED, Answer.ALREADY]


def test_a_lock_that_does_not_last_is_waited_for(locking: Parts) -> None:
    first, second = claimed(locking, 2)
    with locked(locking, second):
        told: list[Sequence[Answer]] = []
        settling = threading.Thread(target=lambda: told.append(locking.queue.settle([end(first), end(second)])))
        settling.start()
        threading.Event().wait(0.1)
        assert told == []
    settling.join()
    assert told == [[Answer.APPLIED, Answer.APPLIED]]


def test_what_somebody_locks_may_be_lost_or_settled_before(locking: Parts) -> None:
    """The lock hides neither: the row is looked at all the same."""
    again, lost = claimed(locking, 2)
    assert locking.queue.settle([end(again, Status.PENDING)]) == [Answer.APPLIED]
    assert locking.queue.hand_back([lost]) == 1
    with locked(locking, again, lost):
        assert locking.queue.settle([end(again), end(lost)]) == [Answer.ALREADY, Answer.LOST]


def test_a_single_acknowledgement_says_that_it_could_not_be_made(locking: Parts) -> None:
    (stuck,) = claimed(locking, 1)
    with locked(locking, stuck), pytest.raises(BackendUnavailable):
        locking.queue.ack(stuck)
    assert locking.queue.ack(stuck) is True


def test_a_connection_that_dies_meanwhile_takes_nothing_with_it(
    engine: Engine, open_parts: Callable[..., Parts]
) -> None:
    parts = open_parts(engine)
    first, stuck = claimed(parts, 2, more=1)
    with locked(parts, stuck):
        failed: list[Exception] = []

        def settle() -> None:
            try:
                parts.queue.exchange([end(first), end(stuck)], LINE, "w", 1)
            except BackendUnavailable as exc:
                failed.append(exc)

        settling = threading.Thread(target=settle)
        settling.start()
        end_whoever_waits(parts)
        settling.join()
        assert len(failed) == 1
        assert parts.rows() == (3, 0)
        answers, claims = parts.queue.exchange([end(first), end(stuck)], LINE, "w", 1)
        assert (answers, len(claims)) == ([Answer.APPLIED, Answer.LOCKED], 1)
    assert parts.queue.settle([end(first), end(stuck)]) == [Answer.ALREADY, Answer.APPLIED]
    assert parts.rows() == (1, 2)


WAITING = {
    "postgresql": "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    "mysql": "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
}


def end_whoever_waits(parts: Parts) -> None:
    """Cut the one session that waits for a lock, as soon as it does."""
    kind = parts.engine.dialect.name
    with parts.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as admin:
        while not (found := admin.exec_driver_sql(WAITING[kind]).scalars().all()):
            threading.Event().wait(0.02)
        (pid,) = found
        admin.exec_driver_sql(f"SELECT pg_terminate_backend({pid})" if kind == "postgresql" else f"KILL {pid}")


def test_an_engine_of_our_own_is_no_less_patient(engine: Engine, open_parts: Callable[..., Parts]) -> None:
    own = sql.open_engine(engine.url, timeout=timedelta(seconds=5))
    parts = open_parts(own)
    first, stuck = claimed(parts, 2)
    with locked(parts, stuck):
        assert parts.queue.settle([end(stuck), end(first)]) == [Answer.LOCKED, Answer.APPLIED]
    assert parts.queue.ack(stuck)
    parts.queue.close()
    own.dispose()


@pytest.mark.parametrize("others", [1, 16, 60])
def test_a_batch_waits_for_no_row_of_another_however_much_of_the_table_it_is(locking: Parts, others: int) -> None:
    """Where most rows are to be deleted, a planner would rather read them all, and wait for each that is locked."""
    stuck, *claims = claimed(locking, 1 + others)
    with locked(locking, stuck):
        began = time.monotonic()
        assert locking.queue.settle([end(claim) for claim in claims]) == [Answer.APPLIED] * others
        assert time.monotonic() - began < 9, "less than an engine waits for a lock"
    assert locking.rows() == (1, others)


def test_its_neighbours_are_handed_back_at_once_and_itself_is_left_to_its_lease(locking: Parts) -> None:
    first, stuck, third = claimed(locking, 3)
    handed: list[int] = []
    with locked(locking, stuck):
        began = time.monotonic()
        handing = threading.Thread(target=lambda: handed.append(locking.queue.hand_back([first, stuck, third])))
        handing.start()
        until(lambda: locking.queue.size(LINE) == 2, within=SOON)
        handing.join()
        assert handed == [2]
        assert time.monotonic() - began < 5
    assert locking.queue.renew([stuck]) == {stuck: Hold.HELD}
    assert locking.queue.hand_back([first, stuck, third]) == 1


def test_its_neighbours_are_marked_as_interrupted(locking: Parts) -> None:
    stuck, other = claimed(locking, 2)
    with locked(locking, stuck):
        began = time.monotonic()
        assert locking.queue.interrupt([stuck, other]) == 1
        assert time.monotonic() - began < 5
    assert locking.queue.interrupt([stuck, other]) == 2


@pytest.mark.parametrize("verb", ["hand_back", "interrupt"])
def test_a_claim_that_is_locked_for_a_moment_is_waited_for(locking: Parts, verb: str) -> None:
    """Renewal does so all the time."""
    claims = claimed(locking, 2)
    reached: list[int] = []
    with locked(locking, claims[0]):
        reaching = threading.Thread(target=lambda: reached.append(getattr(locking.queue, verb)(claims)))
        reaching.start()
        threading.Event().wait(0.1)
        assert reached == []
    reaching.join()
    assert reached == [2]
