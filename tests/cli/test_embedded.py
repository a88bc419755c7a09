"""`-a` may name an application's container that embeds the jobs and lends its engine."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Script

APPLICATION = """
from dependency_injector import containers, providers
from sqlalchemy import create_engine

from wagoe_jobs import handler
from wagoe_jobs.containers import JobsContainer

@handler("greet", queue="mail", max_retries=7)
def greet(args): ...

job_handlers = [greet]

class Application(containers.DeclarativeContainer):
    engine = providers.Singleton(create_engine, URL)
    jobs = providers.Container(
        JobsContainer, settings={"modules": [__name__], "jobs": {"provider": "db"}}, engine=engine
    )

container = Application()
no_jobs = containers.DynamicContainer()
"""


@pytest.fixture(autouse=True)
def house(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A working directory with the application's module in it."""
    (tmp_path / "greeting_app.py").write_text(APPLICATION.replace("URL", repr(database_url)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    application = sys.modules.pop("greeting_app", None)
    if application is not None:
        application.container.engine().dispose()


@pytest.mark.parametrize("target", ["greeting_app", "greeting_app:container", "greeting_app:container.jobs"])
def test_jobs_are_enqueued_with_the_handlers_defaults(bare: Script, target: str):
    id = bare("enqueue", "greet", "--json", "-a", target).json["id"]
    job = bare("jobs", "show", id, "--json", "-a", target).json["job"]
    assert (job["queue"], job["max_retries"]) == ("mail", 7)


def test_the_tables_are_made_through_the_lent_engine(bare: Script):
    assert bare("db", "verify", "-a", "greeting_app").code == 4
    assert bare("db", "upgrade", "-a", "greeting_app").code == 0
    assert bare("db", "verify", "-a", "greeting_app").code == 0
    checked = bare("check", "--json", "-a", "greeting_app").json
    assert checked["ok"] is True
    assert {"check": "handlers", "state": "ok", "detail": "greet", "code": 0} in checked["checks"]


def test_a_container_without_jobs_is_refused(bare: Script):
    told = bare("status", "-a", "greeting_app:no_jobs")
    assert told.code == 2
    assert "the container has no jobs" in told.err


def test_a_class_in_place_of_a_container_is_refused(bare: Script):
    told = bare("status", "-a", "greeting_app:Application")
    assert told.code == 2
    assert "make one: Application()" in told.err


def test_a_check_opens_no_provider_to_learn_of_handlers(bare: Script, tmp_path: Path):
    source = (tmp_path / "greeting_app.py").read_text()
    (tmp_path / "greeting_app.py").write_text(
        source.replace("job_handlers = [greet]", "job_handlers = providers.Singleton(lambda: 1 / 0)")
    )
    bare("db", "upgrade", "-a", "greeting_app")
    told = bare("check", "--json", "-a", "greeting_app")
    assert told.code == 0
    [handlers] = [check for check in told.json["checks"] if check["check"] == "handlers"]
    assert (handlers["state"], "a provider makes some" in handlers["detail"]) == ("note", True)
