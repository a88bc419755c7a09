"""An id is in one place only, whatever moves it at the moment of the enqueue."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, event

from tests.conftest import Engines
from tests.sql.conftest import LINE, Parts, new_job
from tests.until import until
from wagoe_jobs.adapters.sql.settle import PortableSettler
from wagoe_jobs.core.job import Status
from wagoe_jobs.errors import BackendUnavailable, InvalidJob, SchemaMismatch
from wagoe_jobs.ports import Answer, Settlement


def waits_for_a_lock(parts: Parts) -> Callable[[], bool]:
    """Whether another session of this PostgreSQL waits for a row."""

    def waiting() -> bool:
        with parts.engine.connect() as conn:
            statement = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
            return bool(conn.exec_driver_sql(statement).scalar())

    return waiting


def test_an_enqueue_that_waited_for_the_move_to_history_is_a_duplicate(postgres_parts: Parts) -> None:
    parts, job = postgres_parts, new_job()
    parts.queue.enqueue(job)
    claims = parts.queue.claim(LINE, "w", 1)
    answers: list[bool] = []
    with parts.engine.begin() as settling:
        settler = PortableSettler(parts.db)
        assert settler.settle(settling, [Settlement(claims[0], Status.COMPLETED)]) == [Answer.APPLIED]
        late = threading.Thread(target=lambda: answers.append(parts.queue.enqueue(job)), name="late")
        late.start()
        until(waits_for_a_lock(parts))
    late.join()
    assert answers == [False]
    assert parts.rows() == (0, 1)


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_transaction_with_an_old_snapshot_stores_no_second_copy(
    postgres_parts: Parts, engines: Engines, postgres_url: str, isolation: str
) -> None:
    parts, job = postgres_parts, new_job()
    parts.queue.enqueue(job)
    with engines(postgres_url, isolation_level=isolation).connect() as conn:
        conn.exec_driver_sql("select 1")
        (claim,) = parts.queue.claim(LINE, "w", 1)
        assert parts.queue.ack(claim)
        with pytest.raises(BackendUnavailable, match="serializ"):
            parts.queue.enqueue_in_tx(conn, [job])
    assert parts.rows() == (0, 1)


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_fresh_job_goes_through_at_any_isolation(
    postgres_parts: Parts, engines: Engines, postgres_url: str, isolation: str
) -> None:
    job = new_job()
    with engines(postgres_url, isolation_level=isolation).begin() as tx:
        assert postgres_parts.queue.enqueue_in_tx(tx, [job, job]) == [True, False]
    assert postgres_parts.rows() == (1, 0)


def test_an_engine_at_any_isolation_can_carry_the_queue(engines: Engines, postgres_url: str, open_parts: Any) -> None:
    for level in ("AUTOCOMMIT", "SERIALIZABLE"):
        parts = open_parts(engines(postgres_url, isolation_level=level))
        job = new_job()
        assert parts.queue.enqueue_many([job, job]) == [True, False]
        (claim,) = parts.queue.claim(LINE, "w", 5)
        assert parts.queue.renew([claim])
        assert parts.queue.ack(claim)


def test_ten_thousand_are_stored_together_and_one_more_is_refused(parts: Parts) -> None:
    jobs = [new_job() for _ in range(10_001)]
    with pytest.raises(InvalidJob):
        parts.queue.enqueue_many(jobs)
    assert parts.rows() == (0, 0)
    assert all(parts.queue.enqueue_many(jobs[1:]))
    assert [job.id for job in parts.queue.peek(LINE, 3)] == [job.id for job in jobs[1:4]]


@pytest.mark.parametrize("kind", ["sqlite", "mariadb"])
def test_a_failure_on_the_way_stores_none(
    kind: str, request: pytest.FixtureRequest, engines: Engines, open_parts: Callable[..., Parts]
) -> None:
    parts = open_parts(engines(request.getfixturevalue(f"{kind}_url")))

    def fail(conn: Connection, cursor: Any, statement: str, *_: object) -> None:
        if statement.startswith("INSERT"):
            raise OSError("the line is down")

    event.listen(parts.engine, "after_cursor_execute", fail)
    with pytest.raises(BackendUnavailable):
        parts.queue.enqueue_many([new_job(), new_job()])
    event.remove(parts.engine, "after_cursor_execute", fail)
    assert parts.rows() == (0, 0)


@pytest.mark.parametrize("count", [1, 2])
def test_what_is_stored_goes_again_when_history_cannot_be_asked(postgres_parts: Parts, count: int) -> None:
    jobs = [new_job() for _ in range(count)]
    with postgres_parts.engine.begin() as conn:
        conn.exec_driver_sql("ALTER TABLE job_store RENAME TO elsewhere")
    with pytest.raises(SchemaMismatch):
        postgres_parts.queue.enqueue_many(jobs)
    with postgres_parts.engine.begin() as conn:
        conn.exec_driver_sql("ALTER TABLE elsewhere RENAME TO job_store")
    assert postgres_parts.rows() == (0, 0)
    assert postgres_parts.queue.enqueue_many(jobs) == [True] * count


def test_text_that_a_database_refuses_is_told_to_the_enqueuer(postgres_parts: Parts) -> None:
    # the payload is JSON and has no raw NUL; a tenant's name is a column
    good, bad = new_job(), new_job(metadata={"tenant-id": "a\0b"})
    with pytest.raises(InvalidJob):
        postgres_parts.queue.enqueue_many([good, bad])
    assert postgres_parts.rows() == (0, 0)


def test_a_key_and_its_job_are_stored_together_or_not(parts: Parts) -> None:
    def fail(conn: Connection, cursor: Any, statement: str, *_: object) -> None:
        if "job_queue" in statement and statement.startswith("INSERT"):
            raise OSError("the line is down")

    event.listen(parts.engine, "after_cursor_execute", fail)
    with pytest.raises(BackendUnavailable):
        parts.queue.enqueue_once("s", "k", new_job(), timedelta(hours=1))
    event.remove(parts.engine, "after_cursor_execute", fail)
    assert parts.rows() == (0, 0)
    assert parts.queue.enqueue_once("s", "k", new_job(), timedelta(hours=1)) == ()
