"""A database that is there but set up wrong is told as that: where, what is wrong and what to do; no password."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import URL, Engine, make_url, text

from tests.conftest import Engines
from tests.sql.conftest import LINE, Parts, new_job
from wagoe_jobs.adapters import sql
from wagoe_jobs.errors import BackendUnavailable, JobsError, SettingsError


def opened(url: str | URL, kind: type[JobsError]) -> str:
    """What opening says."""
    engine = sql.open_engine(url)
    with pytest.raises(kind) as refusal:
        sql.create_jobs_table(engine)
    engine.dispose()
    assert "s3cret" not in str(refusal.value)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_a_folder_in_place_of_sqlites_file_is_named(tmp_path: Path) -> None:
    assert f"jobs.db: {tmp_path}: unable to open" in opened(f"sqlite:///{tmp_path}", SettingsError)


def test_a_file_of_something_else_is_named(sqlite_path: Path) -> None:
    sqlite_path.write_text("Dear diary, " * 100)
    told = opened(f"sqlite:///{sqlite_path}", SettingsError)
    assert f"{sqlite_path}: file is not a database" in told
    assert "name another file" in told


def test_a_file_that_cannot_be_written_is_named(sqlite_url: str, sqlite_path: Path, engines: Engines) -> None:
    sql.create_jobs_table(engines(sqlite_url))
    told = opened(f"sqlite:///file:{sqlite_path}?mode=ro&uri=true", SettingsError)
    assert told.endswith("database: let this user write the file and its folder")
    assert f"{sqlite_path}: " in told


def test_what_is_wrong_later_on_is_no_setting_to_the_callers_of_a_queue(sqlite_parts: Parts, engines: Engines) -> None:
    file = sqlite_parts.engine.url.database
    queue = sql.job_queue(engines(f"sqlite:///file:{file}?mode=ro&uri=true"))
    with pytest.raises(BackendUnavailable, match=f"{file}: attempt to write a readonly database: let this user"):
        queue.enqueue(new_job())
    queue.close()


def test_a_file_that_is_replaced_or_removed_is_told_and_not_written_into(
    sqlite_parts: Parts, sqlite_path: Path
) -> None:
    sqlite_parts.queue.enqueue(new_job())
    with sqlite_parts.engine.connect() as conn:
        conn.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    backup = shutil.copy(sqlite_path, f"{sqlite_path}.backup")
    Path(backup).replace(sqlite_path)
    with pytest.raises(BackendUnavailable, match=f"the file {sqlite_path} was removed or replaced"):
        sqlite_parts.queue.enqueue(new_job())
    assert sqlite_parts.queue.enqueue(new_job())
    assert sqlite_parts.queue.size(LINE) == 2
    sqlite_path.unlink()
    with pytest.raises(BackendUnavailable, match="was removed or replaced"):
        sqlite_parts.queue.size(LINE)


WRONG = {
    "user": (lambda url: url.set(username="nobody", password="s3cret"), SettingsError, "correct user and password"),
    "database": (lambda url: url.set(database="nowhere"), SettingsError, "create the database, or correct its name"),
    "port": (lambda url: url.set(port=1), BackendUnavailable, "127.0.0.1:1/.* see whether the server is up"),
    "host": (lambda url: url.set(host="no.invalid"), BackendUnavailable, "@no.invalid:.* see whether the server is up"),
}


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
@pytest.mark.parametrize(("change", "error", "told"), WRONG.values(), ids=WRONG)
def test_a_server_that_lets_nobody_in_is_told_with_what_to_do(
    kind: str, request: pytest.FixtureRequest, change: Callable[[URL], URL], error: type[JobsError], told: str
) -> None:
    url = change(make_url(request.getfixturevalue(f"{kind}_url")))
    assert re.search(told, opened(url, error))


def without_rights(engine: Engine) -> URL:
    """A user who may look and no more."""
    url = engine.url.set(username="poor", password="s3cret")
    with engine.begin() as conn:
        if url.get_backend_name() == "mysql":
            conn.execute(text("CREATE OR REPLACE USER poor@'127.0.0.1' IDENTIFIED BY 's3cret'"))
        else:
            conn.execute(text("REVOKE CREATE ON SCHEMA public FROM public"))
            conn.execute(text("DROP ROLE IF EXISTS poor"))
            conn.execute(text("CREATE ROLE poor LOGIN"))
    return url


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_a_user_without_rights_is_told_where_and_what_to_do(kind: str, request: pytest.FixtureRequest) -> None:
    url = without_rights(request.getfixturevalue(f"{kind}_engine"))
    told = opened(url, SettingsError)
    assert f"poor:***@127.0.0.1:{url.port}/{url.database}: " in told
    assert told.endswith("grant this user the right, or let one who has it run `wagoe-jobs db upgrade`")


def test_a_session_that_may_only_read_is_away_with_what_is_needed(postgres_url: str, engines: Engines) -> None:
    reading = {"connect_args": {"options": "-c default_transaction_read_only=on"}}
    sql.create_jobs_table(engines(postgres_url))
    queue = sql.job_queue(engines(postgres_url, **reading))
    with pytest.raises(BackendUnavailable, match="read-only transaction: the jobs need a server, a user"):
        queue.enqueue(new_job())
    queue.close()
