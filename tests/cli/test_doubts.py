"""What `enqueue` says of a job that nobody may ever run: it is stored all the same."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from tests.cli.conftest import Script, WithJobs, bury, on_sqlite
from wagoe_jobs.adapters.redis import Keys
from wagoe_jobs.client import Jobs
from wagoe_jobs.core.job import Status
from wagoe_jobs.ports import Settlement, WorkerCard

CAFE = """
from dependency_injector import containers, providers
from wagoe_jobs.containers import JobsContainer

class Cafe(containers.DeclarativeContainer):
    machine = providers.Factory(list)
    job_handlers = providers.Factory(lambda machine: {"brew": lambda args: None}, machine)

container = JobsContainer(settings={"jobs": {"provider": "db", "db": {"url": URL}}}, modules=providers.Object([Cafe]))
"""


@pytest.fixture
def cafe(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "cafe_app.py").write_text(CAFE.replace("URL", repr(database_url)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("cafe_app", None)


def announce(jobs: Jobs, *, queue: str = "default", type: str = "brew") -> None:
    assert jobs.runtime.presence is not None
    told = {"host": "h", "pid": 7, "version": "1", "slots": 1}
    jobs.runtime.presence.announce(WorkerCard(name="w1", queues=[queue], job_types=[type], **told))


def complete(jobs: Jobs, type: str = "brew", *, queue: str = "default") -> None:
    jobs.enqueue(type, queue=queue)
    [claim] = jobs.runtime.queue.claim(queue, "w2", 1)
    jobs.runtime.queue.settle([Settlement(claim, Status.COMPLETED)])


def warned(script: Script, *arguments: str) -> str:
    told = script("enqueue", *arguments, "--json")
    assert (told.code, told.json["duplicate"]) == (0, False)
    assert script("jobs", "show", told.json["id"], "--json").json["job"]["status"] == "pending"
    return told.err


def test_a_queue_that_nobody_is_known_to_poll_is_warned_of_each_time(script: Script, with_jobs: WithJobs):
    said = "wagoe-jobs: nobody is known to poll the queue 'defualt'; did you mean 'default'?\n"
    for _ in range(2):
        assert warned(script, "brew", "--queue", "defualt") == said
    assert warned(script, "brew", "--queue", "mail") == "wagoe-jobs: nobody is known to poll the queue 'mail'\n"
    with_jobs(lambda jobs: announce(jobs, queue="mail"))
    assert warned(script, "brew", "--queue", "mail") == ""
    assert warned(script, "brew", "--queue", "mial").endswith("'mial'; did you mean 'mail'?\n")


def test_a_queue_that_served_once_is_not_warned_of(script: Script, with_jobs: WithJobs):
    with_jobs(lambda jobs: complete(jobs, queue="late"))
    with_jobs(lambda jobs: bury(jobs, queue="mail"))
    with_jobs(lambda jobs: (jobs.enqueue("brew", queue="now"), jobs.runtime.queue.claim("now", "w3", 1)))
    for queue in ("default", "late", "mail", "now"):
        assert warned(script, "brew", "--queue", queue) == ""


@on_sqlite
def test_the_queue_of_a_node_that_runs_nothing_is_nobodys(script: Script, settings_file: Path):
    settings_file.write_text(settings_file.read_text() + "[jobs.workers]\ncount = 0\n")
    assert warned(script, "brew") == "wagoe-jobs: nobody is known to poll the queue 'default'\n"


@on_sqlite
def test_a_duplicate_is_not_warned_of(script: Script):
    assert script("enqueue", "brew", "--queue", "defualt", "--key", "a").err
    assert script("enqueue", "brew", "--queue", "defualt", "--key", "a").err == ""


@pytest.mark.usefixtures("cafe")
def test_a_type_is_held_against_what_a_provider_makes(bare: Script):
    said = "wagoe-jobs: no handler here for 'brw'; did you mean 'brew'?\n"
    assert bare("enqueue", "brw", "-a", "cafe_app").err == said
    assert bare("enqueue", "brew", "-a", "cafe_app").err == ""


def test_a_type_is_held_against_what_workers_tell(script: Script, with_jobs: WithJobs):
    assert warned(script, "brw") == ""  # nothing is known yet
    with_jobs(announce)
    said = "wagoe-jobs: no worker is known to have a handler for 'brw'; did you mean 'brew'?\n"
    assert [warned(script, "brw"), warned(script, "brew"), warned(script, "unlike-any")] == [said, "", ""]


def test_a_type_is_held_against_what_was_completed(script: Script, with_jobs: WithJobs):
    with_jobs(complete)
    said = "wagoe-jobs: no worker is known to have a handler for 'brw'; did you mean 'brew'?\n"
    assert [warned(script, "brw"), warned(script, "brew")] == [said, ""]


def test_a_look_that_fails_takes_nothing_back(bare: Script, redis_url: str, tmp_path: Path):
    file = tmp_path / "redis.toml"
    file.write_text(f'[jobs]\nprovider = "redis"\n[jobs.redis]\nurl = "{redis_url}"\n')
    settings = ("-s", str(file))
    bare("workers", *settings)
    with Redis.from_url(redis_url) as client:
        client.set(Keys().workers, "not what is kept here")
    told = bare("enqueue", "brew", *settings, "--json")
    assert told.code == 0
    assert told.err.startswith("wagoe-jobs: the job is stored; whether anybody runs it is not known: redis is unav")
    assert bare("jobs", "show", told.json["id"], *settings).code == 0
