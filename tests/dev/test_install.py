"""The wheel installs into an empty environment with what it requires, and the script minds its missing extra."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests import wheels

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.timeout(300)  # the first time, what it requires is fetched

LOADED = """
import sys
import wagoe_jobs, wagoe_jobs.containers, wagoe_jobs.node, wagoe_jobs.client
print(sorted({"typer", "rich", "psycopg", "redis", "pymysql"} & set(sys.modules)))
"""


def ran(*command: object) -> str:
    words, env = [str(part) for part in command], wheels.environment()
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter whose environment holds the wheel and what it requires, without extras.

    The build is not isolated and the environment has no pip of its own: both would only be installed anew.
    """
    out, home = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("empty")
    # by way of the source archive: it must be whole too
    ran(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT)
    (wheel,) = out.glob("*.whl")
    venv.create(home)
    interpreter = home / "bin" / "python"
    ran(sys.executable, "-m", "pip", "--python", interpreter, "--quiet", "install", wheel)
    return interpreter


def test_it_can_be_imported_and_loads_no_driver(python: Path):
    assert ran(python, "-I", "-c", LOADED) == "[]\n"


def test_without_the_extra_the_script_names_it_and_exits_2(python: Path):
    done = subprocess.run([python.with_name("wagoe-jobs"), "status"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "wagoe-jobs: the script needs typer: pip install 'wagoe-jobs[cli]'\n"
