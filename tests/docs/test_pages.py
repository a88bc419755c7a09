"""What README and docs promise is run here: programs, commands, settings, links, tables of codes."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from wagoe_jobs.cli.app import app, jobs_app
from wagoe_jobs.cli.database import db_app
from wagoe_jobs.cli.exits import Exit
from wagoe_jobs.settings import load_settings

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)


def commands(prefix: str) -> list[list[str]]:
    """The console lines of the README that begin with `prefix`, as arguments without comments."""
    lines = [line for block in blocks("console") for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith(prefix)]


def cli(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "wagoe_jobs.cli", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=example_environment(folder), capture_output=True, text=True, timeout=60, check=False
    )


def example_environment(folder: Path) -> dict[str, str]:
    url = f"sqlite:///{folder / 'jobs.sqlite'}"
    return {**os.environ, "WAGOE_JOBS__DB__URL": url, "SHOP_FOLDER": str(folder), "PYTHONWARNINGS": "error"}


def test_the_program_and_the_two_commands_are_on_the_first_screen():
    first = README.splitlines()[:60]
    assert any(line.startswith("./dev run") for line in first)
    assert any(line.startswith("./dev test") for line in first)
    assert "    print(jobs.wait(job, timeout=5).status)" in first


def test_the_settings_of_the_readme_load(tmp_path: Path):
    for number, block in enumerate(blocks("toml")):
        file = tmp_path / f"{number}.toml"
        file.write_text(block)
        assert load_settings(file, environ={}).jobs is not None
        assert tomllib.loads(block)["modules"]


def test_the_commands_of_the_readme_work(tmp_path: Path):
    told = [arguments[1:] for arguments in commands("wagoe-jobs")]
    assert {arguments[0] for arguments in told} >= {"worker", "enqueue", "status", "failed", "check"}
    for arguments in told:
        if arguments[0] == "worker":
            continue
        done = cli(*arguments, folder=tmp_path)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        assert done.stdout


def test_the_worker_of_the_readme_runs_what_the_readme_enqueues(tmp_path: Path):
    (enqueue,) = (arguments[1:] for arguments in commands("wagoe-jobs enqueue"))
    (worker,) = (arguments[1:] for arguments in commands("wagoe-jobs worker"))
    id = json.loads(cli(*enqueue, "--json", folder=tmp_path).stdout)["id"]
    node = subprocess.Popen(
        [sys.executable, "-m", "wagoe_jobs.cli", *worker], cwd=ROOT, env=example_environment(tmp_path)
    )
    try:
        shown = None
        for _ in range(60):
            done = cli("jobs", "show", id, "--json", "-a", "containers.web:container", folder=tmp_path)
            shown = json.loads(done.stdout)["job"]
            if shown["status"] == "completed":
                break
        assert shown is not None
        assert shown["status"] == "completed"
    finally:
        node.send_signal(signal.SIGTERM)
        assert node.wait(30) == 0
    assert "0 orders" in (tmp_path / "reports" / "monday" / "index.html").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    assert [target for target in targets if "://" not in target and not (page.parent / target).exists()] == []


def test_the_page_of_the_script_lists_every_exit_code():
    listed = re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "cli.md").read_text(), re.M)
    assert [int(code) for code in listed] == sorted(Exit)


def test_the_reading_order_names_at_most_ten_files_that_exist():
    page = (ROOT / "docs" / "reading_order.md").read_text()
    files = re.findall(r"^\d+\. \[`?([\w/.]+)`?\]", page, re.M)
    assert 5 <= len(files) <= 10
    assert len(re.findall(r"\.py\)", page)) == len(files)
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_the_page_of_the_script_lists_every_command():
    page = (ROOT / "docs" / "cli.md").read_text()
    for group, prefix in ((app, ""), (jobs_app, "jobs "), (db_app, "db ")):
        for command in group.registered_commands:
            assert command.callback is not None
            assert f"`{prefix}{command.name or command.callback.__name__}" in page
