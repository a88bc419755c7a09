"""`queues list`, `workers` and `types`: what is there, and what does not fit together."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from tests.cli.conftest import Script, WithJobs, bury, on_sqlite
from wagoe_jobs.adapters import sql
from wagoe_jobs.cli import overview
from wagoe_jobs.client import Jobs
from wagoe_jobs.clock import ClockOffset
from wagoe_jobs.ports import Beat, RunningJob, WorkerCard
from wagoe_jobs.runtime import open_runtime

APPLICATION = """
from pydantic import BaseModel
from wagoe_jobs import handler
from wagoe_jobs.containers import JobsContainer

class Letter(BaseModel):
    to: str

@handler("send", args=Letter, queue="mail", max_retries=7, timeout=90)
def send(args): ...

@handler("scan")
async def scan(args): ...

class Stamp:
    def __call__(self, args): ...

job_handlers = [send, scan], {"stamp": Stamp()}
container = JobsContainer(
    settings={"modules": [__name__], "jobs": {"provider": "db", "db": {"url": URL}, "workers": {"count": 3}}}
)
"""


@pytest.fixture
def application(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    file = tmp_path / "letters_app.py"
    file.write_text(APPLICATION.replace("URL", repr(database_url)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield file
    sys.modules.pop("letters_app", None)


def card(name: str = "w1", **other: Any) -> WorkerCard:
    told = {"host": "h", "pid": 7, "version": "1.2", "queues": ["default"], "job_types": ["print"], "slots": 4}
    return WorkerCard(name=name, **{**told, **other})


def announce(jobs: Jobs, card: WorkerCard, *running: RunningJob) -> None:
    assert jobs.runtime.presence is not None
    jobs.runtime.presence.announce(card)
    assert jobs.runtime.presence.beat(card.name, Beat(running=running, running_count=len(running)))


def announce_long_ago(engine: Engine, card: WorkerCard) -> None:
    past = ClockOffset()
    past.move(-overview.STALE_AFTER - timedelta(seconds=1))
    sql.worker_presence(engine, clock_offset=past).announce(card)


def test_a_queue_is_told_with_what_waits_and_who_polls(script: Script, on_terminal: Script, with_jobs: WithJobs):
    with_jobs(bury)
    for priority in ("critical", "normal", "normal"):
        script("enqueue", "print", "--priority", priority)
    script("enqueue", "print", "--delay", "1h")
    with_jobs(lambda jobs: announce(jobs, card(queues=["default", "idle"])))
    told = script("queues", "list", "--json")
    first, second = told.json["queues"]
    assert told.err == ""
    assert script("queues", "--json").json["queues"][1] == second
    assert first["waiting"] == {"critical": 1, "high": 0, "normal": 2, "low": 0}
    assert (first["queue"], first["scheduled"], first["in_flight"], first["failed"]) == ("default", 1, 0, 1)
    assert 0 <= first["oldest_ready_s"] < 60
    assert (first["workers"], second["queue"], second["workers"]) == (1, "idle", 1)
    heading, row, _ = on_terminal("queues", "list").out.splitlines()
    assert heading.split()[:8] == ["queue", "critical", "high", "normal", "low", "scheduled", "running", "oldest"]
    assert row.split()[:7] == ["default", "1", "0", "2", "0", "1", "0"]
    assert len(heading) <= 80
    [counted] = script("status", "--json").json["queues"]
    assert counted.keys() | {"workers"} == first.keys()
    assert counted["waiting"] == first["waiting"]


def test_a_queue_with_work_that_nobody_polls_is_warned_of(script: Script, engine: Engine, with_jobs: WithJobs):
    script("enqueue", "print", "--queue", "mial")
    script("enqueue", "print", "--queue", "late", "--delay", "1h")
    with_jobs(lambda jobs: bury(jobs, queue="done"))
    announce_long_ago(engine, card(queues=["mial"]))
    told = script("queues", "list")
    assert told.code == 0
    assert told.err == (
        "wagoe-jobs: nobody polls the queue 'late', which holds 1 job\n"
        "wagoe-jobs: nobody polls the queue 'mial', which holds 1 job\n"
    )
    assert {row.split()[0] for row in told.out.splitlines() if "nobody" in row} == {"done", "late", "mial"}


@on_sqlite
def test_no_queues_are_an_answer_too(script: Script):
    assert script("queues", "list").out.startswith("there are no queues")
    assert script("queues", "list", "--json").json == {"queues": []}


def test_workers_are_listed_with_what_they_run(
    script: Script, on_terminal: Script, with_jobs: WithJobs, engine: Engine
):
    id = str(uuid4())
    with_jobs(lambda jobs: announce(jobs, card(), RunningJob(id, "print", 1_700_000_000_000_000)))
    announce_long_ago(engine, card("w2", queues=["a", "b"]))
    first, second = script("workers", "--json").json["workers"]
    assert (first["name"], first["host"], first["pid"], first["version"]) == ("w1", "h", 7, "1.2")
    assert (first["queues"], first["types"], first["slots"], first["stale"]) == (["default"], ["print"], 4, False)
    assert first["running"] == [{"id": id, "type": "print", "since": "2023-11-14T22:13:20Z"}]
    assert (first["running_count"], second["name"], second["stale"]) == (1, "w2", True)
    assert second["age_s"] > 30
    told = on_terminal("workers").out.splitlines()
    assert [line for line in told if len(line) > 80] == []
    assert [line.split()[0] for line in told if line] == ["worker", "w1", "w2", "running", id]
    assert " stale" in told[2]
    assert " stale" not in told[1]


def test_a_running_job_is_shown_with_the_worker_that_runs_it(script: Script, with_jobs: WithJobs):
    id = script("enqueue", "print", "--json").json["id"]
    with_jobs(lambda jobs: jobs.runtime.queue.claim("default", "w1", 1))
    assert "\nworker " not in script("jobs", "show", id).out
    with_jobs(lambda jobs: announce(jobs, card(), RunningJob(id, "print", 1)))
    assert "\nworker        w1 (pid 7 on h)\n" in script("jobs", "show", id).out


@on_sqlite
def test_no_workers_are_an_answer_too(script: Script):
    assert script("workers").out.startswith("no worker tells of itself")
    assert script("workers", "--json").json == {"workers": []}


@on_sqlite
def test_a_store_that_keeps_no_list_of_workers_says_so(script: Script, monkeypatch: pytest.MonkeyPatch):
    @contextmanager
    def without(settings: Any) -> Iterator[Any]:
        with open_runtime(settings) as runtime:
            yield replace(runtime, presence=None)

    monkeypatch.setattr("wagoe_jobs.cli.opened.open_runtime", without)
    script("enqueue", "print")
    assert script("workers").code == 1
    told = script("queues", "list", "--json")
    assert told.json["queues"][0]["workers"] is None
    assert told.err == "wagoe-jobs: this store keeps no list of workers: nothing is known of who polls\n"
    assert script("jobs", "list", "--queue", "defualt").err.endswith("did you mean 'default'?\n")


def test_types_are_told_with_where_they_lead(application: Path, bare: Script):
    bare("enqueue", "send", '{"to": "ann"}', "-a", "letters_app")
    for _ in range(2):
        bare("enqueue", "sned", "-a", "letters_app")
    told = bare("types", "--json", "-a", "letters_app")
    assert told.code == 0
    assert told.json["types"] == [
        handled("scan", "letters_app.scan", **{"async": True}),
        handled(
            "send",
            "letters_app.send",
            queue="mail",
            max_retries=7,
            timeout_s=90.0,
            args_model="letters_app.Letter",
            jobs=1,
        ),
        handled("stamp", "letters_app.Stamp"),
    ]
    assert (told.json["without_handler"], told.json["newest_jobs"]) == ({"sned": 2}, 3)
    warning = "wagoe-jobs: no handler here for 'sned', the type of 2 jobs; did you mean 'send'?\n"
    assert told.err == warning
    shown = bare("types", "-a", "letters_app")
    assert [row.split() for row in shown.out.splitlines()[1:]] == [
        ["scan", "letters_app.scan", "async", "default", "3", "none", "any", "0"],
        ["send", "letters_app.send", "sync", "mail", "7", "1m", "Letter", "1"],
        ["stamp", "letters_app.Stamp", "sync", "default", "3", "none", "any", "0"],
    ]


def handled(type: str, function: str, **other: object) -> dict[str, object]:
    told = {"type": type, "function": function, "async": False, "queue": None, "max_retries": None, "timeout_s": None}
    return {**told, "args_model": None, "jobs": 0, **other}


@on_sqlite
def test_a_type_that_is_almost_that_of_a_handler_is_warned_of(application: Path, bare: Script):
    told = bare("enqueue", "sned", "--json", "-a", "letters_app")
    assert (told.code, told.json["duplicate"]) == (0, False)
    assert told.err == "wagoe-jobs: no handler here for 'sned'; did you mean 'send'?\n"
    for type in ("scan", "something-of-another-node"):
        assert bare("enqueue", type, "-a", "letters_app").err == ""


@on_sqlite
def test_types_need_the_application(script: Script):
    told = script("types")
    assert (told.code, told.out) == (2, "")
    assert "give -a, since --settings imports no module" in told.err


@on_sqlite
def test_types_are_told_also_where_the_store_is_down(application: Path, bare: Script):
    application.write_text(APPLICATION.replace("URL", repr("postgresql+psycopg://ann:s3cret@127.0.0.1:1/app")))
    told = bare("types", "-a", "letters_app", "--json")
    assert told.code == 3
    assert [type["jobs"] for type in told.json["types"]] == [None] * 3
    assert (told.json["without_handler"], "s3cret" in told.err) == (None, False)


@on_sqlite
def test_no_command_that_looks_starts_a_worker(application: Path, bare: Script, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a pool was made")

    monkeypatch.setattr("wagoe_jobs.containers.WorkerPool", refuse)
    id = bare("enqueue", "scan", "--json", "-a", "letters_app").json["id"]
    for command in (
        ["status"],
        ["jobs", "list"],
        ["jobs", "show", id],
        ["jobs", "cancel", id],
        ["failed", "retry", "--all", "--yes"],
        ["queues", "list"],
        ["workers"],
        ["types"],
        ["check"],
    ):
        told = bare(*command, "-a", "letters_app")
        assert told.code == 0, (command, told)
