"""The script run inside the test's process, on a store of its own."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from wagoe_jobs.cli.app import run
from wagoe_jobs.client import Jobs
from wagoe_jobs.runtime import open_runtime
from wagoe_jobs.settings import load_settings


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


Script = Callable[..., Said]


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
def with_jobs(settings_file: Path) -> Callable[[Callable[[Jobs], Any]], Any]:
    """Does something with a client of the same database."""

    def use(act: Callable[[Jobs], Any]) -> Any:
        settings = load_settings(settings_file, environ={})
        with open_runtime(settings) as runtime:
            return act(Jobs(runtime))

    return use
