"""Tables are made once whoever comes first, checked by version, and printed as statements that make the same."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, create_engine, func, inspect, select, text, update

from tests.conftest import Engines
from tests.sql.conftest import Parts, new_job
from wagoe_jobs.adapters import sql
from wagoe_jobs.adapters.sql.engines import open_database
from wagoe_jobs.errors import SchemaMismatch, SettingsError

NODES = 8


def test_many_nodes_boot_at_once(database_url: str) -> None:
    together = threading.Barrier(NODES)

    def boot(_: int) -> str:
        engine = create_engine(database_url)
        together.wait()
        sql.create_jobs_table(engine)
        sql.create_recurring_tables(engine)
        with engine.connect() as conn:
            store_id: str = conn.execute(select(open_database(engine).tables.version.c.store_id)).scalar_one()
        engine.dispose()
        return store_id

    with ThreadPoolExecutor(NODES) as nodes:
        ids = list(nodes.map(boot, range(NODES)))
    assert len(set(ids)) == 1


def test_what_is_made_is_as_needed(engine: Engine) -> None:
    assert sql.verify_schema(engine) != []
    sql.upgrade_schema(engine)
    assert sql.verify_schema(engine) == []
    sql.upgrade_schema(engine)
    assert sql.verify_schema(engine) == []


def test_the_printed_statements_make_the_same_tables(engine: Engine) -> None:
    with engine.begin() as tx:
        for statement in sql.schema_ddl(engine).split(";\n"):
            if statement.strip():
                tx.execute(text(statement))
    assert sql.verify_schema(engine) == []
    sql.upgrade_schema(engine)
    queue = sql.job_queue(engine)
    assert queue.enqueue(new_job())
    queue.close()


@pytest.mark.parametrize(("version", "hint"), [(0, "wagoe-jobs db upgrade"), (99, "newer")])
def test_another_version_is_refused(parts: Parts, version: int, hint: str) -> None:
    with parts.engine.begin() as tx:
        tx.execute(update(parts.db.tables.version).values(version=version))
    with pytest.raises(SchemaMismatch, match=hint) as refusal:
        sql.create_jobs_table(parts.engine)
    assert str(version) in str(refusal.value)
    assert len(sql.verify_schema(parts.engine)) == 1


@pytest.mark.parametrize("broken", ["job_store", "job_queue_lease"])
def test_what_is_missing_is_named(parts: Parts, broken: str) -> None:
    if broken == "job_store":
        parts.db.tables.store.drop(parts.engine)
    else:
        parts.db.tables.index("lease").drop(parts.engine)
    (fault,) = sql.verify_schema(parts.engine)
    assert broken in fault
    assert "wagoe-jobs db upgrade" in fault
    sql.upgrade_schema(parts.engine)
    assert sql.verify_schema(parts.engine) == []


def test_a_queue_without_tables_names_the_remedy(engine: Engine) -> None:
    queue = sql.job_queue(engine)
    with pytest.raises(SchemaMismatch, match="wagoe-jobs db upgrade"):
        queue.enqueue(new_job())
    queue.close()


def test_a_prefix_keeps_two_stores_apart(engine: Engine) -> None:
    for prefix in ("a_", "b_"):
        sql.create_jobs_table(engine, table_prefix=prefix)
    first, second = (sql.job_queue(engine, table_prefix=prefix) for prefix in ("a_", "b_"))
    first.enqueue(new_job())
    assert (first.size("line"), second.size("line")) == (1, 0)
    assert {"a_job_queue", "b_job_store"} <= set(inspect(engine).get_table_names())
    first.close()
    second.close()


def test_a_search_path_redirects_nothing(postgres_parts: Parts) -> None:
    with postgres_parts.engine.begin() as tx:
        tx.execute(text("create schema tenant"))
        for table in ("job_queue", "job_store", "job_schema"):
            tx.execute(text(f"create table tenant.{table} (like public.{table} including defaults)"))
    with postgres_parts.engine.begin() as tx:
        tx.execute(text("set local search_path = tenant"))
        postgres_parts.queue.enqueue_in_tx(tx, [new_job()])
    assert postgres_parts.rows() == (1, 0)


def test_a_schema_of_its_own(postgres_engine: Engine) -> None:
    sql.create_jobs_table(postgres_engine, schema="jobs here")
    queue = sql.job_queue(postgres_engine, schema="jobs here")
    store = sql.job_store(postgres_engine, schema="jobs here")
    job = new_job()
    queue.enqueue(job)
    (claim,) = queue.claim("line", "w", 5)
    assert queue.ack(claim)
    assert store.find(job.id) is not None
    assert inspect(postgres_engine).get_table_names() == []
    queue.close()


@pytest.mark.parametrize("prefix", ["a b", "1a", 'x"; drop table t; --', "p" * 31])
def test_a_prefix_that_is_no_name_is_refused(engine: Engine, prefix: str) -> None:
    with pytest.raises(SettingsError, match=r"jobs\.db\.table_prefix"):
        sql.create_jobs_table(engine, table_prefix=prefix)


def test_sqlite_has_no_schemas(sqlite_engine: Engine) -> None:
    with pytest.raises(SettingsError, match=r"jobs\.db\.schema"):
        sql.create_jobs_table(sqlite_engine, schema="jobs")


def test_sqlite_files_write_ahead(sqlite_parts: Parts) -> None:
    with sqlite_parts.engine.connect() as conn:
        assert conn.execute(text("pragma journal_mode")).scalar() == "wal"


def test_the_store_alone_can_be_made(engine: Engine) -> None:
    sql.create_job_store_table(engine)
    assert "job_queue" not in inspect(engine).get_table_names()
    assert sql.job_store(engine).failed_jobs().jobs == []


def test_creating_again_keeps_what_is_there(parts: Parts, engines: Engines, database_url: str) -> None:
    parts.queue.enqueue(new_job())
    sql.upgrade_schema(engines(database_url))
    assert parts.rows() == (1, 0)
    with parts.engine.connect() as conn:
        assert conn.execute(select(func.count()).select_from(parts.db.tables.version)).scalar() == 1
