"""Every command on the page about the script is run as it stands, and what the page says of the others is so."""

import json
import re
import shlex
import sys
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest

from tests.cli.conftest import Said, Script, bury
from wagoe_jobs.cli.app import app
from wagoe_jobs.client import Jobs
from wagoe_jobs.runtime import open_runtime

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "cli.md").read_text()
LINES = [line for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.M | re.S) for line in block.splitlines()]
NODE = """
from wagoe_jobs import handler
from wagoe_jobs.containers import JobsContainer

@handler("build-report")
def build_report(args): ...

job_handlers = [build_report]
container = JobsContainer(
    settings={"modules": [__name__], "jobs": {"provider": "db", "db": {"url": URL}, "workers": {"count": 0}}}
)
"""


@pytest.fixture
def dead_letters(tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A web node as the page names it, and the ids of two dead letters in its store."""
    package = tmp_path / "page_containers"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "web.py").write_text(NODE.replace("URL", repr(sqlite_url)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with open_runtime({"provider": "db", "db": {"url": sqlite_url}}) as runtime:
        jobs = Jobs(runtime)
        yield [str(bury(jobs, type="build-report")) for _ in range(2)]
    for name in ("page_containers.web", "page_containers"):
        sys.modules.pop(name, None)


def test_the_page_has_a_command_of_each_kind():
    assert {tuple(shlex.split(line)[1:3]) for line in LINES} >= {
        ("jobs", "list"),
        ("jobs", "show"),
        ("jobs", "retry"),
        ("jobs", "cancel"),
        ("failed", "list"),
        ("failed", "retry"),
        ("queues", "list"),
        ("workers", "-a"),
        ("types", "-a"),
        ("check", "-a"),
    }


@pytest.mark.parametrize("line", LINES)
def test_a_command_of_the_page_does_what_it_says(bare: Script, dead_letters: list[str], line: str):
    ids = cycle(dead_letters)
    words = [next(ids) if word == "ID" else word for word in shlex.split(line)]
    told: Said = bare(*(word.replace("containers.web", "page_containers.web") for word in words[1:]))
    expected = 1 if "cancel" in words else 0  # what is dead cannot be cancelled
    assert (words[0], told.code, told.err) == ("wagoe-jobs", expected, "")
    assert told.out
    if "--json" in words:
        assert json.loads(told.out)


def test_the_documents_of_the_page_have_the_keys_that_it_names(bare: Script, dead_letters: list[str]):
    first, second = dead_letters
    for command, row in re.findall(r"^\| (`[^|]*`) \| `(\{.*?)`[^|]*\|$", PAGE, re.M):
        for one in re.findall("`(.*?)`", command):
            arguments = {
                "jobs show": [first],
                "jobs retry": [first],
                "jobs cancel": [second],
                "failed retry ID": [second],
                "failed retry --all": ["--yes"],
                "enqueue": ["build-report"],
            }.get(one, [])
            told = bare(*one.removesuffix(" ID").split(), *arguments, "--json", "-a", "page_containers.web")
            keys = (
                set(re.findall(r'"(\w+)"', row)) - {"id", "done", "state"} if one != "enqueue" else {"id", "duplicate"}
            )
            assert set(told.json) == keys, one


def commands() -> Iterator[list[str]]:
    """Each command as it is typed."""
    groups = [(app, []), *((one.typer_instance, [one.name]) for one in app.registered_groups)]
    for group, prefix in groups:
        for command in group.registered_commands:
            yield [*prefix, command.name or command.callback.__name__]


@pytest.mark.parametrize("command", list(commands()), ids=" ".join)
def test_every_command_is_on_the_page_and_explains_itself(bare: Script, command: list[str]):
    assert f"`{' '.join(command)}" in PAGE
    told = bare(*command, "--help")
    assert (told.code, told.err) == (0, "")
    assert len(told.out.splitlines()) > 4
