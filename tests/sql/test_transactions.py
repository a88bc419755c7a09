"""A job shares the fate of the caller's transaction; what is no open transaction of this database is refused."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, event, insert, select, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from tests.conftest import Engines
from tests.sql.conftest import LINE, Parts, new_job
from wagoe_jobs.adapters.sql.connections import driver
from wagoe_jobs.adapters.sql.wakeup import channel
from wagoe_jobs.errors import BackendUnavailable, NotATransaction


def orders(engine: Engine) -> Table:
    table = Table("orders", MetaData(), Column("id", Integer, primary_key=True))
    table.create(engine)
    return table


@pytest.mark.fault(51)
def test_a_job_is_invisible_until_its_business_row_is(parts: Parts) -> None:
    table = orders(parts.engine)
    with parts.engine.begin() as tx:
        tx.execute(insert(table).values(id=1))
        assert parts.queue.enqueue_in_tx(tx, [new_job()]) == [True]
        assert parts.queue.claim(LINE, "w", 1) == []
    assert len(parts.queue.claim(LINE, "w", 1)) == 1
    with parts.engine.connect() as conn:
        assert conn.execute(select(table.c.id)).scalars().all() == [1]


@pytest.mark.fault(51)
@pytest.mark.parametrize("nested", [False, True], ids=["whole", "savepoint"])
def test_a_rollback_takes_the_job_with_it(parts: Parts, nested: bool) -> None:
    with parts.engine.begin() as tx:
        inner = tx.begin_nested() if nested else tx.get_transaction()
        assert inner is not None
        parts.queue.enqueue_in_tx(tx, [new_job(), new_job()])
        inner.rollback()
    assert parts.rows() == (0, 0)
    assert parts.queue.claim(LINE, "w", 1) == []


def test_a_session_stores_the_job_with_its_rows(parts: Parts) -> None:
    with Session(parts.engine) as session, session.begin():
        assert parts.queue.enqueue_in_tx(session, [new_job()]) == [True]
        assert parts.queue.size(LINE) == 0
    assert parts.queue.size(LINE) == 1


def test_a_session_that_rolls_back_stores_nothing(parts: Parts) -> None:
    with Session(parts.engine) as session:
        session.execute(text("select 1"))
        parts.queue.enqueue_in_tx(session, [new_job()])
        session.rollback()
    assert parts.queue.size(LINE) == 0


def test_a_scoped_session_and_a_session_on_a_connection_are_taken(parts: Parts) -> None:
    scope = scoped_session(sessionmaker(parts.engine))
    with scope.begin():
        parts.queue.enqueue_in_tx(scope, [new_job()])
    scope.remove()
    with parts.engine.begin() as tx, Session(tx) as session, session.begin():
        parts.queue.enqueue_in_tx(session, [new_job()])
    assert parts.queue.size(LINE) == 2


def test_another_engine_of_the_same_database_is_taken(parts: Parts, engines: Engines, database_url: str) -> None:
    with engines(database_url).begin() as tx:
        parts.queue.enqueue_in_tx(tx, [new_job()])
    assert parts.queue.size(LINE) == 1


def closed(engine: Engine) -> Any:
    with engine.begin() as tx:
        return tx


def finished(engine: Engine) -> Any:
    tx = engine.connect()
    tx.begin().commit()
    return tx


def rolled_back(engine: Engine) -> Any:
    tx = engine.connect()
    tx.begin().rollback()
    return tx


def lost(engine: Engine) -> Any:
    tx = engine.connect()
    tx.begin()
    tx.invalidate()
    return tx


def savepoint_over(engine: Engine) -> Any:
    tx = engine.connect()
    outer = tx.begin()
    tx.execute(text("select 1"))
    outer.close()
    return tx


def autocommit(engine: Engine) -> Any:
    tx = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    tx.execute(text("select 1"))
    assert tx.in_transaction()
    return tx


def autocommit_engine(engine: Engine) -> Any:
    tx = engine.execution_options(isolation_level="AUTOCOMMIT").connect()
    tx.begin()
    return tx


def autocommit_session(engine: Engine) -> Any:
    session = Session(engine.execution_options(isolation_level="AUTOCOMMIT"))
    session.begin()
    return session


def idle_session(engine: Engine) -> Any:
    return Session(engine)


def committed_session(engine: Engine) -> Any:
    session = Session(engine)
    session.execute(text("select 1"))
    session.commit()
    return session


def unbound_session(engine: Engine) -> Any:
    session = Session()
    session.begin()
    return session


NOT_TRANSACTIONS = [
    closed, finished, rolled_back, lost, savepoint_over, autocommit, autocommit_engine, autocommit_session,
    idle_session, committed_session, unbound_session, lambda engine: engine, lambda engine: engine.connect(),
    lambda engine: sessionmaker(engine), lambda engine: engine.raw_connection(), lambda engine: "begin",
    lambda engine: object(),
]  # fmt: skip


@pytest.mark.parametrize("make", NOT_TRANSACTIONS, ids=lambda make: make.__name__)
def test_what_is_no_open_transaction_is_refused(parts: Parts, make: Callable[[Engine], Any]) -> None:
    tx = make(parts.engine)
    try:
        with pytest.raises(NotATransaction):
            parts.queue.enqueue_in_tx(tx, [new_job()])
    finally:
        if hasattr(tx, "close"):
            tx.close()
    assert parts.rows() == (0, 0)


def test_another_database_is_refused(parts: Parts, engines: Engines, tmp_path: Any, open_parts: Any) -> None:
    other = engines(f"sqlite:///{tmp_path / 'other.sqlite'}")
    with other.begin() as tx, pytest.raises(NotATransaction, match="another database"):
        parts.queue.enqueue_in_tx(tx, [new_job()])
    theirs = open_parts(other)
    with other.begin() as tx, pytest.raises(NotATransaction, match="another database"):
        parts.queue.enqueue_in_tx(tx, [new_job()])
    assert theirs.rows() == (0, 0)


def test_a_database_without_the_tables_is_refused_and_its_transaction_stays_usable(
    postgres_parts: Parts, postgres: Any, engines: Engines
) -> None:
    with postgres.database() as url, engines(url).begin() as tx:
        with pytest.raises(NotATransaction, match="another database"):
            postgres_parts.queue.enqueue_in_tx(tx, [new_job()])
        assert tx.execute(text("select 1")).scalar() == 1


def test_which_database_it_is_is_asked_once_an_engine(parts: Parts, engines: Engines, database_url: str) -> None:
    other = engines(database_url)
    asked: list[str] = []
    event.listen(other, "before_cursor_execute", lambda *call: asked.append(call[2]))

    def questions() -> int:
        asked.clear()
        with other.begin() as tx:
            parts.queue.enqueue_in_tx(tx, [new_job()])
        return sum("store_id" in statement for statement in asked)

    assert [questions() for _ in range(3)] == [1, 0, 0]


@pytest.mark.parametrize("tx", [AsyncSession(), AsyncConnection(create_async_engine("sqlite+aiosqlite://"))])
def test_asynchronous_transactions_are_told_the_way(parts: Parts, tx: object) -> None:
    with pytest.raises(NotATransaction, match="run_sync"):
        parts.queue.enqueue_in_tx(tx, [new_job()])


def test_a_broken_transaction_raises_no_driver_error(postgres_parts: Parts) -> None:
    with postgres_parts.engine.connect() as conn:
        conn.begin()
        with pytest.raises(Exception, match="nothing_here"):
            conn.execute(text("select * from nothing_here"))
        with pytest.raises(BackendUnavailable):
            postgres_parts.queue.enqueue_in_tx(conn, [new_job()])


def test_a_deferred_sqlite_transaction_that_has_read_can_still_enqueue(sqlite_parts: Parts) -> None:
    with sqlite_parts.engine.begin() as tx:
        tx.execute(select(sqlite_parts.db.tables.queue))
        sqlite_parts.queue.enqueue_in_tx(tx, [new_job()])
    assert sqlite_parts.queue.size(LINE) == 1


def test_the_recipe_that_begins_by_itself_is_a_transaction(sqlite_url: str, engines: Engines, open_parts: Any) -> None:
    engine = engines(sqlite_url)

    @event.listens_for(engine, "connect")
    def leave_it_to_us(raw: Any, _: object) -> None:
        raw.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(conn: Any) -> None:
        conn.exec_driver_sql("BEGIN")

    parts = open_parts(engine)
    with engine.begin() as tx:
        assert parts.queue.enqueue_in_tx(tx, [new_job()]) == [True]
    assert len(parts.queue.claim(LINE, "w", 1)) == 1


def test_news_goes_out_once_and_with_the_commit(postgres_parts: Parts) -> None:
    heard: list[str] = []
    with postgres_parts.engine.connect() as listening:
        raw = driver(listening.execution_options(isolation_level="AUTOCOMMIT"))
        raw.execute(f"LISTEN {channel(postgres_parts.db.tables)}")
        with postgres_parts.engine.begin() as tx:
            for _ in range(3):
                postgres_parts.queue.enqueue_in_tx(tx, [new_job(), new_job()])
            heard += [notice.payload for notice in raw.notifies(timeout=0.1)]
            assert heard == []
        heard += [notice.payload for notice in raw.notifies(timeout=1, stop_after=1)]
        heard += [notice.payload for notice in raw.notifies(timeout=0.1)]
        listening.invalidate()
    assert heard == [LINE]
