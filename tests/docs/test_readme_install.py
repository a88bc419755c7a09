"""README's lines about installing are typed in a clone, with a new environment, and do what they say."""

import os
import re
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from tests import wheels
from tests.docs.test_pages import README, ROOT, commands

pytestmark = pytest.mark.timeout(400)  # the first time, what it requires is fetched
CLONE = ("wagoe_jobs", "pyproject.toml", "README.md", "LICENSE")
"""What of a clone is needed to install it."""
MSGPACK = "import msgpack; print(msgpack.version)"


def test_it_installs_and_msgpack_can_be_put_back(tmp_path: Path):
    clone, home = tmp_path / "clone", tmp_path / "home"
    clone.mkdir()
    for name in CLONE:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, clone / name)
    venv.create(home, with_pip=True)
    path = f"{home / 'bin'}:{os.environ['PATH']}"
    environment = {**wheels.environment(), "PATH": path}

    def typed(*command: str) -> str:
        done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    install, mend = commands("pip install")
    typed(*install)
    assert typed("python", "-c", MSGPACK) == "(0, 5, 6)\n"
    typed("python", "-c", "import psycopg, typer")
    assert typed("wagoe-jobs", "--version").startswith("wagoe-jobs ")
    typed(*mend)
    assert int(typed("python", "-c", MSGPACK).strip("()\n").split(",")[0]) >= 1
    typed("python", "-c", "from wagoe_jobs.core import codec; import transit.transit_types")


def test_the_extras_that_it_names_exist():
    project = (ROOT / "pyproject.toml").read_text()
    named = {
        extra for command in commands("pip install") for extra in re.findall(r"[a-z]+", command[-1].partition("[")[2])
    }
    assert named >= {"cli", "postgres"}
    assert "`mysql` in the place of `postgres`" in README
    assert [extra for extra in [*named, "mysql"] if f"\n{extra} = [" not in project] == []
