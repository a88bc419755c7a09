"""The wheel: one top-level package, installable alone, and importing it opens nothing."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

LOOK = """
import sys, threading
events = []
sys.addaudithook(lambda event, args: events.append((event, args)))
for module in sys.argv[1:]:
    __import__(module)
loud = {"socket.connect", "socket.bind", "subprocess.Popen", "os.system", "os.fork", "sqlite3.connect"}
print(sorted(event for event, _ in events if event in loud))
print(threading.active_count() - 1, "threads")
print(sorted({"typer", "rich", "psycopg", "redis", "pymysql"} & set(sys.modules)))
"""
QUIET = "[]\n0 threads\n[]\n"
MODULES = ["wagoe_jobs", "wagoe_jobs.containers", "wagoe_jobs.node", "wagoe_jobs.client", "wagoe_jobs.settings"]


def ran(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    ran(sys.executable, "-m", "build", "--wheel", "--outdir", out, ROOT)
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter whose environment holds the wheel and what it requires, without extras."""
    home = tmp_path_factory.mktemp("empty")
    venv.create(home, with_pip=True)
    interpreter = home / "bin" / "python"
    lock = ROOT / ".ci" / "requirements.lock"
    ran(interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", lock, wheel)
    return interpreter


def test_its_only_top_level_package_is_wagoe_jobs(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"wagoe_jobs"}
    assert "wagoe_jobs/py.typed" in names


@pytest.mark.timeout(300)
def test_it_installs_into_an_empty_environment_and_importing_opens_nothing(python: Path):
    assert ran(python, "-I", "-B", "-c", LOOK, *MODULES) == QUIET


@pytest.mark.timeout(300)
def test_without_the_extra_the_script_names_it_and_exits_2(python: Path):
    done = subprocess.run([python.with_name("wagoe-jobs"), "status"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "wagoe-jobs: the script needs typer: pip install 'wagoe-jobs[cli]'\n"
