"""Every claim strategy gives each job to one worker, in line, and finds its rows by index whatever is in the tables."""

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, select, text

from tests.sql.conftest import LINE, Parts, new_job
from wagoe_jobs.adapters.sql import postgres_exchange
from wagoe_jobs.adapters.sql.claim import PortableClaimer
from wagoe_jobs.adapters.sql.connections import driver
from wagoe_jobs.core.job import Priority, Status
from wagoe_jobs.ports import Answer, Hold, Settlement

STRATEGIES = ["best", "portable"]


@pytest.fixture(params=STRATEGIES)
def claiming(request: pytest.FixtureRequest, engine: Engine, open_parts: Callable[..., Parts]) -> Parts:
    return open_parts(engine, strategy=request.param)


def test_many_workers_get_each_job_once(claiming: Parts) -> None:
    jobs = [new_job() for _ in range(600)]
    claiming.queue.enqueue_many(jobs)
    together = threading.Barrier(6)

    def work(name: int) -> list[str]:
        got: list[str] = []
        together.wait()
        while claiming.queue.size(LINE):
            claims = claiming.queue.claim(LINE, str(name), 7)
            answers = claiming.queue.settle([Settlement(claim, Status.COMPLETED) for claim in claims])
            assert set(answers) <= {Answer.APPLIED}
            got += [claim.id for claim in claims]
        return got

    with ThreadPoolExecutor(6) as workers:
        got = [id for ids in workers.map(work, range(6)) for id in ids]
    assert sorted(got) == sorted(str(job.id) for job in jobs)
    assert claiming.rows() == (0, 600)


def test_a_batch_is_in_line_and_ends_before_one_that_was_abandoned(claiming: Parts) -> None:
    jobs = [new_job() for _ in range(5)]
    claiming.queue.enqueue_many(jobs[:3])
    first, second, third = claiming.queue.claim(LINE, "dies", 3)
    claiming.queue.hand_back([first, third])
    claiming.clock_offset.move(timedelta(minutes=2))
    assert [one.id for one in claiming.queue.reclaim_abandoned()] == [second.id]
    claiming.queue.enqueue_many(jobs[3:])
    batches = [[claim.id for claim in claiming.queue.claim(LINE, "w", 10)] for _ in range(4)]
    assert batches == [[first.id], [second.id], [third.id, str(jobs[3].id), str(jobs[4].id)], []]


def test_a_lone_job_of_high_priority_comes_before_a_batch(claiming: Parts) -> None:
    low, high = new_job(priority=Priority.LOW), new_job(priority=Priority.HIGH)
    claiming.queue.enqueue(high)
    claiming.queue.claim(LINE, "dies", 1)
    claiming.clock_offset.move(timedelta(minutes=2))
    claiming.queue.reclaim_abandoned()
    claiming.queue.enqueue(low)
    batches = [[claim.id for claim in claiming.queue.claim(LINE, "w", 10)] for _ in range(3)]
    assert batches == [[str(high.id)], [str(low.id)], []]


def test_a_portable_claim_takes_what_others_left_of_its_candidates(engine: Engine, open_parts: Any) -> None:
    parts, other = open_parts(engine, strategy="portable"), open_parts(engine)
    jobs = [new_job() for _ in range(4)]
    parts.queue.enqueue_many(jobs)
    claimer = PortableClaimer(parts.db, 60_000_000)
    seen = parts.db.read(lambda conn: claimer.candidates(conn, LINE, 4))
    taken = other.queue.claim(LINE, "quick", 2)
    left = parts.db.write(lambda conn: claimer.take(conn, LINE, "slow", seen))
    assert [claim.id for claim in taken] + [claim.id for claim in left] == [str(job.id) for job in jobs]


def test_a_row_that_someone_locks_costs_its_neighbours_no_lease(postgres_parts: Parts) -> None:
    parts = postgres_parts
    parts.queue.enqueue_many([new_job(), new_job()])
    locked, free = parts.queue.claim(LINE, "w", 2)
    queue = parts.db.tables.queue
    ends = select(queue.c.lease_until).where(queue.c.id == free.id)
    with parts.engine.connect() as reader, parts.engine.begin() as foreign:
        foreign.execute(select(queue.c.id).where(queue.c.id == locked.id).with_for_update())
        before = reader.execute(ends).scalar_one()
        reader.rollback()
        assert parts.queue.renew([locked, free]) == {locked: Hold.HELD, free: Hold.HELD}
        assert reader.execute(ends).scalar_one() > before


def test_an_idle_poll_on_sqlite_does_not_take_the_write_lock(sqlite_parts: Parts) -> None:
    with sqlite_parts.engine.connect() as writer:
        writer.exec_driver_sql("BEGIN IMMEDIATE")
        assert sqlite_parts.queue.claim(LINE, "w", 10) == []
        writer.rollback()


def postgres_plan(parts: Parts, statement: Any) -> str:
    """The plan of a statement on a connection as the exchange has it: prepared, made without its parameters."""
    names: list[str] = []

    def numbered(match: re.Match[str]) -> str:
        if match[1] not in names:
            names.append(match[1])
        return f"${names.index(match[1]) + 1}"

    prepared = re.sub(r"%\((\w+)\)s", numbered, str(statement.compile(dialect=parts.engine.dialect)))
    with parts.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        postgres_exchange.prepare(conn)
        conn.exec_driver_sql(f"PREPARE one AS {prepared}")
        rows = conn.exec_driver_sql(f"EXPLAIN EXECUTE one({', '.join(['NULL'] * len(names))})")
        plan = "\n".join(row[0] for row in rows)
        conn.invalidate()
    return plan


@pytest.mark.parametrize("state", ["empty", "loaded", "analysed"])
def test_the_exchange_goes_by_index_whatever_the_statistics_say(postgres_parts: Parts, state: str) -> None:
    if state != "empty":
        postgres_parts.queue.enqueue_many([new_job() for _ in range(3_000)])
    if state == "analysed":
        with postgres_parts.engine.begin() as tx:
            tx.execute(text("analyze"))
    check_exchange_plan(postgres_parts)


@pytest.mark.parametrize("younger", ["job_queue_ready", "job_queue_lone"])
def test_the_exchange_goes_by_the_same_indexes_in_whatever_order_they_were_made(
    postgres_parts: Parts, younger: str
) -> None:
    (index,) = (index for index in postgres_parts.db.tables.queue.indexes if index.name == younger)
    index.drop(postgres_parts.engine)
    index.create(postgres_parts.engine)
    check_exchange_plan(postgres_parts)


def check_exchange_plan(parts: Parts) -> None:
    statement = postgres_exchange.exchange_statement(parts.db, settle=True, claim=True)
    plan = postgres_plan(parts, statement)
    assert "Index Scan using job_queue_lone" in plan
    assert "Index Scan using job_queue_ready" in plan
    assert "Index Scan using job_queue_pkey" in plan
    assert "Tid Scan" in plan
    for slow in ("Seq Scan", "Bitmap", "Sort", "Hash"):
        assert slow not in plan, plan


def test_many_ids_are_joined_not_searched_for_each_row(postgres_parts: Parts) -> None:
    # a history that was never analysed is scanned; an array walked for each of its rows makes that quadratic
    db, ids = postgres_parts.db, [str(new_job().id) for _ in range(3_000)]
    statement = select(db.tables.store.c.id).where(db.dialect.among(db.tables.store.c.id))
    compiled = statement.compile(dialect=postgres_parts.engine.dialect)
    with postgres_parts.engine.connect() as conn:
        plan = "\n".join(conn.exec_driver_sql(f"EXPLAIN {compiled}", {"ids": db.dialect.ids(ids)}).scalars())
    assert "Join" in plan or "Nested Loop" in plan, plan
    assert "ANY" not in plan, plan


def sqlite_plans(parts: Parts, work: Callable[[], object]) -> str:
    """The plans of all statements that `work` runs on the queue and history."""
    plans: list[str] = []

    def explain(conn: Connection, cursor: Any, statement: str, parameters: Any, *_: object) -> None:
        if statement.startswith(("SELECT", "UPDATE", "DELETE", "INSERT")):
            one = parameters[0] if isinstance(parameters, list) else parameters
            found = [row[3] for row in driver(conn).execute(f"EXPLAIN QUERY PLAN {statement}", one)]
            plans.extend(found)
            if " LIMIT " in statement:
                assert not [line for line in found if "TEMP B-TREE" in line], statement

    event.listen(parts.engine, "before_cursor_execute", explain)
    work()
    event.remove(parts.engine, "before_cursor_execute", explain)
    return "\n".join(plans)


def test_sqlite_goes_by_index(sqlite_parts: Parts) -> None:
    queue = sqlite_parts.queue

    def work() -> None:
        queue.enqueue_many([new_job() for _ in range(10)])
        queue.schedule(new_job(), timedelta(seconds=1))
        claims = queue.claim(LINE, "w", 5)
        queue.renew(claims)
        queue.exchange([Settlement(claim, Status.COMPLETED) for claim in claims], LINE, "w", 5)
        queue.next_due()
        sqlite_parts.clock_offset.move(timedelta(minutes=5))
        queue.process_scheduled()
        queue.reclaim_abandoned()

    plans = sqlite_plans(sqlite_parts, work)
    assert "USING INDEX job_queue_ready" in plans
    assert "job_queue_due" in plans
    assert "job_queue_lease" in plans
    assert "SCAN job_queue\n" not in plans + "\n"
    assert "SCAN job_store" not in plans
