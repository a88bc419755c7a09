"""Every command: what it answers to people and to programs, and the code that it exits with."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import make_url

from tests.cli.conftest import Said, Script, WithJobs, bury, on_sqlite

HOSTILE = "\x1b[31mred [bold]b[/bold]\nnext"


def test_a_job_is_enqueued_with_what_was_given(script: Script, with_jobs: WithJobs):
    told = script("enqueue", "send", '{"to": "Zoë"}', "--queue", "mail", "--priority", "high", "--max-retries", "1")
    job = with_jobs(lambda jobs: jobs.get(told.out.strip()))
    assert (told.code, told.err) == (0, "wagoe-jobs: nobody is known to poll the queue 'mail'\n")
    assert (job.type, job.args, job.queue, job.priority, job.max_retries) == ("send", {"to": "Zoë"}, "mail", "high", 1)


def test_a_delayed_job_waits(script: Script, with_jobs: WithJobs):
    id = script("enqueue", "send", "--delay", "1h", "--json").json["id"]
    job = with_jobs(lambda jobs: jobs.get(id))
    assert 3590 < (job.execute_at - job.created_at).total_seconds() < 3610


def test_a_job_at_an_instant_waits_for_it(script: Script):
    id = script("enqueue", "send", "--at", "2100-01-01T00:00:00+02:00", "--json").json["id"]
    assert script("jobs", "show", id, "--json").json["job"]["execute_at"] == "2099-12-31T22:00:00Z"


@pytest.mark.parametrize("again", [("--id", str(uuid4())), ("--key", "a")])
def test_a_duplicate_is_told_and_is_no_error(script: Script, again: tuple[str, str]):
    first = script("enqueue", "send", "--json", *again)
    second = script("enqueue", "send", "--json", *again)
    assert (first.code, second.code) == (0, 0)
    assert first.json["duplicate"] is False
    assert second.json == {"id": first.json["id"], "duplicate": True}
    assert "a duplicate: nothing was added" in script("enqueue", "send", *again).out


@pytest.mark.parametrize(
    "arguments",
    [
        ("send", "{not json"),
        ("send", "--delay", "soon"),
        ("send", "--at", "2100-01-01T00:00:00"),
        ("send", "--id", "7"),
        ("send", "--priority", "urgent"),
        ("send", "--delay", "5", "--at", "2100-01-01T00:00:00Z"),
        ("send", "--ttl", "5m"),
        ("send", "--max-retries", "26"),
        ("", "{}"),
        ("x" * 201,),
        ("send", json.dumps({"a": "x" * 1_000_001})),
        (),
    ],
)
@on_sqlite
def test_what_cannot_be_enqueued_exits_2_and_stores_nothing(script: Script, arguments: tuple[str, ...]):
    told = script("enqueue", *arguments)
    assert told.code == 2
    assert told.err
    assert len(told.err) < 1000
    assert "Traceback" not in told.err
    assert script("status", "--json").json["queues"] == []


def test_status_counts(script: Script, with_jobs: WithJobs):
    with_jobs(bury)
    script("enqueue", "send", "--queue", "mail")
    document = script("status", "--json").json
    assert (document["processed"], document["failed"], document["succeeded"]) == (1, 1, 0)
    assert {queue["queue"]: queue["waiting"]["normal"] for queue in document["queues"]} == {"default": 0, "mail": 1}
    shown = script("status")
    assert shown.code == 0
    assert "processed 1: 0 succeeded, 1 failed, 0 cancelled\n" in shown.out
    assert "mail" in shown.out


def test_status_tells_of_cancelled_jobs(script: Script):
    script("jobs", "cancel", script("enqueue", "send", "--json").json["id"])
    assert "processed 1: 0 succeeded, 0 failed, 1 cancelled\n" in script("status").out


def test_a_job_is_shown_wherever_it_is(script: Script, with_jobs: WithJobs):
    buried = with_jobs(bury)
    document = script("jobs", "show", str(buried), "--json").json["job"]
    assert (document["status"], document["error"]["message"]) == ("failed", "the printer is on fire")
    assert "error         handler-error: the printer is on fire" in script("jobs", "show", str(buried)).out


@on_sqlite
def test_the_shape_of_a_job_is_stable(script: Script):
    id = script("enqueue", "send", "--json").json["id"]
    assert sorted(script("jobs", "show", id, "--json").json["job"]) == [
        "abandoned",
        "args",
        "completed_at",
        "created_at",
        "error",
        "execute_at",
        "id",
        "max_retries",
        "metadata",
        "priority",
        "queue",
        "result",
        "retry_count",
        "started_at",
        "status",
        "type",
        "updated_at",
    ]


def test_an_unknown_job_exits_1(script: Script):
    told = script("jobs", "show", str(uuid4()))
    assert (told.code, told.out) == (1, "")
    assert script("jobs", "show", str(uuid4()), "--json").json == {"job": None}


def test_dead_letters_are_listed_page_by_page(script: Script, with_jobs: WithJobs):
    ids = [str(with_jobs(bury)) for _ in range(3)]
    first = script("failed", "--limit", "2", "--json").json
    second = script("failed", "--limit", "2", "--cursor", first["cursor"], "--json").json
    assert [job["id"] for job in first["jobs"] + second["jobs"]] == ids[::-1]
    assert second["cursor"] is None
    assert all(id in script("failed").out for id in ids)


@on_sqlite
def test_no_dead_letters_is_an_answer_too(script: Script):
    assert (script("failed").code, script("failed").out) == (0, "there are no dead letters\n")


@on_sqlite
def test_a_made_up_cursor_exits_2(script: Script):
    assert script("failed", "--cursor", "x;drop table").code == 2


def test_a_dead_letter_gets_another_chance_once(script: Script, with_jobs: WithJobs):
    buried = str(with_jobs(bury))
    told = script("retry", buried, "--json").json
    assert told == {"jobs": [{"id": buried, "done": True, "state": "retried"}], "complete": True}
    assert script("jobs", "show", buried, "--json").json["job"]["status"] == "pending"
    again = script("retry", buried)
    assert (again.code, again.out, again.err) == (1, f"{buried}  not a dead letter (pending)\n", "")


def test_hostile_text_of_a_job_reaches_no_terminal(script: Script, with_jobs: WithJobs):
    buried = str(with_jobs(lambda jobs: bury(jobs, HOSTILE)))
    for arguments in (("failed",), ("jobs", "show", buried)):
        out = script(*arguments).out
        assert "\x1b" not in out
        assert r"\x1b[31mred [bold]b[/bold]\nnext" in out
    assert script("jobs", "show", buried, "--json").json["job"]["error"]["message"] == HOSTILE


def test_tables_are_made_printed_and_compared(script: Script, engine: Any):
    assert script("db", "verify", "--json").json["ok"] is False
    assert script("db", "verify").code == 4
    assert script("check").code == 4
    printed = script("db", "sql").out
    assert re.search(r"CREATE TABLE (\w+\.)?job_queue", printed)
    assert script("db", "upgrade", "--sql").out.split()[:3] == printed.split()[:3]
    assert script("db", "verify").code == 4
    assert script("db", "upgrade").code == 0
    assert script("db", "upgrade", "--json").json == {"ok": True}
    assert script("db", "verify", "--json").json == {"ok": True, "faults": []}


def test_a_check_of_a_good_system_is_all_ok(script: Script):
    script("db", "upgrade")
    told = script("check", "--json")
    assert told.code == 0
    assert told.json["ok"] is True
    assert [check["check"] for check in told.json["checks"]] == [
        "settings and modules",
        "handlers",
        "store",
        "connections",
        "packages",
    ]


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        (("check",), 4, "is not there yet"),
        (("db", "verify"), 4, "is not there yet"),
        (("db", "sql"), 0, "CREATE TABLE job_queue"),
        (("db", "upgrade", "--sql"), 0, "CREATE TABLE job_queue"),
    ],
)
def test_looking_never_makes_a_database(bare: Script, tmp_path: Path, command: tuple[str, ...], code: int, says: str):
    (tmp_path / "s.toml").write_text(f'[jobs]\nprovider="db"\n[jobs.db]\nurl="sqlite:///{tmp_path}/none.sqlite"\n')
    told = bare(*command, "-s", str(tmp_path / "s.toml"))
    assert told.code == code
    assert says in told.out
    assert [file.name for file in tmp_path.iterdir()] == ["s.toml"]


def test_sql_needs_no_folder_of_the_file(bare: Script, tmp_path: Path):
    (tmp_path / "s.toml").write_text(f'[jobs]\nprovider="db"\n[jobs.db]\nurl="sqlite:///{tmp_path}/none/x.sqlite"\n')
    assert "CREATE TABLE job_queue" in bare("db", "sql", "-s", str(tmp_path / "s.toml")).out
    assert [file.name for file in tmp_path.iterdir()] == ["s.toml"]


@pytest.mark.parametrize("command", [("jobs", "list"), ("db", "verify"), ("db", "upgrade"), ("check",)], ids=" ".join)
def test_a_file_that_is_no_database_is_a_wrong_setting(bare: Script, tmp_path: Path, command: tuple[str, ...]):
    (tmp_path / "diary").write_text("Dear diary, " * 100)
    (tmp_path / "s.toml").write_text(f'[jobs]\nprovider="db"\n[jobs.db]\nurl="sqlite:///{tmp_path}/diary"\n')
    told = bare(*command, "-s", str(tmp_path / "s.toml"))
    assert told.code == 2
    assert f"jobs.db: {tmp_path}/diary: file is not a database" in told.out + told.err


def test_the_printed_sql_of_a_file_to_come_makes_what_is_needed(bare: Script, tmp_path: Path):
    (tmp_path / "s.toml").write_text(f'[jobs]\nprovider="db"\n[jobs.db]\nurl="sqlite:///{tmp_path}/none.sqlite"\n')
    printed = bare("db", "sql", "-s", str(tmp_path / "s.toml")).out
    with closing(sqlite3.connect(tmp_path / "none.sqlite")) as database:
        database.executescript(printed)
    assert bare("db", "verify", "-s", str(tmp_path / "s.toml")).code == 0


def test_a_check_names_the_server_and_its_version(script: Script, database_url: str):
    script("db", "upgrade")
    [store] = [check for check in script("check", "--json").json["checks"] if check["check"] == "store"]
    names = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "mysql": "MariaDB", "mariadb": "MariaDB"}
    name = names[make_url(database_url).get_backend_name()]
    assert re.search(rf"{name} \d+\.\d+.* answers", store["detail"])


DOWN = "postgresql+psycopg://ann:s3cret@127.0.0.1:1/app"


@pytest.mark.parametrize(
    "command",
    [
        ("status",),
        ("failed",),
        ("retry", str(uuid4())),
        ("enqueue", "a"),
        ("db", "verify"),
        ("check",),
        ("jobs", "list"),
        ("jobs", "cancel", str(uuid4())),
        ("failed", "retry", "--all", "--yes"),
        ("queues", "list"),
        ("workers",),
    ],
)
def test_a_store_that_is_down_exits_3_and_its_password_is_not_told(
    bare: Script, tmp_path: Path, command: tuple[str, ...]
):
    (tmp_path / "s.toml").write_text(f'[jobs]\nprovider="db"\n[jobs.db]\nurl="{DOWN}"\n')
    told = bare(*command, "-s", str(tmp_path / "s.toml"))
    assert told.code == 3
    assert "s3cret" not in told.out + told.err
    assert "Traceback" not in told.err
    assert len((told.out + told.err).splitlines()) < 8


def refused(bare: Script, tmp_path: Path, toml: str) -> Said:
    (tmp_path / "s.toml").write_text(toml)
    return bare("status", "-s", str(tmp_path / "s.toml"), "--json")


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("[jobs]\nlease = 5\n", "did you mean lease_ms?"),
        ("modules = []\n", "jobs are not enabled"),
        ("[jobs\n", "is not TOML"),
        ('[jobs]\nprovider = "db"\n', "jobs.db.url"),
    ],
)
def test_settings_that_cannot_be_used_exit_2_in_one_line(bare: Script, tmp_path: Path, toml: str, says: str):
    told = refused(bare, tmp_path, toml)
    assert (told.code, told.out) == (2, "")
    assert says in told.error["message"]
    assert told.err.count("\n") == 1


MEMORY = "memory is inside the process that runs the jobs"


@pytest.mark.parametrize(
    "command", [("status",), ("jobs", "list"), ("failed", "list"), ("queues", "list"), ("workers",)]
)
def test_a_look_into_memory_warns_that_it_sees_only_itself(bare: Script, tmp_path: Path, command: tuple[str, ...]):
    (tmp_path / "s.toml").write_text("[jobs]\n")
    told = bare(*command, "-s", str(tmp_path / "s.toml"))
    assert (told.code, told.err) == (
        0,
        f"wagoe-jobs: jobs.provider: {MEMORY}: this sees only itself, no job of another process\n",
    )


@pytest.mark.parametrize(
    "command",
    [
        ("enqueue", "a"),
        ("jobs", "retry", str(uuid4())),
        ("jobs", "cancel", str(uuid4())),
        ("failed", "retry", "--all", "-y"),
    ],
)
def test_what_would_change_memory_is_refused(bare: Script, tmp_path: Path, command: tuple[str, ...]):
    (tmp_path / "s.toml").write_text("[jobs]\n")
    told = bare(*command, "-s", str(tmp_path / "s.toml"))
    assert (told.code, told.out) == (2, "")
    assert f"{MEMORY}: nothing can be changed from here" in told.err


@pytest.mark.fault(66)
@on_sqlite
def test_a_misspelt_variable_is_refused_by_every_command(script: Script, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WAGOE_JOBS_APP", "containers.worker:container")
    told = script("status", "--json")
    assert told.code == 2
    assert told.error["path"] == "WAGOE_JOBS_APP"


@pytest.mark.parametrize("command", [("status",), ("failed",), ("enqueue", "a"), ("check",), ("db", "verify")])
def test_a_command_must_be_told_where_the_jobs_are(bare: Script, command: tuple[str, ...]):
    assert bare(*command).code == 2
    assert bare(*command, "-a", "x:y", "-s", "z.toml").code == 2


def test_a_misspelt_command_is_answered_with_the_nearest(bare: Script):
    told = bare("stauts")
    assert told.code == 2
    assert "Did you mean 'status'?" in told.err


@on_sqlite
def test_a_fault_of_the_library_exits_70_with_its_trace(script: Script, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("wagoe_jobs.cli.documents.stats_document", lambda stats: 1 / 0)
    told = script("status", "--json")
    assert told.code == 70
    assert "ZeroDivisionError" in told.err


def test_the_help_tells_the_exit_codes(bare: Script):
    told = bare("--help")
    assert told.code == 0
    assert "Exit codes: 0 ok; 1 the answer is no" in " ".join(told.out.split())


def test_a_check_of_files_says_why_it_knows_no_handlers(script: Script):
    script("db", "upgrade")
    assert "not looked for: --settings imports no module" in script("check").out


def test_the_usage_shows_what_may_be_left_out_in_one_pair_of_brackets(bare: Script):
    assert "{TYPE} [ARGS_JSON]" in bare("enqueue", "--help").out
    assert "failed retry [OPTIONS] [ID]..." in bare("failed", "retry", "--help").out
