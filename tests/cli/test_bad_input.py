"""What a hurried or hostile user gives the script: streams that are closed, slips in what is typed, secrets."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Script, on_sqlite
from wagoe_jobs.cli import main
from wagoe_jobs.cli.arguments import read_json

FILE = '[jobs]\nprovider = "db"\n[jobs.db]\nurl = "sqlite:///jobs.sqlite"\n'
SECRET = "hunter2-4711"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "jobs.toml").write_text(FILE)
    return tmp_path


def run_in(here: Path, *arguments: str, **options: object) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "wagoe_jobs.cli", *arguments, "-s", "jobs.toml"]
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    environ = {**os.environ, "PYTHONPATH": path, **options.pop("env", {})}
    return subprocess.run(command, cwd=here, env=environ, timeout=60, check=False, **options)


@pytest.mark.parametrize("wrong", [["bogus"], ["enqueue", "x", "--delay=-5"], ["enqueue"], ["failed", "--limit", "0"]])
def test_a_slip_on_the_command_line_is_one_line_or_one_document(script: Script, wrong: list[str]):
    told = script(*wrong)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("wagoe-jobs: ")
    assert told.err.count("\n") == 1
    told = script(*wrong, "--json")
    assert (told.code, told.out) == (2, "")
    assert json.loads(told.err)["error"]["type"] == "UsageError"


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e400}', '[{"b": {"a": 1, "a": 1}}]']
)
def test_json_that_is_none_is_refused(script: Script, text: str):
    told = script("enqueue", "x", text)
    assert told.code == 2
    assert "is not JSON" in told.err


def test_a_reader_that_goes_away_is_no_fault_and_no_answer(here: Path):
    assert run_in(here, "enqueue", "x", stdout=subprocess.DEVNULL).returncode == 0
    for command in (["status"], ["status", "--json"], ["db", "sql"], ["status", "--help"]):
        read, write = os.pipe()
        os.close(read)
        told = run_in(here, *command, stdout=write, stderr=subprocess.PIPE)
        os.close(write)
        assert (told.returncode, told.stderr) == (141, b"")


@pytest.mark.parametrize("command", [["enqueue", "x"], ["status"], ["status", "--json"]])
def test_an_answer_that_cannot_be_written_is_one_line(here: Path, command: list[str]):
    with open("/dev/full", "wb") as full:
        told = run_in(here, *command, stdout=full, stderr=subprocess.PIPE)
    assert (told.returncode, told.stderr) == (
        141,
        b"wagoe-jobs: the answer cannot be written: No space left on device\n",
    )


def test_a_complaint_that_cannot_be_written_changes_no_code(here: Path):
    with open("/dev/full", "wb") as full:
        assert run_in(here, "bogus", stderr=full).returncode == 2
        assert (
            run_in(here, "enqueue", "x", "--queue", "defualt", stdout=subprocess.DEVNULL, stderr=full).returncode == 0
        )


@pytest.mark.parametrize(
    ("command", "where", "what_to_do"),
    [
        (["enqueue", "x", "--delay", "soon"], "'--delay'", "write 90, 90s, 5m"),
        (["enqueue", "x", "--ttl", "400000d"], "'--ttl'", "longer than 100 years"),
        (["enqueue", "x", "--at", "noon"], "'--at'", "write 2026-05-01T09:00:00+02:00"),
        (["enqueue", "x", "{"], "'ARGS_JSON'", "it is not JSON"),
        (["jobs", "list", "--since", "yesterday"], "'--since'", "write 2h for two hours ago"),
        (["failed", "list", "--until", "2026-05-01"], "'--until'", "write 2026-05-01T00:00:00Z"),
        (["jobs", "show", "123"], "'123'", "at least 4 of its digits"),
        (["jobs", "show", "0197c1de-6b10-7f3a-8c55-0f2a61b7d9e4a"], "", "no whole job id"),
    ],
)
@on_sqlite
def test_what_cannot_be_read_is_told_with_its_place(script: Script, command: list[str], where: str, what_to_do: str):
    told = script(*command)
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)
    assert where in told.err
    assert what_to_do in told.err


def test_a_terminal_that_cannot_show_a_character_gets_it_spelled_out(here: Path):
    assert run_in(here, "enqueue", "x", "--queue", "q\u2603", stdout=subprocess.DEVNULL).returncode == 0
    told = run_in(here, "status", stdout=subprocess.PIPE, env={"PYTHONIOENCODING": "ascii:strict"})
    assert told.returncode == 0
    assert b"q\\u2603" in told.stdout


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_streams_that_are_closed_keep_no_command_from_its_work(here: Path, closed: int):
    command = [sys.executable, "-m", "wagoe_jobs.cli", "status", "-s", "jobs.toml"]
    program = f"import os; os.close({closed}); os.execv({sys.executable!r}, {command})"
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run([sys.executable, "-c", program], cwd=here, env=environ, timeout=60, check=False)
    assert ended.returncode == 0


def test_stdin_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, script: Script):
    monkeypatch.setattr(sys, "stdin", None)
    assert script("enqueue", "x", "-").code == 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": "\xff"}'), encoding="utf-8"))
    assert script("enqueue", "x", "-").code == 2


def test_no_password_is_shown_wherever_a_url_holds_it(here: Path, bare: Script):
    file = here / "secret.toml"
    file.write_text(FILE.replace("jobs.sqlite", f"{here}/jobs.sqlite?password={SECRET}"))
    for command in (["db", "upgrade"], ["check"], ["check", "--json"], ["status"]):
        told = bare(*command, "-s", str(file))
        assert SECRET not in told.out + told.err


def test_json_is_read_as_it_stands():
    assert read_json('{"a": [1, 2.5, null, true, "x"]}') == {"a": [1, 2.5, None, True, "x"]}


def test_a_change_of_mind_while_the_script_starts_is_no_trace(monkeypatch: pytest.MonkeyPatch):
    def interrupted(arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("wagoe_jobs.cli.app.run", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
