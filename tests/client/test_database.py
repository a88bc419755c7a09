"""The client on a database: transactions of the application, refusals of the runtime, and what it leaves behind."""

import socket
import sqlite3
import time
import traceback
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.orm import Session

from wagoe_jobs import InvalidJob, Jobs, NotATransaction, open_runtime
from wagoe_jobs.adapters import sql
from wagoe_jobs.errors import BackendUnavailable, JobsDisabled, SettingsError, WiringError
from wagoe_jobs.settings import JobsSettings, Settings, load_settings

SECRET = "hunter2-4711"


def test_a_job_is_part_of_the_transaction_that_it_is_enqueued_in(engine: Engine) -> None:
    with open_runtime({"provider": "db"}, engine) as runtime:
        jobs = Jobs(runtime)
        with engine.begin() as tx:
            kept = jobs.enqueue("x", {"n": 1}, tx=tx)
            many = jobs.enqueue_many([("x", {"n": 2}), ("x", {"n": 3})], tx=tx, delay=0)
            once = jobs.enqueue("x", {"n": 4}, key="k", tx=tx)
        with Session(engine) as session, session.begin():
            in_session = jobs.enqueue("x", {"n": 5}, tx=session)
        with engine.connect() as conn, conn.begin() as transaction:
            lost = jobs.enqueue("x", {"n": 6}, tx=conn)
            dropped = jobs.enqueue("x", {"n": 7}, key="other", tx=conn)
            transaction.rollback()
        assert all(jobs.get(id) for id in [kept, *many, once, in_session])
        assert jobs.get(lost) is None
        assert jobs.get(dropped) is None
        assert not jobs.enqueue("x", {"n": 8}, key="other").duplicate
        assert jobs.enqueue("x", key="k") == once


def test_what_is_no_transaction_is_refused_and_nothing_is_stored(engine: Engine) -> None:
    with open_runtime({"provider": "db"}, engine) as runtime:
        jobs = Jobs(runtime)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as autocommit:
            for tx in (engine, autocommit, object(), "tx"):
                for call in (
                    lambda tx=tx: jobs.enqueue("x", tx=tx),
                    lambda tx=tx: jobs.enqueue("x", tx=tx, key="k"),
                    lambda tx=tx: jobs.enqueue_many([("x", None)], tx=tx),
                ):
                    with pytest.raises(NotATransaction):
                        call()
        assert jobs.find().jobs == []


def test_one_that_cannot_be_encoded_keeps_all_from_being_stored(engine: Engine) -> None:
    with open_runtime({"provider": "db"}, engine) as runtime:
        jobs = Jobs(runtime)
        with engine.begin() as tx, pytest.raises(InvalidJob) as caught:
            jobs.enqueue_many([("x", {}), ("x", {"o": object()})], tx=tx)
        assert caught.value.path == '[1].args["o"]'
        assert jobs.find().jobs == []


def test_a_key_is_stored_once_by_every_caller(engine: Engine) -> None:
    with open_runtime({"provider": "db"}, engine) as runtime, open_runtime({"provider": "db"}, engine) as other:
        first = Jobs(runtime).enqueue("x", key="k")
        again = Jobs(other).enqueue("x", key="k")
        assert (again, again.duplicate) == (first, True)


def test_a_lent_engine_stays_open_and_an_own_one_is_closed(engine: Engine, sqlite_url: str) -> None:
    with open_runtime({"provider": "db"}, engine) as runtime:
        Jobs(runtime).enqueue("x")
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    with engine.connect() as conn:
        assert conn.execute(text("select 1")).scalar() == 1


def test_tables_are_made_where_the_settings_say(postgres_engine: Engine, sqlite_url: str) -> None:
    with postgres_engine.begin() as tx:
        tx.execute(text("create schema apart"))
    with open_runtime({"provider": "db", "db": {"schema": "apart", "table-prefix": "my_"}}, postgres_engine) as runtime:
        id = Jobs(runtime).enqueue("x")
        with postgres_engine.connect() as conn:
            assert conn.execute(text("select id from apart.my_job_queue")).scalar_one() == UUID(str(id))
    with open_runtime({"provider": "db", "db": {"url": sqlite_url, "table_prefix": "my_"}}) as runtime:
        id = Jobs(runtime).enqueue("x")
    with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as raw:
        assert raw.execute("select id from my_job_queue").fetchone() == (str(id),)
    raw.close()


@pytest.mark.parametrize(
    "given", [{"provider": "memory"}, JobsSettings(), load_settings(given={"jobs": {}}, environ={})]
)
def test_settings_come_in_three_shapes(given: Any) -> None:
    with open_runtime(given) as runtime:
        assert runtime.provider == "memory"


def test_settings_without_a_jobs_table_open_nothing() -> None:
    with pytest.raises(JobsDisabled), open_runtime(Settings()):
        pytest.fail("opened")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("nonsense", "jobs.db.url"),
        (f"postgresql://u:{SECRET}@h:port/db", "jobs.db.url"),
        (f"oracle://u:{SECRET}@h/db", "jobs.db.url"),
        (f"nosuch+driver://u:{SECRET}@h/db", "jobs.db.url"),
        (f"postgresql+asyncpg://u:{SECRET}@h/db", "jobs.db.url"),
        ("sqlite://", "jobs.db.url"),
        ("sqlite:///:memory:", "jobs.db.url"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url: str, reason: str) -> None:
    with pytest.raises(SettingsError) as caught, open_runtime({"provider": "db", "db": {"url": url}}):
        pytest.fail("opened")
    assert caught.value.path == reason
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_database_that_is_down_is_told_without_its_password(free_port: int) -> None:
    url = f"postgresql+psycopg://u:{SECRET}@127.0.0.1:{free_port}/db?connect_timeout=2"
    with pytest.raises(BackendUnavailable) as caught, open_runtime({"provider": "db", "db": {"url": url}}):
        pytest.fail("opened")
    assert SECRET not in str(caught.value)


@pytest.fixture
def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_an_engine_that_does_not_fit_is_refused(sqlite_engine: Engine, sqlite_url: str, tmp_path: Path) -> None:
    with (
        pytest.raises(SettingsError, match="an engine too"),
        open_runtime({"provider": "db", "db": {"url": sqlite_url}}, sqlite_engine),
    ):
        pytest.fail("opened")
    with pytest.raises(SettingsError, match=r"jobs\.db\.url: is missing"), open_runtime({"provider": "db"}):
        pytest.fail("opened")
    for wrong in ("sqlite://", 5, sqlite_engine.connect):
        with (
            pytest.raises(WiringError, match="engine: must be an SQLAlchemy Engine"),
            open_runtime(
                {"provider": "db"},
                wrong,  # type: ignore[arg-type]
            ),
        ):
            pytest.fail("opened")
    small = create_engine(f"sqlite:///{tmp_path / 'small.sqlite'}", pool_size=1, max_overflow=0)
    with pytest.raises(SettingsError, match=r"jobs\.db: .* needs \d+"), open_runtime({"provider": "db"}, small):
        pytest.fail("opened")
    small.dispose()


def test_what_was_opened_is_closed_when_a_later_step_fails(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    disposed: list[str] = []
    make = sql.open_engine

    def noted(*args: Any, **kwargs: Any) -> Engine:
        engine = make(*args, **kwargs)
        event.listen(engine, "engine_disposed", lambda _: disposed.append("engine"))
        return engine

    monkeypatch.setattr(sql, "open_engine", noted)
    monkeypatch.setattr(sql, "job_stats", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError), open_runtime({"provider": "db", "db": {"url": sqlite_url}}):
        pytest.fail("opened")
    assert disposed == ["engine"]


def test_a_database_that_does_not_answer_is_given_up_after_the_configured_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"postgresql+psycopg://jobs@127.0.0.1:{silent.getsockname()[1]}/jobs"
        settings = {"provider": "db", "db": {"url": url, "timeout_ms": 2_000}}
        began = time.monotonic()
        with pytest.raises(BackendUnavailable), open_runtime(settings):
            pass
        assert 1 < time.monotonic() - began < 8  # the default is 10 s
