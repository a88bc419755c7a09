"""The script run inside the test's process, on a store of its own."""

import io
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from wagoe_jobs import Failure
from wagoe_jobs.cli.app import run
from wagoe_jobs.client import Jobs
from wagoe_jobs.core.codec import encode_error
from wagoe_jobs.core.job import ErrorInfo, Status
from wagoe_jobs.ports import Answer, Claim, Settlement
from wagoe_jobs.registry import Registry
from wagoe_jobs.runtime import open_runtime
from wagoe_jobs.settings import load_settings
from wagoe_jobs.worker import Worker


@dataclass(frozen=True, slots=True)
class Said:
    """What one command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Mapping[str, Any]:
        """The one document that a command with --json writes."""
        document: Mapping[str, Any] = json.loads(self.out)
        return document

    @property
    def error(self) -> Mapping[str, Any]:
        document: Mapping[str, Any] = json.loads(self.err)["error"]
        return document


on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For what does not depend on the store."""
Script = Callable[..., Said]
_BOLD = re.compile("\x1b\\[[01]m")
WithJobs = Callable[[Callable[[Jobs], Any]], Any]


class Terminal(io.StringIO):
    """A stream that takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def settings_file(tmp_path: Path, database_url: str) -> Path:
    """TOML that names a new database, SQLite and PostgreSQL in turn."""
    file = tmp_path / "settings.toml"
    file.write_text(f'[jobs]\nprovider = "db"\n[jobs.db]\nurl = "{database_url}"\n')
    return file


@pytest.fixture
def bare(capsys: pytest.CaptureFixture[str]) -> Script:
    """The script with just these arguments."""

    def script(*arguments: str) -> Said:
        capsys.readouterr()
        code = run(arguments)
        out, err = capsys.readouterr()
        return Said(int(code), out, err)

    return script


@pytest.fixture
def script(bare: Script, settings_file: Path) -> Script:
    """The script on the test's database."""
    return lambda *arguments: bare(*arguments, "--settings", str(settings_file))


@pytest.fixture
def on_terminal(settings_file: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """The script on the test's database, answering a terminal of 80 columns; what makes headings bold is left out."""

    def script(*arguments: str, columns: int = 80) -> Said:
        out, err = Terminal(), Terminal()
        with monkeypatch.context() as patched:
            for name, value in (("COLUMNS", str(columns)), ("NO_COLOR", "1"), ("TERM", "xterm")):
                patched.setenv(name, value)
            patched.setattr(sys, "stdout", out)
            patched.setattr(sys, "stderr", err)
            code = run([*arguments, "--settings", str(settings_file)])
        return Said(int(code), _BOLD.sub("", out.getvalue()), err.getvalue())

    return script


@pytest.fixture
def with_jobs(settings_file: Path) -> WithJobs:
    """Does something with a client of the same database."""

    def use(act: Callable[[Jobs], Any]) -> Any:
        settings = load_settings(settings_file, environ={})
        with open_runtime(settings) as runtime:
            return act(Jobs(runtime))

    return use


def bury(jobs: Jobs, message: str = "the printer is on fire", *, type: str = "print", **options: Any) -> UUID:
    """A dead letter."""
    id = jobs.enqueue(type, {"to": message}, max_retries=0, **options)
    registry = Registry({type: lambda args: Failure(args["to"])})
    with Worker(jobs.runtime, registry, queue=options.get("queue", "default")) as worker:
        assert worker.work_one()
    return UUID(int=id.int)


def bury_many(jobs: Jobs, count: int, *, type: str = "print", queue: str = "default") -> Sequence[UUID]:
    """So many dead letters, without running anything; lowest id first."""
    ids = jobs.enqueue_many([(type, {"n": n}) for n in range(count)], queue=queue)
    claims = jobs.runtime.queue.claim(queue, "undertaker", count)
    answers = jobs.runtime.queue.settle([burial(claim) for claim in claims])
    assert list(answers) == [Answer.APPLIED] * count
    return [UUID(int=id.int) for id in ids]


def burial(claim: Claim) -> Settlement:
    """What makes a dead letter of a claimed job."""
    return Settlement(claim, Status.FAILED, error=encode_error(ErrorInfo(type="handler-error", message="no paper")))
