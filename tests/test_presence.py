"""What stores do about workers beyond the contract: rows that go, a table that comes late, cards that are refused."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, func, inspect, select, text

from wagoe_jobs.adapters import memory, sql
from wagoe_jobs.adapters.sql.engines import open_database
from wagoe_jobs.clock import ClockOffset
from wagoe_jobs.errors import InvalidJob
from wagoe_jobs.ports import BATCH_LIMIT, GONE_AFTER, Beat, WorkerPresence
from wagoe_jobs.runtime import open_runtime
from wagoe_jobs.testing.presence import card

SECOND = timedelta(seconds=1)
MANY = BATCH_LIMIT + 20


def announce_many(presence: WorkerPresence, offset: ClockOffset) -> None:
    """Many workers that are gone by now."""
    for n in range(MANY):
        presence.announce(card(f"worker {n}"))
    offset.move(GONE_AFTER + SECOND)


@pytest.mark.parametrize("forget", ["announce", "list"])
def test_rows_of_the_gone_are_deleted_in_bounded_steps(engine: Engine, forget: str) -> None:
    sql.create_presence_table(engine)
    offset = ClockOffset()
    presence = sql.worker_presence(engine, clock_offset=offset)
    announce_many(presence, offset)
    left, counts = select(func.count()).select_from(open_database(engine).tables.workers), []
    for _ in range(3):
        presence.announce(card()) if forget == "announce" else presence.list()
        with engine.connect() as conn:
            counts.append(conn.execute(left).scalar_one() - (forget == "announce"))
    assert counts == [MANY - BATCH_LIMIT, 0, 0]


def test_memory_forgets_in_bounded_steps() -> None:
    offset = ClockOffset()
    state = memory.MemoryState(clock_offset=offset)
    presence = memory.worker_presence(state)
    announce_many(presence, offset)
    counts = []
    for _ in range(2):
        presence.list()
        counts.append(len(state.workers))
    assert counts == [MANY - BATCH_LIMIT, 0]


def test_the_table_is_made_where_the_others_are_there_already(engine: Engine) -> None:
    sql.create_jobs_table(engine)
    sql.create_recurring_tables(engine)
    [fault] = sql.verify_schema(engine)
    assert "job_workers is missing" in fault
    assert "wagoe-jobs db upgrade" in fault
    with open_runtime({"provider": "db"}, engine=engine) as runtime:
        assert runtime.presence is not None
        runtime.presence.announce(card())
        assert runtime.presence.beat("ann", Beat()) is True
    assert sql.verify_schema(engine) == []


def test_an_upgrade_makes_it_too(engine: Engine) -> None:
    sql.upgrade_schema(engine)
    with engine.begin() as tx:
        tx.execute(text("drop table job_workers"))
    sql.upgrade_schema(engine)
    assert "job_workers" in inspect(engine).get_table_names()


@pytest.mark.parametrize("field", ["name", "host", "version"])
@pytest.mark.parametrize("value", ["", "a\0b", "x" * 201, "half \ud800", None, 5])
def test_a_card_without_a_proper_name_cannot_be_made(field: str, value: object) -> None:
    with pytest.raises(InvalidJob, match=field):
        card(**{field: value})  # type: ignore[arg-type]  # that is what is tested
